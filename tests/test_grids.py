"""Grids are read as written, and anything else is refused."""

from __future__ import annotations

import math
import time
from itertools import pairwise
from typing import Any

import pytest
from experiments import message_of
from hypothesis import given
from hypothesis import strategies as st

from kselect.errors import ConfigError
from kselect.grids import (
    LARGEST_GRID,
    parse_grid,
    parse_number,
    show_grid,
    show_number,
    show_power,
    show_powers_in,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2^-3", 0.125),
        (" 2^3 ", 8.0),
        ("0.5^2", 0.25),
        ("10^-4", 1e-4),
        ("10^23", 1e23),
        ("1e-4", 1e-4),
        ("-7", -7.0),
        (3, 3.0),
        (0.5, 0.5),
    ],
)
def test_number(text: Any, value: float) -> None:
    """Powers and plain numbers are read exactly, to the last bit."""
    assert parse_number(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ten", "'ten' is not a number"),
        ("", "'' is not a number"),
        ("2^", "'2^' is not a number"),
        ("2^0.5", "'2^0.5' is not a number"),
        (True, "True is not a number"),
        (None, "None is not a number"),
        ([1], "[1] is not a number"),
        ("0^-1", "'0^-1' is not a number"),
        ("2^99999", "'2^99999' is not a number"),
        (10**400, "is not a number"),
        ("nan", "'nan' is not a finite number"),
        ("inf", "'inf' is not a finite number"),
        ("10^999", "'10^999' is not a finite number"),
        ("2^-9999", "'2^-9999' is too small for a number"),
    ],
)
def test_not_a_number(text: Any, words: str) -> None:
    """A value that is not a finite number is refused, and the message shows it."""
    assert message_of(ConfigError, parse_number, text).endswith(words)


@pytest.mark.parametrize(
    ("grid", "values"),
    [
        ("2^-2:2^1", (0.25, 0.5, 1, 2)),
        ("2^-15:2^15:10", (2**-15, 2**-5, 2**5, 2**15)),
        ("10^-4:10^-1", (1e-4, 1e-3, 1e-2, 1e-1)),
        ("1:4", (1, 2, 3, 4)),
        ("1e-3:1e2", (1e-3, 1e-2, 0.1, 1, 10, 100)),
        ("1E-4 : 0.1", (1e-4, 1e-3, 1e-2, 0.1)),
        ("5e-3:50e0", (5e-3, 5e-2, 0.5, 5, 50)),
        ("1e-6:1e0:3", (1e-6, 1e-3, 1)),
        ("1:10:4", (1, 5, 9)),
        ("-1 : 1", (-1, 0, 1)),
        ("2^3:2^3", (8,)),
        ("0.5,1,2", (0.5, 1, 2)),
        ("4, 1:2 ,2^-1", (4, 1, 2, 0.5)),
        ([2, "2^-1", "5:6"], (2, 0.5, 5, 6)),
        ((3, 1), (3, 1)),
        (0.001, (0.001,)),
        ("0.001", (0.001,)),
    ],
)
def test_grid(grid: Any, values: tuple[float, ...]) -> None:
    """Every notation of a grid is read, in the order written."""
    assert parse_grid(grid) == values


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ([], "the grid is empty"),
        ("", "'' is not a number"),
        ("1,,2", "'' is not a number"),
        (None, "None is not a number"),
        ({}, "{} is not a number"),
        (True, "True is not a number"),
        ([[1]], "[1] is not a number"),
        ([1, 2, 1.0], "the grid holds 1 more than once"),
        ("1^0:1^3", "the grid holds 1 more than once"),
        ("3:1", "'3:1' is empty: its end lies below its start"),
        ("2^3:2^1", "'2^3:2^1' is empty: its end lies below its start"),
        ("1:5:0", "'1:5:0': the step must be 1 or more"),
        ("1:5:x", "'1:5:x': 'x' is neither a power such as 2^-6 nor a whole number"),
        ("1:2.5", "'1:2.5': '2.5' is neither a power such as 2^-6 nor a whole number"),
        ("1:", "'1:': '' is neither a power such as 2^-6 nor a whole number"),
        ("1:2:3:4", "'1:2:3:4' is not a range; write low:high[:step], as in 2^-6:2^8"),
        ("2^1:3^2", "'2^1:3^2': both ends of a range of powers need the same base"),
        ("2^1:8", "'2^1:8': both ends of a range of powers need the same base"),
        ("0^-1:0^1", "'0^-1' is not a number"),
        (
            "1e-3:2e2",
            "'1e-3:2e2': both ends of a range by decades need the same digits, as in 1e-3:1e2",
        ),
        ("0e1:1e2", "'0e1:1e2': both ends of a range by decades must be positive"),
        ("1e-999:1e2", "'1e-999:1e2': both ends of a range by decades must be positive"),
        ("1e2:1e999", "'1e999' is not a finite number"),
        ("1e2:1e-2", "'1e2:1e-2' is empty: its end lies below its start"),
        ("1e-2:1e2:0", "'1e-2:1e2:0': the step must be 1 or more"),
        ("1:99999999999", f"'1:99999999999' has more than {LARGEST_GRID} values"),
    ],
)
def test_not_a_grid(grid: Any, words: str) -> None:
    """The error is one sentence that shows the text."""
    assert message_of(ConfigError, parse_grid, grid) == words


def test_largest_grid() -> None:
    """A grid of the largest size is accepted; one more value is refused."""
    assert len(parse_grid(f"1:{LARGEST_GRID}")) == LARGEST_GRID
    with pytest.raises(ConfigError, match="has more than"):
        parse_grid(f"0:{LARGEST_GRID}")


def test_enormous_exponent_is_a_config_error() -> None:
    """Python refuses to read thousands of digits; the user gets a config error instead."""
    with pytest.raises(ConfigError, match="too long for a range"):
        parse_grid(f"2^{'9' * 5000}:2^{'9' * 5000}")


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ("9" * 5000, "too long for a number"),
        (10**5000, "a number of thousands of digits is not a number"),
        (16**9000, "a number of thousands of digits is not a number"),
        ("9" * 390, "is not a finite number"),
        ("9" * 350 + "^1", "is not a finite number"),
        ("2^" + "9" * 300, "is not a number"),
        ("2^-" + "9" * 300, "is too small for a number"),
        ("9" * 390 + ":" + "9" * 390, "too long for a range"),
        (f"{10**150}:{10**150 + 5}", "more than once"),
        (f"{10**160}:{10**190}", f"has more than {LARGEST_GRID} values"),
        ("-" + "9" * 190 + ":" + "9" * 190, f"has more than {LARGEST_GRID} values"),
        ("1:2:" + "9" * 5000, "too long for a range"),
        ("1:" + ":" * 5000, "too long for a range"),
        ("1," * 10**6, f"the grid has more than {LARGEST_GRID} values"),
        ([f"{i}:{i + 9999}" for i in range(1, 10**8, 10**4)], f"more than {LARGEST_GRID} values"),
        (list(range(10**6)), f"the grid has more than {LARGEST_GRID} values"),
        ("z" * 10**6, "is too long for a number"),
        ([["z" * 10**6] * 10], "is not a number"),
        ({"z" * 10**6: 1}, "is not a number"),
    ],
    ids=range(19),
)  # fmt: skip
def test_enormous_grids(grid: Any, words: str) -> None:
    """Enormous grids are refused at once, in one short line."""
    started = time.process_time()
    with pytest.raises(ConfigError, match=words) as caught:
        parse_grid(grid)
    assert time.process_time() - started < 1
    assert len(str(caught.value)) < 200


def test_a_grid_of_many_parts_has_the_limit_of_a_range() -> None:
    assert len(parse_grid(",".join(map(str, range(LARGEST_GRID))))) == LARGEST_GRID
    assert len(parse_grid(["1:9999", 10_000])) == LARGEST_GRID
    for grid in (",".join(map(str, range(LARGEST_GRID + 1))), ["1:10000", 10_001]):
        with pytest.raises(ConfigError, match="the grid has more than"):
            parse_grid(grid)


@given(st.integers(-60, 60), st.integers(0, 40), st.integers(1, 7), st.sampled_from([2, 3, 10]))
def test_range_of_powers(low: int, length: int, step: int, base: int) -> None:
    """Each value of ``base^low:base^high:step`` equals the power itself."""
    values = parse_grid(f"{base}^{low}:{base}^{low + length}:{step}")
    single = [parse_number(f"{base}^{e}") for e in range(low, low + length + 1, step)]
    assert list(values) == single
    assert all(math.isclose(math.log(b / a, base), step) for a, b in pairwise(values))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shown_numbers_read_back(value: float) -> None:
    """The short text of a number reads back as the same number."""
    assert parse_number(show_number(value)) == value


@pytest.mark.parametrize(
    ("value", "text"), [(0.001, "0.001"), (1024.0, "1024"), (2**-10, "0.0009765625"), (1.0, "1")]
)
def test_shown_numbers_are_short(value: float, text: str) -> None:
    """Numbers are shown in their short usual form."""
    assert show_number(value) == text


@pytest.mark.parametrize(
    "text", ["2^-3:2^9", "10^-8:10^2", "2", "3,1,2", "1,3", "0,1", "0.5,1.7e308"]
)
def test_grids_as_short_as_they_can_be_written(text: str) -> None:
    assert show_grid(parse_grid(text)) == text.replace("1.7e308", "1.7e+308")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**-15, "2^-15"),
        (2**-5, "2^-5"),
        (1024.0, "2^10"),
        (4.0, "2^2"),
        (2.0, "2"),
        (1.0, "1"),
        (2.0**40, "2^40"),
        (1e-5, "1e-05"),
        (0.5, "0.5"),
    ],
)
def test_a_power_of_two_is_shown_as_one(value: float, text: str) -> None:
    assert show_power(value) == text
    assert parse_number(text) == value


def test_powers_of_two_within_a_text() -> None:
    text = "near the identity (tau=0.015625;lam=0.001, tau=3.0517578125e-05;lam=1024, degree=2)"
    shown = "near the identity (tau=2^-6;lam=0.001, tau=2^-15;lam=2^10, degree=2)"
    assert show_powers_in(text) == shown
    assert show_powers_in("x=10.24 y=2^10 1024") == "x=10.24 y=2^10 1024"
