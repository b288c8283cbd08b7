"""Numbers and grids in text form: ``0.5,1,2``, ``2^-6:2^8`` (all powers of 2), ``1:9:2`` (steps of 2).

``1e-3:1e2`` is a grid by decades.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

from kselect.errors import ConfigError, quoted

POWER = re.compile(r"(\d+(?:\.\d+)?)\^(-?\d+)")
# A number after an equals sign.
VALUE = re.compile(r"(?<==)\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\d.^])")
DECIMAL = re.compile(r"[+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
LARGEST_GRID = 10_000
LARGEST_SEARCH = 1_000_000  # candidates: kernels times ridges
TOO_MANY = f"the grid has more than {LARGEST_GRID} values"
LONGEST_NUMBER = 400  # characters; the longest float has about 330 digits


def parse_number(text: str | int | float) -> float:
    """Return ``'2^-3'``, ``'1e-4'`` or ``0.5`` as a float; anything else is a ConfigError.

    A power of 10 is read as text, so that ``10^23`` equals ``1e23`` to the last bit.
    """
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise ConfigError(f"{quoted(text)} is not a number")
    if isinstance(text, str) and len(text) > LONGEST_NUMBER:
        raise ConfigError(f"{quoted(text)} is too long for a number")
    power = POWER.fullmatch(text.strip()) if isinstance(text, str) else None
    try:
        if power and power[1] != "10":
            value = float(power[1]) ** int(power[2])
        else:
            value = float(f"1e{power[2]}" if power else text)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise ConfigError(f"{quoted(text)} is not a number") from None
    if power and value == 0 and float(power[1]) != 0:
        raise ConfigError(f"{quoted(text)} is too small for a number")
    if not math.isfinite(value):
        raise ConfigError(f"{quoted(text)} is not a finite number")
    return value


def parse_grid(grid: Any) -> tuple[float, ...]:
    """Return the values of a grid in the order written, with ranges expanded."""
    if not isinstance(grid, (str, list, tuple)):
        return (parse_number(grid),)
    # Text beyond the limit stays one part and is never parsed.
    parts = grid.split(",", LARGEST_GRID) if isinstance(grid, str) else grid
    if len(parts) > LARGEST_GRID:
        raise ConfigError(TOO_MANY)
    values: list[float] = []
    for part in parts:
        values += expand(part) if isinstance(part, str) and ":" in part else [parse_number(part)]
        if len(values) > LARGEST_GRID:
            raise ConfigError(TOO_MANY)
    if not values:
        raise ConfigError("the grid is empty")
    if len(set(values)) < len(values):
        repeated = [v for v, times in Counter(values).items() if times > 1]
        raise ConfigError(f"the grid holds {min(repeated):g} more than once")
    return tuple(values)


def expand(text: str) -> list[float]:
    """Return the values of ``base^low:base^high[:step]`` or ``low:high[:step]``, both ends included.

    If an end has an exponent, as in ``1e-3:1e2``, the values are a factor of ten apart; ``step`` counts decades.
    """
    if len(text) > LONGEST_NUMBER:
        raise ConfigError(f"{quoted(text)} is too long for a range")
    ends = [part.strip() for part in text.split(":")]
    if len(ends) not in (2, 3):
        raise ConfigError(f"{quoted(text)} is not a range; write low:high[:step], as in 2^-6:2^8")
    step = whole(ends[2], text) if len(ends) == 3 else 1
    if all(map(DECIMAL.fullmatch, ends[:2])) and "e" in "".join(ends[:2]).lower():
        digits, first, last = decades(ends[0], ends[1], text)
        return [parse_number(f"{digits}e{i}") for i in steps(first, last, step, text)]
    low, high = POWER.fullmatch(ends[0]), POWER.fullmatch(ends[1])
    base, bounds = "", (ends[0], ends[1])
    if low and high and low[1] == high[1]:
        for end in bounds:  # powers are monotone: if both ends are finite, so are all between
            parse_number(end)
        base, bounds = low[1], (low[2], high[2])
    elif low or high:
        words = "both ends of a range of powers need the same base"
        raise ConfigError(f"{quoted(text)}: {words}")
    first, last = (whole(bound, text) for bound in bounds)
    numbers = steps(first, last, step, text)
    return [parse_number(f"{base}^{i}") if base else float(i) for i in numbers]


def decades(low: str, high: str, text: str) -> tuple[str, int, int]:
    """Return the digits and the two exponents of a range by decades: ("5", -3, 2) for ``5e-3:5e2``."""
    if not (parse_number(low) > 0 and parse_number(high) > 0):
        raise ConfigError(f"{quoted(text)}: both ends of a range by decades must be positive")
    (_, a, first), (_, b, last) = (Decimal(end).normalize().as_tuple() for end in (low, high))
    if a != b or not (isinstance(first, int) and isinstance(last, int)):
        words = "both ends of a range by decades need the same digits, as in 1e-3:1e2"
        raise ConfigError(f"{quoted(text)}: {words}")
    return "".join(map(str, a)), first, last


def steps(first: int, last: int, step: int, text: str) -> range:
    """Return the whole numbers of a range; an error shows its text."""
    if step < 1:
        raise ConfigError(f"{quoted(text)}: the step must be 1 or more")
    if last < first:
        raise ConfigError(f"{quoted(text)} is empty: its end lies below its start")
    if (last - first) // step >= LARGEST_GRID:
        raise ConfigError(f"{quoted(text)} has more than {LARGEST_GRID} values")
    return range(first, last + 1, step)


def whole(part: str, text: str) -> int:
    """Return an integer; other text is a ConfigError that shows the whole range."""
    try:
        return int(part)
    except ValueError:
        words = f"{quoted(part)} is neither a power such as 2^-6 nor a whole number"
        raise ConfigError(f"{quoted(text)}: {words}") from None


def show_grid(values: Sequence[float]) -> str:
    """Return a grid as a range of powers of 2 or 10 if it is one, else as a list."""
    if 0 < values[0] < values[-1]:
        for base in (2, 10):
            ends = (round(math.log(v, base)) for v in (values[0], values[-1]))
            text = ":".join(f"{base}^{end}" for end in ends)
            with suppress(ConfigError):  # 2^1024 lies beyond the largest float
                if expand(text) == list(values):
                    return text
    return ",".join(map(show_number, values))


def show_number(value: float) -> str:
    """Return the shortest text that reads back as the same number: ``0.001``, ``1024``."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def show_power(value: float) -> str:
    """Return a power of two as ``2^-15``; ``0.5``, ``1``, ``2`` and any other number as ``show_number``."""
    mantissa, exponent = math.frexp(value)
    return f"2^{exponent - 1}" if mantissa == 0.5 and abs(exponent - 1) > 1 else show_number(value)


def show_powers_in(text: str) -> str:
    """Return a text with the powers of two after an equals sign as such: ``tau=2^-6;lam=0.001``."""
    return VALUE.sub(lambda found: show_power(float(found[0])), text)
