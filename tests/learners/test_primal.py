"""The path on Nystrom columns equals the exact path of the approximated kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from problems import side_of

import kselect.learners.primal as primal_module
from kselect.core.grid_point import BestPoint
from kselect.core.method import SELECTED, Method
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError, TrialError
from kselect.kernels import Kernel, Points
from kselect.kernels.columns import column_features
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import draw_landmarks, nystrom_columns
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import LEARNERS, Path, Problem
from kselect.learners.blocks import MemoryRows
from kselect.learners.krr_lssvm import SquareLossPath
from kselect.learners.primal import PrimalPath
from kselect.learners.problem import RidgeMode
from kselect.learners.streamed import ColumnPasses
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.search.grid import search_grid

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
    make = LEARNERS[learner].path
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
    residual, rest = primal.unexplained()  # type: ignore[attr-defined]
    alpha, P = exact.unexplained()  # type: ignore[attr-defined]
    assert residual / rest == pytest.approx(alpha / P, rel=TOLERANCE, abs=TOLERANCE)
    for question in ("decision", "loo"):
        ours, theirs = getattr(primal, question)(), getattr(exact, question)()
        assert ours == pytest.approx(theirs, rel=TOLERANCE, abs=TOLERANCE), question
    low, full = primal.problem.matrix, exact.problem.matrix
    for ours, theirs in (
        (low.diagonal, full.diagonal),
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
        fresh = LEARNERS[learner].path(
            Problem(X, other, KERNEL, path.problem.K, LAMS, "fixed", path.problem.columns)
        )
        moved = LEARNERS[learner].path(path.problem.changed(y=other))
        assert moved.problem.matrix is path.problem.matrix
        assert np.array_equal(moved.decision(), fresh.decision())
        assert not np.array_equal(path.decision(), fresh.decision())


def test_all_rows_as_landmarks_give_the_kernel_itself() -> None:
    everyone = np.arange(N)
    columns = nystrom_columns(KERNEL, Points(X), everyone)
    K = KERNEL.gram(Points(X))
    # Eigenvalues below 1e-12 of the largest are dropped: that much of K is missing.
    assert np.abs(columns.V @ columns.V.T - K).max() <= 1e-11 * np.linalg.norm(K, 2)


def some_kernel(rng: np.random.Generator, X: Array) -> Kernel:
    """Return a kernel between 1 1^T and I, or of low rank."""
    D = Points(X).distances.squared
    middle = float(np.median(D[D > 0])) if (D > 0).any() else 1.0
    kinds = (Gaussian(middle * 10 ** rng.uniform(-2, 4)), Linear(), Polynomial(3))
    return kinds[rng.integers(3)]


@pytest.mark.parametrize("seed", range(60))
def test_with_all_columns_the_exact_predictions_or_none(seed: int) -> None:
    """Where rounding of the columns would change the predictions, the ridge is refused by name."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 30))
    X = np.round(rng.normal(size=(n, 2)) * 10 ** rng.uniform(-1, 2), int(rng.integers(3)))
    y, kernel, learner = rng.normal(size=n), some_kernel(rng, X), rng.choice(["krr", "lssvm"])
    folds, make = draw_folds(n, 4, rng), LEARNERS[learner].path
    columns, K = nystrom_columns(kernel, Points(X), np.arange(n)), kernel.gram(Points(X))
    answered, reasons = 0, set[str]()
    for lam in np.linalg.norm(K, 2) / n * 10.0 ** np.arange(-18.0, 1.0):
        near = make(Problem(X, y, kernel, np.empty((0, 0)), np.array([lam]), columns=columns))
        try:
            found = near.held_out(folds), near.loo(), near.decision()  # type: ignore[attr-defined]
        except TrialError as error:
            reasons.add(str(error).partition(" n lam")[0])
            continue
        exact = make(Problem(X, y, kernel, K, np.array([lam])))
        want = exact.held_out(folds), exact.loo(), exact.decision()  # type: ignore[attr-defined]
        for ours, theirs in zip(found, want, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-4 * max(np.abs(theirs).max(), 1.0))
        answered += 1
    assert answered >= 8
    assert reasons == {"the rounding of the Nystrom columns hides a ridge"}


def test_a_refused_ridge_does_not_exclude_the_others() -> None:
    passes = ColumnPasses(
        MemoryRows(X), lambda kernel: column_features(kernel, X, 1e-15), [KERNEL], Y[None]
    )
    everyone = replace(side_of([KERNEL], X, Y, (1e-15, 1e-3)), columns=passes)
    method = Method("5-CV", "k-CV", 5, (("average", "points"), ("loss", "squared")))
    found = search_grid(everyone, {method: (SELECTED,)})[method, SELECTED]
    assert isinstance(found, BestPoint)
    ((point, why),) = found.excluded
    assert (found.point.lam, point.lam) == (1e-3, 1e-15)
    assert why.startswith(
        "the rounding of the Nystrom columns hides a ridge n lam = 9e-14: it takes "
    )


@pytest.mark.parametrize(("space", "passes"), [(2**20, [3]), (12000, [2, 1, 1]), (1, [1, 1, 1, 1])])
def test_threads_in_another_order_do_not_repeat_a_pass(
    space: int, passes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second thread may ask for its kernel first; at the end one kernel is asked for again."""
    monkeypatch.setattr("kselect.learners.streamed.MOST_SUMS", space)
    done = []

    class Counted(MemoryRows):
        def map(self, *given: Any) -> Iterator[list[Any]]:
            done.append(len(given[0][0].features))
            return super().map(*given)

    kernels = [Gaussian(1.0), Gaussian(2.0), Gaussian(4.0)]
    make = partial(column_features, support=X[LANDMARKS], smallest=1e-7)
    both = ColumnPasses(Counted(X), make, kernels, Y[None])
    alone = ColumnPasses(MemoryRows(X), make, kernels, Y[None])
    for kernel in (kernels[1], kernels[2], kernels[0], kernels[1]):
        found = both.moments(kernel, None, np.zeros(1))
        assert np.array_equal(found.gram, alone.moments(kernel, None, np.zeros(1)).gram)
    assert done == passes


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
    make = LEARNERS[learner].path
    return together, [make(together.of_target(t, LAMS)) for t in range(len(targets))]


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_classes_do_not_influence_each_other(learner: str, ridge: RidgeMode) -> None:
    together, found = of_each_class(learner, ridge)
    folds = [draw_folds(N, k, stream(0, "folds")) for k in (2, 7, N)]
    for path in found:
        alone = LEARNERS[learner].path(together.changed(y=path.problem.y))
        for question in ("decision", "loo", "unexplained"):
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
