"""Weights of rows for kernels that are learned: equal to repeated rows, and to weighted retraining."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import oracles_weights
import pytest
from oracles_flkl import gradient
from problems import best_in
from problems_flkl import rows

from kselect.core.grid_point import BestPoint
from kselect.core.method import SELECTED, Choice, LamGrid, Method
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear
from kselect.kernels.sums import WeightedMatrices
from kselect.learners.lssvm_errors import LSSVMSolution
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.weights import Weights
from kselect.search.continuous import (
    SEARCHES,
    Solution,
    Unit,
    search_continuously,
    weighed,
)
from kselect.search.descent import Objective, error_function
from kselect.search.flkl import OuterProblem
from kselect.search.training_context import TrainingContext

N, D = 40, 3
COUNTS = np.random.default_rng(4).integers(1, 5, N)
AGAIN = np.repeat(np.arange(N), COUNTS)
FOLDS = Folds.from_numbers(np.arange(N) * 7 % 4)
PARTS: tuple[Kernel, ...] = (Gaussian(1.0), Gaussian(8.0), Linear())
SPEC = "sum:gaussian(tau=1,8),linear"


def table() -> tuple[Array, Array]:
    """Return rows with a target that depends on two features, and a second target."""
    X, y = rows(N, D)
    noise = np.random.default_rng(6).normal(size=(2, N))
    return X, np.stack([y, X[:, 1] - np.cos(X[:, 0])]) + 0.3 * noise


def context(again: Index, weights: Array | None, targets: int = 1) -> TrainingContext:
    """Return a training context of these rows, the copies of a row in one fold."""
    X, Y = table()
    folds = Folds.from_numbers(FOLDS.numbers[again])
    return TrainingContext(
        X=X[again],
        targets=Y[:targets, again],
        task="regression",
        kernels=PARTS,
        ridges=LamGrid(tuple(10.0 ** np.arange(-4.0, 2.0)), "select"),
        learner=Choice("lssvm"),
        ridge="fixed",
        given_folds=lambda _: folds,
        stream=lambda *_: np.random.default_rng(0),
        weights=Weights.of(weights),
    )


def method(search: str, kernel: str, criterion: str = "k-CV", average: str = "points") -> Method:
    own = (("average", average), ("loss", "squared"))
    params: Any = own if criterion == "k-CV" else (("form", "press"),)
    choice = Choice(search, tuple(sorted(SEARCHES[search].defaults.items())))
    return Method(
        criterion,
        criterion,
        4 if criterion == "k-CV" else None,
        params,
        search=choice,
        kernel=kernel,
    )


def find(at: TrainingContext, one: Method) -> BestPoint:
    return best_in(search_continuously(at, {one: (SELECTED,)}), one)


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("by_folds", [True, False])
@pytest.mark.parametrize(("ard", "absolute"), [(False, False), (True, False), (True, True)])
def test_objective_and_gradient_equal_those_of_repeated_rows(
    ard: bool, absolute: bool, by_folds: bool, q: int
) -> None:
    """A row of weight 3 in a search counts as three rows in one fold; the gradient is that of differences."""
    X, Y = table()
    y = Y[0] if q == 1 else Y.T
    u, made = np.log([*[0.3, 0.05, 0.2][: D if ard else 1], 0.6]), []
    for again, counts in ((np.arange(N), COUNTS.astype(float)), (AGAIN, None)):
        unit = Unit.of(X[again], y[again], absolute=absolute, counts=counts)
        errors = error_function(Folds.from_numbers(FOLDS.numbers[again]), by_folds)
        made.append(
            Objective(errors, unit.widths(ard=ard), unit.weighed(y[again]), ones=unit.roots)
        )
    once, often = (objective(u) for objective in made)
    assert once[0] == pytest.approx(often[0], rel=1e-11)
    np.testing.assert_allclose(once[1], often[1], rtol=1e-9)
    expected = gradient(lambda at: made[0](at)[0], u, 1e-3)
    np.testing.assert_allclose(once[1], expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("search", "kernel", "average", "targets"),
    [
        ("quasi-newton", "ard", "folds", 2),
        ("quasi-newton", "laplacian-ard", "points", 1),
        ("quasi-newton", "gaussian", "points", 1),
        ("quasi-newton", SPEC, "folds", 1),
        ("flkl", "ard", "points", 2),
        ("flkl", "laplacian", "points", 1),
        ("simplex", "gaussian", "points", 1),
    ],
)
def test_searches_find_what_they_find_with_repeated_rows(
    search: str, kernel: str, average: str, targets: int
) -> None:
    """The score is that of the same kernel on repeated rows to 1e-9; the ends differ by the search's tolerance."""
    one = method(search, kernel, average=average)
    once = find(context(np.arange(N), COUNTS.astype(float), targets), one)
    at = context(AGAIN, None, targets)
    often = find(at, one)
    assert once.score == pytest.approx(often.score, rel=1e-5)
    K, lam = once.point.kernel.gram(at.points), once.point.lam * at.n
    if search != "flkl":  # whose widths differ by fold
        errors = error_function(at.partition(4), average == "folds")(K, at.targets.T, lam)
        score = 2.0 * float(errors.squares.sum()) / at.targets.size
        assert once.score == pytest.approx(score, rel=1e-9)
    final = LSSVMSolution(K, at.targets.T, lam)
    for mine, alpha, bias in zip(once.fits, final.alpha.T, final.bias, strict=True):
        summed = np.add.reduceat(alpha, np.cumsum(COUNTS) - COUNTS)
        np.testing.assert_allclose(mine.alpha[0], summed, atol=1e-9 * np.abs(summed).max())
        np.testing.assert_allclose(mine.bias[0], bias, atol=1e-9)
    plain = find(context(np.arange(N), None, targets), one)
    assert plain.score != pytest.approx(once.score, rel=1e-3)


@pytest.mark.parametrize("kernel", ["ard", SPEC])
@pytest.mark.parametrize("criterion", ["k-CV", "ELOO"])
def test_the_score_is_that_of_weighted_retraining(criterion: str, kernel: str) -> None:
    """The score is the weighted mean of the squared errors of weighted models without a fold or a row."""
    weights = np.random.default_rng(7).uniform(0.1, 3.0, N)
    at = context(np.arange(N), weights)
    found = find(at, method("quasi-newton", kernel, criterion))
    members = FOLDS.members if criterion == "k-CV" else [np.array([i]) for i in range(N)]
    K, y = found.point.kernel.gram(Points(at.X)), at.targets[0]
    train = oracles_weights.least_squares(True)
    held = oracles_weights.held_out(train, K, y, weights, members, found.point.lam, False)
    expected = float(np.average(np.square(y - held), weights=weights))
    assert found.score == pytest.approx(expected, rel=1e-7)
    whole = train(K, y, weights * N / weights.sum(), N * found.point.lam, K)
    fitted = K @ found.fits[0].alpha[0] + found.fits[0].bias[0]
    np.testing.assert_allclose(fitted, whole, atol=1e-7)


def test_starts_are_those_of_repeated_rows() -> None:
    """FLKL starts at the same lam, mu and width, a sum at the same sizes of its kernels and the same ridge."""
    X, Y = table()
    start, made = Solution(np.array([0.3]), 0.5, 0.0, 0, "converged"), []
    for again, counts in ((np.arange(N), COUNTS.astype(float)), (AGAIN, None)):
        folds = Folds.from_numbers(FOLDS.numbers[again])
        outer = OuterProblem.of(X[again], Y[0, again], folds, start, ard=True, counts=counts)
        roots = None if counts is None else np.sqrt(counts)
        parts = WeightedMatrices(PARTS, Points(X[again]), roots)
        made.append(np.concatenate([outer.u, outer.theta, parts.scales, [parts.total]]))
    np.testing.assert_allclose(*made, rtol=1e-11)


def test_a_common_factor_of_the_weights_changes_nothing() -> None:
    """Weights below one count as no fewer rows than there are, so that their factor is no ridge."""
    weights = np.random.default_rng(7).uniform(0.1, 1.0, N)
    one = method("flkl", "ard")
    small, smaller = (find(context(np.arange(N), factor * weights), one) for factor in (1.0, 0.01))
    assert small.score == pytest.approx(smaller.score, rel=1e-9)
    np.testing.assert_allclose(weighed(np.ones((2, 3)), np.array([1.0, 2.0]))[1], 2.0)
    context_ = replace(context(np.arange(N), None), weights=None)
    assert find(context_, one).score != pytest.approx(small.score, rel=1e-4)
