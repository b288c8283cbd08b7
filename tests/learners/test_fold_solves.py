"""Held-out errors of the square loss equal retraining, from blocks and from steps of Lanczos' method."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest

import kselect.learners.fold_solves as fold_solves
from kselect.errors import TrialError
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import LEARNERS, Problem, large_ridges
from kselect.learners.large_ridges import Lanczos, LargeRidges
from kselect.learners.spectral import SpectralFactor
from kselect.learners.tridiagonal import CholeskyFactor
from kselect.numerics.folds import Folds, draw_folds
from kselect.numerics.linalg import EPS
from kselect.numerics.thin_product import thin_product

RNG = np.random.default_rng(2)
X = RNG.normal(size=(23, 3))
TARGETS = np.array([np.where(np.arange(23) % 4 == k, 1.0, -1.0) for k in range(4)])
LAMS = np.array([1e-6, 1e-2, 1.0])
FOLDS = (draw_folds(23, 5, RNG), draw_folds(23, 23, RNG), draw_folds(23, 2, RNG))


def shared(kernel: Kernel, ridge: Any) -> Problem:
    """Return a problem with four targets on one kernel matrix."""
    K = kernel.gram(Points(X))
    return Problem(X, TARGETS[0], kernel, K, LAMS, ridge, targets=TARGETS)


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(1e-3), Linear()])
def test_targets_do_not_influence_each_other(learner: str, ridge: Any, kernel: Kernel) -> None:
    together, make = shared(kernel, ridge), LEARNERS[learner]
    for t, y in enumerate(TARGETS):
        mine = make.path(together.of_target(t, LAMS))
        alone = make.path(Problem(X, y, kernel, together.K, LAMS, ridge))
        for folds in FOLDS:
            np.testing.assert_allclose(
                mine.held_out(folds), alone.held_out(folds), rtol=1e-8, atol=1e-12
            )
        np.testing.assert_array_equal(mine.fit().alpha, alone.fit().alpha)
        np.testing.assert_array_equal(mine.fit().bias, alone.fit().bias)
        np.testing.assert_array_equal(mine.decision(), alone.decision())
        np.testing.assert_array_equal(mine.loo(), alone.loo())
        np.testing.assert_array_equal(mine.unexplained(), alone.unexplained())


@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_a_changed_target_shares_no_predictions(ridge: Any) -> None:
    together, make = shared(Gaussian(1.0), ridge), LEARNERS["krr"]
    first = make.path(together.of_target(0, LAMS)).held_out(FOLDS[0])
    moved = together.of_target(0, LAMS).changed(y=TARGETS[1])
    assert moved.right_sides.shape == (1, 23)
    path, alone = make.path(moved), make.path(together.of_target(1, LAMS))
    for folds in FOLDS:  # all folds, since shared predictions could be used later
        np.testing.assert_allclose(path.held_out(folds), alone.held_out(folds), rtol=1e-10)
    assert not np.allclose(first, path.held_out(FOLDS[0]))


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(0.01), Gaussian(1e-3), Linear()])
@pytest.mark.parametrize(
    ("way", "limit"),
    [("SMALL_PRODUCT", 0), ("STACK_SIZE", 1), ("SMALL_BLOCK", 0), ("RIDGES", 2), ("RIDGES", 16)],
)
def test_every_way_is_retraining(
    learner: str, ridge: Any, kernel: Kernel, way: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One fold at a time or many, few ridges or all, numpy or LAPACK: all equal retraining."""
    monkeypatch.setattr(fold_solves, way, limit)
    p, bias = shared(kernel, ridge), learner == "lssvm"
    for folds in FOLDS:
        held = LEARNERS[learner].path(p).held_out(folds)
        for F in folds.members:
            T = oracles.without(F, p.n)
            for f, lam in zip(held, p.lams.tolist(), strict=True):
                gamma = oracles.fold_ridge(p.n, len(F), lam, ridge == "per-fold")
                alpha, b = oracles.fit(p.K[np.ix_(T, T)], p.y[T], gamma, bias)
                bound = oracles.fold_bound(p.K, p.y, F, gamma, bias)
                np.testing.assert_allclose(f[F], p.K[np.ix_(F, T)] @ alpha + b, atol=bound)


@pytest.mark.parametrize("size", [1, 10**9])
def test_blocks_are_computed_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of blocks does not depend on the number of classes."""
    monkeypatch.setattr(fold_solves, "STACK_SIZE", size)
    made: list[int] = []
    for name in ("blocks", "stack"):
        real = getattr(CholeskyFactor, name)

        def counted(self: Any, F: Any, gammas: Any, real: Any = real) -> Any:
            made.append(len(F))
            return real(self, F, gammas)

        monkeypatch.setattr(CholeskyFactor, name, counted)
    together, make = shared(Gaussian(1.0), "fixed"), LEARNERS["lssvm"]
    folds = Folds.from_numbers(np.arange(23) % 5)
    make.path(together.of_target(0, LAMS)).held_out(folds)
    once = len(made)
    assert once
    for t in range(1, len(TARGETS)):
        make.path(together.of_target(t, LAMS)).held_out(folds)
    assert len(made) == once


RNG_LARGE = np.random.default_rng(11)
X_LARGE = RNG_LARGE.normal(size=(60, 3))
TARGETS_LARGE = np.array([np.sin(X_LARGE[:, 0]), np.where(X_LARGE[:, 1] > 0, 1.0, -1.0)])
LAMS_LARGE = 2.0 ** np.arange(-15, 16, 2)
EQUAL = draw_folds(60, 5, RNG_LARGE)
UNEQUAL = Folds.from_numbers(np.repeat([0, 1, 2, 3], [5, 25, 13, 17]))
KERNELS = [Gaussian(1.0), Gaussian(1e3), Gaussian(2.0**-6), Linear(), Polynomial(2)]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows take steps."""
    monkeypatch.setattr(large_ridges, "COMPILED", 0)


ROOTS = np.sqrt(RNG_LARGE.uniform(0.1, 3.0, 60))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("ones", [None, np.ones(60), ROOTS], ids=["no bias", "bias", "weights"])
@pytest.mark.parametrize("kernel", [*KERNELS, Gaussian(0.1)])
@pytest.mark.parametrize("folds", [EQUAL, UNEQUAL])
def test_predictions_are_those_of_training_without_the_fold(
    kernel: Kernel, folds: Folds, ones: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps serve the large ridges, and the error of each prediction is within its bound."""
    monkeypatch.setattr(large_ridges, "BLOCK", 10**8)
    K = kernel.gram(Points(X_LARGE))
    r = np.ones(60) if ones is None else ones
    K, targets = K * np.outer(r, r), TARGETS_LARGE * r
    gammas = {m: (60 - m) * LAMS_LARGE for m in folds.by_size}
    large = LargeRidges.of(K, targets, folds, gammas, ones)
    assert large.served.sum() > 5
    for y, predictions in zip(targets, large.predictions, strict=True):
        for F in folds.members:
            T = oracles.without(F, 60)
            for f, gamma in zip(predictions, gammas[len(F)][large.served].tolist(), strict=True):
                A = K[np.ix_(T, T)] + gamma * np.eye(len(T))
                p, alpha = np.linalg.solve(A, np.array([r[T], y[T]]).T).T
                b = 0.0 if ones is None else r[T] @ alpha / (r[T] @ p)
                want = K[np.ix_(F, T)] @ (alpha - b * p) + b * r[F]
                bound = 30 * EPS * np.linalg.cond(A) * np.linalg.norm(y)
                assert np.abs(f[F] - want).max() <= bound


@pytest.mark.usefixtures("few")
def test_steps_end_when_they_cost_more_than_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step is taken for leave-one-out, and few for ridges that steps cannot reach."""
    K = Gaussian(1.0).gram(Points(X_LARGE))
    alone, taken = Folds.from_numbers(np.arange(60)), []
    advance = Lanczos.advance
    monkeypatch.setattr(Lanczos, "advance", lambda self: [taken.append(1), advance(self)])
    assert not LargeRidges.of(K, TARGETS_LARGE, alone, {1: 59 * LAMS_LARGE}, None).served.any()
    assert not taken
    monkeypatch.setattr(large_ridges, "STEP", 0)
    small = {12: 1e-9 * LAMS_LARGE[:3]}
    assert not LargeRidges.of(K, TARGETS_LARGE, EQUAL, small, None).served.any()
    assert len(taken) < 8
    assert LargeRidges.of(K, TARGETS_LARGE, EQUAL, {12: 48 * LAMS_LARGE}, None).served.any()


@pytest.mark.usefixtures("few")
def test_a_target_without_variation_has_its_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a bias the steps start from nothing."""
    monkeypatch.setattr(large_ridges, "BLOCK", 10**8)
    K, y = Gaussian(1.0).gram(Points(X_LARGE)), np.full((1, 60), 3.0)
    large = LargeRidges.of(K, y, EQUAL, {12: 48 * LAMS_LARGE}, np.ones(60))
    assert large.served.all()
    np.testing.assert_allclose(large.predictions, 3.0, rtol=1e-14)


@pytest.mark.parametrize("few", [1, 4, 7])
@pytest.mark.parametrize("n", [1, 5, 600])
def test_thin_products(few: int, n: int) -> None:
    """Rows that four does not divide, and more columns than one strip."""
    rng = np.random.default_rng(n)
    V, K = rng.normal(size=(few, n)), rng.normal(size=(n, n))
    np.testing.assert_allclose(thin_product(V, K), V @ K, rtol=1e-11, atol=1e-11)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("learner", ["krr", "lssvm"])
def test_predictions_do_not_depend_on_the_steps(
    kernel: Kernel, ridge: Any, learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks and steps give the same predictions, and fewer blocks are left."""
    K, found, asked = kernel.gram(Points(X_LARGE)), [], []
    for name in ("blocks", "stack"):
        real = getattr(SpectralFactor, name)

        def counted(self: Any, F: Any, gammas: Any, real: Any = real) -> Any:
            asked[-1] += len(gammas)
            return real(self, F, gammas)

        monkeypatch.setattr(SpectralFactor, name, counted)
    for block in (0, 10**9):
        monkeypatch.setattr(large_ridges, "BLOCK", block)
        monkeypatch.setattr(large_ridges, "STEP", 10**9 if block == 0 else 0)
        problem = Problem(
            X_LARGE, TARGETS_LARGE[1], kernel, K, LAMS_LARGE, ridge, targets=TARGETS_LARGE
        )
        asked.append(0)
        found.append(LEARNERS[learner].path(problem).held_out(UNEQUAL))
    for lam, by_blocks, by_series in zip(LAMS_LARGE.tolist(), *found, strict=True):
        bound = oracles.held_out_bound(
            *(K, TARGETS_LARGE[1], UNEQUAL.members, lam),
            bias=learner == "lssvm",
            per_fold=ridge == "per-fold",
        )
        assert (np.abs(by_blocks - by_series) <= bound).all()
    assert asked[1] < asked[0] or asked[0] == 0


SINGULAR = np.repeat(X_LARGE[:30], 2, axis=0)  # every row twice
HARD = {
    "near singular": Gaussian(200.0).gram(Points(X_LARGE)),
    "duplicated": Gaussian(1.0).gram(Points(SINGULAR)),
    "near identity": Gaussian(0.02).gram(Points(X_LARGE)),
    "low rank": Linear().gram(Points(X_LARGE)),
    "usual": Gaussian(1.0).gram(Points(X_LARGE)),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("ridges", [13, 1])
@pytest.mark.parametrize("learner", ["lssvm", "krr"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_every_factor_agrees_with_retraining(
    name: str, ridges: int, learner: str, ridge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ridges from 1e-12 to 1e3, unequal folds: as well as the condition number allows, or refused."""
    monkeypatch.setattr("kselect.learners.tridiagonal.REDUCED", 1)
    K, y, bias = HARD[name], TARGETS_LARGE[1], learner == "lssvm"
    every = 10.0 ** np.linspace(-12, 3, 16) / 60
    answered = 0
    for lams in [every] if ridges > 1 else every[:, None]:
        problem = Problem(X_LARGE, y, Gaussian(1.0), K, lams, ridge)
        try:
            held = LEARNERS[learner].path(problem).held_out(UNEQUAL)
        except TrialError:
            continue
        for lam, f in zip(lams.tolist(), held, strict=True):
            args: Any = K, y, UNEQUAL.members, lam
            want = oracles.held_out(*args, bias, ridge == "per-fold")
            bound = oracles.held_out_bound(*args, bias=bias, per_fold=ridge == "per-fold")
            answered += 1
            assert (np.abs(f - want) <= bound).all()
    assert answered >= 13
