"""Kernel stability against the over-fitting of the empirical risk (tcyb2018)."""

from __future__ import annotations

from kselect.criteria.base import criterion
from kselect.criteria.empirical import empirical_risk
from kselect.criteria.kernel_stability import stability
from kselect.learners.base import Path
from kselect.numerics.linalg import Array
from kselect.numerics.losses import Loss


@criterion("RKS", paper="tcyb2018, Theorem 7")
def stable_risk(path: Path, *, eta: float = 1.0, loss: Loss = "squared") -> Array:
    r"""Empirical risk plus (eta / n) max_i ||K - K^i||_2."""
    penalty = eta / path.problem.n * path.problem.once(stability)
    return empirical_risk(path, loss) + penalty
