"""The pruned search: the minimum of exact k-fold cross-validation, without a score for every candidate.

The bounds hold for k-CV with the hinge loss of the smoothed-hinge SVM and the squared loss of KRR and LSSVM. Other
losses, learners and criteria, a fixed ridge, repeated folds and splits that are no partition of the rows are
searched on the grid; so are several targets of the smoothed-hinge SVM, and a method with a candidate that fails,
because the grid names what it excludes.

With the squared loss, weights w of the rows scale the kernel matrix, the targets and the ones of the bias by
``sqrt(w)``. All bounds then hold as they stand, for weighted losses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType
from typing import Literal

import numpy as np

from kselect.core.grid_point import BestPoint, GridPoint
from kselect.core.method import Choice, Method
from kselect.errors import ConfigError
from kselect.kernels import Kernel, Points
from kselect.kernels.base import warm
from kselect.kernels.gaussian import Gaussian
from kselect.learners import LEARNERS
from kselect.learners.base import Fit, Path
from kselect.learners.factor import Factor, factorise
from kselect.learners.problem import RidgeMode
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.losses import LOSSES
from kselect.numerics.memory import keep_freed_memory
from kselect.numerics.weights import mean_loss
from kselect.search import pruned_gradients, pruned_hinge, pruned_square
from kselect.search.grid import NUMERICAL, Demand, Results, search_grid
from kselect.search.pruned_grid import (
    Ahead,
    BestPair,
    FoldedGrid,
    Pruned,
    Way,
    Work,
    in_threads,
    order_of,
)
from kselect.search.training_context import TrainingContext

PrunedLearner = Literal["smooth-hinge", "krr", "lssvm"]
# The loss whose mean over rows is minimised.
PRUNED_LOSSES: dict[PrunedLearner, str] = {
    "smooth-hinge": "hinge",
    "krr": "squared",
    "lssvm": "squared",
}
# The criteria that are exact cross-validation; for the square loss a Newton step is exact.
EXACT = {"smooth-hinge": ("k-CV",), "krr": ("k-CV", "k-Newton"), "lssvm": ("k-CV",)}
SQUARED = tuple(learner for learner, loss in PRUNED_LOSSES.items() if loss == "squared")
# Rows whose distances give the most promising width.
SAMPLED = 500
# Predictions below this share of the largest one may be rounding errors.
TINY = 1e-6
# Bytes of factors that are kept for later searches.
ROOM = 2**30
# Told the number of kernels done and their total; a true answer ends the search.
Watch = Callable[[int, int], bool | None]


@dataclass(frozen=True, eq=False)
class Minimum:
    """The best grid point, how much was fitted to find it, and what is known of the surface.

    ``scores`` (kernels, ridges) is exact for everything within the slack of the best, or for the ``most`` best, and
    not a number where a pair was dropped. ``held_out`` are the predictions (q, n) of the choice without each row's
    fold, ``near`` those of the other pairs with exact scores, as far as the search has formed them. ``seen`` is the
    number of kernels that were looked at, in the order of the visit.
    """

    found: BestPoint
    work: Work
    scores: Array
    held_out: Array
    near: Mapping[GridPoint, Array]
    seen: int


def search_pruned(context: TrainingContext, demand: Demand, n_jobs: int = 1) -> Results:
    """Find the minimum with bounds if they hold for the method, and search the grid for the other methods."""
    pruned = [m for m, settings in demand.items() if settings and prunes(context, m)]
    counts = dict.fromkeys(m.folds for m in pruned)
    shares = len(counts) > 1 or len(pruned) < len(demand)
    try:
        minima = {k: find_minimum(context, k, shares=shares, n_jobs=n_jobs) for k in counts}
        known = {m: one for m in pruned if (one := minima[m.folds]) is not None}
        rest = {m: settings for m, settings in demand.items() if m not in known}
        results = search_grid(context, rest, n_jobs) if rest else {}
    finally:
        context.factors.clear()
    return results | {(m, s): one.found for m, one in known.items() for s in demand[m]}


def prunes(context: TrainingContext, method: Method) -> bool:
    """Return whether the bounds serve a method here: ridges to select, whole kernels, one target of a hinge."""
    return (
        bounds_hold(context.learner, method)
        and context.ridges.mode == "select"
        and (len(context.targets) == 1 or context.learner.name in SQUARED)
        and context.columns is None
        and method.folds is not None
        and isinstance(context.folds(method.folds), Folds)
    )


def bounds_hold(learner: Choice, method: Method) -> bool:
    """Return whether the bounds hold for a method: an exact k-CV with the loss of the learner."""
    params = dict(method.params)
    return (
        method.criterion in EXACT.get(learner.name, ())
        and not method.scored_by
        and params["loss"] == PRUNED_LOSSES.get(learner.name)  # type: ignore[call-overload]
        and params["average"] == "points"
    )


def keeps_few_matrices(learner: str, n: int) -> bool:
    """Return whether a search by bounds never has more than three n by n matrices, the distances among them."""
    return learner in SQUARED and pruned_gradients.keeps_few_matrices(n)


def find_minimum(
    context: TrainingContext,
    k: int | None,
    *,
    slack: float = 0.0,
    n_jobs: int = 1,
    watch: Watch = lambda done, total: None,
    shares: bool = False,
    start: int | None = None,
    most: int | None = None,
) -> Minimum | None:
    """Return the best grid point of exact k-fold cross-validation with its fit; None if a candidate failed.

    Everything within a factor of ``1 + slack`` of the best keeps its exact score, or only the ``most`` best. The
    score of the choice comes from its own path, or from training without each of its folds if there are many rows,
    so that it does not depend on the number of threads. A search that ``shares`` the context with others keeps the
    factors of its kernels for them. The kernels are tried outward from ``start`` (default: the most promising one),
    until ``watch`` ends the search.
    """
    assert k is not None
    folds = context.partition(k)
    keep_freed_memory()
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            fitted = cache(partial(FittedPair.at, context))

            def fit_ahead(kernel: int, ridge: int) -> None:
                """Fit a pair that is likely to be chosen."""
                found = fitted(kernel, ridge)
                if context.learner.name not in SQUARED:
                    found.held_out(folds)

            chosen = select_minimum(
                context, folds, slack, n_jobs, watch, shares, start, fit_ahead, most
            )
            if chosen.excluded:
                return None
            point = GridPoint(context.kernels[chosen.kernel], context.lams[chosen.ridge])
            final = fitted(chosen.kernel, chosen.ridge)
            near = predictions_near(context, folds, chosen)
            held = near.pop(point, None)
            if held is None:
                held = final.held_out(folds)
            loss = LOSSES[PRUNED_LOSSES[context.learner.name]]  # type: ignore[index]
            scores = np.full((len(context.kernels), len(context.lams)), np.nan)
            for pair, total in chosen.totals.items():
                scores[pair] = total / context.n
            values = zip(context.targets, held, strict=True)
            score = float(np.mean([mean_loss(loss(y, f), context.weights) for y, f in values]))
            scores[chosen.kernel, chosen.ridge] = score
            best = BestPoint(point, score, final.fits)
            return Minimum(best, chosen.work, scores, held, near, chosen.seen)
    except NUMERICAL:
        return None


@dataclass(frozen=True, eq=False)
class FittedPair:
    """One candidate: the path and the fit of each target."""

    paths: tuple[Path, ...]
    fits: tuple[Fit, ...]

    @classmethod
    def at(cls, context: TrainingContext, kernel: int, ridge: int) -> FittedPair:
        """Fit a candidate to all rows."""
        problem = context.problem(context.kernels[kernel], np.array([context.lams[ridge]]))
        learner, params = LEARNERS[context.learner.name], dict(context.learner.params)
        each = range(len(context.targets))
        paths = [learner.path(problem.of_target(t, problem.lams), **params) for t in each]
        return cls(tuple(paths), tuple(path.fit() for path in paths))

    def held_out(self, folds: Folds) -> Array:
        """Return the held-out predictions (q, n); the paths keep them."""
        return np.array([path.held_out(folds)[0] for path in self.paths])


def predictions_near(
    context: TrainingContext, folds: Folds, chosen: Pruned
) -> dict[GridPoint, Array]:
    """Return the held-out predictions (q, n) that the search has formed, in the order of the rows.

    Those that are so small that only a path gives their signs are left out, unless there are many rows.
    """
    order, few = order_of(folds), keeps_few_matrices(context.learner.name, context.n)
    found = {}
    for (kernel, ridge), values in chosen.held.items():
        size = np.abs(values)
        if not few and size.min() <= TINY * size.max():
            continue
        held = np.empty_like(values)
        held[:, order] = values
        found[GridPoint(context.kernels[kernel], context.lams[ridge])] = held
    return found


def select_minimum(
    context: TrainingContext,
    folds: Folds,
    slack: float = 0.0,
    n_jobs: int = 1,
    watch: Watch = lambda done, total: None,
    shares: bool = False,
    start: int | None = None,
    ahead: Ahead | None = None,
    most: int | None = None,
) -> Pruned:
    """Sort the rows by fold, and select from the kernels outward from the most promising one."""
    learner: PrunedLearner = context.learner.name  # type: ignore[assignment]
    order = order_of(folds)
    X = context.X[order]
    points = Points(X[:, order] if any(k.pairwise for k in context.kernels) else X)
    del X
    if keeps_few_matrices(learner, context.n):
        grams = [partial(gram_alone, points, kernel) for kernel in context.kernels]
    else:
        warm(points, context.kernels)
        grams = [partial(kernel.gram, points) for kernel in context.kernels]
    factors = [partial(factor_of, context, kernel, order) for kernel in context.kernels]
    roots = None if context.weights is None else context.weights.roots[order]
    return select_exactly(
        grams,
        context.targets[:, order],
        np.array(context.lams),
        Folds.from_numbers(folds.numbers[order]),
        learner,
        ridge=context.ridge,
        start=most_promising(context.kernels, points) if start is None else start,
        factors=factors if shares and roots is None else None,
        roots=roots,
        unproven={i: k.name for i, k in enumerate(context.kernels) if not k.semidefinite},
        slack=slack,
        most=most,
        n_jobs=n_jobs,
        watch=watch,
        ahead=ahead,
        **dict(context.learner.params),
    )


def gram_alone(points: Points, kernel: Kernel) -> Array:
    """Return the matrix of a kernel; the points keep nothing that only kernels of other metrics use."""
    points.keep_only(kernel.metric)
    return kernel.gram(points)


def factor_of(context: TrainingContext, kernel: Kernel, order: Index) -> Factor:
    """Return the factor of a kernel matrix with reordered rows; cache the factor while there is room."""
    factor = context.factors.get(kernel)
    if factor is None:
        factor = factorise(kernel.gram(context.points))
        if (len(context.factors) + 1) * 8 * context.n**2 <= ROOM:
            context.factors[kernel] = factor
    return factor.reordered(order)


def most_promising(kernels: Sequence[Kernel], points: Points) -> int:
    """Return the position of the Gaussian width nearest, in logs, to half the median squared distance.

    For other kernels, or if all rows are equal, this is the middle of the grid.
    """
    taus = [kernel.tau for kernel in kernels if isinstance(kernel, Gaussian)]
    if len(taus) == len(kernels):
        points.keep_only(kernels[0].metric)  # every kernel of the search uses these distances
        some = slice(None, None, -(-len(points.X) // SAMPLED))  # of all folds
        distances = points.distances.squared[some, some]
        median = float(np.median(distances[np.triu_indices(len(distances), 1)])) / 2.0
        if median > 0:
            return int(np.argmin(np.abs(np.log(np.asarray(taus)) - np.log(median))))
    return len(kernels) // 2


def select_exactly(
    grams: Sequence[Callable[[], Array]],
    targets: Array,
    lams: Array,
    folds: Folds,
    learner: PrunedLearner,
    *,
    ridge: RidgeMode = "per-fold",
    roots: Array | None = None,
    h: float = 0.05,
    start: int | None = None,
    factors: Sequence[Callable[[], Factor]] | None = None,
    unproven: Mapping[int, str] = MappingProxyType({}),
    slack: float = 0.0,
    most: int | None = None,
    n_jobs: int = 1,
    watch: Watch = lambda done, total: None,
    ahead: Ahead | None = None,
) -> Pruned:
    """Return the kernel and ridge of the lowest k-fold error: hinge loss (smooth-hinge) or squared loss.

    ``targets`` is one target (n,), or several (q, n) with the squared loss, whose errors are averaged. ``roots``
    are the roots of the rows' weights, of mean 1.
    ``grams[i]()`` is the i-th kernel matrix; it is not copied if its rows are already in fold order. The kernels
    are tried outward from ``start`` (default: the middle one); a good kernel early on drops more of the others.
    ``factors`` give the kernels' factors in fold order if other searches need them too (square loss only).
    With several threads, ``ahead(kernel, ridge)`` is called with the best pair so far before the last kernels: what
    follows the search is then done while a thread would wait. ``unproven`` names kernels that may not be positive
    semidefinite; these are tested if there are many rows.
    """
    if learner == "smooth-hinge" and not np.isin(targets, (-1.0, 1.0)).all():
        raise ConfigError("smooth-hinge is for two classes, labelled -1 and +1")
    lams = np.asarray(lams, dtype=np.float64)
    bias, squared = learner == "lssvm", learner in SQUARED
    grid = FoldedGrid.of(targets, lams, folds, ridge, bias=bias, roots=roots, scaled=squared)
    ordered = [partial(in_fold_order, gram, folds, roots if squared else None) for gram in grams]
    best = BestPair(grid, slack, most)

    def way_of(kernel: int) -> Way:
        """Return how the ridges of a kernel are judged."""
        if learner == "smooth-hinge":
            return partial(pruned_hinge.judge, h=h)
        known = factors and factors[kernel]

        def make(blocks: bool, K: Array) -> Factor:
            return known() if known else factorise(K, blocks=blocks)

        return partial(pruned_square.judge, make=make)

    def visit(kernel: int) -> None:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            best.add(kernel, ordered[kernel], way_of(kernel))

    every = outward(len(grams) // 2 if start is None else start, len(grams))
    if squared and factors is None and pruned_gradients.serves(grid):
        return pruned_gradients.search(ordered, every, best, unproven, n_jobs, watch, ahead)
    tasks = [partial(visit, kernel) for kernel in every]
    done = 0
    for done, _ in enumerate(in_threads(tasks, n_jobs, partial(best.look_ahead, ahead)), 1):
        if watch(done, len(every)):
            break
    return replace(best.found(), seen=done)


def outward(start: int, count: int) -> list[int]:
    """Return the positions outward from a start: 3 of 6 gives 3, 2, 4, 1, 5, 0."""
    return sorted(range(count), key=lambda i: abs(i - start))


def in_fold_order(gram: Callable[[], Array], folds: Folds, roots: Array | None = None) -> Array:
    """Return the kernel matrix with its rows and columns sorted by fold, scaled by the roots of weights."""
    order, K = order_of(folds), gram()
    if roots is not None:
        K = K * roots
        K *= roots[:, None]
    if (np.diff(order) == 1).all():
        return K
    return K.take(order, 0).take(order, 1)
