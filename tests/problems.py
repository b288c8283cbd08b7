"""Small random problems: those that hypothesis draws, and a plain one for tests of a single behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import SELECTED, Choice, LamGrid, Method, Setting
from kselect.datasets.prepare import Scale, apply_scale, fit_scale
from kselect.datasets.registry import Task
from kselect.kernels import KERNELS, Kernel, Points
from kselect.learners import LEARNERS, Path, Problem
from kselect.numerics.folds import Folds, stream
from kselect.numerics.linalg import Array
from kselect.search.training_context import TrainingContext


def scale_rows(X: Array, scale: Scale, fit_rows: Array) -> Array:
    """Scale X with the shift and divisor of ``fit_rows``."""
    return apply_scale(X, *fit_scale(fit_rows, scale))


BIAS = {"lssvm": True, "krr": False}


def bias_of(learner: str) -> bool:
    """Return whether a learner has a bias; assume the worse case for an unknown one."""
    return BIAS.get(learner, True)


@dataclass(frozen=True)
class Case:
    """A learner on a problem, with folds."""

    learner: str
    problem: Problem
    folds: Folds

    @property
    def bias(self) -> bool:
        """Whether the learner has a bias."""
        return bias_of(self.learner)

    @property
    def per_fold(self) -> bool:
        """Whether the ridge is proportional to the number of training rows."""
        return self.problem.ridge == "per-fold"

    def path(self) -> Path:
        """Return a new path."""
        return LEARNERS[self.learner].path(self.problem)


def numbered(rng: np.random.Generator, n: int, k: int, equal: bool) -> Folds:
    """Assign n rows to k folds: of nearly equal sizes, or of any sizes."""
    numbers = np.arange(n) % k if equal else np.append(np.arange(k), rng.integers(k, size=n - k))
    return Folds.from_numbers(rng.permutation(numbers))


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    """Draw a kernel: Gaussian with tau in 2^-10..2^10, polynomial, or linear."""
    name = draw(st.sampled_from(["gaussian", "gaussian", "polynomial", "linear"]))
    if name == "gaussian":
        return KERNELS[name](tau=2.0 ** draw(st.integers(-10, 10)))  # type: ignore[call-arg]
    if name == "polynomial":
        return KERNELS[name](degree=draw(st.integers(1, 3)))  # type: ignore[call-arg]
    return KERNELS[name]()


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    labels: bool | None = None,
    kernel: st.SearchStrategy[Kernel] | None = None,
    lowest: float = -10.0,
) -> Case:
    """Draw a learner, kernel, ridges in 10^lowest..10, ridge mode, labels or real targets, and folds."""
    n, d = draw(st.integers(4, 14)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d))
    if draw(st.booleans()):
        X[-1] = X[0]
    if d > 1 and draw(st.booleans()):
        X[:, 0] = 1.0
    classes = draw(st.booleans()) if labels is None else labels
    y = rng.choice([-1.0, 1.0], size=n) if classes else rng.normal(size=n)
    chosen = draw(kernels() if kernel is None else kernel)
    powers = draw(st.lists(st.floats(lowest, 1.0), min_size=1, max_size=3))
    folds = numbered(rng, n, draw(st.integers(2, n)), draw(st.booleans()))
    problem = Problem(
        X,
        y,
        chosen,
        chosen.gram(Points(X)),
        10.0 ** np.array(powers),
        draw(st.sampled_from(["fixed", "per-fold"])),
    )
    return Case(draw(st.sampled_from(sorted(BIAS))), problem, folds)


def any_kernel(name: str) -> Kernel:
    """Return a registered kernel with all parameters 2."""
    cls = KERNELS[name]
    # ARD has one width for each of the three features of ``rows``.
    values: dict[str, Any] = {f.name: (2.0,) * 3 if f.name == "theta" else 2.0 for f in fields(cls)}
    return cls(**values)


def rows(n: int = 18, d: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """Return points of two overlapping classes."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.4 * y[:, None], y


def problem_of(kernel: Kernel, X: Array, y: Array, lams: Any = (0.03, 0.3), **more: Any) -> Problem:
    """Return a problem with its kernel matrix."""
    return Problem(X, y, kernel, kernel.gram(Points(X)), np.array(lams, dtype=np.float64), **more)


def side_of(
    kernels: Sequence[Kernel],
    X: Array,
    y: Array,
    lams: Sequence[float],
    *,
    learner: str = "lssvm",
    seed: int = 0,
    **more: Any,
) -> TrainingContext:
    """Return a training side that selects kernel and ridge, with folds drawn from a seeded stream."""
    streams = partial(stream, seed)
    facts: dict[str, Any] = {
        "task": "classification" if np.isin(y, (-1.0, 1.0)).all() else "regression",
        "ridges": LamGrid(tuple(lams), "select"),
        "ridge": "fixed",
        "stream": streams,
        **more,
    }
    targets = y[None] if y.ndim == 1 else y
    choice = Choice(learner, tuple(sorted(LEARNERS[learner].defaults.items())))
    return TrainingContext(X=X, targets=targets, kernels=tuple(kernels), learner=choice, **facts)


def best_in(
    results: Mapping[tuple[Method, Setting], BestPoint | SearchFailure],
    method: Method,
    setting: Setting = SELECTED,
) -> BestPoint:
    """Return the best point of a cell, which must not have failed."""
    found = results[method, setting]
    assert isinstance(found, BestPoint), found
    return found


def learners(name: str, **params: Any) -> tuple[tuple[Task, Choice], ...]:
    """Return a learner for all tasks that it supports, as an experiment holds it."""
    found = LEARNERS[name]
    choice = Choice(name, tuple(sorted((found.defaults | params).items())))
    tasks: tuple[Task, ...] = ("classification", "regression")
    return tuple((task, choice) for task in tasks if task in found.tasks)
