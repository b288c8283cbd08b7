"""k-fold cross-validation by training k times for every grid point: what the papers compare with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kselect.kernels import Kernel
from kselect.numerics.linalg import Array
from kselect.timing.paper.base import Score, Task, algorithm
from kselect.timing.paper.system import train


def trained_without(K: Array, start: int, stop: int, gamma: float) -> Array:
    """``K + gamma I`` without the rows and columns start..stop, lower triangle, in Fortran order."""
    rest = len(K) - (stop - start)
    A = np.empty((rest, rest), order="F")
    A[:start, :start] = K[:start, :start]
    A[start:, :start] = K[stop:, :start]
    A[start:, start:] = K[stop:, stop:]
    A[np.diag_indices_from(A)] += gamma
    return A


def held_out(task: Task, K: Array) -> Callable[[float], Array]:
    r"""lam -> every row predicted by the model that is trained on the other folds' rows.

    The kernel is computed once for a width. Its rows are put in the order of the folds once, so that what is
    left without a fold are contiguous blocks: cheaper to copy than to gather for every ridge.
    """
    order = np.concatenate(task.folds.members)
    ends = np.cumsum([len(F) for F in task.folds.members]).tolist()
    bounds = list(zip([0, *ends[:-1]], ends, strict=True))
    ordered = np.asfortranarray(K[np.ix_(order, order)])
    y = task.y[order]

    def predict(lam: float) -> Array:
        out = np.empty(task.n)
        for start, stop in bounds:
            rows = task.n - (stop - start) if task.ridge == "per-fold" else task.n
            A = trained_without(ordered, start, stop, rows * lam)
            alpha, b = train(A, np.concatenate([y[:start], y[stop:]]), task.bias)
            before, after = ordered[:start, start:stop], ordered[stop:, start:stop]
            out[order[start:stop]] = alpha[:start] @ before + alpha[start:] @ after + b
        return out

    return predict


@algorithm("k-CV")
def cross_validation(task: Task, kernel: Kernel, K: Array) -> Score:
    r"""``k`` Cholesky solutions for every grid point, ``O(k n^3 / 3)``: the k-CV of all five papers' tables."""
    predict = held_out(task, K)
    return lambda lam: task.mean_loss(predict(lam))
