"""The spectral perturbation stability criterion, as tcyb2018 compares with it."""

from __future__ import annotations

from kselect.criteria.base import criterion
from kselect.criteria.empirical import empirical_risk
from kselect.learners.base import Path
from kselect.numerics.linalg import Array
from kselect.numerics.losses import Loss

CONSTANT = (
    "its penalty, delta tr(K) / n^2, is the same for every Gaussian kernel: among these SPS is the empirical risk, "
    "whatever delta is"
)


@criterion("SPS", paper="tcyb2018; Liu and Liao 2014", remarks=(("gaussian", CONSTANT),))
def spectral_perturbation(path: Path, *, delta: float = 1.0, loss: Loss = "squared") -> Array:
    r"""Empirical risk plus (delta / n^2) sum_ij |sigma_j(K) - sigma_j(K^i)|, which is delta tr(K) / n^2.

    K^i has row and column i zero. Its sorted eigenvalues lie below those of K (Cauchy's interlacing), so that
    the inner sum is ``tr K - tr K^i = K_ii``. For a kernel with a constant diagonal, as the Gaussian has, the
    penalty is the same everywhere: SPS chooses by the empirical risk alone. Oracle: the eigenvalues.
    """
    n = path.problem.n
    penalty = delta * float(path.problem.diagonal().sum()) / n**2
    return empirical_risk(path, loss) + penalty
