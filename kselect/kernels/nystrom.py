r"""The Nystrom approximation: ``K ~ V V^T`` from c landmark rows, ``V = C W^{-1/2}``.

``C`` is the kernel of all rows against the landmarks, ``W`` the kernel of the landmarks against each other.
Eigenvalues of W below 1e-12 of the largest are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kselect.errors import ConfigError, TrialError
from kselect.kernels.base import Kernel, Points
from kselect.numerics.linalg import Array, Index, symmetric_eigh

DROPPED = 1e-12


@dataclass(frozen=True, eq=False)
class NystromColumns:
    """The factor ``V`` (n, r) and ``root = W^{-1/2}`` (c, r); then ``f(x) = k(x, landmarks) root beta``.

    ``defect`` is ``||W - V V^T||_F / ||W||_2`` at the landmarks, where ``V V^T`` should be the kernel itself.
    """

    V: Array
    root: Array
    defect: float = 0.0


def draw_landmarks(n: int, c: int, rng: np.random.Generator) -> Index:
    """Draw c rows without replacement; return them in ascending order."""
    if not 1 <= c <= n:
        raise ConfigError(f"{c} Nystrom columns of {n} rows: write 1 to {n}")
    return np.sort(rng.choice(n, size=c, replace=False)).astype(np.intp)


def nystrom_columns(kernel: Kernel, points: Points, landmarks: Index) -> NystromColumns:
    """Return the columns of one kernel; ``points`` are all rows against the landmarks."""
    return project(kernel.gram(points), landmarks)


def project(C: Array, landmarks: Index) -> NystromColumns:
    """Return ``V = C W^{-1/2}`` for the columns C of a kernel matrix at the landmarks."""
    s, U = symmetric_eigh(C[landmarks])
    if s[-1] <= 0:  # for example rows of zeros with a linear kernel
        raise TrialError("the kernel is 0 between all Nystrom landmarks")
    kept = s > DROPPED * s[-1]
    root = U[:, kept] / np.sqrt(s[kept])
    V = C @ root
    own = V[landmarks]
    return NystromColumns(V, root, float(np.linalg.norm(C[landmarks] - own @ own.T) / s[-1]))
