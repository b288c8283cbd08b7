"""The path on Nystrom columns equals the exact path of the approximated kernel."""

from __future__ import annotations

import numpy as np
import pytest

import kselect.learners.primal as primal_module
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import draw_landmarks, nystrom_columns
from kselect.learners import Path, Problem, find_learner
from kselect.learners.krr_lssvm import SquareLossPath
from kselect.learners.primal import PrimalPath
from kselect.learners.problem import RidgeMode
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array

N, C = 90, 25
LAMS = np.array([1e-4, 1e-2, 1.0])
RNG = stream(0, "primal")
X: Array = RNG.normal(size=(N, 3))
Y = np.sign(X[:, 0] + 0.5 * RNG.normal(size=N))
LANDMARKS = draw_landmarks(N, C, stream(0, "landmarks"))
KERNEL = Gaussian(2.0)
COLUMNS = nystrom_columns(KERNEL, Points(X, X[LANDMARKS]), LANDMARKS)
# cond(K + gamma I) <= (n + n lam) / (n lam) = 1e4 at the smallest ridge: eps n cond, and a margin of ten.
TOLERANCE = 10 * N * 2.2e-16 * 1e4


def paths(learner: str, ridge: RidgeMode = "fixed") -> tuple[Path, Path]:
    """Return the path on ``V V^T`` and the primal path on V."""
    make = find_learner(learner).path
    dense = COLUMNS.V @ COLUMNS.V.T
    exact = make(Problem(X, Y, KERNEL, dense, LAMS, ridge))
    primal = make(Problem(X, Y, KERNEL, np.empty((0, 0)), LAMS, ridge, COLUMNS))
    assert isinstance(exact, SquareLossPath)
    assert isinstance(primal, PrimalPath)
    return exact, primal


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_every_result_is_that_of_the_approximated_kernel(learner: str, ridge: RidgeMode) -> None:
    exact, primal = paths(learner, ridge)
    folds = draw_folds(N, 7, stream(0, "folds"))
    for question in ("decision", "loo", "leverages"):
        ours, theirs = getattr(primal, question)(), getattr(exact, question)()
        assert ours == pytest.approx(theirs, rel=TOLERANCE, abs=TOLERANCE), question
    low, full = primal.problem.matrix, exact.problem.matrix
    for ours, theirs in (
        (low.diagonal(), full.diagonal()),
        (low.row_squares(), full.row_squares()),
        (low.spectrum, full.spectrum),
    ):
        assert ours == pytest.approx(theirs, rel=TOLERANCE, abs=TOLERANCE)
    assert primal.held_out(folds) == pytest.approx(exact.held_out(folds), abs=TOLERANCE)


def test_the_ridge_mode_matters() -> None:
    folds = draw_folds(N, 7, stream(0, "folds"))
    fixed, per_fold = (paths("krr", mode)[1].held_out(folds) for mode in ("fixed", "per-fold"))
    assert np.abs(fixed - per_fold).max() > 1e-3


@pytest.mark.parametrize("name", ["k-CV", "ELOO", "BR", "k-KS", "EP", "GCV"])
def test_criteria_agree(name: str) -> None:
    exact, primal = paths("lssvm")
    criterion = CRITERIA[name]
    folds = (draw_folds(N, 5, stream(0, "folds")),) if criterion.takes_folds else ()
    scores = [criterion.function(path, *folds) for path in (primal, exact)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-8)


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_new_rows_are_predicted_through_the_landmarks(learner: str) -> None:
    _, primal = paths(learner)
    K = KERNEL.gram(Points(X, X[LANDMARKS]))
    for ridge in range(len(LAMS)):
        predicted = primal.fit().decision(ridge, K)
        assert predicted == pytest.approx(primal.decision()[ridge], abs=TOLERANCE)


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_another_target_on_the_same_kernel(learner: str) -> None:
    other = stream(0, "other").normal(size=N)
    for path in paths(learner):
        fresh = find_learner(learner).path(
            Problem(X, other, KERNEL, path.problem.K, LAMS, "fixed", path.problem.columns)
        )
        moved = find_learner(learner).path(path.problem.changed(y=other))
        assert moved.problem.matrix is path.problem.matrix
        assert np.array_equal(moved.decision(), fresh.decision())
        assert not np.array_equal(path.decision(), fresh.decision())


def test_all_rows_as_landmarks_give_the_kernel_itself() -> None:
    everyone = np.arange(N)
    columns = nystrom_columns(KERNEL, Points(X), everyone)
    K = KERNEL.gram(Points(X))
    # Eigenvalues below 1e-12 of the largest are dropped: that much of K is missing.
    assert np.abs(columns.V @ columns.V.T - K).max() <= 1e-11 * np.linalg.norm(K, 2)


def test_landmarks_are_drawn_from_their_stream() -> None:
    same = [draw_landmarks(N, C, stream(3, "landmarks")).tolist() for _ in range(2)]
    assert same[0] == same[1] == sorted(set(same[0]))
    assert same[0] != draw_landmarks(N, C, stream(4, "landmarks")).tolist()
    for c in (0, N + 1):
        with pytest.raises(ConfigError, match="Nystrom columns"):
            draw_landmarks(N, c, stream(0, "x"))


def of_each_class(learner: str, ridge: RidgeMode) -> tuple[Problem, list[Path]]:
    """Return the paths of three classes on the same columns."""
    codes = np.arange(N) % 3
    targets = np.where(codes == np.arange(3)[:, None], 1.0, -1.0)
    together = Problem(X, targets[0], KERNEL, np.empty((0, 0)), LAMS, ridge, COLUMNS, None, targets)
    make = find_learner(learner).path
    return together, [make(together.of_target(t, LAMS)) for t in range(len(targets))]


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_classes_do_not_influence_each_other(learner: str, ridge: RidgeMode) -> None:
    together, found = of_each_class(learner, ridge)
    folds = [draw_folds(N, k, stream(0, "folds")) for k in (2, 7, N)]
    for path in found:
        alone = find_learner(learner).path(together.changed(y=path.problem.y))
        for question in ("decision", "loo", "leverages"):
            np.testing.assert_array_equal(getattr(path, question)(), getattr(alone, question)())
        for some in folds:
            held = path.held_out(some), alone.held_out(some)
            np.testing.assert_allclose(*held, rtol=TOLERANCE, atol=TOLERANCE)
        assert np.array_equal(path.bif(folds[1], 2), alone.bif(folds[1], 2))


def test_normal_equations_are_factorised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of factorisations does not depend on the number of classes."""
    solved, real = [], primal_module.solve_normal

    def counted(normal: Array, gammas: Array, right: Array) -> Array:
        solved.append(right.shape[1])
        return real(normal, gammas, right)

    monkeypatch.setattr(primal_module, "solve_normal", counted)
    folds = draw_folds(N, 7, stream(0, "folds"))
    for path in of_each_class("lssvm", "fixed")[1]:
        path.held_out(folds)
    assert solved == [4] * 7
