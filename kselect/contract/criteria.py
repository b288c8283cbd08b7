"""The contract of criteria and probes: what is wrong with their scores, or an empty text."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from kselect.contract.problem import (
    CLOSE,
    RIDGES,
    N,
    differs_from_oracle,
    first_path,
    fits,
    fold_numbers,
    score,
    small_path,
)
from kselect.criteria import Criterion
from kselect.errors import TrialError
from kselect.kernels import KERNELS
from kselect.learners import LEARNERS, Path
from kselect.learners.base import SquareLoss
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.registry import Parameter


def wrong_scores(criterion: Criterion, path: Path | None = None) -> str:
    """Return what is wrong with the type, shape and range of the scores."""
    found = score(criterion, path or first_path(criterion))
    if not isinstance(found, np.ndarray) or found.dtype != np.float64:
        return f"returns {type(found).__name__}, not an array of float64, one score per ridge"
    if found.shape != (len(RIDGES),):
        return f"returns scores of the shape {found.shape}, not one per ridge, {(len(RIDGES),)}"
    if np.isnan(found).any() or np.isneginf(found).any():
        return "returns a score that is not a number, nan or -inf"
    return ""


def unrepeatable(criterion: Criterion, make: Callable[[], Path] | None = None) -> str:
    """Return whether the scores differ on the same path, or on a new path of the same problem."""
    make = make or partial(first_path, criterion)
    path = make()
    found = score(criterion, path)
    for again, where in ((path, "the same path"), (make(), "a new path of the same problem")):
        if not np.array_equal(score(criterion, again), found):
            return f"returns other scores the second time, on {where}"
    return ""


def modified(criterion: Criterion, path: Path | None = None) -> str:
    """Return what a criterion changes of the problem, or of the results of others on the path."""
    path = path or first_path(criterion)
    folds = Folds.from_numbers(fold_numbers())
    problem = copy.deepcopy(path.problem)

    def answers() -> list[Array]:
        return [path.decision(), path.held_out(folds), path.fit().alpha]

    before = [a.copy() for a in answers()]
    score(criterion, path, folds)
    for name in ("X", "y", "K", "lams"):
        if not np.array_equal(getattr(path.problem, name), getattr(problem, name)):
            return f"changes the {name} of the problem"
    same = all(np.array_equal(a, b) for a, b in zip(answers(), before, strict=True))
    return "" if same else "changes predictions or coefficients of the path"


class Watched:
    """A path that notes which of its methods are asked."""

    def __init__(self, path: Path) -> None:
        self._path, self.asked = path, set[str]()

    def __getattr__(self, name: str) -> Any:
        if name != "problem":
            self.asked.add(name)
        return getattr(self._path, name)


def learner_ignored(criterion: Criterion) -> str:
    """Return whether a criterion asks nothing of the learner, so that it would score any learner alike."""
    if criterion.need is SquareLoss:
        return ""
    watched = Watched(first_path(criterion))
    score(criterion, watched)
    need = criterion.need.__name__
    if watched.asked:
        return ""
    return (
        f"is annotated {need}, but asks nothing of the path except its problem: it would score every learner "
        "alike; annotate path: SquareLoss if it is meant for the square loss"
    )


def depends_on_order(criterion: Criterion) -> str:
    """Return whether the order of the rows changes a score."""
    order = np.random.default_rng(8).permutation(N)
    numbers, path = fold_numbers(), first_path(criterion)
    learner = next(n for n in ("lssvm", *sorted(LEARNERS)) if fits_somewhere(criterion, n))
    other = small_path(learner, path.problem.kernel.name, order)
    one = score(criterion, path, Folds.from_numbers(numbers))
    two = score(criterion, other, Folds.from_numbers(numbers[order]))
    same = np.allclose(one, two, rtol=CLOSE, atol=CLOSE)
    return "" if same else "gives other scores if the rows are in another order"


def fits_somewhere(criterion: Criterion, learner: str) -> bool:
    """Return whether a criterion works with a learner and some kernel."""
    return any(fits(criterion, learner, k) for k, cls in KERNELS.items() if not cls.learned)


def alternatives(parameter: Parameter) -> list[Any]:
    """Return values of a parameter that differ from its default."""
    if parameter.choices:
        return [c for c in parameter.choices if c != parameter.default]
    if parameter.switch:
        return [not parameter.default]
    return [parameter.default * 2 + 1 if parameter.whole else parameter.default / 16 + 0.01]


def ignored_option(criterion: Criterion) -> str:
    """Return a parameter that changes no score; a guard's parameter may do so.

    A parameter may have an effect only with another value of a choice; a value may be refused.
    """
    path = first_path(criterion)
    choices = [{p.name: v} for p in criterion.parameters if p.choices for v in alternatives(p)]

    def changes(name: str, value: Any, context: Mapping[str, Any]) -> bool:
        base = score(criterion, path, **context)
        try:
            return not np.array_equal(score(criterion, path, **{**context, name: value}), base)
        except TrialError:
            return True

    for parameter in criterion.parameters if criterion.guards is None else ():
        contexts = [{}, *(c for c in choices if parameter.name not in c)]
        values = alternatives(parameter)
        if not any(changes(parameter.name, v, c) for c in contexts for v in values):
            return f"ignores its parameter {parameter.name}"
    return ""


def ignored_folds(criterion: Criterion) -> str:
    """Return whether other folds give the same scores."""
    if not criterion.takes_folds:
        return ""
    path, numbers = first_path(criterion), fold_numbers()
    one, two = (score(criterion, path, Folds.from_numbers(f)) for f in (numbers, numbers[::-1]))
    return "takes folds, but gives the same scores with others" if np.array_equal(one, two) else ""


def criterion_oracle(criterion: Criterion) -> str:
    """Return whether a criterion differs from ``oracle_<function>(path[, folds])``."""
    own = (Folds.from_numbers(fold_numbers()),) if criterion.takes_folds else ()
    path = first_path(criterion)
    return differs_from_oracle(criterion, lambda o: (score(criterion, path), o(path, *own)))
