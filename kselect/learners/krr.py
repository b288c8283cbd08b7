"""Kernel ridge regression."""

from __future__ import annotations

from kselect.learners.base import Problem, RightSide, learner
from kselect.learners.nystrom_series import NystromFactor, fbif_square
from kselect.learners.primal import PrimalPath
from kselect.learners.square_loss import SquareLossPath
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array


class RidgePath(SquareLossPath):
    """Without a bias there is FBIF too, and one Newton step is all it takes."""

    def fbif(self, folds: Folds, *, c: float, order: int, rhs: RightSide) -> Array:
        """(n_ridges, n): the series of k-fold cross-validation on a share c of the columns (ijcai2018)."""
        p = self.problem
        V, K = p.once(NystromFactor(c)), p.K if rhs == "exact" else None
        return fbif_square(K, V, p.y, self.decision(), p.lams, folds, order=order)

    def frozen_step(self, folds: Folds) -> Array:
        """The square loss is its own second-order model: the step ends where retraining does."""
        return self.held_out(folds)


def krr_on_columns(problem: Problem) -> PrimalPath:
    """The same on the columns of an approximated kernel."""
    return PrimalPath(problem, bias=False)


@learner("krr", paper="tcyb2018, ijcai2018", low_rank=krr_on_columns)
def krr(problem: Problem) -> RidgePath:
    r"""Kernel ridge regression without bias: min (1/n) sum (y - f)^2 + lam ||f||^2."""
    return RidgePath(problem, bias=False)
