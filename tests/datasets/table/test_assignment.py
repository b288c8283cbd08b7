"""Columns that say something about the rows: weights, groups and times, which are no features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.further_files import read_like
from kselect.datasets.table.raw_table import TableOptions
from kselect.errors import DataError

TEXT = """a,b,w,g,when,y
1,2,1,x,2024-01-05,1
2,3,0,x,2024-01-06,2
3,1,2.5,y,2024-01-02,3
4,5,1,y,2024-01-09,4
5,9,1,z,2024-02-05,2.5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a table with weights, groups and times."""
    path = tmp_path / "rows.csv"
    path.write_text(TEXT)
    return path


def test_roles_are_no_features_and_rows_of_weight_0_are_gone(file: Path) -> None:
    frame = read_frame(file, None, TableOptions(weights="w", groups="g", time="when"))
    assert [spec.name for spec in frame.columns] == ["a", "b"]
    assert frame.n == 4
    roles = frame.roles
    assert roles.weights is not None
    assert roles.groups is not None
    assert roles.times is not None
    np.testing.assert_array_equal(roles.weights, [1, 2.5, 1, 1])
    assert roles.groups.tolist() == ["x", "y", "y", "z"]
    np.testing.assert_array_equal(np.argsort(roles.times), [1, 0, 2, 3])
    assert "dropped 1 of 5 rows with the weight 0" in [d.text for d in frame.decisions]
    again = frame.take(np.array([3, 0]))
    assert again.roles.groups is not None
    assert again.roles.groups.tolist() == ["z", "x"]


def test_a_row_of_weight_0_changes_nothing(file: Path) -> None:
    options = TableOptions(weights="w", categorical=("g",), drop=("when",))
    frame = read_frame(file, None, options)
    lines = TEXT.splitlines()
    file.write_text("\n".join([*lines[:2], *lines[3:], ""]))
    other = read_frame(file, None, options)
    assert frame.n == other.n == 4
    for mine, its in zip(frame.data, other.data, strict=True):
        assert mine.tolist() == its.tolist()


def test_a_model_reads_files_without_these_columns(file: Path, tmp_path: Path) -> None:
    schema = read_frame(file, None, TableOptions(weights="w", groups="g", time="when")).schema
    new = tmp_path / "new.csv"
    new.write_text("b,a\n1,2\n3,4\n")
    np.testing.assert_array_equal(read_like(new, schema).data[0], [2, 4])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": "g"}, "rows.csv:2: column g: 'x' is not a finite number"),
        ({"time": "g"}, "column g: --time takes numbers or dates"),
        ({"weights": "y"}, "column y is the target: not for --weights too"),
        ({"groups": "g", "drop": ("g",)}, "column g is named by --groups: it is dropped already"),
        ({"weights": "w", "numeric": ("w",)}, "column w is named by --weights: it is no feature"),
        ({"weights": "w", "groups": "w"}, "column w is named by --weights and --groups"),
        ({"weights": "v"}, "no column 'v' for --weights"),
    ],
)
def test_wrong_columns_are_refused(file: Path, options: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_frame(file, None, TableOptions(**options))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("3,1,2.5", "3,1,-2.5", "rows.csv:4: column w: a weight is not negative, as -2.5 is"),
        ("3,1,2.5", "3,1,", "rows.csv:4: column w: the value for --weights is missing"),
        ("y,2024-01-09", ",2024-01-09", "rows.csv:5: column g: the group is missing"),
        ("y,2024-01-09", "y,", "rows.csv:5: column when: the value for --time is missing"),
    ],
)
def test_gaps_and_negative_weights_are_refused(file: Path, old: str, new: str, words: str) -> None:
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(DataError, match=words):
        read_frame(file, None, TableOptions(weights="w", groups="g", time="when"))


def test_fewer_than_two_rows_with_weight_are_refused(file: Path) -> None:
    lines = TEXT.splitlines()
    file.write_text("\n".join([lines[0], lines[1], lines[2], lines[2], ""]))
    with pytest.raises(DataError, match="fewer than two rows have a positive weight"):
        read_frame(file, None, TableOptions(weights="w", drop=("g", "when")))
