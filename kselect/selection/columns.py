"""The features that stand for a kernel matrix: Nystrom columns, or the monomials of a simple kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, get_args

import numpy as np

from kselect.criteria import CRITERIA
from kselect.errors import ConfigError
from kselect.kernels import Kernel, Points
from kselect.kernels.columns import FeatureMap, column_features, monomials
from kselect.kernels.nystrom import draw_landmarks
from kselect.learners import LEARNERS, Path
from kselect.learners.base import HatMatrix, LeaveOneOut
from kselect.learners.blocks import MemoryRows, RowBlocks
from kselect.learners.streamed import ColumnPasses
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array, Index
from kselect.numerics.weights import Weights
from kselect.selection.request import Request

Columns = Literal["uniform", "rpcholesky"]
COLUMNS: tuple[Columns, ...] = get_args(Columns)
USUAL_COLUMNS: Columns = "uniform"
# RPCholesky looks at this many random rows per column, and at no fewer than the second number.
ROWS_PER_COLUMN, FEWEST_ROWS = 20, 5000
# Columns that RPCholesky samples at once.
SAMPLED_AT_ONCE = 32
# What is left of the diagonal, as a share, below which the columns span all rows.
SPANNED = 1e-12
# The exact features of a kernel must be fewer than this share of the rows.
SHARE_OF_ROWS = 0.5
# Features are formed for a lam as small as this, so that they rarely depend on the grid.
USUAL = 1e-7


def passes_of(
    X: Array | RowBlocks, targets: Array, request: Request, weights: Weights | None = None
) -> ColumnPasses | None:
    """Return the passes over the rows for Nystrom columns or exact features; None for whole kernel matrices."""
    rows = MemoryRows(X, request.n_jobs) if isinstance(X, np.ndarray) else X
    make: Callable[[Kernel], FeatureMap]
    if request.nystrom is not None:
        support = landmark_rows(rows, request)
        make = partial(column_features, support=support, smallest=min(USUAL, *request.lams))
    elif exact := exact_features(rows, request):
        make = exact.__getitem__
    else:
        return None
    return ColumnPasses(rows, make, request.kernels, targets, weights=weights)


def passes_for_choice(
    passes: ColumnPasses, request: Request, kernel: Kernel, lam: float
) -> ColumnPasses:
    """Return the passes for one candidate, whose bits then do not depend on the smallest lam of the grid."""
    if request.nystrom is None or min(request.lams) >= USUAL:
        return passes
    known = passes.features(kernel)
    make = partial(column_features, support=known.support, smallest=min(USUAL, lam))
    given = passes.rows, make, (kernel,), passes.y, passes.folds
    return ColumnPasses(*given, weights=passes.weights)


def exact_features(rows: RowBlocks, request: Request) -> dict[Kernel, FeatureMap] | None:
    """Return the features of kernels that have few of them, if learner and criterion can work with features."""
    if request.method.search:  # the search of a learned kernel needs its matrices
        return None
    need = CRITERIA[request.method.criterion].need
    if LEARNERS[request.learner.name].low_rank is None or need not in (
        Path,
        LeaveOneOut,
        HatMatrix,
    ):
        return None
    if len({type(kernel) for kernel in request.kernels}) > 1:
        return None  # the fits of an average have the same support
    found: dict[Kernel, FeatureMap] = {}
    for kernel in request.kernels:
        features = monomials(kernel, rows.width)
        if features is None or features.size > SHARE_OF_ROWS * rows.n:
            return None
        found[kernel] = features
    return found or None


def features_serve(X: Array, request: Request) -> bool:
    """Return whether the exact features of the kernels replace their matrices."""
    return request.nystrom is None and exact_features(MemoryRows(X), request) is not None


def landmark_rows(rows: RowBlocks, request: Request) -> Array:
    """Return the rows whose columns approximate every kernel matrix of the request."""
    assert request.nystrom is not None
    uniform = draw_landmarks(rows.n, request.nystrom, stream(request.seed, "landmarks"))
    if request.columns == "uniform" or request.nystrom == rows.n:
        return rows.gather(uniform)
    count = min(rows.n, max(ROWS_PER_COLUMN * request.nystrom, FEWEST_ROWS))
    rng = stream(request.seed, "rpcholesky")
    some = rows.gather(draw_landmarks(rows.n, count, rng))
    kernel = request.kernels[len(request.kernels) // 2]
    return some[rpcholesky(kernel, some, request.nystrom, rng)]


def rpcholesky(kernel: Kernel, X: Array, c: int, rng: np.random.Generator) -> Index:
    r"""Return c rows drawn in proportion to what earlier ones leave of the kernel's diagonal, in ascending order.

    Randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber 2022), some columns at a time: of the rows drawn
    together, each is kept with the share that the others leave of it. It computes (c + 1) n entries of the kernel,
    and few more. Once nothing is left, the remaining rows are drawn uniformly.
    """
    n = len(X)
    # The diagonal costs n entries; a kernel is only defined between sets of rows.
    left = np.array([float(kernel.gram(Points(X[[i]]))[0, 0]) for i in range(n)])
    whole, F = float(left.sum()), np.zeros((0, n))
    chosen: list[int] = []
    while len(chosen) < c and left.sum() > SPANNED * whole:
        drawn = np.unique(rng.choice(n, size=SAMPLED_AT_ONCE, p=left / left.sum()))
        drawn = rng.permutation(drawn[left[drawn] > 0])
        kept = accepted(kernel, X, F, left, drawn, rng)[: c - len(chosen)]
        G = kernel.gram(Points(X[kept], X)) - F[:, kept].T @ F
        L = np.linalg.cholesky(G[:, kept] + SPANNED * np.diag(left[kept]))
        new = np.linalg.solve(L, G)
        F = np.concatenate([F, new])
        left = np.maximum(left - np.square(new).sum(axis=0), 0.0)
        left[kept] = 0.0
        chosen += kept.tolist()
    if len(chosen) < c:
        rest = np.setdiff1d(np.arange(n), chosen)
        chosen += rng.choice(rest, size=c - len(chosen), replace=False).tolist()
    return np.sort(np.array(chosen, dtype=np.intp))


def accepted(
    kernel: Kernel, X: Array, F: Array, left: Array, drawn: Index, rng: np.random.Generator
) -> Index:
    """Return the drawn rows that rejection sampling keeps, by the share that the rows before leave of each."""
    H = kernel.gram(Points(X[drawn])) - F[:, drawn].T @ F[:, drawn]
    kept = []
    for i, row in enumerate(drawn.tolist()):
        if rng.random() * left[row] < H[i, i]:
            kept.append(row)
            column = H[:, i] / np.sqrt(H[i, i])
            H -= np.outer(column, column)
    return np.array(kept, dtype=np.intp)


def check_columns(name: str) -> None:
    """Refuse an unknown way to choose columns."""
    if name not in COLUMNS:
        raise ConfigError(f"columns: {name!r}; valid: {', '.join(COLUMNS)}")
