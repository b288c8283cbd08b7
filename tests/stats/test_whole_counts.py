"""Printed percentages that are whole counts, and data sets that no column comes near."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from synthetic import experiment

from kselect.core.method import SELECTED
from kselect.stats.distances import Distance, Verdict, off_everywhere
from kselect.stats.published import Published
from kselect.stats.whole_counts import count_of, whole_counts

NAN = math.nan


def cell(
    dataset: str, mean: float, verdict: Verdict = "within 2", column: str = "5-CV"
) -> Distance:
    row = Published("1", dataset, column, SELECTED, mean, 1.0, "sd")
    return Distance(row, column, SELECTED, NAN, NAN, 0, NAN, NAN, verdict)


@pytest.mark.parametrize("rows", [62, 81, 300])
def test_every_count_is_found_again(rows: int) -> None:
    """As it is printed, and not one beside it."""
    for count in range(rows + 1):
        assert count_of(float(f"{100 * count / rows:.2f}"), rows) == count
        assert count_of(float(f"{100 * (count + 0.4) / rows:.2f}"), rows) is None


def test_whole_counts_by_hand() -> None:
    """heart keeps 81 of 270 rows to test with; a regression has no counts."""
    found = [cell("heart", 13.58), cell("heart", 13.60), cell("heart", 12.35), cell("mpg", 50.0)]
    spec = replace(experiment(), train=0.7, datasets=("heart", "mpg"))
    whole = whole_counts(spec, found)
    (one,) = whole.sets
    assert (one.dataset, one.rows, one.counts) == ("heart", 81, (("5-CV", 11), ("5-CV", 10)))
    assert (whole.total, whole.cells, whole.many) == (2, 3, True)
    assert whole.expected == pytest.approx(3 * 81 / 10_000)
    assert not whole_counts(spec, [cell("heart", 13.6)] * 4 + found[:1]).many
    assert not whole_counts(spec, []).many
    assert whole_counts(replace(spec, train=None), found).cells == 0


def test_sets_that_are_off_in_every_column() -> None:
    """Of the cells that can be judged; where none can, nothing is said."""
    found = [
        *(cell("heart", 1.0, "beyond 4"), cell("heart", 1.0, "missing")),
        *(cell("sonar", 1.0, "beyond 4"), cell("sonar", 1.0, "2 to 4")),
        cell("mpg", 1.0, "no spread"),
    ]
    assert off_everywhere(found) == ("heart",)
