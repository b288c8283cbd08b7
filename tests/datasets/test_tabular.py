"""A user's file: CSV in its dialects, svmlight, the target as classes or numbers, and its mistakes."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from kselect.datasets.tabular import (
    Table,
    as_target,
    has_columns,
    infer_task,
    is_number,
    one_against_rest,
    read_table,
)
from kselect.errors import DataError

X = np.array([[1.0, -2.5], [3e-3, 4.0], [5.0, 0.0]])
LABELS = ["no", "yes", "no"]


def write(folder: Path, text: str | bytes, name: str = "a.csv") -> Path:
    """A file."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def lines(delimiter: str = ",", header: bool = True, column: int = 2) -> str:
    """The rows above as CSV, the target in any column."""
    rows = [["a", "b"]] * header + [[repr(float(v)) for v in row] for row in X]
    targets = ["y"] * header + LABELS
    for row, target in zip(rows := [list(r) for r in rows], targets, strict=True):
        row.insert(column, target)
    return "".join(delimiter.join(row) + "\n" for row in rows)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("packed", [False, True])
def test_csv(tmp_path: Path, delimiter: str, header: bool, column: int, packed: bool) -> None:
    data = lines(delimiter, header, column).encode()
    raw = bz2.compress(data) if packed else data
    path = write(tmp_path, raw, "a.csv.bz2" if packed else "a.csv")
    for target in [str(column + 1), *["y"] * header, *[None] * (column == 2)]:
        found = read_table(path, target)
        assert np.array_equal(found.X, X)
        assert list(found.target) == LABELS
        assert found.sha256 == hashlib.sha256(raw).hexdigest()
        assert list(found.lines) == [1 + header, 2 + header, 3 + header]


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.data", "a", "A.CSV"])
def test_columns_are_seen_whatever_the_name(tmp_path: Path, name: str) -> None:
    found = read_table(write(tmp_path, lines(), name), None)
    assert np.array_equal(found.X, X)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + lines(),
        lines().replace("\n", "\r\n"),
        lines() + "\n\n",
        "\n" + lines(),
        lines().rstrip("\n"),
        lines().replace(",", " , "),
        lines().replace("a,b,y", '"a","b, the ""second""","y"'),
        lines(";").replace("a;b;y", '"a,1";"b,2,3";y'),
        lines().replace("yes", '"yes"').replace("1.0", '"1.0"'),
        lines().replace("a,b,y", '"a\nof two lines",b,y'),
    ],
    ids=["bom", "crlf", "blank end", "blank start", "no newline", "spaces", "quotes", "commas in quotes",
         "quoted values", "newline in quotes"],
)  # fmt: skip
def test_dialects(tmp_path: Path, text: str) -> None:
    found = read_table(write(tmp_path, text), None)
    assert np.array_equal(found.X, X)
    assert list(found.target) == LABELS


@pytest.mark.parametrize("start", [0, 1])
def test_columns_numbered_by_pandas(tmp_path: Path, start: int) -> None:
    head = f"{start},{start + 1},y\n"
    found = read_table(write(tmp_path, head + "5,6,0\n7,8,1\n"), "y")
    assert found.X.tolist() == [[5, 6], [7, 8]]
    assert list(found.target) == ["0", "1"]
    # Otherwise it is a row, and what is wrong with it is said.
    for text in (head + "5,6,no\n7,8,1\n", "5,6,y\n7,8,0\n7,8,1\n"):
        found = read_table(write(tmp_path, text), None)
        assert found.target[0] == "y"


def test_a_mark_of_byte_order_belongs_to_no_field(tmp_path: Path) -> None:
    assert list(read_table(write(tmp_path, "\ufeffa,b\n1,2\n"), "a").target) == ["1"]
    assert read_table(write(tmp_path, "\ufeff1,2\n3,4\n"), None).X.tolist() == [[1], [3]]


def test_quoted_class_with_a_comma(tmp_path: Path) -> None:
    found = read_table(write(tmp_path, 'a,y\n1,"x,z"\n2,w\n'), "y")
    assert list(found.target) == ["x,z", "w"]


@pytest.mark.parametrize("name", ["a.svm", "a", "a.txt", "a.svm.bz2"])
def test_svmlight(tmp_path: Path, name: str) -> None:
    path = tmp_path / "plain"
    dump_svmlight_file(X, [1.0, 2.0, 1.5], str(path), zero_based=False, comment="a, b\tc")
    raw = path.read_bytes()
    path = write(tmp_path, bz2.compress(raw) if name.endswith("bz2") else raw, name)
    found = read_table(path, None)
    assert np.array_equal(found.X, X)
    assert isinstance(found.target, np.ndarray)
    assert found.target.tolist() == [1.0, 2.0, 1.5]
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@given(st.lists(st.tuples(*[st.floats(-1e300, 1e300)] * 3), min_size=1, max_size=6))
def test_every_float_is_read_back(rows: list[tuple[float, ...]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        text = "".join(",".join(map(repr, row)) + "\n" for row in rows)
        found = read_table(write(Path(folder), text), None)
    assert np.array_equal(np.column_stack([found.X, np.array(found.target, float)]), np.array(rows))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a.csv: no rows"),
        ("\n \n", "a.csv: no rows"),
        ("a,b,y\n", "a.csv: a header and no rows"),
        ("1\n2\n", "a.csv: one column only; a target and a feature are needed"),
        ("a,b,y\n1,2,0\n1,1\n", "a.csv:3: 2 columns where the first line has 3"),
        ("a,b,y\n1,2,0\n1,1,1,1\n", "a.csv:3: 4 columns where the first line has 3"),
        ("a,b,y\n1,2,0\n1,,1\n", "a.csv:3: column b: is empty"),
        ("a,b,y\n1,2,0\n1,red,1\n", "a.csv:3: column b: 'red' is not a finite number"),
        ("1,2,0\n1,red,1\n", "a.csv:2: column 2: 'red' is not a finite number"),
        ("a,b,y\n1,2,0\n\n1,inf,1\n", "a.csv:4: column b: 'inf' is not a finite number"),
        ("a,b,y\n1,2,0\n1,NaN,1\n", "a.csv:3: column b: 'NaN' is not a finite number"),
        ("a,b,y\n1,2,0\n1,1_0,1\n", "a.csv:3: column b: '1_0' is not a finite number"),
        ("a,b,y\n1,2,0\n1,1e999,1\n", "a.csv:3: column b: '1e999' is not a finite number"),
        ('a,b,y\n1,2,0\n"1,2,1\n', "a.csv:3: 1 columns where the first line has 3"),
        ("a,y\n" + '"' + "x" * 200_000, "field larger than field limit"),
        (b"a,b\n\xff\xfe,1\n", "a.csv: neither UTF-8 text nor a whole .bz2 file of it"),
        (b"a,b,y\n1,2,0\n\0,3,1\n", r"a.csv:3: column a: '\x00' is not a finite number"),
    ],
)  # fmt: skip
def test_bad_csv(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(DataError) as error:
        read_table(write(tmp_path, text), None)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a.svm:1: no examples in the file"),
        ("1\n0\n", "a.svm: no features, only targets"),
        ("1 1:1 1:2\n", "a.svm:1: duplicated index"),
        ("1 1:1\n1 2:1 1:2\n", "a.svm:2: indices not ascending"),
        ("1 1:inf\n", "a.svm:1: value is not finite"),
        ("nan 1:1\n", "a.svm:1: label is not finite"),
        (bytes(range(256)), "a.svm:2: not UTF-8 text"),
    ],
)
def test_bad_svmlight(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(DataError) as error:
        read_table(write(tmp_path, text, "a.svm"), None)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_cut_bz2(tmp_path: Path) -> None:
    whole = bz2.compress(lines().encode() * 100)
    for raw in (whole[:-9], b"plain"):
        with pytest.raises(DataError, match=r"a\.csv\.bz2: neither UTF-8 text nor a whole \.bz2"):
            read_table(write(tmp_path, raw, "a.csv.bz2"), None)


def test_gzip(tmp_path: Path) -> None:
    raw = gzip.compress(lines().encode())
    assert np.array_equal(read_table(write(tmp_path, raw, "a.csv.gz"), None).X, X)
    with pytest.raises(DataError, match=r"a\.csv\.gz: neither UTF-8 text nor a whole \.gz"):
        read_table(write(tmp_path, raw[:-9], "a.csv.gz"), None)


@pytest.mark.parametrize("pack", [bz2, gzip])
def test_a_bomb(tmp_path: Path, pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kselect.datasets.content.SMALLEST_LIMIT", 2**16)
    monkeypatch.setattr("kselect.datasets.content.LARGEST_RATIO", 10)
    ending = {"bz2": "bz2", "gzip": "gz"}[pack.__name__]
    raw = pack.compress(b"1,2,3\n" * 2**16)
    with pytest.raises(DataError, match=r"unpacked, it is too large: more than \d+ bytes"):
        read_table(write(tmp_path, raw, f"a.csv.{ending}"), None)


def test_fields_that_memory_does_not_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said of the text, before it becomes fields."""
    path = write(tmp_path, "a,b,y\n" + "1,2,3\n" * 1000)
    monkeypatch.setattr("kselect.datasets.tabular.available_memory", lambda: 500_000)
    with pytest.raises(DataError) as caught:
        read_table(path, None)
    assert str(caught.value) == (
        f"{path}: 3004 fields in 1002 lines need 0.0 GiB of memory; 0.0 GiB are free"
    )
    monkeypatch.setattr("kselect.datasets.tabular.available_memory", lambda: 10**9)
    read_table(path, None)


@pytest.mark.parametrize(
    ("text", "target", "said"),
    [
        ("a\x1b[31m,b,y\n1,2,3\nx,2,3\n", None, r"column a\x1b[31m: 'x' is not a finite number"),
        ('"a\nb",b,y\n1,2,3\nx,2,3\n', None, r"column a\nb: 'x' is not a finite number"),
        ("a\x1b[31m,b\n1,2\n", "c", r"no column 'c' for the target; valid: a\x1b[31m, b"),
        ("a,b\n1,2\n", "\x1b[31m", r"no column '\x1b[31m' for the target; valid: a, b"),
    ],
)
def test_control_characters_are_escaped(
    tmp_path: Path, text: str, target: str | None, said: str
) -> None:
    with pytest.raises(DataError) as caught:
        read_table(write(tmp_path, text, "a\x1b[2J.csv"), target)
    assert str(caught.value).startswith(rf"{tmp_path}/a\x1b[2J.csv:")
    assert str(caught.value).endswith(said)


def test_long_fields_are_cut(tmp_path: Path) -> None:
    long = "z" * 100_000
    for text, target in (
        (f"a,y\n1,1\n{long},2\n", None),
        (f"{long}1,y\n1,1\nx,2\n", None),
        ("a,y\n1,1\n", long),
        (",".join(f"c{i}" for i in range(5000)) + "\n" + ",".join("1" * 5000) + "\n", "x"),
    ):
        with pytest.raises(DataError) as caught:
            read_table(write(tmp_path, text), target)
        assert len(str(caught.value)) < 1000 + len(str(tmp_path))
    with pytest.raises(DataError) as caught:
        as_target(Path("f"), table([long, "1"]), None)
    assert len(str(caught.value)) < 300
    with pytest.raises(DataError) as caught:
        as_target(Path("f"), table([long, long]), None)
    assert len(str(caught.value)) < 300


def test_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv: No such file"):
        read_table(tmp_path / "nowhere.csv", None)
    with pytest.raises(DataError, match="directory"):
        read_table(tmp_path, None)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match=r"pipe\.csv: is a pipe, not a file"):
        read_table(tmp_path / "pipe.csv", None)
    with pytest.raises(DataError, match="/dev/zero: is a device, not a file"):
        read_table(Path("/dev/zero"), None)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("aa", r"a\.csv: no column 'aa' for the target; did you mean 'a'\?"),
        ("0", "no column '0' for the target; valid: a, b, y"),
        ("4", "no column '4'"),
        ("-1", "no column '-1'"),
        ("\u00b2", "no column '\u00b2'"),
    ],
)
def test_no_such_column(tmp_path: Path, target: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_table(write(tmp_path, lines()), target)


def test_a_column_called_by_a_number(tmp_path: Path) -> None:
    """A name wins over a position; a header of years has the positions alone."""
    found = read_table(write(tmp_path, "x1,x2,y2\n1,2,0\n"), "x2")
    assert list(found.target) == ["2"]
    found = read_table(write(tmp_path, "1,2,0\n3,4,1\n"), "2")
    assert list(found.target) == ["2", "4"]


# --- the target -------------------------------------------------------------------------------------


def table(target: Any) -> Table:
    """A table of which only the target matters."""
    at = tuple(range(2, 2 + len(target)))
    return Table(np.zeros((len(target), 1)), target, "", at)


WHOLE = [str(i % 4) for i in range(20)]


@pytest.mark.parametrize(
    ("target", "task", "classes", "why"),
    [
        (["b", "a", "b"], "classification", ("a", "b"), "the target is text with 2 values"),
        (["b", "a", "c"], "classification", ("a", "b", "c"), "the target is text with 3 values"),
        (["1.5", "-1", "1.5"], "classification", ("-1", "1.5"), "the target has two values"),
        (["10", "9", "10.0"], "classification", ("9", "10"), "the target has two values"),
        (WHOLE, "classification", ("0", "1", "2", "3"), "the target has 4 values, all whole numbers"),
        (WHOLE[:19], "regression", (), "the target has 4 values"),
        ([*WHOLE[:-1], "0.5"], "regression", (), "the target has 5 values"),
        ([str(i) for i in range(100)], "regression", (), "the target has 100 values"),
        (np.array([1.0, -1.0, 1.0]), "classification", ("-1", "1"), "the target has two values"),
    ],
)  # fmt: skip
def test_inference(target: Any, task: str, classes: tuple[str, ...], why: str) -> None:
    found = as_target(Path("f"), table(target), None)
    assert (found.task, found.classes, found.why) == (task, classes, why)
    assert found.values.shape == (len(classes) if len(classes) > 2 else 1, len(target))


def test_the_limit_of_classes() -> None:
    assert infer_task(np.arange(20.0), 20, 100)[0] == "classification"
    assert infer_task(np.arange(21.0), 21, 1000)[0] == "regression"
    assert infer_task(np.arange(20.0), 20, 99)[0] == "regression"


def test_task_by_the_user() -> None:
    found = as_target(Path("f"), table(["1", "2", "1"]), "regression")
    assert (found.task, found.why) == ("regression", "as asked for")
    assert found.values.tolist() == [[1, 2, 1]]
    found = as_target(Path("f"), table(["0.5", "2", "3.5"]), "classification")
    assert found.classes == ("0.5", "2", "3.5")
    found = as_target(Path("f"), table(["1", "2", "3a"]), "classification")
    assert set(found.classes) == {"1", "2", "3a"}


def test_signs() -> None:
    """The second of two classes is +1; of more each has its row."""
    assert as_target(Path("f"), table(["b", "a", "b"]), None).values.tolist() == [[1, -1, 1]]
    assert one_against_rest(["a", "c", "b"], ["a", "b", "c"]).tolist() == [
        [1, -1, -1], [-1, -1, 1], [-1, 1, -1],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "task", "said"),
    [
        (["a", "a"], None, r"f: the target has one value only \(a\): nothing to learn"),
        (["1", "1.0"], None, r"one value only \(1\)"),
        (["1", "1"], "regression", "one value only"),
        (["a", "b"], "regression", "f:2: the target 'a' is not a finite number"),
        (["1", "b"], "regression", "f:3: the target 'b' is not a finite number"),
        (["1", "b", "2"], None, "f:3: the target 'b' is not a number, but '1' in line 2 is; "),
        (["a", "b", "nan"], None, "f:2: the target 'a' is not a number, but 'nan' in line 4 is; "),
        (["1", "inf", "3"], None, "f:3: the target 'inf' is not a finite number"),
        (["1", "nan", "3"], "regression", "f:3: the target 'nan' is not a finite number"),
        (["a", "", "b"], None, "f:3: the target is empty"),
        (["1", "", "2"], "regression", "f:3: the target is empty"),
        ([f"id{i}" for i in range(50)], None, "50 values in 50 rows: too many for classes"),
    ],
)
def test_bad_target(target: list[str], task: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        as_target(Path("f"), table(target), task)


def test_numbers() -> None:
    assert all(map(is_number, ["1", "-.5", "1e-3", "nan", "inf", " 2 "]))
    assert not any(map(is_number, ["", "1_0", "x", "\u0661", "1,5", "0x1"]))


def test_columns_are_told_from_svmlight() -> None:
    assert has_columns(b"a,b\n")
    assert has_columns(b"\n1\t2\n")
    assert not has_columns(b"1\t1:2\n")
    assert not has_columns(b"# a, b\n1 1:2\n")
    assert not has_columns(b"1 2 3\n")
    assert not has_columns(b"")
