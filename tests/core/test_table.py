"""The declarative table: values as text and as CSV fields, its groups and its legend."""

from __future__ import annotations

import math

import pytest

from kselect.core.table import DASH, Column, Group, Measure, Table, Value, percent, show_fixed


@pytest.mark.parametrize(
    ("column", "value", "text", "field"),
    [
        (Column(), None, DASH, ""),
        (Column(), math.nan, DASH, ""),
        (Column(format=".2f"), 1.005, "1.00", "1.005"),
        (Column(), 1 / 3, "0.3333333333333333", "0.3333333333"),
        (Column(csv_format=".1e"), 1 / 3, "0.3333333333333333", "3.3e-01"),
        (Column(format=percent), 0.938, "93.8 %", "0.938"),
        (Column(format=".2f"), "text", "text", "text"),
        (Column(format=","), 12345, "12,345", "12345"),
        (Column(), True, "True", "true"),
    ],
)
def test_values_as_text_and_in_the_csv(column: Column, value: Value, text: str, field: str) -> None:
    assert (column.text(value), column.field(value)) == (text, field)


def test_very_large_numbers_are_printed_with_an_exponent() -> None:
    assert [show_fixed(v, 2) for v in (14.3, 1.2e8, math.nan)] == ["14.30", "1.2e+08", ""]


def test_only_very_large_numbers_have_an_exponent() -> None:
    numbers = (480.0, 2.0e2, -480.0, 48_000.0, 1.2e8, 4.8e-7, math.inf)
    shown = ["480", "200", "-480", "48000", "1.2e+08", "4.8e-07", "inf"]
    assert [Column("x", format=".2g").text(v) for v in numbers] == shown


def test_groups_with_the_same_title_share_a_grid() -> None:
    groups = (Group((("a",),), "first"), Group((("b",),)), Group((("c",),), "first"))
    table = Table("name", (Column("x"),), groups)
    assert [(t, len(found)) for t, found in table.titled] == [("first", 2), ("", 1)]
    assert table.rows == (("a",), ("b",), ("c",))


def test_the_legend_names_the_marks_that_occur() -> None:
    columns = (Column("x", align="measure"),)

    def legend(*cells: Measure) -> tuple[str, ...]:
        rows = tuple((cell,) for cell in cells)
        table = Table("t", columns, (Group(rows),), best="the lowest mean", close="not worse")
        return table.legend("Bold", "Italic", "In parentheses: the number of")

    assert legend(Measure(1.0, mark="best")) == ("Bold: the lowest mean.",)
    assert legend(Measure(1.0, mark="close", failures=2)) == (
        "Bold: the lowest mean.",
        "Italic: not worse.",
        "In parentheses: the number of failed runs, which the mean leaves out.",
    )
