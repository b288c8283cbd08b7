"""What criteria read off the eigenvalues of a kernel matrix."""

from __future__ import annotations

import numpy as np

from kselect.numerics.linalg import Array


def eigenvalue_ratio(eigenvalues: Array, t: int) -> float:
    r"""``ER_t = sum_{i<=t} s_i / sum_{i>t} s_i``, the t largest over the rest (Liu and Liao 2015, reconstructed).

    Infinite where nothing remains: t is all of them, or the rest is zero or below zero by rounding.
    """
    if not 1 <= t <= len(eigenvalues):
        raise ValueError(f"t = {t} of {len(eigenvalues)} eigenvalues")
    s = np.maximum(np.sort(eigenvalues)[::-1], 0.0)
    rest = float(s[t:].sum())
    # A sum of tiny positive numbers may still overflow the quotient.
    with np.errstate(over="ignore", divide="ignore"):
        return float(np.divide(s[:t].sum(), rest)) if rest > 0 else float("inf")
