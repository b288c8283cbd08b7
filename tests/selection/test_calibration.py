"""Platt's sigmoid: the optimum of its definition, scikit-learn's own, and what a probability has to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_tables import platt_loss, sigmoid_by_search
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss

from kselect.errors import TrialError
from kselect.selection.calibration import (
    Sigmoid,
    fit_sigmoid,
    fit_sigmoids,
    probabilities,
    probability,
)

SEEDS = st.integers(0, 10_000)


def drawn(seed: int, n: int = 60, shift: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Decision values of two overlapping classes, and labels -1 and +1."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = -1, 1
    return shift * y + rng.normal(size=n), y


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose decision value is its only feature."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Given:
        self.classes_ = np.unique(y)
        self.n_features_in_ = 1
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X)[:, 0]

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@settings(max_examples=20)
@given(SEEDS, st.integers(4, 60), st.sampled_from([0.0, 0.3, 1.0, 3.0]))
def test_the_optimum_of_the_definition(seed: int, n: int, shift: float) -> None:
    f, y = drawn(seed, n, shift)
    found = fit_sigmoid(f, y)
    a, b = sigmoid_by_search(f, y > 0)
    # The search stops where the loss is flat to 1e-14: the loss is compared, and the place to its root.
    assert platt_loss(found.a, found.b, f, y > 0) <= platt_loss(a, b, f, y > 0) + 1e-9
    np.testing.assert_allclose([found.a, found.b], [a, b], rtol=1e-4, atol=1e-4)


@given(SEEDS, st.sampled_from([0.3, 1.0]))
def test_scikit_learns_probabilities(seed: int, shift: float) -> None:
    f, y = drawn(seed, 80, shift)
    theirs = CalibratedClassifierCV(Given(), method="sigmoid", ensemble=False, cv=2)
    theirs.fit(f[:, None], y)
    mine = probabilities((fit_sigmoid(f, y),), f[:, None])
    # Without an ensemble, one calibrator sees the held-out decisions of all rows, here the rows themselves.
    np.testing.assert_allclose(mine, theirs.predict_proba(f[:, None]), atol=2e-3)
    assert log_loss(y, mine) <= log_loss(y, theirs.predict_proba(f[:, None])) + 1e-5


@given(SEEDS, st.sampled_from([1e-9, 1e-3, 1.0, 1e3, 1e9]))
def test_units_do_not_matter(seed: int, unit: float) -> None:
    f, y = drawn(seed)
    one, other = fit_sigmoid(f, y), fit_sigmoid(unit * f, y)
    np.testing.assert_allclose(
        probability(one, f), probability(other, unit * f), rtol=1e-7, atol=1e-9
    )


@given(SEEDS)
def test_a_larger_decision_is_likelier(seed: int) -> None:
    f, y = drawn(seed, 60, 1.5)
    grid = np.linspace(-6, 6, 50)
    p = probability(fit_sigmoid(f, y), grid)
    assert ((p > 0) & (p < 1)).all()
    assert (np.diff(p) > 0).all()
    np.testing.assert_allclose(1 - p, probability(fit_sigmoid(f, -y), grid), atol=1e-7)


@given(SEEDS)
def test_better_than_the_base_rate(seed: int) -> None:
    f, y = drawn(seed, 80)
    p = probabilities((fit_sigmoid(f, y),), f[:, None])
    rate = (y > 0).mean()
    assert log_loss(y > 0, p) < log_loss(y > 0, np.full(80, rate))
    # The optimum over b alone makes the mean of the probabilities that of Platt's targets.
    n_positive = (y > 0).sum()
    high, low = (n_positive + 1) / (n_positive + 2), 1 / (80 - n_positive + 2)
    assert p[:, 1].mean() == pytest.approx(np.where(y > 0, high, low).mean(), abs=1e-8)


def test_separated_classes_have_a_finite_sigmoid() -> None:
    f = np.array([-2.0, -1, 1, 2])
    found = fit_sigmoid(f, [-1, -1, 1, 1])
    assert np.isfinite([found.a, found.b]).all()
    p = probability(found, [-100.0, 0, 100])
    assert p[0] < 0.01 < 0.49 < p[1] < 0.51 < 0.99 < p[2]


@pytest.mark.parametrize("labels", [[1, 1, 1], [-1, -1, -1]])
def test_one_class_alone(labels: list[int]) -> None:
    """Platt's targets are never 0 or 1."""
    p = probability(fit_sigmoid([0.5, 1, 2], labels), [0.5, 1, 2])
    np.testing.assert_allclose(p, 4 / 5 if labels[0] > 0 else 1 / 5, atol=0.02)


@pytest.mark.parametrize("value", [0.0, 3.0, -1e-300])
def test_equal_decisions_have_the_base_rate(value: float) -> None:
    p = probability(fit_sigmoid(np.full(8, value), [1, 1, -1, -1, -1, -1, -1, -1]), [value])
    assert p[0] == pytest.approx((2 * 3 / 4 + 6 * 1 / 8) / 8, abs=1e-6)


def test_extreme_decisions_neither_overflow_nor_warn() -> None:
    p = probability(Sigmoid(-1e3, 0.0), [-1e6, 0, 1e6])
    assert p.tolist() == [0, 0.5, 1]
    fit_sigmoid([-1e300, 1e-300, 1e300, 1], [-1, 1, 1, -1])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_decision_that_is_no_number(bad: float) -> None:
    with pytest.raises(TrialError, match="not finite"):
        fit_sigmoid([1.0, bad], [1, -1])


@pytest.mark.parametrize(("f", "y"), [([], []), ([1.0], [1, -1]), ([[1.0]], [[1]])])
def test_shapes(f: object, y: object) -> None:
    with pytest.raises(ValueError, match="shape"):
        fit_sigmoid(f, y)


def test_more_classes_are_divided_by_their_sum() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, 90)
    targets = np.array([np.where(codes == c, 1.0, -1.0) for c in range(3)])
    decisions = targets + rng.normal(size=targets.shape)
    sigmoids = fit_sigmoids(decisions, targets)
    p = probabilities(sigmoids, decisions.T)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    each = np.stack([probability(s, f) for s, f in zip(sigmoids, decisions, strict=True)], axis=1)
    np.testing.assert_allclose(p, each / each.sum(axis=1, keepdims=True))
    assert log_loss(codes, p) < np.log(3)
    assert (p.argmax(axis=1) == codes).mean() > 0.6


def test_two_classes_are_the_complement() -> None:
    p = probabilities((Sigmoid(-1.0, 0.5),), np.array([[0.0], [2.0]]))
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp([0.5, -1.5])))
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_where_all_classes_vanish_none_is_likelier() -> None:
    sigmoids = (Sigmoid(-1.0, 1e6),) * 3
    assert probabilities(sigmoids, np.zeros((2, 3))).tolist() == [[1 / 3] * 3] * 2
