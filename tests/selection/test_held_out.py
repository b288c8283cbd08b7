"""Held-out predictions against fits without the held-out rows, and probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_tables import slope_by_search, slope_loss
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kselect import KernelSelectClassifierCV
from kselect.core.method import Choice
from kselect.errors import TrialError
from kselect.kernels import Points
from kselect.numerics.folds import draw_folds
from kselect.numerics.sigmoid import LEAST_SLOPE, fit_slope, probabilities
from kselect.selection.engine import select
from kselect.selection.held_out import HeldOut, quality_of
from kselect.selection.request import Request, make_folds, make_kernels, make_lams, make_method

RNG = np.random.default_rng(5)
X = RNG.normal(size=(33, 2))
Y = np.stack([np.sign(X[:, 0] + 0.2), np.sign(X[:, 1] - 0.1)])


def request(criterion: str, learner: str, nystrom: int | None = None) -> Request:
    """Return a request with few candidates."""
    method = make_method(criterion, None, {}, True)
    kernels = make_kernels("gaussian", {"tau": "1,4"})
    return Request(Choice(learner), kernels, make_lams("0.01,0.1"), method, nystrom=nystrom)


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
@pytest.mark.parametrize("criterion", ["5-CV", "ELOO"])
def test_held_out_predictions_are_those_of_fits_without_the_fold(
    learner: str, criterion: str
) -> None:
    asked = request(criterion, learner)
    folds = make_folds(asked.method, len(X), 0, None)
    found = select(X, Y, asked, folds)
    held_out = HeldOut(found, X, Y, folds)
    folds, mine = held_out.folds, held_out.decisions
    assert len(folds.members) == 5
    K = found.kernel.gram(Points(X))
    for F in folds.members:
        T = np.setdiff1d(np.arange(len(X)), F)
        for y, f in zip(Y, mine, strict=True):
            system = np.zeros((len(T) + 1, len(T) + 1))
            system[1:, 1:] = K[np.ix_(T, T)] + len(X) * found.lam * np.eye(len(T))
            if learner == "lssvm":
                system[0, 1:] = system[1:, 0] = 1
            else:
                system[0, 0] = 1
            solution = np.linalg.solve(system, np.concatenate([[0], y[T]]))
            np.testing.assert_allclose(
                f[F], K[np.ix_(F, T)] @ solution[1:] + solution[0], rtol=1e-7
            )


@pytest.mark.parametrize("criterion", ["5-CV", "5-KS", "BIF-5-CV", "ELOO"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_predictions_of_the_criterion_are_reused(criterion: str, n_jobs: int) -> None:
    """Predictions that the criterion computed are reused without a second path."""
    asked = replace(request(criterion, "lssvm"), n_jobs=n_jobs)
    folds = make_folds(asked.method, len(X), 0, None)
    found = select(X, Y, asked, folds)
    assert (found.held_out is not None) is (criterion in ("5-CV", "5-KS"))
    if found.held_out is not None and folds is not None:
        again = HeldOut(replace(found, held_out=None), X, Y, folds).decisions
        np.testing.assert_allclose(HeldOut(found, X, Y, folds).decisions, again, rtol=1e-9)
        assert HeldOut(found, X, Y, folds).decisions is found.held_out


def test_of_an_approximated_kernel() -> None:
    asked = request("5-CV", "krr", nystrom=10)
    folds = make_folds(asked.method, len(X), 0, None)
    found = select(X, Y[:1], asked, folds)
    assert folds is not None
    held = HeldOut(found, X, Y[:1], folds).decisions
    assert np.mean(np.square(held - Y[:1])) == pytest.approx(found.score)


def test_accuracy() -> None:
    folds = draw_folds(40, 4, np.random.default_rng(0))
    targets = np.where(np.arange(40) < 25, -1.0, 1.0)[None]
    decisions = targets.copy()
    wrong = [0, 3, 30]
    decisions[:, wrong] *= -1
    quality = quality_of(decisions, targets, "classification", folds)
    each = [1 - len(set(wrong) & set(F.tolist())) / 10 for F in folds.members]
    assert quality.value == pytest.approx(37 / 40)
    assert quality.trivial == pytest.approx(25 / 40)
    assert quality.spread == pytest.approx(np.std(each, ddof=1))
    three = -np.ones((3, 40))
    three[np.arange(40) % 3, np.arange(40)] = 1
    assert quality_of(three, three, "classification", folds).value == 1
    assert quality_of(np.roll(three, 1, axis=0), three, "classification", folds).value == 0


def test_a_constant_prediction_of_balanced_classes_is_right_half_the_time() -> None:
    """The majority of the other folds would be wrong more often than not."""
    folds = draw_folds(106, 5, np.random.default_rng(0))
    targets = np.where(np.arange(106) < 53, -1.0, 1.0)[None]
    quality = quality_of(targets, targets, "classification", folds)
    assert quality.trivial == 0.5
    assert "; 0.5 by always predicting the most frequent class" in quality.text


def test_r2_is_scikit_learns() -> None:
    folds = draw_folds(40, 4, np.random.default_rng(0))
    y = RNG.normal(size=(2, 40))
    f = y + RNG.normal(size=(2, 40))
    quality = quality_of(f, y, "regression", folds)
    assert quality.value == pytest.approx(r2_score(y.T, f.T))
    means = np.broadcast_to(y.mean(axis=1, keepdims=True), y.shape)
    assert quality.trivial == pytest.approx(r2_score(y.T, means.T), abs=1e-12)
    assert "R2" in quality.text
    assert "by always predicting the mean" in quality.text


SEEDS = st.integers(0, 10_000)


def drawn(
    seed: int, classes: int, n: int = 60, shift: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return decision values of overlapping classes, and one-against-rest targets of -1 and +1."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(classes, size=n)
    codes[:classes] = range(classes)
    Y = np.where(codes == np.arange(classes)[:, None], 1.0, -1.0)
    F = shift * Y + rng.normal(size=Y.shape)
    return (F[1:], Y[1:]) if classes == 2 else (F, Y)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from([2, 3, 5]), st.sampled_from([0.3, 1.0, 3.0]))
def test_the_optimum_of_the_definition(seed: int, classes: int, shift: float) -> None:
    F, Y = drawn(seed, classes, shift=shift)
    found, expected = fit_slope(F, Y), slope_by_search(F, Y)
    assert slope_loss(found, F, Y) <= slope_loss(expected, F, Y) + 1e-10
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)


@settings(deadline=None)
@given(SEEDS, st.sampled_from([2, 3]), st.floats(1e-6, 1e6))
def test_units_do_not_matter(seed: int, classes: int, unit: float) -> None:
    F, Y = drawn(seed, classes)
    assert fit_slope(unit * F, Y) == pytest.approx(fit_slope(F, Y) / unit, rel=1e-6)


@settings(deadline=None)
@given(SEEDS, st.sampled_from([2, 4]))
def test_probabilities(seed: int, classes: int) -> None:
    """Probabilities sum to one; the largest belongs to the class with the largest decision."""
    F, Y = drawn(seed, classes)
    p = probabilities(fit_slope(F, Y), F.T)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    predicted = (F[0] > 0).astype(int) if classes == 2 else F.argmax(axis=0)
    assert np.array_equal(p.argmax(axis=1), predicted)
    assert np.isfinite(np.log(p)).all()


@pytest.mark.parametrize("slope", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("classes", [1, 2, 3, 7])
def test_the_likeliest_class_is_the_predicted_one(classes: int, slope: float) -> None:
    """This holds also where the probabilities are equal to rounding; of equal decisions the first wins."""
    rng = np.random.default_rng(classes)
    near = np.repeat(rng.normal(size=(200, 1)), classes, axis=1)
    small = near * (1 + 1e-16 * rng.integers(-3, 4, size=near.shape))
    equal = rng.integers(-1, 2, size=near.shape)
    values = np.concatenate([small, 1e-17 * near, 1e-320 * near, 0 * near, equal])
    p = probabilities(slope, values)
    wanted = (values[:, 0] > 0).astype(int) if classes == 1 else values.argmax(axis=1)
    np.testing.assert_array_equal(p.argmax(axis=1), wanted)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)


def test_separated_classes_have_a_finite_slope() -> None:
    y = np.where(np.arange(20) < 10, -1.0, 1.0)[None]
    slope = fit_slope(y, y)
    p = probabilities(slope, y.T)
    np.testing.assert_allclose(p.max(axis=1), 11 / 12, rtol=1e-8)  # Platt's smoothed target


def test_the_slope_of_misleading_decisions_is_not_negative() -> None:
    F, Y = drawn(1, 2)
    assert fit_slope(-F, Y) == pytest.approx(LEAST_SLOPE / np.abs(F).max())
    assert fit_slope(np.zeros_like(F), Y) > 0


@pytest.mark.parametrize(
    ("F", "Y"),
    [(np.ones(3), np.ones(3)), (np.ones((1, 3)), np.ones((1, 4))), (np.ones((1, 0)),) * 2],
)
def test_shapes(F: np.ndarray, Y: np.ndarray) -> None:
    with pytest.raises(ValueError, match="decisions of shape"):
        fit_slope(F, Y)


def test_decisions_that_are_not_finite() -> None:
    with pytest.raises(TrialError, match="a held-out decision value is not finite"):
        fit_slope(np.array([[1.0, np.nan]]), np.array([[1.0, -1.0]]))


@pytest.mark.parametrize(("load", "off"), [(load_breast_cancer, 0.03), (load_wine, 0.1)])
def test_log_loss_on_rows_that_were_not_seen(load: object, off: float) -> None:
    """The log loss is far below that of class frequencies and near that of the best slope."""
    X, y = load(return_X_y=True)  # type: ignore[operator]
    A, B, a, b = train_test_split(X, y, random_state=0)
    scaler = StandardScaler().fit(A)
    model = KernelSelectClassifierCV(tau="2^2:2^6:2", lam="10^-4:10^-1")
    model.fit(scaler.transform(A), a)
    mine = log_loss(b, model.predict_proba(scaler.transform(B)))
    decisions = np.atleast_2d(model.decision_function(scaler.transform(B)).T).T
    best = min(log_loss(b, probabilities(slope, decisions)) for slope in np.geomspace(0.1, 30, 60))
    assert mine < 0.25
    assert mine < best + off
