"""The grid: every criterion at every kernel and ridge, one path a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from kselect.criteria import CRITERIA
from kselect.errors import KselectError, TrialError
from kselect.kernels import Kernel
from kselect.learners import Dual, Path
from kselect.model.experiment import Method
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.probes import PROBES

NUMERICAL = (KselectError, np.linalg.LinAlgError, FloatingPointError, MemoryError)


@dataclass(frozen=True)
class Scores:
    """What a search found: a score (kernels, ridges) or the reason why not for each method, and every fit."""

    values: Mapping[Method, Array]
    failures: Mapping[Method, str]
    duals: tuple[Dual, ...]


@dataclass(frozen=True)
class Choice:
    """The best place of a grid."""

    kernel: int
    ridge: int
    score: float
    excluded: int = 0


@dataclass
class GridSearch:
    """Scores of methods gathered kernel by kernel; a method that failed once is left out from there on."""

    methods: tuple[Method, ...]
    folds: Callable[[int], Folds]
    rows: dict[Method, list[Array]] = field(default_factory=dict)
    failures: dict[Method, str] = field(default_factory=dict)
    duals: list[Dual] = field(default_factory=list)

    def visit(self, kernel: Kernel, path_at: Callable[[Kernel], Path]) -> None:
        """Ask every method about one kernel's path and keep the fit; without a path all methods fail."""
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                path = path_at(kernel)
                self.duals.append(path.dual())
        except NUMERICAL as error:
            why = f"at {kernel.text}: {reason(error)}"
            self.failures.update({m: why for m in self.methods if m not in self.failures})
            return
        for method in self.methods:
            if method in self.failures:
                continue
            try:
                self.rows.setdefault(method, []).append(evaluate(method, path, self.folds))
            except NUMERICAL as error:
                self.failures[method] = f"at {kernel.text}: {reason(error)}"

    def scores(self) -> Scores:
        """What was found."""
        found = {m: np.array(rows) for m, rows in self.rows.items() if m not in self.failures}
        return Scores(found, dict(self.failures), tuple(self.duals))


def search_grid(
    kernels: Iterable[Kernel],
    path_at: Callable[[Kernel], Path],
    methods: tuple[Method, ...],
    folds: Callable[[int], Folds],
) -> Scores:
    """Every method at every kernel and ridge; only one path is alive at a time."""
    gathering = GridSearch(methods, folds)
    for kernel in kernels:
        gathering.visit(kernel, path_at)
    return gathering.scores()


def evaluate(method: Method, path: Path, folds: Callable[[int], Folds]) -> Array:
    """The scores of one method for every ridge of a path; NaN and minus infinity are failures.

    Plus infinity is a score: a criterion's way to say 'not this one'.
    """
    function = (PROBES if method.at else CRITERIA)[method.criterion].function
    parts = (path,) if method.folds is None else (path, folds(method.folds))
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        scores: Array = function(*parts, **dict(method.params))
    if np.isnan(scores).any() or np.isneginf(scores).any():
        raise TrialError(f"{method.label} is not a number")
    return scores


def reason(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, KselectError) else f"{type(error).__name__}: {text}"


def best(scores: Array) -> Choice:
    """The lowest score; of equal ones the first in the grid's order, as scikit-learn does."""
    position = int(np.argmin(scores))
    score = float(scores.flat[position])
    if not np.isfinite(score):
        raise TrialError("no kernel and ridge of the grid has a finite score")
    kernel, ridge = divmod(position, scores.shape[1])
    return Choice(kernel, ridge, score, int(np.isposinf(scores).sum()))


def best_at(scores: Array, ridge: int) -> Choice:
    """The lowest score at one ridge."""
    found = best(scores[:, [ridge]])
    return replace(found, ridge=ridge)
