"""Kernel ridge regression."""

from __future__ import annotations

from kselect.learners.base import Problem, learner
from kselect.learners.primal import PrimalPath
from kselect.learners.square_loss import SquareLossPath, square_loss_path


@learner(
    "krr",
    paper="tcyb2018, ijcai2018",
    tasks=frozenset({"classification", "regression"}),
    low_rank=True,
)
def krr(problem: Problem) -> SquareLossPath | PrimalPath:
    r"""Kernel ridge regression without bias: min (1/n) sum (y - f)^2 + lam ||f||^2."""
    return square_loss_path(problem, bias=False)
