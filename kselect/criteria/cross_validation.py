"""k-fold cross-validation (k-CV), and its sum with kernel stability (k-KS, BIF-k-KS of ecml2014 and tcyb2018)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kselect.criteria.base import Aggregation, criterion, fold_error
from kselect.criteria.bif import bouligand_cross_validation, guards
from kselect.kernels.nystrom import draw_landmarks, project
from kselect.learners.base import HeldOutSquares, Path, Problem, Series
from kselect.learners.problem import Matrix
from kselect.learners.refits import held_out
from kselect.numerics.folds import Folds, stream
from kselect.numerics.linalg import Array
from kselect.numerics.losses import Loss
from kselect.numerics.splits import Splits

Estimate = Literal["exact", "nystrom", "projection"]


@criterion("k-CV", paper="all five papers", weighted=True, refits=True)
def cross_validation(
    path: Path, folds: Folds | Splits, *, loss: Loss = "squared", average: Aggregation = "points"
) -> Array:
    r"""Exact k-fold cross-validation error: the mean loss of the held-out predictions.

    ``average: points`` is (1/n) sum_i V(y_i, f_{-F(i)}(x_i)) (icml2014, ijcai2018); ``folds`` is the mean of the
    folds' means (ecml2014, tcyb2018). The two differ only if the folds differ in size. With weights of the rows,
    all means are weighted.
    """
    if loss == "squared" and isinstance(path, HeldOutSquares) and isinstance(folds, Folds):
        sums = path.held_out_squares(folds)
        weights = path.problem.weights
        sizes = np.array(
            [len(F) if weights is None else weights.values[F].sum() for F in folds.members]
        )
        means = sums / sizes if average == "folds" else sums * (len(sizes) / folds.n)
        return np.asarray(means.mean(axis=-1))
    return fold_error(path, held_out(path, folds), folds, loss, average)


def stability(problem: Problem, estimate: Estimate = "exact", c: float = 1.0) -> float:
    r"""Return ``max_i ||K - K^i||_2``, where K^i is K with row and column i set to zero, computed once.

    The difference has rank two. Its norm is the closed form of ecml2014, Theorem 4:
    ``(K_ii + sqrt(K_ii^2 + 4 sum_{j != i} K_ij^2)) / 2``. Oracle: the largest singular value. The diagonal is
    exact, but the row norms may be estimated:

    ``exact`` costs O(n^2), or O(n c^2) for the c columns that approximate K.
    ``nystrom`` takes the row norms of a Nystrom factor of m = ``c n`` columns, ``diag(V V^T V V^T)``, in O(n m^2).
    ``projection`` takes the row norms of K times m random columns, ``||(K R)_i||^2`` with ``E R R^T = I``; it is
    unbiased and costs O(n^2 m), or O(n m r) on Nystrom columns. The same columns are drawn every time.
    """
    known, key, matrix = problem.of_kernel, ("stability", estimate, c), problem.matrix
    if key not in known:
        exact, diagonal = estimate == "exact", matrix.diagonal
        squares = matrix.row_squares() if exact else row_squares(matrix, estimate, c)
        others = np.maximum(squares - diagonal**2, 0.0)
        known[key] = float(np.max(diagonal + np.sqrt(diagonal**2 + 4.0 * others)) / 2.0)
    return float(known[key])


def row_squares(matrix: Matrix, estimate: Estimate, c: float) -> Array:
    """Estimate ``sum_j K_ij^2``, as ``stability`` says."""
    n = len(matrix.diagonal)
    count, rng = min(n, max(1, round(c * n))), stream(0, "row norms", n)
    if estimate == "projection":
        R = rng.normal(size=(n, count)) / np.sqrt(count)
        return np.asarray(np.square(matrix.times(R)).sum(axis=1))
    landmarks = draw_landmarks(n, count, rng)
    V = project(matrix.at(landmarks), landmarks).V
    return np.asarray(np.einsum("ij,ij->i", V @ (V.T @ V), V))


@criterion("k-CVKS", paper="tcyb2018; the same as k-KS of ecml2014", refits=True)
@criterion("k-KS", paper="ecml2014, section 5; tcyb2018 calls it k-CVKS", refits=True)
def kernel_stability(
    path: Path,
    folds: Folds | Splits,
    *,
    eta: float = 1.0,
    loss: Loss = "squared",
    average: Aggregation = "folds",
) -> Array:
    r"""k-fold cross-validation error plus (eta / n) max_i ||K - K^i||_2."""
    penalty = eta / path.problem.n * stability(path.problem)
    return cross_validation(path, folds, loss=loss, average=average) + penalty


@criterion("BIF-k-KS", paper="ecml2014, Remark 2; tcyb2018, Remark 9", guards=guards)
def series_kernel_stability(
    path: Series,
    folds: Folds,
    *,
    eta: float = 1.0,
    order: int = 3,
    identity: float = 0.1,
    cap: float = np.inf,
    estimate: Estimate = "exact",
    c: float = 0.1,
    loss: Loss = "squared",
    average: Aggregation = "folds",
) -> Array:
    r"""k-KS with BIF-k-CV instead of k-CV, and max_i ||K - K^i||_2 from all of K or estimated.

    ``estimate`` says where the row norms of K come from: all of K, ``c n`` columns of a Nystrom factor, or a random
    projection to ``c n`` columns. On Nystrom columns (``select --nystrom``) K is the product of these columns.
    """
    series = bouligand_cross_validation(
        path, folds, order=order, identity=identity, cap=cap, loss=loss, average=average
    )
    return series + eta / path.problem.n * stability(path.problem, estimate, c)
