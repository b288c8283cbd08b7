"""The eigenvalue ratio criterion (Liu and Liao 2015), reconstructed in part."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import criterion
from kselect.criteria.empirical import empirical_risk
from kselect.errors import TrialError
from kselect.learners.base import Path
from kselect.numerics.linalg import Array
from kselect.numerics.losses import Loss


def inverse_ratio(spectrum: Array, count: int) -> float:
    r"""``1 / ER_t = sum_{i > t} s_i / sum_{i <= t} s_i`` of descending eigenvalues."""
    s = np.maximum(spectrum, 0.0)
    return float(s[count:].sum() / s[:count].sum())


@criterion(
    "ER",
    paper="ijcai2018; Liu and Liao 2015",
    reconstructed="the form of Liu and Liao (2015) is known, how its risk is scaled and its ridge chosen is not",
)
def eigenvalue_ratio(
    path: Path, *, t: float = 0.5, eta: float = 1.0, loss: Loss = "squared"
) -> Array:
    r"""Empirical risk plus eta / ER_t, the t n largest eigenvalues over the rest (reconstructed).

    The penalty has no lam, so that the smallest of the grid is always chosen. The squared loss is in units of the
    target's variance: else the penalty means nothing next to a risk of any size.
    """
    if not t <= 1.0:
        raise TrialError(f"t is a share of the eigenvalues, at most 1, not {t:g}")
    risk, n = empirical_risk(path, loss), path.problem.n
    if loss == "squared":
        variance = float(path.problem.y.var())
        if not variance > 0:
            raise TrialError("ER needs a target that varies")
        risk = risk / variance
    return risk + eta * inverse_ratio(path.problem.spectrum(), max(1, round(t * n)))
