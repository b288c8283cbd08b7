"""Held-out predictions equal retraining as far as the condition number allows, on hard kernels, by every factor."""

from __future__ import annotations

from unittest import mock

import numpy as np
import oracles
from hypothesis import given
from hypothesis import strategies as st
from problems import numbered

from kselect.errors import TrialError
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear
from kselect.learners import LEARNERS, Problem
from kselect.learners.problem import RidgeMode
from kselect.learners.spectral import LOST
from kselect.numerics.linalg import EPS
from kselect.numerics.weights import Weights
from kselect.search.pruned_grid import FoldedGrid, order_of
from kselect.search.retraining import Retraining

# Near singular, near the identity, of low rank, and neither.
HARD: dict[str, Kernel] = {
    "near singular": Gaussian(1e4),
    "near the identity": Gaussian(0.02),
    "low rank": Linear(),
    "neither": Gaussian(1.0),
}


@given(
    st.sampled_from(sorted(HARD)),
    st.sampled_from(["krr", "lssvm"]),
    st.sampled_from(["fixed", "per-fold"]),
    st.lists(st.floats(-12.0, 3.0), min_size=1, max_size=6),
    st.sampled_from([1, 10**9]),
    st.sampled_from([0, 10**9]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_held_out_predictions_are_those_of_retraining(
    kind: str,
    learner: str,
    ridge: RidgeMode,
    powers: list[float],
    reduced: int,
    block: int,
    one_class: bool,
    weighted: bool,
    seed: int,
) -> None:
    """Ridges ``n lam`` from 1e-12 to 1e3, unequal folds, one class only; ridges that rounding hides are refused.

    Blocks and steps; weights of one class only, with the ridge and without the bias that the bound is for.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 25))
    X = rng.normal(size=(n, 2))
    y = np.ones(n) if one_class else rng.choice([-1.0, 1.0], size=n)
    folds = numbered(rng, n, int(rng.integers(2, n)), False)
    lams, kernel = 10.0 ** np.array(powers) / n, HARD[kind]
    weights = None
    if weighted:
        learner, ridge = "krr", "fixed"
        weights = Weights(np.where(y > 0, 1.0, rng.uniform(0.1, 9.0)))
    K, bias = kernel.gram(Points(X)), learner == "lssvm"
    problem = Problem(X, y, kernel, K, lams, ridge, weights=weights)
    r = np.ones(n) if weights is None else weights.roots
    K, y = K * np.outer(r, r), y * r
    with (
        mock.patch("kselect.learners.tridiagonal.REDUCED", reduced),
        mock.patch("kselect.learners.large_ridges.BLOCK", block),
        mock.patch("kselect.learners.large_ridges.COMPILED", 0),
    ):
        try:
            found = LEARNERS[learner].path(problem).held_out(folds) * r
        except TrialError:
            assert EPS * n * np.linalg.norm(K, 2) / (0.5 * n * lams.min()) > LOST
            return
    order = order_of(folds)
    grid = FoldedGrid.of(y, lams, folds, ridge, bias=bias)
    fits = Retraining(K[np.ix_(order, order)], grid)
    for at, (row, lam) in enumerate(zip(found, lams.tolist(), strict=True)):
        arguments = (K, y, folds.members, lam, bias, ridge == "per-fold")
        right, allowed = oracles.held_out(*arguments), oracles.held_out_bound(*arguments)
        assert (np.abs(row - right) <= allowed).all()
        if one_class and bias:
            assert (np.abs(row - 1.0) <= allowed).all()
        if allowed.max() < 1e-6:  # the exact losses of the search by bounds
            losses = [fits.loss(at, fold) for fold in range(len(folds.members))]
            for F, loss in zip(folds.members, losses, strict=True):
                size = float(np.abs(y[F] - right[F]).sum() + 1.0)
                assert (
                    abs(loss - np.square(y[F] - right[F]).sum())
                    <= 4 * len(F) * size * allowed.max() + 1e-12
                )
