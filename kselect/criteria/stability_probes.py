"""Probes: kernel stability itself, and the uniform stability that it stands for (tcyb2018, Remark 1)."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import probe
from kselect.criteria.kernel_stability import largest_change
from kselect.learners.base import LeaveOut, Path
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES, Loss


@probe("beta", paper="ecml2014, Theorem 4; tcyb2018, Theorem 7")
def beta(path: Path, *, share: float = 1.0) -> Array:
    r"""max_i ||K - K^i||_2 for that share of the training rows, the first ones of a random split."""
    rows = max(1, round(share * path.problem.n))
    K = path.problem.K[:rows, :rows]
    found = largest_change(np.diagonal(K), np.einsum("ij,ij->i", K, K))
    return np.full(len(path.problem.lams), found)


@probe("uniform-stability", paper="tcyb2018, Remark 1")
def uniform_stability(path: LeaveOut, *, loss: Loss = "hinge") -> Array:
    r"""max_i max_z |V(f_S, z) - V(f_{S without i}, z)| over the training rows: its estimate from below."""
    y, fitted, worst = path.problem.y, path.decision(), np.zeros(len(path.problem.lams))
    base = LOSSES[loss](y, fitted)
    for i in range(path.problem.n):
        other = LOSSES[loss](y, path.without(i))
        worst = np.maximum(worst, np.abs(base - other).max(axis=1))
    return worst
