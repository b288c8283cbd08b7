"""FBIF equals dense inverses and the recursion, for both losses and right hand sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import oracles_smooth_hinge as slow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import Case, cases, numbered, problem_of

from kselect.criteria import find_criterion
from kselect.errors import TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.learners import LEARNERS, Problem
from kselect.learners.krr_lssvm import RidgePath, krr
from kselect.learners.nystrom_series import factor_of_share, nystrom_factor, woodbury
from kselect.learners.smooth_hinge import SmoothHingePath, smooth_hinge
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array

NAMES = st.sampled_from(["krr", "smooth-hinge"])
SIDES = st.sampled_from(["exact", "nystrom"])


def path_of(learner: str, p: Problem) -> RidgePath | SmoothHingePath:
    """Return the path of one of the two learners that offer FBIF."""
    return smooth_hinge(p) if learner == "smooth-hinge" else krr(p)


def on_columns(p: Problem, landmarks: Any) -> tuple[Problem, float]:
    """Return a problem that draws these rows first, and their share c."""
    others = np.setdiff1d(np.arange(p.n), landmarks)
    order = np.concatenate([np.asarray(landmarks, dtype=np.intp), others])
    return replace(p, order=order), len(landmarks) / p.n


def fbif(
    learner: str, p: Problem, landmarks: Any, folds: Folds, order: int = 1, rhs: Any = "exact"
) -> Array:
    """Return the prediction of each row by FBIF on these columns."""
    p, c = on_columns(p, landmarks)
    return path_of(learner, p).fbif(folds, c=c, order=order, rhs=rhs)


def blobs(n: int = 30, tau: float = 1.0, lams: Any = (0.01, 0.1, 1.0)) -> Problem:
    rng = np.random.default_rng(5)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    return problem_of(Gaussian(tau), rng.normal(size=(n, 2)) + 0.6 * y[:, None], y, lams)


def folds_of(n: int = 30, k: int = 4) -> Folds:
    return numbered(np.random.default_rng(3), n, k, False)


def slopes(learner: str, y: Array, f: Array) -> tuple[Array, Array]:
    """Return ``u`` and ``v`` of section 5 for a fit f."""
    if learner == "krr":
        return 2 * (y - f), np.full(len(y), 2.0)
    return slow.slopes(y, f, 0.05)


@given(cases(labels=True, lowest=-3.0), NAMES, SIDES, st.integers(0, 4), st.data())
def test_fbif_is_the_recursion(
    case: Case, learner: str, rhs: Any, order: int, draw: st.DataObject
) -> None:
    """The recursion uses the dense inverse of Lt, and K or Kt on the right hand side."""
    p = case.problem
    c = draw.draw(st.integers(1, p.n))
    landmarks = np.sort(np.random.default_rng(0).choice(p.n, c, replace=False))
    path = path_of(learner, p)
    found, fits = fbif(learner, p, landmarks, case.folds, order, rhs), path.decision()
    # If W is nearly singular, Kt itself is inaccurate; another test covers it.
    V = nystrom_factor(p.K[:, landmarks], landmarks)
    Kt = V @ V.T
    for at, lam in enumerate(p.lams.tolist()):
        u, v = slopes(learner, p.y, fits[at])
        L = slow.operator(Kt, v, lam)
        right = p.K if rhs == "exact" else Kt
        growth = (np.linalg.norm(right, 2) / lam) ** order
        for F in case.folds.members:
            want = slow.recursion(right, np.linalg.inv(L), fits[at], u, v, lam, F, order)[F]
            limit = 1e-10 * float(np.linalg.cond(L)) + 1e-13 * growth
            np.testing.assert_allclose(found[at, F], want, atol=limit * (1 + np.abs(want).max()))


def test_the_printed_operator_counts_all_rows() -> None:
    """``Lt = 2 lam I + Kt / (2 h n)``, without I0; the square loss has no such reading."""
    p, folds, landmarks = blobs(), folds_of(), np.array([0, 3, 7, 11, 20])
    p, c = on_columns(p, landmarks)
    path = smooth_hinge(p)
    found = path.fbif(folds, c=c, order=1, rhs="exact", operator="printed")
    Kt, fits = slow.nystrom(p.K, landmarks), path.decision()
    for at, lam in enumerate(p.lams.tolist()):
        u, v = slow.slopes(p.y, fits[at], 0.05)
        inverse = np.linalg.inv(slow.operator(Kt, np.full(30, 1.0 / (2.0 * 0.05)), lam))
        for F in folds.members:
            want = slow.recursion(p.K, inverse, fits[at], u, v, lam, F, 1)[F]
            np.testing.assert_allclose(found[at, F], want, rtol=1e-8, atol=1e-8)
    with pytest.raises(TrialError, match="operator: printed is a reading of the hinge loss"):
        krr(p).fbif(folds, c=c, order=1, rhs="exact", operator="printed")


@pytest.mark.parametrize("tau", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("lam", [0.01, 0.1, 10.0])
def test_woodbury_forms_are_the_dense_inverses(tau: float, lam: float) -> None:
    """Woodbury's formula agrees to 1e-10 for the square loss and for the hinge with its zones."""
    p = blobs(40, tau)
    V = nystrom_factor(p.K[:, ::4], np.arange(0, 40, 4))
    zone = (np.arange(40) % 3 > 0).astype(float)
    h, n = 0.05, 40
    square = woodbury(V, V, V.T @ V, n * lam, 2 * lam)(np.eye(n))
    hinge = woodbury(V, V * zone[:, None], (V.T * zone) @ V, 4 * n * lam * h, 2 * lam)(np.eye(n))
    for found, v in ((square, np.full(n, 2.0)), (hinge, zone / (2 * h))):
        dense = np.linalg.inv(slow.operator(V @ V.T, v, lam))
        assert np.abs(found - dense).max() <= 1e-10 * np.abs(dense).max()


def test_nystrom_factor_drops_rounding_errors() -> None:
    """``V V^T`` is ``C W^+ C^T``; a repeated landmark changes nothing."""
    p = blobs()
    landmarks = np.array([0, 3, 7, 11, 20])
    V = nystrom_factor(p.K[:, landmarks], landmarks)
    np.testing.assert_allclose(V @ V.T, slow.nystrom(p.K, landmarks), atol=1e-10)
    X = p.X.copy()
    X[3] = X[0]
    twice = problem_of(p.kernel, X, p.y)
    assert nystrom_factor(twice.K[:, landmarks], landmarks).shape == (30, 4)


@pytest.mark.parametrize("rhs", ["exact", "nystrom"])
@pytest.mark.parametrize("learner", ["krr", "smooth-hinge"])
@pytest.mark.parametrize("order", [1, 3])
def test_all_columns_are_no_approximation(learner: str, rhs: Any, order: int) -> None:
    """With all columns FBIF is BIF."""
    path, folds = path_of(learner, blobs()), folds_of()
    found = path.fbif(folds, c=1.0, order=order, rhs=rhs)
    np.testing.assert_allclose(found, path.bif(folds, order), atol=1e-8)


@pytest.mark.parametrize("learner", ["krr", "smooth-hinge"])
def test_far_from_every_column_it_is_the_jackknife(learner: str) -> None:
    """Far from every column, FBIF is ``n/(n - m) K_FS alpha_S``."""
    p = blobs()
    X = p.X.copy()
    X[0] += 1e3
    p = problem_of(Gaussian(1.0), X, p.y, p.lams)
    path, folds = path_of(learner, p), folds_of()
    found, alpha = fbif(learner, p, [0], folds), path.fit().alpha
    for F in folds.members:
        T = oracles.without(F, 30)
        rows = np.setdiff1d(F, [0])
        want = 30 / len(T) * alpha[:, T] @ p.K[np.ix_(T, rows)]
        if 0 in T:
            np.testing.assert_allclose(found[:, rows], want, atol=1e-9)


def test_exact_right_hand_side_grows() -> None:
    """At small lam, predictions are large with K on the right hand side but not with Kt."""
    p, folds = blobs(lams=(1e-7,)), folds_of()
    bounded = fbif("krr", p, [0, 5, 9], folds, rhs="nystrom")
    assert np.abs(fbif("krr", p, [0, 5, 9], folds)).max() > 100 * np.abs(bounded).max()


@pytest.mark.parametrize("learner", ["krr", "smooth-hinge"])
def test_divergent_predictions_count_as_wrong(learner: str) -> None:
    """A divergent prediction is infinite with the wrong sign, never NaN."""
    p = blobs(tau=1.0, lams=(1e-4,))
    found = fbif(learner, p, [0, 5], folds_of(), order=400)
    assert not np.isnan(found).any()
    gone = ~np.isfinite(found)
    assert gone.any()
    assert (p.y * found)[gone].max() == -np.inf


@pytest.mark.parametrize("learner", ["lssvm", "quadratic-svr"])
def test_learners_with_a_bias_are_refused(learner: str) -> None:
    """FBIF has no bias."""
    criterion, _ = find_criterion("5-FBIF")
    assert list(criterion.misfits("5-FBIF", LEARNERS[learner], ["gaussian"])) == [
        f"5-FBIF needs a series on Nystrom columns, which {learner} does not have"
    ]


def test_orders_and_landmarks_are_not_ignored() -> None:
    """Order and landmarks change the result, the ridge mode does not; order 0 is the fit."""
    p, folds = blobs(), folds_of()
    first = fbif("smooth-hinge", p, [0, 5, 9], folds)
    assert np.abs(first - fbif("smooth-hinge", p, [0, 5, 9], folds, order=2)).max() > 1e-3
    assert np.abs(first - fbif("smooth-hinge", p, [1, 6, 10], folds)).max() > 1e-3
    none = fbif("smooth-hinge", p, [0, 5, 9], folds, order=0)
    np.testing.assert_array_equal(none, smooth_hinge(p).decision())
    other = fbif("smooth-hinge", replace(p, ridge="per-fold"), [0, 5, 9], folds)
    np.testing.assert_array_equal(other, first)


def test_number_of_columns() -> None:
    """c is the share of the rows; at least one row is used, and at most all."""
    p = blobs(40, tau=0.01)
    assert [factor_of_share(p, c).shape[1] for c in (0.001, 0.1, 0.26, 1.0)] == [1, 4, 10, 40]
    with pytest.raises(TrialError, match="c is a share of the rows, at most 1, not 2"):
        factor_of_share(p, 2.0)


def test_fewer_columns_are_a_part_of_more() -> None:
    """Landmarks are a prefix of the problem's random order, or the first rows without one."""
    p = replace(blobs(), order=np.random.default_rng(0).permutation(30))
    assert set(p.drawn(3)) < set(p.drawn(9))
    assert list(p.drawn(30)) == list(range(30))
    assert list(blobs().drawn(3)) == [0, 1, 2]
