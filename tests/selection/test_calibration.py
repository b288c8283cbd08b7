"""Probabilities of decision values: the optimum of their definition, and what a probability has to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_tables import slope_by_search, slope_loss
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kselect import KernelSelectClassifierCV
from kselect.errors import TrialError
from kselect.selection.calibration import LEAST, fit_slope, probabilities

SEEDS = st.integers(0, 10_000)


def drawn(
    seed: int, classes: int, n: int = 60, shift: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Decision values of overlapping classes, and targets -1 and +1: one row of each for two classes."""
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
    """They sum to one, and the likeliest class is the one of the largest decision."""
    F, Y = drawn(seed, classes)
    p = probabilities(fit_slope(F, Y), F.T)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    predicted = (F[0] > 0).astype(int) if classes == 2 else F.argmax(axis=0)
    assert np.array_equal(p.argmax(axis=1), predicted)
    assert np.isfinite(np.log(p)).all()


def test_separated_classes_have_a_finite_slope() -> None:
    y = np.where(np.arange(20) < 10, -1.0, 1.0)[None]
    slope = fit_slope(y, y)
    p = probabilities(slope, y.T)
    np.testing.assert_allclose(p.max(axis=1), 11 / 12, rtol=1e-8)  # Platt's smoothed target


def test_decisions_that_mislead_are_not_turned_round() -> None:
    F, Y = drawn(1, 2)
    assert fit_slope(-F, Y) == pytest.approx(LEAST / np.abs(F).max())
    assert fit_slope(np.zeros_like(F), Y) > 0


@pytest.mark.parametrize(
    ("F", "Y"),
    [(np.ones(3), np.ones(3)), (np.ones((1, 3)), np.ones((1, 4))), (np.ones((1, 0)),) * 2],
)
def test_shapes(F: np.ndarray, Y: np.ndarray) -> None:
    with pytest.raises(ValueError, match="decisions of shape"):
        fit_slope(F, Y)


def test_what_is_not_finite() -> None:
    with pytest.raises(TrialError, match="a held-out decision is not finite"):
        fit_slope(np.array([[1.0, np.nan]]), np.array([[1.0, -1.0]]))


@pytest.mark.parametrize(("load", "off"), [(load_breast_cancer, 0.03), (load_wine, 0.1)])
def test_log_loss_on_rows_that_were_not_seen(load: object, off: float) -> None:
    """Far below that of the classes' frequencies, and near that of the best slope for these rows."""
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
