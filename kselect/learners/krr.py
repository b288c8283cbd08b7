"""Kernel ridge regression."""

from __future__ import annotations

from kselect.learners.base import Problem, learner
from kselect.learners.primal import PrimalPath
from kselect.learners.square_loss import SquareLossPath


def krr_on_columns(problem: Problem) -> PrimalPath:
    """The same on the columns of an approximated kernel."""
    return PrimalPath(problem, bias=False)


@learner("krr", paper="tcyb2018, ijcai2018", low_rank=krr_on_columns)
def krr(problem: Problem) -> SquareLossPath:
    r"""Kernel ridge regression without bias: min (1/n) sum (y - f)^2 + lam ||f||^2."""
    return SquareLossPath(problem, bias=False)
