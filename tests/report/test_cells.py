import math

import pytest

from kselect.report.cells import Row, describe_fewer, show_p, show_row
from kselect.stats.comparison import Cell
from kselect.stats.ttest import TTest


def cell(mean: float, sd: float = math.nan, failures: int = 0, p: float | None = None) -> Cell:
    test = None if p is None else TTest(10, 1.0, p)
    runs = 0 if math.isnan(mean) else 10
    return Cell(mean, sd, runs, failures, 0, p is None and runs > 0, test, test)


def texts(row: Row) -> list[str]:
    return [f"{c.mean} {c.sd}".strip() for c in row.cells]


def test_percentages_have_two_decimals_as_in_the_papers() -> None:
    assert texts(show_row("d", "%", [cell(14.327, 2.61), cell(9.0, 2.9)], 10)) == [
        "14.33 2.61",
        "9.00 2.90",
    ]
    assert texts(show_row("d", "%", [cell(30.0, 12.0)], 10)) == ["30.00 12.00"]
    assert texts(show_row("d", "%", [cell(0.0, 0.0)], 10)) == ["0.00 0.00"]


@pytest.mark.parametrize(
    ("mean", "sd", "exponent", "text"),
    [
        (4.5e-5, 1.4e-5, -5, "4.5 1.4"),
        (0.015, 0.00097, -2, "1.500 0.097"),
        (0.23, 0.036, 0, "0.230 0.036"),
        (8.7, 0.83, 0, "8.70 0.83"),
        (593.1, 95.0, 0, "593 95"),
        (52000.0, 1500.0, 4, "5.20 0.15"),
    ],
)
def test_squared_errors_of_any_size(mean: float, sd: float, exponent: int, text: str) -> None:
    row = show_row("d", "MSE", [cell(mean, sd)], 10)
    assert (row.exponent, texts(row)) == (exponent, [text])


def test_a_row_has_the_same_decimals_and_power_throughout() -> None:
    row = show_row("d", "MSE", [cell(4.5e-5, 1.4e-5), cell(6.1e-5, 1.2e-5), cell(7e-4, 9e-6)], 10)
    assert row.exponent == -5
    assert texts(row) == ["4.5 1.4", "6.1 1.2", "70.0 0.9"]


def test_an_enormous_value_does_not_widen_the_row() -> None:
    assert (
        texts(show_row("d", "MSE", [cell(4.5e-5, 1e-5), cell(800.0, 1e-5)], 10))[1] == "8.0e+07 1.0"
    )


def test_marks_failures_and_empty_cells() -> None:
    cells = [cell(1, 1), cell(2, 1, p=0.3), cell(3, 1, 4, p=0.01), cell(math.nan, failures=10)]
    row = show_row("d", "%", cells, 10)
    assert [c.mark for c in row.cells] == ["best", "close", "", ""]
    assert [c.failures for c in row.cells] == [0, 0, 4, 10]
    assert row.cells[3].mean == ""
    assert "p = 0.3" in row.cells[1].hint


def test_one_run_has_no_deviation() -> None:
    assert texts(show_row("d", "%", [cell(14.327)], 10)) == ["14.33"]
    assert texts(show_row("d", "MSE", [cell(4.5e-5)], 10)) == ["4.50"]


def test_p_values() -> None:
    assert [show_p(p) for p in (0.0001, 0.0343, 0.5)] == ["< 0.001", "0.034", "0.5"]


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([10, 10], ""),
        ([12, 10], ""),
        ([4, 4], " (4 splits)"),
        ([1], " (1 split)"),
        ([3, 10], " (3 to 10 splits)"),
        ([], ""),
    ],
)
def test_a_row_with_fewer_splits_says_so(counts: list[int], text: str) -> None:
    assert describe_fewer(counts, 10) == text


def test_failures_are_splits_and_columns_that_did_not_run_are_not() -> None:
    """Three of ten runs, one failed; a column without any run shows dashes instead."""
    tried = Cell(1.0, 1.0, 2, 1, 7, True, None, None)
    nothing = Cell(math.nan, math.nan, 0, 0, 10, False, None, None)
    assert show_row("d", "%", [tried, nothing], 10).name == "d (3 splits)"
    assert show_row("d", "%", [nothing], 10).name == "d"
