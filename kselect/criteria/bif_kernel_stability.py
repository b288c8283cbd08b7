"""Kernel stability for large samples: the series in the place of cross-validation, estimated row norms in K's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kselect.criteria.base import Aggregation, criterion
from kselect.criteria.bif import bouligand_cross_validation, guards
from kselect.criteria.kernel_stability import largest_change, stability
from kselect.kernels.nystrom import draw_landmarks, project
from kselect.learners.base import Problem, Series
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.losses import Loss
from kselect.numerics.streams import stream

Estimate = Literal["exact", "nystrom", "projection"]


@dataclass(frozen=True)
class Estimated:
    """``beta`` from estimated row norms.

    By m = ``c n`` columns: of a Nystrom factor, ``diag(V V^T V V^T)``, O(n m^2); or of a random projection,
    ``||(K R)_i||^2`` with ``E R R^T = I``, without bias, O(n^2 m), on Nystrom columns O(n m r). The diagonal is
    exact; the columns are always the same.
    """

    kind: Estimate
    c: float

    def __call__(self, problem: Problem) -> float:
        """For ``problem.once``."""
        n = problem.n
        count, rng = min(n, max(1, round(self.c * n))), stream(0, "row norms", n)
        if self.kind == "projection":
            R = rng.normal(size=(n, count)) / np.sqrt(count)
            squares = np.square(problem.matrix.times(R)).sum(axis=1)
        else:
            landmarks = draw_landmarks(n, count, rng)
            V = project(problem.matrix.at(landmarks), landmarks).V
            squares = np.einsum("ij,ij->i", V @ (V.T @ V), V)
        return largest_change(problem.diagonal(), squares)


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
    r"""k-KS with BIF-k-CV in the place of k-CV, and max_i ||K - K^i||_2 by all of K or an estimate.

    ``estimate``: from all rows of K, or from the row norms of ``c n`` columns of a Nystrom factor or of a random
    projection. On Nystrom columns (``select --nystrom``) K is their product.
    """
    series = bouligand_cross_validation(
        path, folds, order=order, identity=identity, cap=cap, loss=loss, average=average
    )
    compute = stability if estimate == "exact" else Estimated(estimate, c)
    return series + eta / path.problem.n * path.problem.once(compute)
