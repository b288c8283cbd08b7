"""Multiple kernel learning: gradients, minima against the single kernels, and scores of retrained models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles_flkl import Array, gradient, held_out_errors, kernel_stability
from problems import best_in

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import SELECTED, Choice, LamGrid, Method, Setting
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear
from kselect.kernels.sums import Sum, WeightedMatrices
from kselect.learners.problem import RidgeMode
from kselect.numerics.folds import draw_folds
from kselect.search.continuous import SEARCHES, search_continuously
from kselect.search.descent import Objective, error_function
from kselect.search.grid import search_grid
from kselect.search.sum_weights import Shares, WeighedStart, mixed
from kselect.search.training_context import TrainingContext

N = 43
FIXED: RidgeMode = "fixed"
PARTS: tuple[Kernel, ...] = (Gaussian(0.5), Gaussian(2.0), Gaussian(8.0), Linear())
SPEC = "sum:gaussian(tau=0.5,2,8),linear"
PARAMS = {
    "k-CV": {"loss": "squared", "average": "points"},
    "k-KS": {"loss": "squared", "average": "folds", "eta": 2.0},
    "ELOO": {"form": "press"},
}


def context(seed: int = 0, targets: int = 1) -> TrainingContext:
    """Return rows whose target is a line plus a bend of one feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    lines = X @ rng.normal(size=(3, targets)) + np.sin(3.0 * X[:, :1])
    folds = draw_folds(N, 5, rng)
    return TrainingContext(
        X=X,
        targets=(lines + 0.4 * rng.normal(size=lines.shape)).T.copy(),
        task="regression",
        kernels=PARTS,
        ridges=LamGrid(tuple(10.0 ** np.arange(-5.0, 2.0)), "select"),
        learner=Choice("lssvm"),
        ridge=FIXED,
        given_folds=lambda _: folds,
        stream=lambda *_: np.random.default_rng(0),
    )


def method(criterion: str, kernel: str = SPEC, p: int = 1) -> Method:
    own = tuple(sorted(PARAMS[criterion].items()))
    search = Choice("quasi-newton", (("p", p), ("steps", 200)))
    folds = None if criterion == "ELOO" else 5
    return Method(criterion, criterion, folds, own, search=search, kernel=kernel)


def find(at: TrainingContext, one: Method, setting: Setting = SELECTED) -> BestPoint:
    return best_in(search_continuously(at, {one: (setting,)}), one, setting)


def score(at: TrainingContext, criterion: str, K: Array, lam: float) -> float:
    """Return the criterion of models retrained without each fold, the mean over targets."""
    members = [np.array([i]) for i in range(N)] if criterion == "ELOO" else at.folds(5).members
    squares = np.square([held_out_errors(K, y, N * lam, members) for y in at.targets])
    if criterion != "k-KS":
        return float(squares.mean())
    means = [float(squares[:, F].mean()) for F in members]
    return float(np.mean(means)) + 2.0 / N * kernel_stability(K)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(("criterion", "targets"), [("k-CV", 1), ("k-KS", 2), ("ELOO", 2)])
def test_gradient(criterion: str, targets: int, p: int) -> None:
    """The gradient over u and log lam agrees with differences of retrained models."""
    at = context(targets=targets)
    y = at.targets.T if targets > 1 else at.targets[0]
    shares = Shares(np.array([1.0, 2.0, 0.5, 0.3]), p, held=2)
    folds = None if criterion == "ELOO" else at.folds(5)
    eta = 2.0 if criterion == "k-KS" else 0.0
    errors = error_function(folds, criterion == "k-KS")
    moved = WeightedMatrices(PARTS, at.points)
    objective = Objective(errors, moved, y, eta=eta, coordinates=shares)
    u = np.array([0.3, 0.2, 0.6, np.log(0.5)])

    def slow(u: Array) -> float:
        mu = np.array([u[0], u[1], 1.0, u[2]]) / shares.units
        mu = mu / (np.abs(mu) ** p).sum() ** (1.0 / p)
        K = sum(m * k.gram(Points(at.X)) for m, k in zip(mu, PARTS, strict=True))
        return float(np.log(0.5 * N * targets * score(at, criterion, K, np.exp(u[-1]) / N)))

    value, found = objective(u)
    assert value == pytest.approx(slow(u), abs=1e-10)
    expected = gradient(slow, u, 1e-4)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("criterion", list(PARAMS))
@pytest.mark.parametrize("seed", [0, 1])
def test_the_minimum_is_not_above_the_best_single_kernel(seed: int, criterion: str, p: int) -> None:
    """The score is that of retraining, not above any single kernel's, and ``||mu||_p = 1``."""
    at, one = context(seed, targets=1 + seed), method(criterion, p=p)
    found = find(at, one)
    kernel = found.point.kernel
    assert isinstance(kernel, Sum)
    assert np.linalg.norm(kernel.mu, p) == pytest.approx(1.0, abs=1e-7)
    K = kernel.gram(Points(at.X))
    assert found.score == pytest.approx(score(at, criterion, K, found.point.lam), rel=1e-7)
    single = replace(one, search=None, kernel="")
    best = best_in(search_grid(at, {single: (SELECTED,)}), single)
    assert found.score <= best.score
    assert len(kernel.mu) > 1
    assert found.score < 0.999 * best.score


def test_it_is_the_minimum_over_all_weights_and_ridges() -> None:
    """No point of a fine grid over two weights and the ridge is lower than the end of the search."""
    at = context(2)
    found = find(at, method("k-KS", "sum:gaussian(tau=2),linear"))
    G, L = Gaussian(2.0).gram(Points(at.X)), Linear().gram(Points(at.X))
    lowest = min(
        score(at, "k-KS", share * G + (1.0 - share) * L, lam)
        for share in np.linspace(0.8, 1.0, 11)
        for lam in np.geomspace(0.2, 5.0, 5) * found.point.lam
    )
    assert found.score <= lowest * (1.0 + 1e-9)


def test_kernels_that_raise_the_error_are_left_out() -> None:
    """Weights at zero are counted and left out; moving one of them inside raises the score."""
    at = context(1)
    found = find(at, method("k-CV"))
    kernel = found.point.kernel
    assert isinstance(kernel, Sum)
    assert dict(found.point.tuned)["held"] == len(PARTS) - len(kernel.mu) > 0
    for other in set(PARTS) - set(kernel.kernels):
        more = Sum((*kernel.kernels, other), (*kernel.mu, 0.01))
        assert score(at, "k-CV", more.gram(Points(at.X)), found.point.lam) > found.score


def test_starts_differ() -> None:
    """Equal shares of the diagonals of all kernels, and of the best of each family, norm one."""
    units = np.array([1.0, 1.0, 1.0, 4.0])
    singles = [
        WeighedStart(mu, 0.1, s) for mu, s in zip(np.eye(4), (3.0, 1.0, 2.0, 9.0), strict=True)
    ]
    np.testing.assert_allclose(
        mixed(PARTS, singles, units, 1), np.array([[4, 4, 4, 1], [0, 4, 0, 1]]) / [[13], [5]]
    )
    assert len(mixed(PARTS[:3], singles[:3], units[:3], 2)) == 1


def test_the_held_weight_may_become_zero() -> None:
    """The search leaves the kernel that it starts to hold, and a start may have weights of any sizes."""
    mu, units = np.array([0.2, 0.7, 0.1]), np.array([1.0, 0.1, 1.0])
    shares, u = Shares.around(mu, units, 1)
    assert shares.held == 0
    np.testing.assert_allclose(shares.theta(u), mu)
    at = context(0)
    found = find(at, method("k-CV", "sum:gaussian(tau=0.01,100),linear"))
    assert "gaussian(tau=100)" in found.point.kernel.parameters


def test_the_norm_matters_for_kernel_stability_only() -> None:
    """k-KS at p = 2 has other weights; with k-CV a free ridge makes the norm a mere unit."""
    at = context(1)
    ks, cv = (
        [find(at, method(criterion, p=p)).score for p in (1, 2)] for criterion in ("k-KS", "k-CV")
    )
    assert ks[0] != pytest.approx(ks[1], rel=1e-4)
    assert cv[0] == pytest.approx(cv[1], rel=1e-4)


def test_a_fixed_ridge_is_kept() -> None:
    """Under a fixed lam the weights are learned at that lam, and another lam has another result."""
    at, one = context(), method("k-CV")
    settings = tuple(Setting(i, at.lams[i]) for i in (1, 4))
    found = search_continuously(at, {one: settings})
    for setting in settings:
        best = best_in(found, one, setting)
        assert best.point.lam == pytest.approx(setting.value, rel=1e-12)
        single = replace(one, search=None, kernel="")
        alone = best_in(search_grid(at, {single: (setting,)}), single, setting)
        assert best.score <= alone.score
    free = find(at, one)
    assert free.score < min(best_in(found, one, s).score for s in settings)


def test_a_family_is_that_of_the_grid_or_the_default() -> None:
    """``gaussian`` stands for the grid's kernels of that name; without any, for its default grid."""
    at, one = context(), method("k-CV", "sum:gaussian,linear")
    assert find(at, one).score == find(at, method("k-CV")).score
    default = find(replace(at, kernels=(Linear(),)), one)
    assert default.score != find(at, one).score


def test_failures_are_named() -> None:
    """Weights of other searches and criteria are refused, and a constant target is a named failure."""
    kind, one = SEARCHES["quasi-newton"], method("k-CV")
    assert kind.misfit(one) == ""
    assert "BR regularises widths" in kind.misfit(replace(one, criterion="BR", params=()))
    wrong = replace(one, search=Choice("quasi-newton", (("p", 3), ("steps", 9))))
    assert kind.misfit(wrong) == "p, the norm of the weights of a sum, is 1 or 2, not 3"
    two = replace(method("k-CV", p=2), kernel="ard")
    assert "p is the norm of the weights of a sum of kernels; ard has none" in kind.misfit(two)
    assert "moves the kernel" in SEARCHES["flkl"].misfit(one)
    constant = replace(context(), targets=np.ones((1, N)))
    found = search_continuously(constant, {one: (SELECTED,)})[one, SELECTED]
    assert isinstance(found, SearchFailure)
    assert "the targets are all equal" in found.reason
