"""The empirical risk, which several criteria penalise; not a criterion itself."""

from __future__ import annotations

from kselect.learners.base import Path
from kselect.numerics.linalg import Array
from kselect.numerics.losses import LOSSES


def empirical_risk(path: Path, loss: str) -> Array:
    """``R_emp = (1/n) sum_i V(y_i, f(x_i))`` on the training rows, for every ridge."""
    risk: Array = LOSSES[loss](path.problem.y, path.decision()).mean(axis=-1)
    return risk
