"""The Bayesian signed-rank test, against its definition, closed forms for few data sets, and its symmetries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import beta

from kselect.numerics.linalg import Array
from kselect.stats.signed_ranks import (
    DRAWS,
    STRENGTH,
    compare,
    posteriors,
    side_shares,
    weights,
)

# Five standard errors of a probability; the draws are always the same.
NOISE = 2.5 / np.sqrt(DRAWS)


def by_definition(differences: Array, w: Array, rope: float) -> list[float]:
    """Pair by pair, the pseudo-observation of zero first."""
    z = [0.0, *differences.tolist()]
    shares = [0.0, 0.0, 0.0]
    for i, j in itertools.product(range(len(z)), repeat=2):
        walsh = (z[i] + z[j]) / 2
        shares[0 if walsh < -rope else 2 if walsh > rope else 1] += w[i] * w[j]
    return shares


@pytest.mark.parametrize("seed", range(4))
def test_shares_are_those_of_the_definition(seed: int) -> None:
    """With differences at the edges of the region, which belong to it."""
    rng = np.random.default_rng(seed)
    differences = rng.normal(size=7).round(0 if seed % 2 else 2)
    w = weights(7)[:50]
    found = side_shares(differences, w, 0.5)
    expected = [by_definition(differences, row, 0.5) for row in w]
    np.testing.assert_allclose(found.T, expected, atol=1e-12)


def test_weights_are_those_of_the_posterior() -> None:
    """The pseudo-observation counts as half an observation; the same numbers every time."""
    w = weights(9)
    np.testing.assert_allclose(w.sum(axis=1), 1.0)
    means = np.array([STRENGTH, *[1.0] * 9]) / (9 + STRENGTH)
    np.testing.assert_allclose(w.mean(axis=0), means, atol=2e-3)
    first = w.copy()
    weights.cache_clear()
    np.testing.assert_array_equal(weights(9), first)


def test_two_data_sets_far_apart() -> None:
    """Above has ``1 - w_0^2``, more than a half where ``w_0 < sqrt(1/2)``; w_0 is Beta(s, 2)."""
    below, same, above = compare(np.array([3.0, 4.0]), 1.0)
    expected = beta.cdf(np.sqrt(0.5), STRENGTH, 2.0)
    assert above == pytest.approx(expected, abs=NOISE)
    assert (below, same) == (0.0, pytest.approx(1.0 - expected, abs=NOISE))


def test_two_data_sets_beyond_the_region_but_not_twice() -> None:
    """Above has ``(1 - w_0)^2`` only, as half of such a difference is inside."""
    below, _, above = compare(np.array([1.4, 1.8]), 1.0)
    assert above == pytest.approx(beta.cdf(1.0 - np.sqrt(0.5), STRENGTH, 2.0), abs=NOISE)
    assert below == 0.0


def test_exchanged_methods_exchange_the_probabilities() -> None:
    errors = np.random.default_rng(3).normal(10.0, 3.0, size=(12, 3))
    found = {(p.first, p.second): p for p in posteriors(errors, ("a", "b", "c"))}
    assert set(found) == {("a", "b"), ("a", "c"), ("b", "c")}
    for p in posteriors(errors[:, ::-1], ("c", "b", "a")):
        other = found[p.second, p.first]
        assert (p.better, p.same, p.worse) == (other.worse, other.same, other.better)


def test_what_it_says() -> None:
    """Nearly equal methods are the same, a clear difference is seen, and two sides of one size are even."""
    base = np.linspace(5.0, 30.0, 14)
    wobble = 0.2 * np.random.default_rng(0).normal(size=14)
    swing = np.where(np.arange(14) % 2 == 0, 4.0, -4.0)
    errors = np.column_stack([base, base + wobble, base + 4.0, base + swing])
    near, far, even = posteriors(errors, ("a", "near", "far", "even"))[:3]
    assert near.same == 1.0
    assert far.better > 0.999
    assert even.better == pytest.approx(even.worse, abs=0.05)
    assert all(p.better + p.same + p.worse == pytest.approx(1.0) for p in (near, far, even))


def test_one_data_set_tells_nothing() -> None:
    assert posteriors(np.ones((1, 2)), ("a", "b")) == ()
