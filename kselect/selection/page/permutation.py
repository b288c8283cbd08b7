r"""The relevance of each column by permutation: how much worse the held-out predictions become without it.

For a held-out row i of split s, with the fit ``f_-s`` that has not seen the rows of s,

    drop_i = R_i(f_-s(x_i)) - mean over repeats of R_i(f_-s(x_i with column c of another held-out row of s)),

where R_i is 1 for a right class and 0 for a wrong one, or ``1 - (y_i - f)^2 / var(y)``. The relevance is the mean
over rows: the loss of accuracy or of R2 (Breiman 2001, with held-out rows in place of out-of-bag ones). The kernel,
the ridge, the scaling and the weights of features are those found on all rows; only the coefficients are fitted
without the held-out rows. They come from the fit on all rows in closed form for the square loss, and from
retraining for other learners. Cost: a kernel matrix of the held-out rows against all rows per column and repeat.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from kselect.errors import ConfigError
from kselect.kernels import Kernel, Points
from kselect.kernels.relevances import relevances
from kselect.learners import LEARNERS, Fit
from kselect.learners.base import WithoutFolds
from kselect.numerics.folds import Folds, stream
from kselect.numerics.linalg import Array, Index
from kselect.numerics.splits import Splits, tested_rows, weights_of
from kselect.numerics.weights import mean_loss
from kselect.search.training_context import TrainingContext
from kselect.selection.columns import passes_for_choice
from kselect.selection.common_scale import scaled_fits
from kselect.selection.held_out import HeldOut, row_qualities, variance_of

REPEATS = 5
# Columns beyond these are not permuted: those that predict the target worst on their own.
MOST_COLUMNS = 60
# Entries of kernel matrices, times features: some twenty seconds. Fewer rows are permuted beyond that, but not
# fewer than LEAST.
WORK, LEAST = 1e10, 200


@dataclass(frozen=True, eq=False)
class PermutedColumns:
    """The relevance ``drops`` of some columns with their standard errors over rows, the largest first.

    ``columns`` are numbers of the table's columns. ``rows`` of the ``tested`` held-out predictions were permuted,
    ``repeats`` times. ``left_out`` columns were not looked at.
    """

    columns: Index
    drops: Array
    errors: Array
    rows: int
    tested: int
    repeats: int
    left_out: int


def permuted_columns(held_out: HeldOut, of_feature: Index) -> PermutedColumns:
    """Return the relevances of the columns; ``of_feature`` has the number of each feature's column."""
    X, folds = held_out.X, held_out.folds
    if not isinstance(X, np.ndarray):
        raise ConfigError("relevances by permutation need the rows in memory")
    selection = held_out.selection
    task, weights = selection.request.task, selection.request.weights
    columns = considered(X, held_out.targets, of_feature)
    members = [(one.point.kernel, one.point.lam) for one in selection.members]
    support = X if selection.support is None else selection.support
    rows = np.arange(len(X))[tested_rows(folds)]
    repeats, count = effort(len(rows), len(support), X.shape[1], len(columns) * len(members))
    draw = stream(selection.request.seed, "permutation")
    chosen = np.sort(draw.permutation(len(rows))[:count])
    truth, reported = held_out.targets[:, rows], weights_of(folds, weights and weights.reported)
    variance, own = variance_of(truth, reported), reported and reported.part(chosen)

    with threadpool_limits(1):
        context = held_out.context(folds)
        fits = [fits_without(context, held_out, kernel, lam) for kernel, lam in members]
        kernels = [kernel for kernel, _ in members]
        splits = [(s, at[np.isin(at, chosen)]) for s, at in enumerate(folds.members)]

        def scores(order: Index, features: Index) -> Array:
            """Return the score of each chosen row, with some features of the rows in another order."""
            values = np.empty((len(truth), len(rows)))
            for s, at in splits:
                if len(at):
                    new = X[rows[at]]
                    new[:, features] = X[rows[order[at]]][:, features]
                    values[:, at] = mean_decisions(kernels, [own[s] for own in fits], support, new)
            every = row_qualities(values[:, chosen], truth[:, chosen], task, variance)
            return np.asarray(every.mean(axis=0))

        base = scores(np.arange(len(rows)), np.arange(0))
        drops = np.zeros((len(columns), len(chosen)))
        for c, column in enumerate(columns):
            features = np.flatnonzero(of_feature == column)
            for _ in range(repeats):
                drops[c] += (base - scores(shuffled(len(rows), splits, draw), features)) / repeats
    means = mean_loss(drops, own)
    # A row that several splits test counts as one.
    distinct = len(np.unique(rows[chosen]))
    errors = np.sqrt(mean_loss(np.square(drops - means[:, None]), own) / max(1, distinct - 1))
    best = np.argsort(-means, kind="stable")
    left_out = len(np.unique(of_feature)) - len(columns)
    given = columns[best], means[best], errors[best], len(chosen), len(rows), repeats
    return PermutedColumns(*given, left_out)


def considered(X: Array, targets: Array, of_feature: Index) -> Index:
    """Return the columns to permute: all, or those that predict the target best on their own."""
    every = np.unique(of_feature)
    if len(every) <= MOST_COLUMNS:
        return every
    alone = np.array(relevances(X, targets, of_feature))
    each = np.array([alone[of_feature == column][0] for column in every])
    return np.sort(every[np.argsort(-each, kind="stable")[:MOST_COLUMNS]])


def effort(tested: int, support: int, features: int, matrices: int) -> tuple[int, int]:
    """Return the number of repeats, and of held-out rows, that keep the work within its limit."""
    each = support * features * matrices
    repeats = int(np.clip(WORK / max(1, each * tested), 1, REPEATS))
    return repeats, min(tested, max(LEAST, int(WORK / max(1, each * repeats))))


def shuffled(tested: int, splits: list[tuple[int, Index]], draw: np.random.Generator) -> Index:
    """Return the predictions in an order that is random within the chosen ones of each split."""
    order = np.arange(tested)
    for _, at in splits:
        order[at] = draw.permutation(at)
    return order


# --- fits without the held-out rows -----------------------------------------------------------------------


def mean_decisions(
    kernels: list[Kernel], fits: list[tuple[Fit, ...]], support: Array, X: Array
) -> Array:
    """Return the (q, rows) mean over kernels of the decision values; kernels of one metric share distances."""
    points = Points(X, support)
    total = np.zeros((len(fits[0]), len(X)))
    for kernel, own in zip(kernels, fits, strict=True):
        K = kernel.gram(points)
        total += np.stack([fit.decision(0, K) for fit in own])
    return total / len(kernels)


def fits_without(
    context: TrainingContext, held_out: HeldOut, kernel: Kernel, lam: float
) -> list[tuple[Fit, ...]]:
    """Return the fits (one per target, in its unit) without the rows of each split, at one kernel and ridge."""
    folds = held_out.folds
    if context.columns:
        columns = passes_for_choice(context.columns, held_out.selection.request, kernel, lam)
        context = replace(context, columns=columns)
    learner, params = LEARNERS[context.learner.name], dict(context.learner.params)
    lams, n = np.array([lam]), context.n
    problem = context.problem(kernel, lams)
    targets = range(len(context.targets))
    paths = [learner.path(problem.of_target(t, lams), **params) for t in targets]
    rounds = (folds,) if isinstance(folds, Folds) else folds.rounds
    if rounds and isinstance(paths[0], WithoutFolds):
        by_target = [
            [fit for one in rounds for fit in path.fold_fits(one)]
            for path in paths
            if isinstance(path, WithoutFolds)
        ]
        return [scaled_fits(each, context.units) for each in zip(*by_target, strict=True)]
    if context.columns:
        raise ConfigError(f"the learner {learner.name} has no fits without a fold on columns")
    found = []
    for train in training_rows(folds, n):
        part = paths[0].problem.part(train)
        fits = (learner.path(part.of_target(t, part.lams), **params).fit() for t in targets)
        spread = tuple(Fit(spread_out(fit.alpha, train, n), fit.bias) for fit in fits)
        found.append(scaled_fits(spread, context.units))
    return found


def training_rows(folds: Folds | Splits, n: int) -> list[Index]:
    """Return the rows that each split trains on."""
    if isinstance(folds, Splits):
        return [train for train, _ in folds.pairs]
    return [np.delete(np.arange(n), F) for F in folds.members]


def spread_out(alpha: Array, train: Index, n: int) -> Array:
    """Return coefficients of all rows: zero for rows that were not trained on."""
    found = np.zeros((len(alpha), n))
    found[:, train] = alpha
    return found
