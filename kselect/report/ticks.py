"""The places and labels of ticks: grid values, and three to six round numbers on a log axis of any length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kselect.grids import show_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# Multipliers of powers of ten; an axis takes the first of these steps that gives it enough labels.
STEPS: tuple[tuple[int, ...], ...] = ((1,), (1, 3), (1, 2, 5))
FEWEST, MOST = 3, 6
# The letters that have room side by side below a small panel.
LETTERS = 14
# The free share of an axis beyond the outermost points, in logarithms.
ROOM = 0.06


def label_values(values: Sequence[float]) -> list[str]:
    """Return the labels of grid values: powers of two as such if all are, other numbers with two digits."""
    parts = [math.frexp(value) for value in values]
    if len(values) > 1 and all(mantissa == 0.5 for mantissa, _ in parts):
        return [f"$2^{{{exponent - 1}}}$" for _, exponent in parts]
    return [show_number(float(f"{value:.2g}")) for value in values]


def spread(count: int, most: int) -> list[int]:
    """Return at most ``most`` positions (two or more) among ``count``: the first one, then at equal steps."""
    steps = range(1, max(count, 2))
    # The smallest step that is short enough; if possible one that also ends at the last position.
    enough = [step for step in steps if (count - 1) // step < most] or [1]
    step = next((s for s in enough if (count - 1) % s == 0 and s < 2 * enough[0]), enough[0])
    return list(range(0, count, step))


def scale_axis(ax: Axes, axis: Axis, values: Sequence[float]) -> None:
    """Make an axis logarithmic, with at least three labels wherever the numbers lie."""
    low, high = math.log10(min(values)), math.log10(max(values))
    room = max(ROOM * (high - low), 0.02)
    ends = (10 ** (low - room), 10 ** (high + room))
    horizontal = axis is ax.xaxis
    (ax.set_xscale if horizontal else ax.set_yscale)("log")
    (ax.set_xlim if horizontal else ax.set_ylim)(*ends)
    ticks = find_ticks(*ends)
    if horizontal and sum(len(show_tick(t)) for t in ticks) > LETTERS:
        ticks = ticks[::2]
    axis.set_ticks(ticks, [show_tick(t) for t in ticks])
    axis.set_ticks([], minor=True)


def find_ticks(low: float, high: float) -> list[float]:
    """Return three to six numbers of one digit, every few decades; on a short axis, evenly spaced numbers."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for step in STEPS:
        found = [m * 10.0**d for d in decades for m in step if low <= m * 10.0**d <= high]
        if len(found) >= FEWEST:
            return found[:: math.ceil(len(found) / MOST)]
    unit = 10.0 ** math.floor(math.log10((high - low) / FEWEST))
    for width in (10 * unit, 5 * unit, 2 * unit, unit):
        found = [i * width for i in range(math.ceil(low / width), math.floor(high / width) + 1)]
        if len(found) >= FEWEST:
            break
    return found


def show_tick(value: float) -> str:
    """Return ``2``, ``50``, and a small or large number as ``2e-4``."""
    if 0.01 <= value < 1e4:
        return f"{value:.6g}"
    power = math.floor(math.log10(value) + 1e-9)
    return f"{value / 10.0**power:.6g}e{power}"
