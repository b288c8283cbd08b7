"""A file to predict, read by the schema of the one that was learned from."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from kselect.datasets.table.frames import read_frame, read_like
from kselect.datasets.table.raw_table import Frame, Schema, TableOptions
from kselect.errors import DataError

HEADER = "age,sex,zip,joined,y\n"
ROWS = "31,m,01,2004-01-01,a\n45,f,02,2004-02-01,b\n,m,01,2004-03-01,a\n7,,02,2004-04-13,b\n9,f,01,,a\n"


def write(folder: Path, text: str | bytes, name: str = "a.csv") -> Path:
    """A file."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    """A number, two categories and a date."""
    found = read_frame(write(tmp_path, HEADER + ROWS), None).schema
    assert [spec.kind for spec in found.columns] == ["number", "category", "category", "date"]
    return found


def same(one: Frame, other: Frame) -> bool:
    """Whether two frames hold the same features."""
    pairs = zip(one.data, other.data, strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype != object) for a, b in pairs)


def test_the_file_itself(tmp_path: Path, schema: Schema) -> None:
    path = write(tmp_path, HEADER + ROWS)
    there, back = read_frame(path, None), read_like(path, schema)
    assert same(there, back)
    assert (list(back.target or []), list(back.place.lines)) == (list("ababa"), [2, 3, 4, 5, 6])
    assert back.schema == schema


def test_columns_are_found_by_name(tmp_path: Path, schema: Schema) -> None:
    there = read_frame(write(tmp_path, HEADER + ROWS), None)
    rows = [row.split(",") for row in (HEADER + ROWS).splitlines()]
    order = [3, 0, 2, 1]  # without the target, and with a column that nobody knows
    text = "".join(",".join([*(row[i] for i in order), "?"]) + "\n" for row in rows)
    found = read_like(write(tmp_path, gzip.compress(text.encode()), "b.csv.gz"), schema)
    assert same(there, found)
    assert found.target is None


def test_one_row_and_one_column(tmp_path: Path, schema: Schema) -> None:
    """What a column is, is known: a header above one row of words is a header."""
    found = read_like(write(tmp_path, "sex,zip,joined,age\nf,7,2004-01-02,NA\n", "b.csv"), schema)
    assert [v[0] for v in found.data[1:]] == ["f", "7", 12419.0]
    assert np.isnan(found.data[0][0])
    assert [str(d) for d in found.decisions] == [
        "column age (1 missing): missing values become the median"
    ]
    one = read_frame(write(tmp_path, "x,y\n1,2\n2,3\n"), None).schema
    assert read_like(write(tmp_path, "x\n5\n", "b.txt"), one).data[0].tolist() == [5]


def test_kinds_are_those_of_the_first_file(tmp_path: Path) -> None:
    text = "code,c,y\n1,7,0\n2,u,1\n1,w,1\n2,u,0\n"
    schema = read_frame(write(tmp_path, text), None, TableOptions(categorical=("code",))).schema
    found = read_like(write(tmp_path, "code,c\n1.0,7\n3,8\n", "b.csv"), schema)
    assert [values.tolist() for values in found.data] == [["1", "3"], ["7", "8"]]


def test_an_index_that_was_left_out_may_stay(tmp_path: Path) -> None:
    schema = read_frame(write(tmp_path, ",x,y\n0,5,1\n1,7,2\n2,9,1\n"), None).schema
    assert read_like(write(tmp_path, ",x\n0,5\n", "b.csv"), schema).data[0].tolist() == [5]
    assert read_like(write(tmp_path, "x\n5\n", "b.csv"), schema).data[0].tolist() == [5]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age,sex,zip\n1,m,01\n", "b.csv: without the column 'joined', which the model needs"),
        ("age,y\n1,m\n", "b.csv: without the columns 'sex', 'zip', 'joined', which the model needs"),
        ("1,m,01,2004-01-01\n", "b.csv: no header line with the columns of the model: 'age', 'sex', "),
        ("sex,zip,joined,age\nm,01,2004-01-01,x\n", "b.csv:2: column age: 'x' is not a finite number, "
         "as all are that the model has learned from; kselect fit --categorical age takes all as categories"),
        ("age,sex,zip,joined\n1,m,01,1.1.2004\n", "b.csv:2: column joined: '1.1.2004' is not a date of the"),
        ("age,sex,zip,joined\n", "b.csv: a header and no rows"),
        ("1 1:1 2:5\n", "b.csv: svmlight, but the model has learned from columns"),
    ],
)  # fmt: skip
def test_what_does_not_fit(tmp_path: Path, schema: Schema, text: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        read_like(write(tmp_path, text, "b.csv"), schema)
    assert said in str(error.value)


@pytest.mark.parametrize("goal", [1, 2, 3])
def test_without_a_header_line(tmp_path: Path, goal: int) -> None:
    schema = read_frame(write(tmp_path, "1,20,3\n4,50,6\n7,80,9\n"), str(goal)).schema
    rows = {1: [[20, 3]], 2: [[1, 3]], 3: [[1, 20]]}[goal]
    for text in ("1,20,3\n", ",".join(map(str, rows[0])) + "\n", "1,20,3,\n"):
        found = read_like(write(tmp_path, text, "b.csv"), schema)
        assert np.column_stack(found.data).tolist() == rows
        assert (found.target is None) == (text.count(",") == 1)
    with pytest.raises(
        DataError, match="4 columns; the model has learned from 3, or 2 without the target"
    ):
        read_like(write(tmp_path, "1,2,3,4\n", "b.csv"), schema)


def test_svmlight(tmp_path: Path) -> None:
    schema = read_frame(write(tmp_path, "1 1:5 3:2\n0 2:1\n", "a.svm"), None).schema
    found = read_like(write(tmp_path, gzip.compress(b"0 1:7\n"), "b.gz"), schema)
    assert np.column_stack(found.data).tolist() == [[7, 0, 0]]
    with pytest.raises(DataError, match="index above n_features = 3"):
        read_like(write(tmp_path, "0 4:7\n", "b.svm"), schema)


def test_a_target_that_cannot_be_read_does_not_hinder(tmp_path: Path) -> None:
    schema = read_frame(write(tmp_path, "x,y\n1,2\n2,3\n"), None).schema
    found = read_like(write(tmp_path, "x,y\n5,$3\n", "b.csv"), schema)
    assert found.target is None
    assert "the target is not compared: " in str(found.decisions[-1])
    assert read_like(write(tmp_path, "x,y\n5,\n", "b.csv"), schema).target is None
