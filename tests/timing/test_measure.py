"""Order, budget, extrapolation and repetition of measurements, on a simulated clock."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kselect.store.timings import Seconds
from kselect.timing import measure as measuring
from kselect.timing.measure import difference, even_order, grid_order, sweep
from kselect.timing.paper import base
from kselect.timing.paper.base import Stopwatch


@pytest.mark.parametrize("n", [1, 2, 3, 8, 10, 15, 21])
def test_even_order(n: int) -> None:
    """The order is a permutation, and every prefix has nearly equally many of each half."""
    order = even_order(n)
    assert sorted(order) == list(range(n))
    for stop in range(1, n + 1):
        low = sum(i < n / 2 for i in order[:stop])
        assert abs(low - stop * math.ceil(n / 2) / n) <= 1.5


@pytest.mark.parametrize(("widths", "pieces"), [(15, 10), (10, 15), (21, 4), (3, 1), (1, 1)])
def test_grid_order_covers_widths_and_ridges_evenly(widths: int, pieces: int) -> None:
    order = list(grid_order(widths, pieces))
    assert len(set(order)) == len(order) == widths * pieces
    for turn in range(pieces):
        part = order[turn * widths : (turn + 1) * widths]
        assert sorted(w for w, _ in part) == list(range(widths))
        counts = np.bincount([p for _, p in part], minlength=pieces)
        assert counts.max() - counts.min() <= 1
    assert order == list(grid_order(widths, pieces))


class Clock:
    """A clock that the test advances; CPU time passes at half the speed of wall time."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.now / 2


class Fake:
    """A selection that takes 3 to start, 2 per width, and 1 per piece."""

    def __init__(
        self, clock: Clock, pieces: int = 4, unit: float = 1.0, *, fitted: bool = False
    ) -> None:
        experiment = SimpleNamespace(lam=SimpleNamespace(values=(0.0,) * pieces))
        parts = SimpleNamespace(context=SimpleNamespace(kernels=(None,) * 6))
        self.training: Any = SimpleNamespace(experiment=experiment, parts=parts, shape=(10, 2))
        self.pieces, self.clock, self.unit = pieces, clock, unit
        self.fits, self.fitted = Stopwatch(), fitted
        self.prepared: list[int] = []

    def start(self) -> None:
        self.clock.now += 3 * self.unit

    def width(self, position: int) -> Any:
        self.clock.now += 2 * self.unit
        self.prepared.append(position)

        def piece(ridge: int) -> Any:
            if self.fitted:  # three quarters of a piece are the training
                with self.fits:
                    self.clock.now += 0.75 * self.unit
                self.clock.now -= 0.75 * self.unit
            self.clock.now += self.unit
            return np.array([position * 10.0 + ridge])

        return piece


def measure(selection: Fake, budget: float) -> tuple[Seconds, Any]:
    return measuring.measure(lambda: sweep(selection, budget), budget)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(base, "time", found)
    return found


WHOLE = 3 + 6 * 2 + 24 * 1


def test_a_whole_selection(clock: Clock) -> None:
    selection = Fake(clock)
    seconds, scores = measure(selection, 1e6)
    assert seconds == Seconds(WHOLE / 2, WHOLE, 1.0, 1)
    assert sorted(selection.prepared) == list(range(6))
    np.testing.assert_array_equal(scores, np.add.outer(np.arange(6) * 10.0, np.arange(4)))


def test_beyond_the_budget_the_rest_is_extrapolated(clock: Clock) -> None:
    """Beyond the budget, the time of equal pieces is extrapolated from the measured ones."""
    seconds, scores = measure(Fake(clock), 17.5)
    assert clock.now == 18.0  # it stops after the piece that exhausts the budget
    assert seconds.wall == pytest.approx(WHOLE)
    assert seconds.cpu == pytest.approx(WHOLE / 2)
    assert seconds.share == 5 / 24
    assert not seconds.whole
    assert np.isfinite(scores).sum() == 5


@pytest.mark.parametrize("budget", [1e6, 17.5])
def test_trainings_are_extrapolated_like_their_pieces(clock: Clock, budget: float) -> None:
    """The seconds without training keep all that is done once per width."""
    seconds, _ = measure(Fake(clock, fitted=True), budget)
    assert seconds.fits == pytest.approx(24 * 0.75 / 2)
    assert seconds.without_fits == pytest.approx((WHOLE - 24 * 0.75) / 2)
    untold, _ = measure(Fake(clock), budget)
    assert untold.fits is untold.without_fits is None


def test_at_least_one_piece_is_measured(clock: Clock) -> None:
    seconds, _ = measure(Fake(clock), 1e-9)
    assert seconds.share == 1 / 24
    assert seconds.wall == pytest.approx(WHOLE)


def test_kernels_that_do_not_fit_are_computed_again(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recomputed kernels count once per width in the seconds."""
    monkeypatch.setattr(measuring, "KEPT_BYTES", 6 * 800 - 1)
    selection = Fake(clock)
    seconds, _ = measure(selection, 1e6)
    assert len(selection.prepared) == 24
    assert seconds.wall == pytest.approx(WHOLE)
    monkeypatch.setattr(measuring, "KEPT_BYTES", 6 * 800)
    selection = Fake(clock)
    measure(selection, 1e6)
    assert len(selection.prepared) == 6


def test_short_selections_are_repeated(clock: Clock) -> None:
    assert measure(Fake(clock, unit=1e-6), 60)[0].repeats == measuring.REPEATS
    assert measure(Fake(clock, unit=0.4 / WHOLE), 60)[0].repeats == 2
    assert measure(Fake(clock, unit=0.4 / WHOLE), 0.5)[0].repeats == 1


def test_difference() -> None:
    inf, nan = math.inf, math.nan
    one, other = np.array([1.0, inf, nan, 0.0]), np.array([1.5, 2.0, 3.0, 0.0])
    assert difference(one, other) == pytest.approx(0.5 / 1.5)
    assert difference(other, other) == 0.0
    assert difference(np.array([inf]), np.array([1.0])) is None
