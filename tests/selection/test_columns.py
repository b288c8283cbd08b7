"""Selections on columns: sums over blocks of rows against explicit features and retraining."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import oracles_columns as slow
import oracles_rounding as exact
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kselect.errors import ConfigError
from kselect.kernels import KERNELS, Kernel, Points
from kselect.kernels.columns import column_features, monomials
from kselect.learners import blocks
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.selection.columns import check_columns, rpcholesky
from kselect.selection.engine import select
from kselect.selection.held_out import HeldOut
from kselect.selection.request import Request, make_folds, make_kernels, make_request
from kselect.selection.result import Selection, decision_values

TIGHT = {"rtol": 1e-7, "atol": 1e-9}


def table(n: int = 90, d: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """Return rows and a target far from zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 5.0 + np.sin(X[:, 0]) + X[:, 1] * X[:, -1] + 0.1 * rng.normal(size=n)


def asked(kernel: str, grids: dict[str, Any], **more: Any) -> Request:
    """Return a request."""
    how: dict[str, Any] = {"learner": "lssvm", "criterion": "5-CV", "lam": "1e-5,1e-2", **more}
    named = (how.pop(name) for name in ("learner", "criterion"))
    given_loss, params = how.pop("loss", None), how.pop("params", {})
    return make_request(
        *(*named, kernel, make_kernels(kernel, grids), how.pop("lam")),
        task=how.pop("task", "regression"), params=params, loss=given_loss, **how,
    )  # fmt: skip


def found_on(X: Array, y: Array, request: Request, folds: Folds | None) -> tuple[Selection, Array]:
    """Return a selection, and the support of its columns."""
    found = select(X, y[None], request, folds)
    assert found.support is not None
    return found, found.support


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_cross_validation_is_retraining(learner: str, ridge: str) -> None:
    X, y = table()
    request = asked("gaussian", {"tau": "0.25,2,64"}, learner=learner, ridge=ridge, nystrom=20)
    numbers = np.arange(len(X)) % 7  # unequal folds
    folds = make_folds(request.method, len(X), 0, np.minimum(numbers, 4))
    assert folds is not None
    found, support = found_on(X, y, request, folds)
    for i, kernel in enumerate(request.kernels):
        V = slow.features(kernel, X, support)
        for j, lam in enumerate(request.lams):
            held = slow.held_out(V, y, folds.members, lam, ridge, learner == "lssvm")
            np.testing.assert_allclose(found.scores[i, j], np.square(y - held).mean(), rtol=1e-6)
    V = slow.features(found.kernel, X, support)
    held = slow.held_out(V, y, folds.members, found.lam, ridge, learner == "lssvm")
    assert found.held_out is not None
    np.testing.assert_allclose(found.held_out[0], held, rtol=1e-6)
    f = decision_values(found.kernel, found.best.fits, support, X)[:, 0]
    gamma = len(X) * found.lam
    np.testing.assert_allclose(f, slow.predict(V, y, V, gamma, learner == "lssvm"), rtol=1e-6)


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_leave_one_out_and_gcv_are_their_definitions(learner: str) -> None:
    X, y = table(60)
    bias = learner == "lssvm"
    for criterion in ("ELOO", "GCV"):
        request = asked(
            "gaussian", {"tau": "1,16"}, learner=learner, criterion=criterion, nystrom=15
        )
        found, support = found_on(X, y, request, None)
        for i, kernel in enumerate(request.kernels):
            V = slow.features(kernel, X, support)
            for j, lam in enumerate(request.lams):
                if criterion == "GCV":
                    expected = slow.generalised(V, y, lam, bias)
                else:
                    expected = np.square(y - slow.leave_one_out(V, y, lam, bias)).mean()
                np.testing.assert_allclose(found.scores[i, j], expected, rtol=1e-6)


@pytest.mark.parametrize("loss", ["zero-one", "hinge"])
def test_other_losses_take_the_held_out_predictions(loss: str) -> None:
    X, y = table()
    labels = np.where(y > 5, 1.0, -1.0)
    request = asked(
        "gaussian", {"tau": "2"}, loss=loss, task="classification", nystrom=20, lam="1e-3,1e-1"
    )
    folds = make_folds(request.method, len(X), 0, None)
    assert folds is not None
    found, support = found_on(X, labels, request, folds)
    V = slow.features(request.kernels[0], X, support)
    for j, lam in enumerate(request.lams):
        held = slow.held_out(V, labels, folds.members, lam, "fixed", True)
        values = labels * held <= 0 if loss == "zero-one" else np.maximum(0, 1 - labels * held)
        np.testing.assert_allclose(found.scores[0, j], values.mean(), rtol=1e-8)


@given(
    seed=st.integers(0, 10**6),
    tau=st.sampled_from([1e-3, 0.5, 8.0, 1e3, 1e6]),
    power=st.integers(-12, 3),
    copies=st.booleans(),
    learner=st.sampled_from(["lssvm", "krr"]),
)
@settings(max_examples=40, deadline=None)
def test_hostile_cases_are_right_or_excluded_by_name(
    seed: int, tau: float, power: int, copies: bool, learner: str
) -> None:
    """Near-singular and near-identity kernels, copies of rows, tiny and huge ridges; all rows are landmarks."""
    X, y = table(40, 2, seed)
    if copies:
        X[20:] = X[:20]
    request = asked("gaussian", {"tau": tau}, learner=learner, lam=f"1e{power},1e3", nystrom=40)
    folds = make_folds(request.method, 40, seed, None)
    assert folds is not None
    found, support = found_on(X, y, request, folds)
    V = slow.features(request.kernels[0], X, support)
    for j, lam in enumerate(request.lams):
        reasons = [why for point, why in found.best.excluded if point.lam == lam]
        if reasons:
            assert "rounding" in reasons[0]
            continue
        held = slow.held_out(V, y, folds.members, lam, "fixed", learner == "lssvm")
        np.testing.assert_allclose(found.scores[0, j], np.square(y - held).mean(), rtol=1e-3)


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
@pytest.mark.parametrize("tau", [0.5, 1e3, 1e5])
def test_tiny_ridges_agree_with_fractions_or_are_excluded(tau: float, learner: str) -> None:
    """The normal equations square a condition number; the oracle solves them in whole numbers."""
    X, y = table(14, 2, 1)
    lams = ",".join(f"1e{power}" for power in (-18, -15, -13, -12, -10, -8, -1))
    request = asked("gaussian", {"tau": tau}, learner=learner, lam=lams, nystrom=8)
    folds = make_folds(request.method, len(X), 0, np.arange(len(X)) % 5)
    assert folds is not None
    found, support = found_on(X, y, request, folds)
    kernel, bias = request.kernels[0], learner == "lssvm"
    # Landmarks that others span to 1e-12 are dropped.
    kept = support[column_features(kernel, support, min(request.lams)).used]
    C, W = kernel.gram(Points(X, kept)), kernel.gram(Points(kept))
    excluded = {point.lam: why for point, why in found.best.excluded}
    for j, lam in enumerate(request.lams):
        if lam in excluded:
            assert "rounding of the Nystrom columns hides a ridge" in excluded[lam]
            continue
        held = exact.held_out_by_columns(C, W, y, folds.members, len(X) * lam, bias)
        np.testing.assert_allclose(found.scores[0, j], np.square(y - held).mean(), rtol=1e-4)
    assert bool(excluded) == (tau == 1e5) or tau == 1e3
    assert max(excluded, default=0.0) < 1e-8


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_threads_and_passes_do_not_change_the_scores(
    n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table(100)
    request = asked("gaussian", {"tau": "1,4,16"}, nystrom=12)
    folds = make_folds(request.method, len(X), 0, None)
    whole = select(X, y[None], request, folds)
    monkeypatch.setattr(blocks, "BLOCK", 17)
    monkeypatch.setattr("kselect.learners.streamed.MOST_SUMS", 1)
    steps: list[tuple[int, int]] = []
    some = select(
        X, y[None], replace(request, n_jobs=n_jobs), folds, lambda *step: steps.append(step)
    )
    assert steps == [(1, 3), (2, 3), (3, 3)]
    np.testing.assert_allclose(some.scores, whole.scores, rtol=1e-10)
    assert whole.held_out is not None
    assert some.held_out is not None
    np.testing.assert_allclose(some.held_out, whole.held_out, rtol=1e-9)


def test_nothing_of_n_rows_and_c_columns_is_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(2000)
    monkeypatch.setattr(blocks, "ENTRIES", 4000)
    monkeypatch.setattr(blocks, "FEWEST_ROWS", 10)
    shapes = []
    plain = KERNELS["gaussian"].gram

    def watched(self: Kernel, points: Points) -> Array:
        shapes.append((len(points.X), len(points.Z)))
        return plain(self, points)

    monkeypatch.setattr(KERNELS["gaussian"], "gram", watched)
    request = asked("gaussian", {"tau": "1,4"}, nystrom=40)
    select(X, y[None], request, make_folds(request.method, len(X), 0, None))
    assert max(rows for _, rows in shapes) <= 100


# --- kernels with few features ---------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "grids"), [("linear", {}), ("polynomial", {"degree": "1:3"})])
@pytest.mark.parametrize("criterion", ["5-CV", "ELOO", "GCV"])
@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_exact_features_are_the_kernel(
    kernel: str,
    grids: dict[str, str],
    criterion: str,
    learner: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = table(120)
    request = asked(kernel, grids, criterion=criterion, learner=learner)
    folds = make_folds(request.method, len(X), 0, None)
    fast = select(X, y[None], request, folds)
    monkeypatch.setattr("kselect.selection.columns.SHARE_OF_ROWS", 0.0)
    dense = select(X, y[None], request, folds)
    assert fast.held_out is None or fast.held_out.shape == (1, 120)
    np.testing.assert_allclose(fast.scores, dense.scores, **TIGHT)
    values = [
        decision_values(s.kernel, s.best.fits, X if s.support is None else s.support, X[:9])
        for s in (fast, dense)
    ]
    np.testing.assert_allclose(*values, rtol=1e-6)
    support = None if fast.support is None else fast.support.shape
    assert support == ((3, 3) if kernel == "linear" else None)


def test_a_linear_kernel_takes_no_matrix_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(20_000, 4)
    monkeypatch.setattr("kselect.selection.refusals.available_memory", lambda: 2**27)
    request = asked("linear", {}, criterion="ELOO")
    found = select(X, y[None], request, None)
    assert HeldOut(found, X, y[None], None).quality.value > 0.0


def test_a_ridge_that_the_features_hide_is_left_to_the_whole_matrix() -> None:
    X, y = table(60, 2)
    X = np.column_stack([X, X[:, 0], X[:, 1] * 1e-9])
    request = asked("linear", {}, lam="1e-12")
    folds = make_folds(request.method, len(X), 0, None)
    found = select(X, y[None], request, folds)
    assert np.isfinite(found.score)
    assert found.support is None


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_monomials_have_the_products_of_the_polynomial_kernel(degree: int) -> None:
    X, _ = table(7)
    (kernel,) = make_kernels("polynomial", {"degree": degree})
    features = monomials(kernel, 3)
    assert features is not None
    V = features.raw(Points(X[:0], X))
    np.testing.assert_allclose(V.T @ V, kernel.gram(Points(X)), rtol=1e-12, atol=1e-14)


def test_groups_of_landmarks_keep_the_approximation() -> None:
    X, _ = table(200, 5)
    (kernel,) = make_kernels("gaussian", {"tau": 64})
    features = column_features(kernel, X[:60], 1e-7)
    assert len(features.blocks) > 1
    V = features.scaled(features.raw(Points(X[:60], X)))
    U = slow.features(kernel, X, X[:60])
    np.testing.assert_allclose(V.T @ V, U @ U.T, atol=1e-9)
    w = np.random.default_rng(0).normal(size=features.size)
    K = kernel.gram(Points(X, X[:60]))
    np.testing.assert_allclose(K @ features.expansion(w), V.T @ w, rtol=1e-6, atol=1e-7)


# --- landmarks ----------------------------------------------------------------------------------------


def test_rpcholesky_spans_rare_rows_that_uniform_columns_miss() -> None:
    rng = np.random.default_rng(3)
    X = np.concatenate(
        [rng.normal(size=(500, 2)) * 0.01, 30.0 + 10.0 * np.arange(10)[:, None] * np.ones((10, 2))]
    )
    (kernel,) = make_kernels("gaussian", {"tau": 4})
    chosen = rpcholesky(kernel, X, 14, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 14
    assert set(range(500, 510)) <= set(chosen.tolist())
    few = rpcholesky(kernel, np.zeros((9, 2)), 4, rng)  # one row spans all
    assert len(set(few.tolist())) == 4


def test_columns_says_how_landmarks_are_drawn() -> None:
    X, y = table(400)
    drawn = []
    for way in ("uniform", "rpcholesky"):
        request = asked("gaussian", {"tau": "1,4,16"}, nystrom=12, columns=way)
        drawn.append(found_on(X, y, request, make_folds(request.method, 400, 0, None))[1])
    assert not np.array_equal(*drawn)
    with pytest.raises(ConfigError, match="valid: uniform, rpcholesky"):
        check_columns("leverage")
