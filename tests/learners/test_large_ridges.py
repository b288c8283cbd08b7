"""A series in K against training without each fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest

import kselect.learners.large_ridges as large_ridges
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import Problem, find_learner
from kselect.learners.factor import SpectralFactor
from kselect.learners.large_ridges import LargeRidges, Spread, worthwhile
from kselect.numerics.folds import Folds, draw_folds

RNG = np.random.default_rng(11)
X = RNG.normal(size=(60, 3))
TARGETS = np.array([np.sin(X[:, 0]), np.where(X[:, 1] > 0, 1.0, -1.0)])
LAMS = 2.0 ** np.arange(-15, 16, 2)
EQUAL = draw_folds(60, 5, RNG)
UNEQUAL = Folds.from_numbers(np.repeat([0, 1, 2, 3], [5, 25, 13, 17]))
KERNELS = [Gaussian(1.0), Gaussian(1e3), Gaussian(2.0**-6), Linear(), Polynomial(2)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("folds", [EQUAL, UNEQUAL])
def test_predictions_are_those_of_training_without_the_fold(kernel: Kernel, folds: Folds) -> None:
    K = kernel.gram(Points(X))
    gammas = {m: (60 - m) * LAMS for m in folds.by_size}
    large = LargeRidges.of(np.linalg.eigvalsh(K)[::-1], folds, gammas, len(TARGETS))
    assert 0 < large.served.sum() < len(LAMS) or kernel == Gaussian(2.0**-6)
    for ridges in gammas.values():
        assert (large.spread.terms(ridges[large.served]) <= large.count).all()
    found = large.predictions(K, TARGETS)
    for y, predictions in zip(TARGETS, found, strict=True):
        for F in folds.members:
            T = oracles.without(F, 60)
            for f, gamma in zip(predictions, gammas[len(F)][large.served].tolist(), strict=True):
                alpha, _ = oracles.fit(K[np.ix_(T, T)], y[T], gamma, bias=False)
                scale = np.abs(K[F][:, T]) @ np.full(len(T), np.linalg.norm(y)) / gamma
                np.testing.assert_allclose(
                    f[F] / scale, K[np.ix_(F, T)] @ alpha / scale, atol=1e-13
                )


def test_the_terms_are_as_many_as_it_takes() -> None:
    """What is left out is below rounding, and would not be with a third fewer."""
    K = Gaussian(1.0).gram(Points(X))
    spread = Spread.of(np.linalg.eigvalsh(K)[::-1])
    gammas = np.array([0.5, 2.0, 8.0]) * spread.half
    s = np.linspace(spread.center - spread.half, spread.center + spread.half, 501)
    x = (s - spread.center) / spread.half
    for gamma, count in zip(gammas, spread.terms(gammas).astype(int).tolist(), strict=True):
        for used, least, most in ((count, 0.0, 2e-15), (2 * count // 3, 1e-12, 1.0)):
            weights = spread.coefficients(np.array([gamma]), used)[0] * 2.0 / spread.half
            series = np.polynomial.chebyshev.chebval(x, weights)
            assert least <= np.abs(series * (s + gamma) - 1.0).max() <= most


def test_a_ridge_that_is_rounding_has_no_series() -> None:
    spread = Spread.of(np.array([1e9, 1.0, 0.0]))
    assert np.isinf(spread.terms(np.array([1e-12, 0.0]))).all()
    assert np.isfinite(spread.terms(np.array([1e-3, 1e9]))).all()


def test_equal_eigenvalues_and_none_at_all() -> None:
    found = Spread.of(np.ones(4)).terms(np.array([0.0, 1.0]))
    assert (found <= 2).all()
    assert worthwhile(Spread.of(np.zeros(4)).terms(np.ones(3)), 1, EQUAL) == 0


def test_only_where_it_saves() -> None:
    """Not for leave-one-out, whose blocks are numbers; for more ridges with more terms."""
    alone = Folds.from_numbers(np.arange(400))
    five = Folds.from_numbers(np.arange(400) % 5)
    terms = np.array([np.inf, 400.0, 12.0, 8.0, 5.0])
    assert worthwhile(terms, 1, alone) == 0
    assert worthwhile(terms, 1, five) == 12
    assert worthwhile(terms[:2], 1, five) == 0
    assert worthwhile(terms, 200, five) == 0  # the blocks are shared by the targets


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_a_path_is_the_same_with_and_without(
    kernel: Kernel, ridge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And makes no block for the ridges that are served."""
    K, found, asked = kernel.gram(Points(X)), [], []
    for name in ("blocks", "stack"):
        real = getattr(SpectralFactor, name)

        def counted(self: Any, F: Any, gammas: Any, real: Any = real) -> Any:
            asked[-1] += len(gammas)
            return real(self, F, gammas)

        monkeypatch.setattr(SpectralFactor, name, counted)
    for block in (0, 10**9):
        monkeypatch.setattr(large_ridges, "BLOCK", block)
        monkeypatch.setattr(large_ridges, "PRODUCT", 10**9 if block == 0 else 0)
        problem = Problem(X, TARGETS[1], kernel, K, LAMS, ridge, targets=TARGETS)
        asked.append(0)
        found.append(find_learner("krr").path(problem).held_out(UNEQUAL))
    for lam, by_blocks, by_series in zip(LAMS.tolist(), *found, strict=True):
        bound = oracles.held_out_bound(
            K, TARGETS[1], UNEQUAL.members, lam, bias=False, per_fold=ridge == "per-fold"
        )
        assert (np.abs(by_blocks - by_series) <= bound).all()
    assert asked[1] < asked[0] or asked[0] == 0
