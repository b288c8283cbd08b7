"""What targets on one kernel matrix share: each gets what it would get alone, for one factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest

import kselect.learners.fold_solves as fold_solves
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear
from kselect.learners import Problem, find_learner
from kselect.learners.factor import SpectralFactor
from kselect.numerics.folds import Folds, draw_folds

RNG = np.random.default_rng(2)
X = RNG.normal(size=(23, 3))
TARGETS = np.array([np.where(np.arange(23) % 4 == k, 1.0, -1.0) for k in range(4)])
LAMS = np.array([1e-6, 1e-2, 1.0])
FOLDS = (draw_folds(23, 5, RNG), draw_folds(23, 23, RNG), draw_folds(23, 2, RNG))


def shared(kernel: Kernel, ridge: Any) -> Problem:
    """One kernel matrix, four targets."""
    K = kernel.gram(Points(X))
    return Problem(X, TARGETS[0], kernel, K, LAMS, ridge, targets=TARGETS)


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(1e-3), Linear()])
def test_each_target_as_if_alone(learner: str, ridge: Any, kernel: Kernel) -> None:
    together, make = shared(kernel, ridge), find_learner(learner)
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
        np.testing.assert_array_equal(mine.leverages(), alone.leverages())


@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_a_changed_target_shares_nothing_of_y(ridge: Any) -> None:
    together, make = shared(Gaussian(1.0), ridge), find_learner("krr")
    first = make.path(together.of_target(0, LAMS)).held_out(FOLDS[0])
    moved = together.of_target(0, LAMS).changed(y=TARGETS[1])
    assert moved.right_sides.shape == (1, 23)
    path, alone = make.path(moved), make.path(together.of_target(1, LAMS))
    for folds in FOLDS:  # not the first question alone: what is shared must not creep in later
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
    """A fold at a time or many, few ridges or all, by numpy or by LAPACK."""
    monkeypatch.setattr(fold_solves, way, limit)
    p, bias = shared(kernel, ridge), learner == "lssvm"
    for folds in FOLDS:
        held = find_learner(learner).path(p).held_out(folds)
        for F in folds.members:
            T = oracles.without(F, p.n)
            for f, lam in zip(held, p.lams.tolist(), strict=True):
                gamma = oracles.fold_ridge(p.n, len(F), lam, ridge == "per-fold")
                alpha, b = oracles.fit(p.K[np.ix_(T, T)], p.y[T], gamma, bias)
                bound = oracles.fold_bound(p.K, p.y, F, gamma, bias)
                np.testing.assert_allclose(f[F], p.K[np.ix_(F, T)] @ alpha + b, atol=bound)


@pytest.mark.parametrize("size", [1, 10**9])
def test_blocks_are_made_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many classes there are."""
    monkeypatch.setattr(fold_solves, "STACK_SIZE", size)
    made: list[int] = []
    for name in ("blocks", "stack"):
        real = getattr(SpectralFactor, name)

        def counted(self: Any, F: Any, gammas: Any, real: Any = real) -> Any:
            made.append(len(F))
            return real(self, F, gammas)

        monkeypatch.setattr(SpectralFactor, name, counted)
    together, make = shared(Gaussian(1.0), "fixed"), find_learner("lssvm")
    folds = Folds.from_numbers(np.arange(23) % 5)
    make.path(together.of_target(0, LAMS)).held_out(folds)
    once = len(made)
    assert once
    for t in range(1, len(TARGETS)):
        make.path(together.of_target(t, LAMS)).held_out(folds)
    assert len(made) == once
