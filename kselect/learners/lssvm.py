"""The least-squares support vector machine."""

from __future__ import annotations

from kselect.learners.base import Problem, learner
from kselect.learners.primal import PrimalPath
from kselect.learners.square_loss import SquareLossPath


def lssvm_on_columns(problem: Problem) -> PrimalPath:
    """The same on the columns of an approximated kernel."""
    return PrimalPath(problem, bias=True)


@learner("lssvm", paper="ecml2014, icml2014, flkl2014", low_rank=lssvm_on_columns)
def lssvm(problem: Problem) -> SquareLossPath:
    r"""Least-squares SVM with bias: min (1/n) sum (y - f - b)^2 + lam ||f||^2."""
    return SquareLossPath(problem, bias=True)
