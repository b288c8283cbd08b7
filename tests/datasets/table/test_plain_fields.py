"""A text that is split by array operations gives what the csv module and Python's numbers give."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kselect.datasets.table import plain_fields
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.further_files import read_like
from kselect.datasets.table.plain_fields import PlainColumn, split_plainly
from kselect.datasets.table.raw_table import Frame, TableOptions
from kselect.datasets.table.target import as_target
from kselect.errors import DataError

PLAIN = ["1", "-2.5", "3e-2", "+7", ".5", "5.", "0", "-0", "0.125", "1E5", "123456789012345678901"]
ODD = [
    "", "NA", "?", "007", "-012", "00.5", "1,5", "1.234,5", "1.234", "45%", "$5", "inf", "nan", "1_0", "1e400",
    "2004-01-02", "01.02.2004", "1.2.3", "--1", "1-2", "e5", ".", "-", "1e", "x", "True", " 1", "1 ", " ", '"1"',
    '"1,5"', '" b"', 'a"b', '"', '""', "#", "1:2", "0x10", "\xa0", "\xe9", "\u0661", "\x1c",
]  # fmt: skip
NAMES = ["a", "b", "c", "id", "Index", "Unnamed: 0", "", "1", '"q"', "y"]


@st.composite
def tables(draw: Any) -> bytes:
    """Return a table, mostly of numbers, with some hostile fields, rows and line ends."""
    width, delimiter = draw(st.integers(1, 4)), draw(st.sampled_from(",,;\t"))
    kinds = [
        draw(st.sampled_from([st.sampled_from(PLAIN), st.sampled_from("ab"), st.floats(-9, 9)]))
        for _ in range(width)
    ]
    rows = [[str(draw(kind)) for kind in kinds] for _ in range(draw(st.integers(0, 7)))]
    for _ in range(draw(st.integers(0, 2)) * bool(rows)):
        draw(st.sampled_from(rows))[draw(st.integers(0, width - 1))] = draw(st.sampled_from(ODD))
    if draw(st.booleans()):
        rows.insert(0, [draw(st.sampled_from(NAMES)) for _ in range(width)])
    if draw(st.integers(0, 9)) == 0 and rows:
        draw(st.sampled_from(rows)).append(draw(st.sampled_from(["", "1"])))
    lines = [(delimiter + draw(st.sampled_from(["", "", " "]))).join(row) for row in rows]
    if draw(st.integers(0, 4)) == 0:
        line = draw(st.sampled_from(["", "  ", delimiter * (width - 1), "# a", "#a,b"]))
        lines.insert(draw(st.integers(0, len(lines))), line)
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16"]))
    return (end.join(lines) + draw(st.sampled_from(["", end, end * 2]))).encode(encoding, "replace")


def outcome(path: Path, options: TableOptions | None) -> list[Any]:
    """Return all that is read from a file, as a training file and as a further file, or the error."""
    try:
        frame = read_frame(path, None, options)
    except DataError as error:
        return [str(error)]
    found: list[Any] = [seen(frame)]
    for step in (lambda: seen(read_like(path, frame.schema)), lambda: learned(frame)):
        try:
            found.append(step())
        except DataError as error:
            found.append(str(error))
    return found


def learned(frame: Frame) -> tuple[Any, ...]:
    """Return the target to learn."""
    target = as_target(frame, None)
    return target.values.tobytes(), target.classes, target.why


def seen(frame: Frame) -> tuple[Any, ...]:
    """Return everything in a frame; numbers as bytes."""
    data = [v.tolist() if v.dtype == object else v.tobytes() for v in frame.data]
    target = None if frame.target is None else [str(value) for value in frame.target]
    return frame.schema, data, target, list(frame.place.lines), frame.decisions


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@settings(max_examples=150)
@given(
    tables(),
    st.sampled_from([None, TableOptions(categorical=("1",)), TableOptions(numeric=("1",))]),
    st.sampled_from([1, 20, 2**18]),
)
def test_the_same_as_field_by_field(
    scratch: Path, text: bytes, options: TableOptions | None, block: int
) -> None:
    """Decisions, numbers, lines and messages are those of the csv module, whatever the size of the blocks."""
    path = scratch / "a.csv"
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_fields, "BLOCK", block)
        fast = outcome(path, options)
        patch.setattr(plain_fields, "split_plainly", lambda data, delimiter: None)
        assert fast == outcome(path, options)


def test_the_parser_reads_exactly_what_python_reads() -> None:
    """Of all texts of up to five characters of a number, pandas reads what Python reads, with the same values."""
    texts = ["".join(t) for n in range(1, 6) for t in itertools.product("10.e+-", repeat=n)]
    good = [text for text in texts if is_python_number(text)]
    assert values_of(good) == [float(text) for text in good]
    odd = [text for text in ODD if text and set(text.encode()) <= set(plain_fields.NUMBER)]
    for text in [*odd, *(text for text in texts if len(text) < 4)]:
        assert (values_of([text]) is None) is not is_python_number(text), text


def is_python_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def values_of(texts: list[str]) -> list[float] | None:
    """Return a column as the parser reads it, None if it refuses."""
    grid = split_plainly("".join(f"{text},1\n" for text in texts).encode(), ",")
    assert grid is not None
    try:
        return plain_fields.parse(grid, [0])[0].tolist()
    except ValueError:
        return None


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_the_last_digit(numbers: list[float]) -> None:
    """Numbers of 17 and more digits are read exactly."""
    texts = [write(v) for v in numbers for write in (repr, lambda v: f"{v:.25g}")]
    assert values_of(texts) == [float(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("1,2\n3\n", ","), ("1,2\n3,4,5\n", ","), ('"a,b",1\n', ","), ('"a\nb",1\n', ","), ('a"b,1\n', ","),
        ('"a"b",1\n', ","), ("1,2\r3,4\r", ","), ("1,2\n,\n", ","), ("1\t2\n \t\n", "\t"), ("\n\n", ","), ("", ","),
        (f"{'x' * 140_000},1\n", ","),
    ],
)  # fmt: skip
def test_texts_left_to_the_csv_module(text: str, delimiter: str) -> None:
    assert split_plainly(text.encode(), delimiter) is None


def plain_columns(text: str, delimiter: str = ",", skip: int = 0) -> list[bool]:
    grid = split_plainly(text.encode(), delimiter)
    assert grid is not None
    return [isinstance(column, PlainColumn) for column in grid.below(skip).columns()]


@pytest.mark.parametrize(
    "odd", [text for text in ODD if not set(text) & set(',"') and text != " 1"]
)
def test_only_columns_without_doubts_are_plain(odd: str) -> None:
    """A field in doubt anywhere makes strings of its column only; without a header, this includes the first row."""
    for row in (0, 1, 2):
        rows = [["2", "3.5", "x"] for _ in range(3)]
        rows[row][0] = odd
        text = "".join(f"{','.join(fields)}\n" for fields in rows)
        assert plain_columns(text) == [odd == "1.234", True, False]
        assert plain_columns(text, skip=1)[0] == (row == 0 or odd == "1.234")


def test_numbers_are_read_without_strings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the csv module nor a single field is asked for, but for the rows that tell the header."""
    rows = np.random.default_rng(0).normal(size=(50, 3))
    text = "a,b,y\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())
    (tmp_path / "a.csv").write_text(text)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("fields are looked at")

    monkeypatch.setattr("kselect.datasets.table.read.csv.reader", refused)
    monkeypatch.setattr(PlainColumn, "__iter__", refused)
    monkeypatch.setattr(PlainColumn, "__getitem__", refused)
    frame = read_frame(tmp_path / "a.csv", None)
    assert (np.column_stack(frame.data) == rows[:, :2]).all()
    assert (as_target(frame, None).values == rows[:, 2]).all()


Writer = Callable[[Any, Path], None]


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.feather", lambda table, path: table.to_feather(path)),
        ("a.parquet", lambda table, path: table.to_parquet(path)),
    ],
)
def test_binary_tables_become_no_text(
    tmp_path: Path, name: str, write: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Feather and Parquet give the same frame, without strings of their numbers."""
    pytest.importorskip("pyarrow")
    import pandas as pd

    monkeypatch.setattr("kselect.datasets.table.column_inference.show_number", None)
    table = pd.DataFrame(
        {
            "x": [1.5, None, -0.1],
            "n": pd.array([2**40, None, 3], dtype="Int64"),
            "t": ["a", "b", "a"],
            "y": [1, 2, 4],
        }
    )
    write(table, tmp_path / name)
    frame = read_frame(tmp_path / name, None)
    assert [spec.kind for spec in frame.columns] == ["number", "number", "category"]
    assert frame.data[0].tolist()[::2] == [1.5, -0.1]
    assert frame.data[1].tolist()[::2] == [2**40, 3]
    assert list(frame.target) == [1, 2, 4]  # type: ignore[arg-type]
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-9])
    form = "Feather" if name == "a.feather" else "Parquet"
    with pytest.raises(DataError, match=f"{name}: not a whole {form} file"):
        read_frame(tmp_path / name, None)


@pytest.mark.parametrize("block", [1, 24, 2**18])
def test_the_first_field_with_a_dot_is_found(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any block, below empty lines, and in no column before its own."""
    monkeypatch.setattr(plain_fields, "BLOCK", block)
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = [[str(rng.choice(["1", "22", "3.5", "1.234"], p=[0.5, 0.4, 0.05, 0.05])) for _ in range(3)]
                for _ in range(12)]  # fmt: skip
        text = "\n\n".join(";".join(row) for row in rows)
        grid = split_plainly(text.encode(), ";")
        assert grid is not None
        for skip in (0, 1):
            want = [next((row[j] for row in rows[skip:] if "." in row[j]), "") for j in range(3)]
            assert [grid.below(skip).first_dotted(j) for j in range(3)] == want
