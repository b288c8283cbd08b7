"""Rows of a narrow kernel that hardly have neighbours, for which a Newton step is a division."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kselect.learners.svm_path.compiled import compiled
from kselect.numerics.linalg import Array

# Relative to sqrt(K_ii K_jj), up to where a row is alone. What that leaves out, further steps make good.
ALONE = 1e-6


@compiled
def lonely(K: Array, roots: Array) -> NDArray[np.bool_]:
    """Rows without a ``|K_ij|`` above that share of ``sqrt(K_ii K_jj)``; at the first one a row is done."""
    alone = np.ones(len(K), np.bool_)
    for i in range(len(K)):
        row = K[i]
        for j in range(len(K)):
            if j != i and abs(row[j]) > ALONE * roots[i] * roots[j]:
                alone[i] = False
                break
    return alone
