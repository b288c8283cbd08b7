"""The result of a selection: the scores, the best candidate, and the candidates whose fits are averaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kselect.core.grid_point import BestPoint, GridPoint
from kselect.core.method import Method
from kselect.grids import show_number
from kselect.kernels import Kernel, Points
from kselect.learners import Fit
from kselect.numerics.linalg import Array
from kselect.search.pruned_grid import Work
from kselect.selection.defaults import NEAR
from kselect.selection.request import Request

# Limits of one block of new rows against the rows of a fit: 2^25 entries are a quarter of a gigabyte.
ROWS_AT_ONCE = 4096
ENTRIES_AT_ONCE = 2**25


@dataclass(frozen=True, eq=False)
class Member:
    """One candidate of an average: its score, its fit for each target, its held-out predictions (q, n) if any."""

    point: GridPoint
    score: float
    fits: tuple[Fit, ...]
    held_out: Array | None = None


@dataclass(frozen=True, eq=False)
class Selection:
    """The scores over the grid, the best candidate, and the ``others`` whose fits are averaged with its own.

    A pair of kernel and ridge that is excluded or no candidate has an infinite score.
    ``seconds_fit`` is the time of the final fits only. A search by bounds knows only the scores near the best one,
    and has ``work``: the small part of the candidates that it had to fit. ``held_out`` (q, n) are the best
    candidate's predictions by the criterion's own cross-validation, if the criterion made any; ``near`` are those
    of other candidates that the search formed on its way. ``support`` are the rows of the fits' coefficients, None
    for all rows. ``grown`` says which grids were extended; ``unseen`` are the kernels that a time limit left out.
    """

    request: Request
    scores: Array
    best: BestPoint
    support: Array | None
    seconds: float
    seconds_fit: float
    work: Work | None = None
    held_out: Array | None = None
    near: Mapping[GridPoint, Array] = field(default_factory=dict)
    others: tuple[Member, ...] = ()
    grown: tuple[str, ...] = ()
    unseen: tuple[Kernel, ...] = ()

    @property
    def members(self) -> tuple[Member, ...]:
        """The candidates whose mean predicts, the best one first."""
        best = Member(self.best.point, self.best.score, self.best.fits, self.held_out)
        return best, *self.others

    @property
    def kernel(self) -> Kernel:
        """The best candidate's kernel."""
        return self.best.point.kernel

    @property
    def lam(self) -> float:
        """The best candidate's lam."""
        return self.best.point.lam

    @property
    def score(self) -> float:
        """The value of the criterion for the best candidate."""
        return self.best.score

    @property
    def size(self) -> int:
        """The number of candidates that are not excluded."""
        return int(np.count_nonzero(~np.isposinf(self.scores)))

    @property
    def shown_scores(self) -> Array:
        """The scores as they are shown: the values of a scorer, greater is better, or the criterion's."""
        scorer = self.request.method.scorer
        return self.scores if scorer is None else scorer.as_scores(self.scores)

    @property
    def score_text(self) -> str:
        """The score of the best candidate with its metric: ``roc_auc 0.93 (mean over 5 folds)``."""
        method, value = self.request.method, shown_score(self.request.method, self.score)
        if method.scorer:
            return f"{method.scorer.name} {value:.6g} (mean over {method.folds} folds)"
        words = [f"{method.loss} loss"] if method.loss else []
        if self.request.task == "regression" and len(self.best.fits) > 1:
            words.append("mean over targets, each divided by its standard deviation")
        return f"score {value:.6g} ({', '.join(words)})" if words else f"score {value:.6g}"

    @property
    def average_text(self) -> str:
        """The number of averaged fits and their kernels; empty for a single fit."""
        if len(self.members) == 1:
            return ""
        counts = Counter(one.point.kernel.name for one in self.members)
        kinds = ", ".join(f"{count} {name}" for name, count in counts.items())
        what = "error" if self.request.method.scorer else "score"
        near = f"within {100 * NEAR:g} % of the best {what}"
        return f"the mean of {len(self.members)} fits {near} ({kinds})"

    @property
    def position(self) -> tuple[int, int]:
        """Index of the best candidate among the kernels and among the ridges."""
        return self.request.kernels.index(self.kernel), self.request.lams.index(self.lam)

    @property
    def edges(self) -> list[str]:
        """The edges of the grid that the best candidate lies on."""
        return edges_of_choice(self.kernel, self.lam, self.request)

    @property
    def averaged(self) -> Array | None:
        """The mean of the members' held-out predictions (q, n); None if a member has none."""
        if not self.others:
            return self.held_out
        known = [one.held_out for one in self.members if one.held_out is not None]
        return np.mean(known, axis=0) if len(known) == len(self.members) else None


def shown_score(method: Method, value: float) -> float:
    """Return a score of a search as it is shown."""
    return value if method.scorer is None else float(method.scorer.as_scores(np.array(value)))


def edges_of_choice(kernel: Kernel, lam: float, request: Request) -> list[str]:
    """Return a sentence per parameter chosen at the boundary of its grid; a grid of one value has no boundary."""
    return [
        f"{name} = {show_number(value)} is the {'smallest' if value == values[0] else 'largest'} "
        "of its grid: widen the grid"
        for name, value, values in axes_of(kernel, lam, request)
        if len(values) > 1 and value in (values[0], values[-1])
    ]


def axes_of(kernel: Kernel, lam: float, request: Request) -> list[tuple[str, float, list[float]]]:
    """Return name, chosen value and ascending grid of each parameter that has a grid, lam last.

    The power of the relevances has no boundary.
    """
    same = [one for one in request.kernels if one.metric == kernel.metric]
    return [
        *(
            (name, value, sorted({one.parameters[name] for one in same}))
            for name, value in kernel.parameters.items()
            if name != "power"
        ),
        ("lam", lam, sorted(request.lams)),
    ]


# --- predictions --------------------------------------------------------------------------------------


def decision_values(kernel: Kernel, fits: Sequence[Fit], support: Array, X: Array) -> Array:
    """Return the (rows, q) decision values of fits on ``support``, in blocks of rows to bound the memory."""
    return mean_values([(kernel, fits)], support, X)


def mean_values(members: Iterable[tuple[Kernel, Sequence[Fit]]], support: Array, X: Array) -> Array:
    """Return the (rows, q) mean of the decision values of several kernels' fits on ``support``."""
    members = list(members)
    block = min(ROWS_AT_ONCE, max(1, ENTRIES_AT_ONCE // len(support)))
    values = [np.empty((0, len(members[0][1])))]
    for start in range(0, len(X), block):
        points = Points(X[start : start + block], support)
        total = np.zeros((len(points.X), len(members[0][1])))
        for kernel, fits in members:
            K = kernel.gram(points)
            total += np.stack([fit.decision(0, K) for fit in fits], axis=1)
        values.append(total / len(members))
    return np.concatenate(values)
