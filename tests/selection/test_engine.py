"""Selection on arrays: scores against scikit-learn and retraining, the choice, threads, memory."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import oracles
import pytest
from oracles import Array
from problems import bias_of, numbered, rows
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, PredefinedSplit

import kselect.selection.refusals as refusals
from kselect.core.grid_point import BestPoint, GridPoint
from kselect.core.method import Choice
from kselect.errors import ConfigError, DataError, TrialError
from kselect.kernels import Kernel, Points
from kselect.kernels.nystrom import draw_landmarks, nystrom_columns
from kselect.numerics.folds import Folds, stream
from kselect.search.training_context import TrainingContext
from kselect.selection.engine import Selection, select
from kselect.selection.request import Request, make_folds, make_kernels, make_lams, make_method

TAUS = (2.0**-10, 0.25, 2.0, 16.0, 2.0**10)
LAMS = (1e-7, 1e-4, 0.01, 0.3)
WANTED = 1e-8


def request_of(
    learner: str = "krr",
    kernel: str = "gaussian",
    tau: Any = TAUS,
    degree: Any = (1, 2, 3),
    lam: Any = LAMS,
    criterion: str = "5-CV",
    loss: str | None = None,
    params: dict[str, Any] | None = None,
    labels: bool = True,
    **more: Any,
) -> Request:
    """Return a request by the names that users type."""
    grids = {"gaussian": {"tau": tau}, "polynomial": {"degree": degree}}
    kernels = make_kernels(kernel, grids.get(kernel, {}))
    method = make_method(criterion, loss, params or {}, labels)
    return Request(Choice(learner), kernels, make_lams(lam), method, **more)


def data(d: int, labels: bool, odd: str = "", n: int = 36) -> tuple[Array, Array, Folds]:
    """Return learnable rows with the given oddity, and folds of any sizes."""
    rng = np.random.default_rng([d, labels, len(odd)])
    X = rng.normal(size=(n, d))
    if odd == "duplicates":
        X[n // 2 : n // 2 + 6] = X[:6]
    if odd == "constant":
        X = np.hstack([X, np.full((n, 1), 3.0)])
    signal = X[:, 0] + 0.5 * np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    y = np.where(signal > 0, 1.0, -1.0) if labels else signal
    return X, y, numbered(rng, n, 5, False)


def numbers_of(folds: Folds) -> Any:
    """Return one fold number per row."""
    out = np.empty(folds.n, dtype=int)
    for k, F in enumerate(folds.members):
        out[F] = k
    return out


def oracle_kernel(kernel: Any, X: Array) -> Array:
    """Return the kernel matrix, computed entry by entry."""
    if kernel.name == "gaussian":
        return oracles.gram(oracles.gaussian(kernel.tau), X, X)
    if kernel.name == "polynomial":
        return oracles.gram(oracles.polynomial(int(kernel.degree)), X, X)
    return oracles.gram(oracles.linear(), X, X)


def bounds(request: Request, X: Array, y: Array, folds: Folds) -> Array:
    """Return how far two computations of each score may differ, from the matrices solved."""
    bias, per_fold = bias_of(request.learner), request.ridge == "per-fold"
    loss = str(dict(request.method.params).get("loss", "squared"))
    out = np.empty((len(request.kernels), len(request.lams)))
    for i, kernel in enumerate(request.kernels):
        K = oracle_kernel(kernel, X)
        for j, lam in enumerate(request.lams):
            off = oracles.held_out_bound(K, y, folds.members, lam, bias, per_fold)
            f = oracles.held_out(K, y, folds.members, lam, bias, per_fold)
            moved = oracles.loss_bound(loss, y, f, off)
            out[i, j] = oracles.mean_of_points(moved, folds.members)
    return out


def grid_search(
    request: Request, X: Array, y: Array, folds: Folds
) -> tuple[Array, Array, dict[str, Any]]:
    """Return scikit-learn's errors (means of fold means, means over points) and its choice."""
    n = len(y)
    alphas = [n * lam for lam in request.lams]
    name = {"gaussian": "rbf", "polynomial": "poly", "linear": "linear"}[request.kernels[0].name]
    grid: dict[str, list[Any]] = {"alpha": alphas, "kernel": [name]}
    if name == "rbf":
        grid["gamma"] = [1 / (2 * k.parameters["tau"]) for k in request.kernels]
    if name == "poly":
        grid |= {
            "degree": [int(k.parameters["degree"]) for k in request.kernels],
            "gamma": [1.0],
            "coef0": [1.0],
        }
    search = GridSearchCV(
        KernelRidge(),
        grid,
        scoring="neg_mean_squared_error",
        cv=PredefinedSplit(numbers_of(folds)),
        refit=False,
    ).fit(X, y)
    found = search.cv_results_
    shape = (len(alphas), len(request.kernels))  # alpha varies slowest
    sizes = np.array([len(F) for F in folds.members])
    splits = np.array([-found[f"split{k}_test_score"] for k in range(len(sizes))])
    of_points = (sizes @ splits / n).reshape(shape).T
    return -found["mean_test_score"].reshape(shape).T, of_points, search.best_params_


CASES = [
    (1, False, "", "gaussian"),
    (1, True, "duplicates", "gaussian"),
    (4, False, "constant", "gaussian"),
    (4, True, "", "gaussian"),
    (4, False, "duplicates", "polynomial"),
    (4, True, "constant", "linear"),
    (20, False, "", "gaussian"),
    (20, True, "duplicates", "polynomial"),
    (20, False, "constant", "linear"),
]


@pytest.mark.parametrize(("d", "labels", "odd", "kernel"), CASES)
@pytest.mark.filterwarnings("ignore:.*[Ss]ingular matrix")  # a warning of scikit-learn itself
def test_krr_is_scikit_learns(d: int, labels: bool, odd: str, kernel: str) -> None:
    """Scores agree with scikit-learn's to 1e-8 if well conditioned, and so does the choice.

    Both sides solve systems with a relative error of ``eps cond``, in a few steps each.
    """
    X, y, folds = data(d, labels, odd)
    assert len({len(F) for F in folds.members}) > 1
    taus = [d * tau for tau in TAUS]
    request = request_of(kernel=kernel, labels=labels, tau=taus)
    n = len(y)
    matrices = [oracle_kernel(k, X) for k in request.kernels]
    conditions = [
        [np.linalg.cond(K + n * lam * np.eye(n)) for lam in request.lams] for K in matrices
    ]
    allowed = np.maximum(WANTED, oracles.STEPS * oracles.EPS * np.array(conditions))
    assert (allowed == WANTED).mean() >= 0.6
    of_folds, of_points, chosen = grid_search(request, X, y, folds)
    for average, theirs in (("points", of_points), ("folds", of_folds)):
        mine = request_of(kernel=kernel, tau=taus, params={"average": average}, labels=labels)
        found = select(X, y[None, :], mine, folds)
        assert (np.abs(found.scores / theirs - 1) <= allowed).all()
    # The last is the mean of fold means, which is what scikit-learn chooses by.
    assert chosen["alpha"] == n * found.lam
    if kernel == "gaussian":
        assert chosen["gamma"] == 1 / (2 * found.kernel.parameters["tau"])
    if kernel == "polynomial":
        assert chosen["degree"] == found.kernel.parameters["degree"]


def test_means_over_points_and_over_folds_differ() -> None:
    """The two averages that the test above compares are different numbers."""
    X, y, folds = data(4, False)
    a, b = (
        select(X, y[None, :], request_of(params={"average": average}, labels=False), folds).scores
        for average in ("points", "folds")
    )
    assert (np.abs(a / b - 1) > 1e-3).any()


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial", "linear"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("loss", ["squared", "zero-one", "hinge"])
def test_lssvm_is_retraining(loss: str, ridge: str, kernel: str) -> None:
    X, y, folds = data(4, True, "duplicates", n=24)
    request = request_of("lssvm", kernel, loss=loss, ridge=ridge, tau=(0.25, 4.0), lam=(1e-3, 0.1))
    found = select(X, y[None, :], request, folds)
    allowed = bounds(request, X, y, folds)
    for (i, k), (j, lam) in product(enumerate(request.kernels), enumerate(request.lams)):
        K = oracle_kernel(k, X)
        f = oracles.held_out(K, y, folds.members, lam, True, ridge == "per-fold")
        expected = np.mean(oracles.losses(loss, y, f))
        assert found.scores[i, j] == pytest.approx(expected, rel=0, abs=allowed[i, j] + 1e-15)


def test_the_ridge_modes_differ() -> None:
    X, y, folds = data(4, True)
    scores = [
        select(X, y[None, :], request_of("lssvm", ridge=ridge), folds).scores
        for ridge in ("fixed", "per-fold")
    ]
    assert (np.abs(scores[0] / scores[1] - 1) > 1e-3).any()


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_leave_one_out(learner: str) -> None:
    X, y, _ = data(4, False, n=20)
    request = request_of(learner, criterion="ELOO", labels=False, tau=(0.5, 4.0), lam=(1e-3, 0.1))
    found = select(X, y[None, :], request, None)
    for (i, k), (j, lam) in product(enumerate(request.kernels), enumerate(request.lams)):
        held = oracles.leave_one_out(oracle_kernel(k, X), y, lam, bias_of(learner))
        assert found.scores[i, j] == pytest.approx(np.mean((y - held) ** 2), rel=1e-9)


def test_stability_penalty() -> None:
    """The criterion's own parameter changes its scores."""
    X, y, folds = data(4, True)
    by = {
        eta: select(X, y[None, :], request_of(criterion="5-KS", params={"eta": eta}), folds)
        for eta in (0.0, 0.5)
    }
    K = oracle_kernel(by[0.5].request.kernels[1], X)
    gap = 0.5 / len(X) * oracles.stability(K)
    np.testing.assert_allclose(by[0.5].scores[1] - by[0.0].scores[1], gap, rtol=1e-9)


def test_many_targets_are_averaged() -> None:
    """One against the rest: the score is the mean over the binary problems, with a fit for each."""
    X, _, folds = data(4, True)
    labels = np.arange(len(X)) % 3
    targets = np.array([np.where(labels == c, 1.0, -1.0) for c in range(3)])
    request = request_of("lssvm")
    together = select(X, targets, request, folds)
    alone = [select(X, y[None, :], request, folds) for y in targets]
    np.testing.assert_allclose(together.scores, np.mean([a.scores for a in alone], axis=0))
    assert len(together.best.fits) == 3
    assert not np.array_equal(together.best.fits[0].alpha, together.best.fits[1].alpha)


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_the_fit_is_that_of_the_choice(learner: str) -> None:
    X, y, folds = data(4, False)
    found = select(X, y[None, :], request_of(learner, labels=False), folds)
    row, column = found.position
    assert (row, column) == np.unravel_index(found.scores.argmin(), found.scores.shape)
    assert found.score == found.scores.min()
    assert found.kernel == found.request.kernels[row]
    assert found.lam == found.request.lams[column]
    K = oracle_kernel(found.kernel, X)
    alpha, b = oracles.fit(K, y, len(y) * found.lam, bias_of(learner))
    np.testing.assert_allclose(found.best.fits[0].alpha[0], alpha, rtol=1e-7)
    assert found.best.fits[0].bias[0] == pytest.approx(b, rel=1e-7)
    assert found.seconds > 0
    assert found.seconds_fit >= 0


@pytest.mark.parametrize("nystrom", [None, 9])
@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_the_same_bits_from_whatever_grid(learner: str, nystrom: int | None) -> None:
    """The fit has the same bits whatever the grid, also on few distinct rows and a tiny ridge."""
    rng = np.random.default_rng(8)
    X = rng.integers(0, 3, (120, 2)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=120) > 2, 1.0, -1.0)
    lams = (1e-9, 1e-8, 1e-7, 1e-6)
    request = request_of(learner, tau=(4.0, 16.0, 64.0), lam=lams, nystrom=nystrom)
    folds = numbered(rng, 120, 5, False)
    found = select(X, y[None, :], request, folds)
    one = replace(request, kernels=(found.kernel,), lams=(found.lam,))
    alone = select(X, y[None, :], one, folds)
    assert found.best.fits[0].alpha.tobytes() == alone.best.fits[0].alpha.tobytes()
    assert found.best.fits[0].bias.tobytes() == alone.best.fits[0].bias.tobytes()


def test_a_fit_that_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the separate fit fails, the one computed during the search is kept."""
    X, y, folds = data(2, False)
    request = request_of(labels=False)
    expected = select(X, y[None, :], request, folds)

    real, asked = TrainingContext.problem, list[Any]()

    def fails_at_last(side: TrainingContext, kernel: Any, *some: Any) -> Any:
        asked.append(kernel)
        if len(asked) > len(request.kernels):
            raise TrialError("not alone")
        return real(side, kernel, *some)

    monkeypatch.setattr(TrainingContext, "problem", fails_at_last)
    found = select(X, y[None, :], request, folds)
    assert len(asked) == len(request.kernels) + 1
    assert found.position == expected.position
    np.testing.assert_allclose(found.best.fits[0].alpha, expected.best.fits[0].alpha, rtol=1e-6)


@pytest.mark.parametrize("nystrom", [None, 9])
def test_threads_change_no_number(nystrom: int | None) -> None:
    X, y, folds = data(4, True)
    one, two = (
        select(X, y[None, :], request_of("lssvm", n_jobs=jobs, nystrom=nystrom), folds)
        for jobs in (1, 2)
    )
    assert np.array_equal(one.scores, two.scores)
    assert np.array_equal(one.best.fits[0].alpha, two.best.fits[0].alpha)
    assert (one.position, one.edges) == (two.position, two.edges)


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
@pytest.mark.parametrize(
    ("criterion", "params"),
    [("5-CV", {}), ("10-CV", {}), ("ELOO", {}), ("BR", {}), ("5-KS", {}), ("EP", {"eta": 0.5})],
)
def test_nystrom_is_the_dense_computation(
    learner: str, criterion: str, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nystrom scores equal dense ones with K replaced by V V^T."""
    X, y, _ = data(4, True)
    request = request_of(
        learner, tau=(1.0, 8.0), lam=(1e-3, 0.1), criterion=criterion, params=params, nystrom=12
    )
    folds = make_folds(request.method, len(X), 0, None)
    found = select(X, y[None, :], request, folds)
    landmarks = draw_landmarks(len(X), 12, stream(0, "landmarks"))
    assert found.support is not None
    assert np.array_equal(found.support, X[landmarks])
    points = Points(X, X[landmarks])
    for i, k in enumerate(request.kernels):
        V = nystrom_columns(k, points, landmarks).V
        monkeypatch.setattr(type(k), "gram", lambda self, points, V=V: V @ V.T)
        dense = select(X, y[None, :], request_of(
            learner, tau=k.parameters["tau"], lam=(1e-3, 0.1), criterion=criterion, params=params
        ), folds)  # fmt: skip
        monkeypatch.undo()
        np.testing.assert_allclose(found.scores[i], dense.scores[0], rtol=1e-8)


def test_all_columns_are_nearly_exact() -> None:
    """With every row as a landmark, a slowly decaying spectrum loses nothing."""
    X, y, folds = data(4, False)
    request = request_of("lssvm", tau=(0.1, 0.5), lam=(0.01, 0.1), labels=False)
    exact = select(X, y[None, :], request, folds)
    found = select(X, y[None, :], replace(request, nystrom=len(X)), folds)
    np.testing.assert_allclose(found.scores, exact.scores, rtol=1e-6)


def chosen(taus: Any, lams: Any, row: int, column: int) -> Selection:
    """Return a selection with this best place."""
    request = request_of(tau=taus, lam=lams)
    scores = np.ones((len(request.kernels), len(request.lams)))
    scores[row, column] = 0.0
    kernel, lam = request.kernels[row], request.lams[column]
    return Selection(request, scores, BestPoint(GridPoint(kernel, lam), 0.0, ()), None, 0.0, 0.0)


@pytest.mark.parametrize(
    ("taus", "lams", "row", "column", "said"),
    [
        ("1,2,4", "0.1,1,10", 1, 1, []),
        ("1,2,4", "0.1,1,10", 0, 1, ["tau = 1 is the smallest of its grid"]),
        ("4,1,2", "0.1,1,10", 0, 1, ["tau = 4 is the largest of its grid"]),
        ("4,1,2", "0.1,1,10", 1, 1, ["tau = 1 is the smallest of its grid"]),
        ("4,1,2", "0.1,1,10", 2, 1, []),
        ("1,2,4", "0.1,1,10", 1, 2, ["lam = 10 is the largest of its grid"]),
        ("1,2", "0.1,1", 0, 0, ["tau = 1 is the smallest", "lam = 0.1 is the smallest"]),
        ("1", "0.1", 0, 0, []),
        ("1", "0.1,1", 0, 1, ["lam = 1 is the largest"]),
    ],
)
def test_edges(taus: str, lams: str, row: int, column: int, said: list[str]) -> None:
    found = chosen(taus, lams, row, column).edges
    assert len(found) == len(said)
    assert all(text in line for text, line in zip(said, found, strict=True))


def test_a_kernel_without_parameters_has_the_edge_of_its_ridges_only() -> None:
    X, y, folds = data(4, True)
    found = select(X, y[None, :], request_of(kernel="linear", lam="1000,2000"), folds)
    assert found.edges == ["lam = 1000 is the smallest of its grid: widen the grid"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"criterion": "EP", "kernel": "linear"}, "EP works with the kernel gaussian only"),
        ({"nystrom": 37}, "37 Nystrom columns of 36 rows: write 1 to 36"),
        ({"nystrom": 0}, "0 Nystrom columns of 36 rows"),
    ],
)
def test_refusals(more: dict[str, Any], said: str) -> None:
    X, y, folds = data(4, True)
    with pytest.raises(ConfigError, match=said):
        select(X, y[None, :], request_of(**more), folds)


def test_folds_of_other_rows() -> None:
    X, y, _ = data(4, True)
    folds = Folds.from_numbers(np.arange(30) % 5)
    with pytest.raises(DataError, match="the folds are for 30 rows, but the data has 36"):
        select(X, y[None, :], request_of(), folds)
    with pytest.raises(ConfigError, match="needs folds"):
        select(X, y[None, :], request_of(), None)


def test_memory_is_refused_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, folds = data(4, True)
    there = 8 * 36**2 * 7

    def gram(*_: Any) -> Array:
        raise AssertionError("a kernel was computed")

    monkeypatch.setattr(refusals, "available_memory", lambda: there)
    select(X, y[None, :], request_of(), folds)
    with monkeypatch.context() as patch:
        patch.setattr(type(request_of().kernels[0]), "gram", gram)
        with pytest.raises(DataError, match=r"36 rows need .* 2 worker.* --nystrom"):
            select(X, y[None, :], request_of(n_jobs=2), folds)
        patch.setattr(refusals, "available_memory", lambda: there - 1)
        with pytest.raises(DataError, match=r"36 rows need .* 1 worker.* --nystrom"):
            select(X, y[None, :], request_of(), folds)
    few = 8 * (36 * refusals.ROWS_KEPT + 5 * 5 * (refusals.SQUARES + refusals.SQUARES_PER_WORKER))
    monkeypatch.setattr(refusals, "available_memory", lambda: few)
    select(X, y[None, :], request_of(nystrom=5), folds)
    monkeypatch.setattr(refusals, "available_memory", lambda: few - 1)
    with pytest.raises(DataError, match=r"36 rows need .* of 5 columns .* fewer columns"):
        select(X, y[None, :], request_of(nystrom=5), folds)


@pytest.mark.parametrize("nystrom", [None, 5])
def test_too_little_memory_is_no_candidates_failure(
    monkeypatch: pytest.MonkeyPatch, nystrom: int | None
) -> None:
    """Otherwise the memory that happens to be free would choose the kernel."""
    X, y, folds = data(4, True)
    asked = request_of(nystrom=nystrom)

    def gram(self: Kernel, points: Points) -> Array:
        raise MemoryError("Unable to allocate 9 GiB")

    monkeypatch.setattr(type(asked.kernels[0]), "gram", gram)
    with pytest.raises(MemoryError, match="9 GiB"):
        select(X, y[None, :], asked, folds)


def test_memory_is_named() -> None:
    with pytest.raises(DataError, match=r"10000000 rows need 5215406\.4 GiB .*; [0-9.]+ GiB are"):
        refusals.check_memory(10**7, 1, None)
    assert 2**20 < refusals.available_memory() < 2**60


def test_candidates_without_a_number_are_not_chosen() -> None:
    """A kernel of 1e17 with a ridge of 1e-7 has no fold block, so another candidate is chosen."""
    rng = np.random.default_rng(0)
    X = 30 * rng.normal(size=(60, 20))
    X[30:35] = X[:5]
    y = np.sign(X[:, 0] + rng.normal(size=60))
    request = request_of("krr", "polynomial", degree="1:5", lam="10^-7:10^1")
    folds = make_folds(request.method, 60, 0, None)
    found = select(X, y[None, :], request, folds)
    bad = ~np.isfinite(found.scores)
    assert 0 < bad.sum() < bad.size / 2
    assert not np.isnan(found.scores).any()
    row, column = np.argwhere(~bad)[0]
    alone = select(X, y[None, :], request_of(
        "krr", "polynomial", degree=request.kernels[row].parameters["degree"],
        lam=request.lams[column],
    ), folds)  # fmt: skip
    assert alone.score == pytest.approx(found.scores[row, column], rel=1e-4)
    # If one ridge of a kernel fails and another does not, each fit stays with its ridge.
    mixed = np.flatnonzero(bad.any(axis=1) & ~bad.all(axis=1))
    assert len(mixed)
    only = replace(request, kernels=(request.kernels[mixed[0]],))
    best = select(X, y[None, :], only, folds)
    assert best.best.fits[0].alpha.shape == (1, 60)
    assert np.abs(best.best.fits[0].alpha).max() > 0


def test_no_valid_candidate_is_an_error() -> None:
    X, _ = rows(20)
    folds = Folds.from_numbers(np.arange(20) % 5)
    with pytest.raises(TrialError, match=r"finite score; at tau=2;lam=0\.1: .*overflow"):
        select(X, np.linspace(0, 1e200, 20)[None, :], request_of(tau=2, lam=0.1), folds)
    with pytest.raises(DataError, match="features are too large"):
        select(1e300 * X, np.arange(20.0)[None, :], request_of(tau=2, lam=0.1), folds)


def test_one_ridge_of_a_dual() -> None:
    X, y, folds = data(4, True)
    found = select(X, y[None, :], request_of(tau=1), folds)
    assert found.best.fits[0].alpha.shape == (1, len(X))


def test_the_learners_parameter_changes_the_scores() -> None:
    """A learner's parameter changes the scores; one without a low-rank form refuses Nystrom."""
    X = stream(0, "learner").normal(size=(30, 2))
    y = np.sin(X[:, :1].T)
    method = make_method("5-CV", None, {}, classification=False)
    kernels, lams = make_kernels("gaussian", {"tau": 1}), make_lams("0.01,0.1")
    folds = make_folds(method, 30, 0, None)
    scores = [
        select(X, y, Request(Choice("quadratic-svr", own), kernels, lams, method), folds).scores
        for own in ((("eps", 0.0),), (("eps", 0.5),))
    ]
    assert np.abs(scores[0] - scores[1]).max() > 1e-6
    with pytest.raises(ConfigError, match="does not work with Nystrom columns"):
        select(X, y, Request(Choice("quadratic-svr"), kernels, lams, method, nystrom=5), folds)


@pytest.mark.parametrize(
    ("learner", "loss"), [("smooth-hinge", "hinge"), ("krr", "squared"), ("lssvm", "squared")]
)
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_a_search_by_bounds_chooses_what_the_grid_does(learner: str, loss: str, ridge: Any) -> None:
    """Pair, score and fit are equal; no other score is known, and the share of fits is reported."""
    X, y, folds = data(2, True)
    grid, pruned = (
        select(X, y[None], request_of(learner, loss=loss, ridge=ridge, search=how), folds)
        for how in ("grid", "pruned")
    )
    assert (pruned.kernel, pruned.lam) == (grid.kernel, grid.lam)
    assert pruned.score == pytest.approx(grid.score, abs=1e-10)
    np.testing.assert_allclose(
        pruned.best.fits[0].alpha, grid.best.fits[0].alpha, rtol=1e-6, atol=1e-7
    )
    assert np.isfinite(pruned.scores).sum() == 1
    assert pruned.scores[pruned.position] == pruned.score
    assert grid.work is None
    assert pruned.work is not None
    assert 0 < pruned.work.folds < pruned.scores.size * len(folds.members)


def test_unsupported_methods_are_searched_on_the_grid() -> None:
    """Another loss and several classes are searched on the grid."""
    X, y, folds = data(2, True)
    asked = request_of("smooth-hinge", loss="zero-one", search="pruned")
    assert select(X, y[None], asked, folds).work is None
    asked = request_of("smooth-hinge", loss="hinge", search="pruned")
    assert select(X, np.stack([y, -y]), asked, folds).work is None
