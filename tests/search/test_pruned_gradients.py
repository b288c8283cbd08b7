"""Certified conjugate gradients: intervals that hold, the choice of the grid, few matrices, refused kernels."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import best_in, numbered, rows, side_of

from kselect.core.method import SELECTED, Method
from kselect.errors import DataError
from kselect.kernels import Kernel, Points, base
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.laplacian import Laplacian
from kselect.kernels.weighted import Weighted
from kselect.learners.problem import RidgeMode
from kselect.numerics import tiles
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.numerics.tiles import Crew
from kselect.search import (
    OVER_GRID,
    TrainingContext,
    column_preconditioner,
    pruned_gradients,
    pruned_square,
)
from kselect.search.certified import CertifiedSystems, Spread
from kselect.search.column_preconditioner import ColumnBases
from kselect.search.grid import score_kernels
from kselect.search.pruned import (
    find_minimum,
    keeps_few_matrices,
    order_of,
    search_pruned,
    select_exactly,
    select_minimum,
)
from kselect.search.pruned_gradients import is_semidefinite
from kselect.search.pruned_grid import FoldedGrid
from kselect.selection.predictors import KernelSelectRegressorCV
from kselect.selection.refusals import check_memory

LAMS = 10.0 ** np.arange(-6, 2)
TAUS = 4.0 ** np.arange(-4, 5)


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small problems go this way, with columns and no tridiagonal form."""
    monkeypatch.setattr(pruned_gradients, "MANY", 0)
    monkeypatch.setattr(pruned_gradients, "FEWER", 0)
    monkeypatch.setattr(column_preconditioner, "MOST_COLUMNS", 0.4)


def matrix(kind: str, n: int, rng: np.random.Generator) -> Array:
    """Return a positive semidefinite matrix: near-singular, near-identity, of low rank, or of rows that repeat."""
    X = rng.normal(size=(n, 3))
    if kind == "low rank":
        return np.asarray(X @ X.T)
    if kind == "repeated":
        X[n // 2 :] = X[: n - n // 2]
    tau = {"near-singular": 300.0, "near-identity": 0.02}.get(kind, 2.0)
    return Gaussian(tau).gram(Points(X))


def exact_ends(
    K: Array, y: Array, folds: Folds, lam: float, bias: bool, ridge: RidgeMode
) -> tuple[Array, Array]:
    """Return the squared error of each fold by retraining, less and plus what retraining itself rounds."""
    how = lam, bias, ridge == "per-fold"
    error = y - oracles.held_out(K, y, folds.members, *how)
    bound = oracles.held_out_bound(K, y, folds.members, *how)
    norms = [[np.linalg.norm(v[F]) for F in folds.members] for v in (error, bound)]
    size, doubt = np.array(norms)
    return np.square(np.maximum(0.0, size - doubt)), np.square(size + doubt)


@given(
    kind=st.sampled_from(["near-singular", "near-identity", "low rank", "repeated", "other"]),
    seed=st.integers(0, 10**6),
    n=st.integers(9, 40),
    k=st.integers(2, 5),
    power=st.floats(-12.0, 3.0),
    steps=st.integers(0, 25),
    bias=st.booleans(),
    one_class=st.booleans(),
    ridge=st.sampled_from(["fixed", "per-fold"]),
)
@settings(max_examples=100, deadline=None)
def test_every_interval_holds_the_error_of_retraining(
    kind: str,
    seed: int,
    n: int,
    k: int,
    power: float,
    steps: int,
    bias: bool,
    one_class: bool,
    ridge: RidgeMode,
) -> None:
    """After any number of steps, for every fold, unequal folds, and several targets at once."""
    rng = np.random.default_rng(seed)
    K = matrix(kind, n, rng)
    y = np.ones(n) if one_class else np.sign(rng.normal(size=n))
    folds = numbered(rng, n, k, False)
    order = order_of(folds)
    K, y = K[np.ix_(order, order)], y[order]
    folds = Folds.from_numbers(folds.numbers[order])
    lams = 10.0 ** np.array([power, min(3.0, power + 2.0)])
    grid = FoldedGrid.of(y, lams, folds, ridge, bias=bias)
    with Crew() as crew, pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_preconditioner, "MOST_COLUMNS", 0.4)
        columns = ColumnBases.of(K, grid, crew)
        gammas = grid.fold_gammas(np.arange(2))
        systems = CertifiedSystems(K, grid, gammas, Spread.of(K, grid, crew), columns, crew)
        for _ in range(steps):
            systems.step()
        found = systems.intervals()
    for i, lam in enumerate(lams.tolist()):
        least, most = exact_ends(K, y, folds, lam, bias, ridge)
        assert (found.lower[i] <= most * (1 + 1e-12)).all()
        assert (found.upper[i] >= least * (1 - 1e-12)).all()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", ["near-singular", "near-identity", "low rank", "other"])
def test_bounds_of_eigenvalues(kind: str, bias: bool) -> None:
    """They hold for the centred block of each fold and for the whole matrix; an interval is never empty."""
    rng = np.random.default_rng(3)
    K = matrix(kind, 30, rng)
    folds = Folds.from_numbers(np.sort(rng.permutation(np.arange(30) % 4)))
    grid = FoldedGrid.of(rng.normal(size=30), np.array([1e-9, 1.0]), folds, "fixed", bias=bias)
    with Crew() as crew:
        spread = Spread.of(K, grid, crew)
    assert spread.least <= np.linalg.eigvalsh(K)[0] + 1e-12
    for F, largest in zip(folds.members, spread.largest, strict=True):
        out = np.setdiff1d(np.arange(30), F)
        centred = np.eye(30)
        centred[:, out] -= bias / len(out)
        block = (centred @ K @ centred.T)[np.ix_(F, F)]
        assert np.linalg.eigvalsh(block)[-1] <= largest + 1e-12
    with Crew() as crew:
        systems = CertifiedSystems(K, grid, grid.fold_gammas(np.arange(2)), spread, None, crew)
        for _ in range(200):
            systems.step()
        found = systems.intervals()
    assert (found.lower < found.guess).all()
    assert (found.guess < found.upper).all()


KERNELS: dict[str, list[Kernel]] = {
    "gaussian": [Gaussian(float(tau)) for tau in TAUS],
    "laplacian": [Laplacian(float(width)) for width in TAUS],
}
SQUARED = Method("4-CV", "k-CV", 4, (("average", "points"), ("loss", "squared")))


def side(n: int = 60, kind: str = "gaussian", **more: Any) -> TrainingContext:
    X, y = rows(n)
    y = more.pop("y", y)
    folds = numbered(np.random.default_rng(1), n, 4, False)
    return side_of(KERNELS[kind], X, y, LAMS, given_folds=lambda k: folds, **more)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("learner", ["krr", "lssvm"])
@pytest.mark.parametrize("kind", list(KERNELS))
def test_the_choice_is_that_of_the_grid(kind: str, learner: str, ridge: RidgeMode) -> None:
    """Place, score, predictions and fit; few candidates are factorised."""
    one = side(kind=kind, learner=learner, ridge=ridge)
    grid = best_in(OVER_GRID["grid"](one, {SQUARED: (SELECTED,)}), SQUARED)
    found = find_minimum(one, 4)
    assert found is not None
    assert found.found.point == grid.point
    assert found.found.score == pytest.approx(grid.score, rel=1e-9)
    np.testing.assert_allclose(found.found.fits[0].alpha, grid.fits[0].alpha, rtol=1e-6, atol=1e-8)
    held = one.problem(grid.point.kernel).K, one.targets[0], one.folds(4).members
    slow = oracles.held_out(*held, grid.point.lam, learner == "lssvm", ridge == "per-fold")
    np.testing.assert_allclose(found.held_out[0], slow, rtol=1e-7, atol=1e-8)
    assert found.work.kernels == len(TAUS)
    assert found.work.iterated > 10
    assert 0 < found.work.pairs < 0.5 * len(TAUS) * len(LAMS)


@pytest.mark.usefixtures("everywhere")
def test_a_slack_keeps_exact_scores() -> None:
    """Everything within the slack of the best has its exact score; without slack, few pairs have one."""
    one = side(learner="krr")
    scores = np.array(
        [
            [
                np.square(
                    one.targets[0]
                    - oracles.held_out(K, one.targets[0], one.folds(4).members, lam, False, False)
                ).mean()
                for lam in LAMS
            ]
            for K in (one.problem(kernel).K for kernel in one.kernels)
        ]
    )
    near = np.argwhere(scores <= 1.2 * scores.min())
    found, few = find_minimum(one, 4, slack=0.2), find_minimum(one, 4)
    assert found is not None
    assert few is not None
    assert len(near) > 3
    for pair in map(tuple, near.tolist()):
        assert found.scores[pair] == pytest.approx(scores[pair], rel=1e-8)
    assert np.isfinite(few.scores).sum() < len(near)
    assert found.found.point == few.found.point


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("shared", [True, False])
def test_numbers_do_not_depend_on_threads(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads share tiles of one kernel, or take a kernel each: same choice, score and predictions, bit by bit."""
    monkeypatch.setattr(tiles, "TILE", 16)
    monkeypatch.setattr(pruned_gradients, "FEWER", 0 if shared else 100)
    one = side()
    first, *others = [find_minimum(one, 4, n_jobs=n_jobs) for n_jobs in (1, 2, 3)]
    assert first is not None
    for other in others:
        assert other is not None
        assert other.work == first.work or not shared
        assert (other.found.point, other.found.score) == (first.found.point, first.found.score)
        np.testing.assert_array_equal(other.held_out, first.held_out)
        np.testing.assert_array_equal(other.scores, first.scores)


@pytest.mark.usefixtures("everywhere")
def test_a_kernel_that_is_not_positive_semidefinite_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one line with the kernel's name, from a plug-in and from a precomputed matrix; others are not tested."""
    X, y = rows(60)
    K = np.tanh(X @ X.T - 1.0)
    model = KernelSelectRegressorCV(
        kernel="precomputed", learner="krr", criterion="4-CV", lam="10^-3:10^1"
    )
    with pytest.raises(
        ValueError, match=r"^the kernel precomputed is not positive semidefinite .*: choose another"
    ):
        model.fit(K, y)
    model.fit(K @ K, y)
    wide = Gaussian(1e6).gram(Points(X))
    with Crew() as crew:
        assert is_semidefinite(wide, 60.0, crew)
        assert not is_semidefinite(wide - 1e-9 * np.eye(60), 60.0, crew)
    monkeypatch.setattr(pruned_gradients, "is_semidefinite", lambda *_: False)
    assert find_minimum(side(), 4) is not None


@pytest.mark.usefixtures("everywhere")
def test_a_precomputed_matrix_is_sorted_along_both_axes() -> None:
    """The choice equals that of the grid."""
    X, y = rows(60)
    K = Gaussian(2.0).gram(Points(X))
    model = KernelSelectRegressorCV(
        kernel="precomputed", learner="krr", criterion="4-CV", lam="10^-6:10^1"
    )
    model.fit(K, y)
    assert model.best_score_ == pytest.approx(-np.min(model.criterion_path_), rel=1e-9)


@pytest.mark.usefixtures("everywhere")
def test_at_most_three_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distances of one metric, one kernel, the factor of a fold, and vectors: two threads need no more."""
    monkeypatch.setattr(tiles, "TILE", 64)
    monkeypatch.setattr(column_preconditioner, "MOST_COLUMNS", 1 / 8)
    X, y = rows(700)
    some = [
        KERNELS["gaussian"][3],
        KERNELS["laplacian"][3],
        Weighted(Gaussian(2.0), (1.0, 0.5, 2.0)),
    ]
    one = side_of([*some, KERNELS["gaussian"][4]], X, np.sign(y), LAMS[1:5])
    tracemalloc.start()
    try:
        assert find_minimum(one, 5, n_jobs=2) is not None
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 2.0 < most / (8 * 700**2) < 3.2


@pytest.mark.usefixtures("everywhere")
def test_distances_of_one_metric_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The distances that give the most promising width serve every kernel."""
    seen = []
    compute = base.squared_distances
    monkeypatch.setattr(
        base, "squared_distances", lambda *XZ: [seen.append(len(XZ)), compute(*XZ)][1]
    )
    X, y = rows(60)
    one = side_of(KERNELS["gaussian"], X, y, LAMS)
    select_minimum(one, one.partition(5))
    assert len(seen) == 1


def test_memory_that_is_needed() -> None:
    """The search of many rows asks for three matrices with any number of threads."""
    with pytest.raises(DataError, match=r"10000000 rows need 2235174\.2 GiB"):
        check_memory(10**7, 2, None, few=True)
    assert keeps_few_matrices("lssvm", 10**4)
    assert not keeps_few_matrices("smooth-hinge", 10**4)
    assert not keeps_few_matrices("krr", 1000)


@pytest.mark.usefixtures("everywhere")
def test_hidden_ridges_are_left_to_the_whole_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ridge below the rounding error of a matrix is judged by the tridiagonal form."""
    seen = []
    judge = pruned_square.judge
    monkeypatch.setattr(pruned_square, "judge", lambda *args: [seen.append(args[0]), judge(*args)])
    X, y = rows(40)
    one = side_of([Gaussian(0.5), Gaussian(1.0)], X, y, [1e-17, 1e-2])
    grid = best_in(OVER_GRID["grid"](one, {SQUARED: (SELECTED,)}), SQUARED)
    assert best_in(search_pruned(one, {SQUARED: (SELECTED,)}), SQUARED).point == grid.point
    assert sorted(seen) == [0, 1]


def test_crowded_kernels_are_left_to_the_tridiagonal_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer rows, a kernel with several open ridges; the choice is the same."""
    monkeypatch.setattr(pruned_gradients, "MANY", 0)
    X, y = rows(60)
    gram = [partial(kernel.gram, Points(X)) for kernel in KERNELS["gaussian"]]
    folds = numbered(np.random.default_rng(0), 60, 4, True)
    tridiagonal = select_exactly(gram, y, LAMS, folds, "krr")
    monkeypatch.setattr(pruned_gradients, "FEWER", 0)
    cholesky = select_exactly(gram, y, LAMS, folds, "krr")
    assert (tridiagonal.kernel, tridiagonal.ridge) == (cholesky.kernel, cholesky.ridge)
    assert tridiagonal.work.pairs < cholesky.work.pairs


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("learner", ["krr", "lssvm"])
def test_a_constant_target_has_a_choice(learner: str) -> None:
    """Errors within rounding of zero do not exceed an upper end of zero."""
    assert find_minimum(side(learner=learner, y=np.ones(60)), 4) is not None


@pytest.mark.usefixtures("everywhere")
def test_a_failure_names_the_kernel() -> None:
    """A matrix that is not finite excludes its kernel."""
    X, y = rows(40)
    folds = numbered(np.random.default_rng(0), 40, 4, True)
    grams = [
        lambda: np.full((40, 40), np.inf),
        partial(Gaussian(1.0).gram, Points(X)),
    ]
    found = select_exactly(grams, y, LAMS, folds, "krr")
    assert found.kernel == 1
    assert found.excluded == ((0, "the kernel matrix is not finite"),)


@pytest.mark.parametrize("n", [1, 6, 7, 23])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tiles(n: int, n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products and factors of tiles that do not divide the rows; a failure in any tile is reported."""
    monkeypatch.setattr(tiles, "TILE", 6)
    rng = np.random.default_rng(n)
    B = rng.normal(size=(n, n))
    A = B @ B.T + np.eye(n)
    with Crew(n_jobs) as crew:
        np.testing.assert_allclose(crew.product(B[:3], B), B[:3] @ B, atol=1e-12)
        L = A.copy(order="F")
        assert not crew.cholesky(L)
        np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), atol=1e-12)
        A[-1, -1] = -1.0
        assert crew.cholesky(A.copy(order="F"))


def test_columns_invert_a_matrix_of_low_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """With columns that explain all, the preconditioner is the inverse; with columns that explain little, none."""
    monkeypatch.setattr(column_preconditioner, "MOST_COLUMNS", 0.3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    folds = Folds.from_numbers(np.sort(rng.permutation(np.arange(40) % 3)))
    for bias in (False, True):
        grid = FoldedGrid.of(rng.normal(size=40), LAMS, folds, "per-fold", bias=bias)
        with Crew() as crew:
            K = X @ X.T
            columns = ColumnBases.of(K, grid, crew)
            assert columns is not None
            assert len(columns.B) == 3
            assert ColumnBases.of(np.eye(40), grid, crew) is None
            gammas = grid.fold_gammas(np.arange(len(LAMS)))
            systems = CertifiedSystems(K, grid, gammas, Spread.of(K, grid, crew), columns, crew)
            systems.step()
            assert (systems.intervals().width() < 1e-4).all()


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("slack", [0.0, 0.2])
@pytest.mark.parametrize("learner", ["krr", "lssvm"])
def test_several_targets_share_a_choice(
    learner: str, slack: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three classes, one against the rest: place, scores and predictions are those of the grid."""
    monkeypatch.setattr(pruned_gradients, "FEWER", 100 if slack else 0)  # some kernels are crowded
    X, y = rows(60)
    classes = np.digitize(X[:, 0] + 0.3 * y, [-0.3, 0.4])
    targets = np.where(classes == np.arange(3)[:, None], 1.0, -1.0)
    one = side(learner=learner, y=targets)
    grid = best_in(OVER_GRID["grid"](one, {SQUARED: (SELECTED,)}), SQUARED)
    scores = np.array([visit.scores[SQUARED] for visit in score_kernels(one, (SQUARED,))])
    found = find_minimum(one, 4, slack=slack)
    assert found is not None
    assert found.found.point == grid.point
    assert found.found.score == pytest.approx(grid.score, rel=1e-9)
    near = scores <= (1.0 + slack) * scores.min()
    np.testing.assert_allclose(found.scores[near], scores[near], rtol=1e-8)
    K, lam = one.problem(grid.point.kernel).K, grid.point.lam
    for target, held, fit, slow in zip(
        targets, found.held_out, found.found.fits, grid.fits, strict=True
    ):
        exact = oracles.held_out(K, target, one.folds(4).members, lam, learner == "lssvm", False)
        np.testing.assert_allclose(held, exact, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(fit.alpha, slow.alpha, rtol=1e-6, atol=1e-8)
