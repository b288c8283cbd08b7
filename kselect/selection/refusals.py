"""What a selection refuses before its first matrix is computed: terms that contradict, too little memory."""

from __future__ import annotations

import numpy as np

from kselect.criteria import CRITERIA
from kselect.errors import ConfigError, DataError
from kselect.grids import LARGEST_SEARCH
from kselect.learners import LEARNERS
from kselect.learners.base import Series
from kselect.learners.blocks import RowBlocks
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.memory import available_memory, gib
from kselect.numerics.splits import Splits
from kselect.search.pruned import bounds_hold, keeps_few_matrices
from kselect.selection.columns import features_serve
from kselect.selection.request import Request

# The kernel, its factor and LAPACK's workspace, in n-by-n matrices of doubles.
MATRICES_PER_WORKER = 6
# A search of many rows by bounds has one kernel and the factor of a fold.
FEW_MATRICES = 2
# With Nystrom columns, matrices of c rows and columns, and numbers per row. A series of cross-validation keeps
# matrices of n rows and c columns as well.
COLUMNS_PER_WORKER = 4
SQUARES, SQUARES_PER_WORKER = 20, 10
ROWS_KEPT = 40


def check(request: Request, X: Array | RowBlocks, folds: Folds | Splits | None) -> None:
    """Refuse a request that cannot work, before the first matrix is computed."""
    n = len(X)
    candidates = len(request.kernels) * len(request.lams)
    if candidates > LARGEST_SEARCH:
        raise ConfigError(
            f"{candidates} candidates (kernels times ridges) are too many: {LARGEST_SEARCH} at most"
        )
    if request.time_limit is not None and request.nystrom is not None:
        raise ConfigError(
            "one pass over the rows serves all kernels: leave out time limit or nystrom"
        )
    criterion, learner = CRITERIA[request.method.criterion], LEARNERS[request.learner.name]
    columns = request.nystrom is not None
    if columns and learner.low_rank is None:
        raise ConfigError(f"the learner {learner.name} does not work with Nystrom columns")
    names = [k.name for k in request.kernels]
    given = request.method.label, learner, names, columns, request.weights is not None
    for words in criterion.misfits(*given):
        raise ConfigError(words)
    if isinstance(folds, Splits) and not folds.rounds and not criterion.refits:
        raise ConfigError(f"{request.method.label} needs folds that partition the rows")
    if isinstance(folds, Splits) and not folds.rounds and columns:
        raise ConfigError("splits that do not partition the rows do not work on Nystrom columns")
    if request.method.search and isinstance(folds, Splits):
        words = "a kernel whose parameters are learned takes no repeated or partial folds"
        raise ConfigError(words)
    if folds is not None and folds.n != n:
        raise DataError(f"the folds are for {folds.n} rows, but the data has {n}")
    if not isinstance(X, np.ndarray):
        return  # the rows lie elsewhere
    known = request.nystrom or (1 if features_serve(X, request) else None)
    by_bounds = request.search != "grid" and bounds_hold(request.learner, request.method)
    by_bounds = by_bounds and keeps_few_matrices(request.learner.name, n)
    by_bounds = by_bounds and isinstance(folds, Folds)
    few = by_bounds and request.method.search is None
    metrics = 1 if few else len({kernel.metric for kernel in request.kernels})
    parts = len(request.kernels) if request.method.search else 0
    series = criterion.need is Series
    check_memory(n, request.n_jobs, known, series, few=few, metrics=metrics, parts=parts)


def check_memory(
    n: int,
    n_jobs: int,
    columns: int | None,
    series: bool = False,
    *,
    few: bool = False,
    metrics: int = 1,
    parts: int = 0,
) -> None:
    """Refuse n rows whose matrices would not fit into memory, before allocating them.

    A search by bounds keeps ``few`` matrices if there are many rows. ``metrics`` is the number of matrices of
    distances, ``parts`` that of the kernels of a sum, each of which keeps its matrix.
    """
    if columns is None:
        each = FEW_MATRICES if few else MATRICES_PER_WORKER * n_jobs
        needed = 8 * n**2 * (metrics + each + parts)
        what = "n-by-n matrices"
        advice = "approximate the kernel by c columns: --nystrom 500 (nystrom=500)"
    else:
        needed = 8 * (n * ROWS_KEPT + columns**2 * (SQUARES + SQUARES_PER_WORKER * n_jobs))
        if series:
            needed += 8 * n * columns * COLUMNS_PER_WORKER * n_jobs
        what = f"matrices of {columns} columns"
        advice = "take fewer columns (--nystrom) or workers (-j)"
    free = available_memory()
    if needed > free:
        raise DataError(
            f"{n} rows need {gib(needed)} of memory for {what} with {n_jobs} worker(s); "
            f"{gib(free)} are free; {advice}"
        )
