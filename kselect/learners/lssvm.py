"""The least-squares support vector machine."""

from __future__ import annotations

from kselect.learners.base import Problem, learner
from kselect.learners.primal import PrimalPath
from kselect.learners.square_loss import SquareLossPath, square_loss_path


@learner(
    "lssvm",
    paper="ecml2014, icml2014, flkl2014",
    tasks=frozenset({"classification", "regression"}),
    low_rank=True,
)
def lssvm(problem: Problem) -> SquareLossPath | PrimalPath:
    r"""Least-squares SVM with bias: min (1/n) sum (y - f - b)^2 + lam ||f||^2."""
    return square_loss_path(problem, bias=True)
