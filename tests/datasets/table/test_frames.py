"""Tables of users: dialects, packings and encodings, the kind of each column, and each decision in one line."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiments import message_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.further_files import read_like
from kselect.datasets.table.raw_table import (
    ColumnSpec,
    Frame,
    ReadingDecision,
    Schema,
    TableOptions,
    decision_lines,
)
from kselect.errors import DataError

X = np.array([[1.0, -2.5], [3e-3, 4.0], [5.0, 0.0]])
LABELS = ["no", "yes", "no"]


def write(folder: Path, text: str | bytes, name: str = "a.csv") -> Path:
    """Write a file."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def lines(delimiter: str = ",", header: bool = True, column: int = 2) -> str:
    """Return the rows above as CSV, with the target in any column."""
    rows = [["a", "b"]] * header + [[repr(float(v)) for v in row] for row in X]
    targets = ["y"] * header + LABELS
    for row, target in zip(rows := [list(r) for r in rows], targets, strict=True):
        row.insert(column, target)
    return "".join(delimiter.join(row) + "\n" for row in rows)


def numbers(frame: Frame) -> np.ndarray:
    """Return the features of a frame that has only numbers."""
    assert all(spec.numeric for spec in frame.columns)
    return np.column_stack(frame.data)


def kinds(frame: Frame) -> dict[str, str]:
    """Return column -> kind."""
    return {spec.name: spec.kind for spec in frame.columns}


def said(frame: Frame) -> list[str]:
    """Return the decisions as printed."""
    return decision_lines(frame.decisions)


Read = Callable[..., Frame]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a text as a frame; keywords are options."""

    def reader(text: str | bytes, target: str | None = None, **options: Any) -> Frame:
        return read_frame(write(tmp_path, text), target, TableOptions(**options))

    return reader


def column(read: Read, values: list[str], delimiter: str = ",", **options: Any) -> Frame:
    """Return a frame of a number x and a column c with these values; the target has two classes."""
    rows = [f"{i * i}.5{delimiter}{v}{delimiter}{'ab'[i % 2]}\n" for i, v in enumerate(values)]
    header = delimiter.join("xcy") + "\n"
    return read(header + "".join(rows), **options)


# --- the file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_delimiters_headers_and_targets(read: Read, delimiter: str, header: bool, at: int) -> None:
    text = lines(delimiter, header, at)
    for target in [str(at + 1), *["y"] * header, *[None] * (at == 2)]:
        found = read(text, target)
        assert np.array_equal(numbers(found), X)
        assert list(found.target or []) == LABELS
        assert found.sha256 == hashlib.sha256(text.encode()).hexdigest()
        assert list(found.place.lines) == [1 + header, 2 + header, 3 + header]
        assert ("no header line: the columns are named 1, 2, ..." in said(found)) != header


def zipped(data: bytes, *others: str) -> bytes:
    """Return an archive of a.csv and others."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a.csv", data)
        for name in others:
            archive.writestr(name, data)
    return content.getvalue()


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": zipped}


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a", "A.CSV"])
def test_packings(tmp_path: Path, ending: str, name: str) -> None:
    raw = PACKED[ending](lines().encode())
    for path in (write(tmp_path, raw, name + ending), write(tmp_path, raw, name)):
        found = read_frame(path, None)
        assert np.array_equal(numbers(found), X)
        assert found.sha256 == hashlib.sha256(raw).hexdigest()


@pytest.mark.parametrize("ending", PACKED)
def test_cut_and_damaged_packings(tmp_path: Path, ending: str) -> None:
    whole = PACKED[ending](lines().encode() * 100)
    for raw in (whole[:-9], b"plain", whole[:40] + b"\0" * 20 + whole[60:]):
        with pytest.raises(DataError, match=rf"a\.csv\{ending}: not a whole \{ending} file: it is"):
            read_frame(write(tmp_path, raw, "a.csv" + ending), None)


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (["b.csv"], r"the archive holds 2 files: a\.csv, b\.csv; one is read"),
        (["xl/workbook.xml"], "not a whole Excel file: "),
    ],
)
def test_archives_of_several_files(tmp_path: Path, names: list[str], what: str) -> None:
    with pytest.raises(DataError, match=what):
        read_frame(write(tmp_path, zipped(b"", *names), "a.zip"), None)


def test_an_archive_as_macos_makes_it(tmp_path: Path) -> None:
    raw = zipped(lines().encode(), "__MACOSX/._a.csv", ".DS_Store", "folder/")
    assert np.array_equal(numbers(read_frame(write(tmp_path, raw, "a.zip"), None)), X)
    with pytest.raises(DataError, match="the archive holds 0 files; one is read"):
        read_frame(write(tmp_path, b"PK\x05\x06" + bytes(18), "a.zip"), None)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + lines(),
        lines().replace("\n", "\r\n"),
        lines().replace("\n", "\r"),
        lines() + "\n\n",
        lines() + ",,\n,,\n",
        "\n" + lines(),
        lines().rstrip("\n"),
        lines().replace(",", " , "),
        lines().replace("a,b,y", '"a","b, the ""second""","y"'),
        lines(";").replace("a;b;y", '"a,1";"b,2,3";y'),
        lines().replace("yes", '"yes"').replace("1.0", '"1.0"'),
        lines().replace("a,b,y", '"a\nof two lines",b,y'),
        lines().replace("\n", ",\n"),
        lines().replace("0,no\n", "0,no,\n").replace("yes\n", "yes,\n").replace("5,no\n", "5,no,\n"),
        lines() + "\x1a",
        "# made by hand\n" + lines() + "# the end\n",
    ],
    ids=["bom", "crlf", "cr", "blank end", "empty rows", "blank start", "no newline", "spaces", "quotes",
         "commas in quotes", "quoted values", "newline in quotes", "commas at the end",
         "commas at the end of rows", "end of file", "comments"],
)  # fmt: skip
def test_dialects(read: Read, text: str) -> None:
    found = read(text)
    assert np.array_equal(numbers(found), X)
    assert list(found.target or []) == LABELS


@given(st.lists(st.tuples(*[st.floats(-1e300, 1e300)] * 3), min_size=2, max_size=6))
def test_every_float_is_read_back(rows: list[tuple[float, ...]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        text = "x,z,y\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows)
        found = read_frame(write(Path(folder), text), None, TableOptions(numeric=("x", "z")))
    read_back = np.column_stack([*found.data, np.array(found.target, float)])
    assert np.array_equal(read_back, np.array(rows))


def test_latin_1_is_reported(read: Read) -> None:
    text = "stra\u00dfe,x,y\nM\u00fcllerstra\u00dfe,1.5,a\nM\u00fcllerstra\u00dfe,2,b\nAllee \u20ac,3,b\n"
    for encoding, decided in (("cp1252", True), ("utf-8", False), ("utf-16", False)):
        found = read(text.encode(encoding))
        assert found.columns[0].name == "stra\u00dfe"
        assert sorted(set(found.data[0])) == ["Allee \u20ac", "M\u00fcllerstra\u00dfe"]
        assert ("not UTF-8: read as Latin-1 (Windows-1252)" in said(found)) == decided
    assert read(b"c,x,y\nu\x81,1.5,a\nv,2,b\nv,3,b\n").data[0].tolist() == ["u\x81", "v", "v"]


def test_comments(read: Read) -> None:
    text = '# one\na,t,y\n1,"x\n# no comment",0\n # two\n2,"x\n# no comment",1\n2.5,z,1\n'
    found = read(text)
    assert "skipped 2 lines that begin with #" in said(found)
    assert list(found.data[1]) == ["x\n# no comment"] * 2 + ["z"]
    assert list(found.place.lines) == [4, 7, 8]
    with pytest.raises(DataError, match=r"a\.csv:9: column a: 'red'"):
        read(text + "red,z,1\n", numeric=("a",))


def test_names_in_a_comment_as_numpy_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    np.savetxt(path, X, delimiter=",", header="first,second")
    found = read_frame(path, None)
    assert (found.columns[0].name, found.schema.target) == ("first", "second")
    assert "the names of the columns are read from a # line" in said(found)
    # A commented-out row is not a header.
    assert read_frame(write(tmp_path, "#1,2\n3,4\n5,7\n"), None).schema.named is False


@pytest.mark.parametrize("name", ["a.svm", "a", "a.txt", "a.svm.bz2", "a.svm.gz", "a.xz"])
def test_svmlight(tmp_path: Path, name: str) -> None:
    path = tmp_path / "plain"
    dump_svmlight_file(X, [1.0, 2.0, 1.5], str(path), zero_based=False, comment="a, b\tc")
    raw = path.read_bytes()
    ending = f".{name.rpartition('.')[2]}"
    path = write(tmp_path, PACKED.get(ending, bytes)(raw), name)
    found = read_frame(path, None)
    assert np.array_equal(numbers(found), X)
    assert isinstance(found.target, np.ndarray)
    assert found.target.tolist() == [1.0, 2.0, 1.5]
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (found.schema.form, found.schema.width) == ("svmlight", 2)
    with pytest.raises(DataError, match="svmlight begins each line with its target: no column 'y'"):
        read_frame(path, "y")


def test_svmlight_that_counts_from_0(tmp_path: Path) -> None:
    """An index 0 shows it; a file without one is read as the model's training file was."""
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("1 1:5 # 0:9\n2 0:1 2:3\n")
    other.write_text("1 1:7\n")
    found = read_frame(path, None)
    assert numbers(found).tolist() == [[0, 5, 0], [1, 0, 3]]
    assert numbers(read_like(other, found.schema)).tolist() == [[0, 7, 0]]
    other.write_text("1 3:7\n")
    with pytest.raises(DataError, match="index above n_features = 3: '3:7'"):
        read_like(other, found.schema)
    path.write_text("1 1:5\n")
    other.write_text("1 0:7\n")
    with pytest.raises(DataError, match="index below 1: '0:7'"):
        read_like(other, read_frame(path, None).schema)


def test_svmlight_that_cannot_be_unpacked_in_place_names_its_file(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"1 1:1\n1 2:1 1:2\n"), "a.svm.gz")
    with pytest.raises(DataError) as error:
        read_frame(path, None)
    assert str(error.value) == f"{path}:2: indices not ascending: '1:2'"


def test_tables_with_colons_are_not_svmlight(tmp_path: Path) -> None:
    """Text with colons, such as times of day, is not taken for svmlight."""
    found = read_frame(write(tmp_path, "2004-01-01 12:30,5,1\n2004-01-02 12:30,6,2\n", "a"), None)
    assert kinds(found) == {"1": "date", "2": "number"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a.csv: no rows"),
        ("\n \n", "a.csv: no rows"),
        ("# nothing\n", "a.csv: no rows"),
        ("a,b,y\n", "a.csv: a header and no rows"),
        ("1\n2\n", "a.csv: one column only; a target and a feature are needed"),
        ("a,b,y\n1,2,0\n1,1\n", "a.csv:3: 2 columns where the first line has 3"),
        ("a,b,y\n1,2,0\n1,1,1,1\n", "a.csv:3: 4 columns where the first line has 3"),
        ("a,b,y\n1,2,0\n1,red,1\n", "a.csv:3: column b: 'red' is not a finite number, but 1 of 2 values are; "
                                    "--categorical b reads all as categories, --drop b drops them"),
        ("1,2,0\n1,red,1\n", "a.csv:2: column 2: 'red' is not a finite number"),
        ("a,b,y\n1,2,0\n\n1,inf,1\n", "a.csv:4: column b: 'inf' is not a finite number"),
        ("a,b,y\n1,2,0\n1,1e999,1\n", "a.csv:3: column b: '1e999' is not a finite number"),
        ("a,b,y\n1,2,0\n1,1_0,1\n", "a.csv:3: column b: '1_0' is not a finite number"),
        ("a,b,y\n1,2_0,0\n1,1_0,1\n", "a.csv:2: column b: '2_0' has an underscore: write plain numbers, or"),
        ('a,b,y\n1,2,0\n"1,2,1\n', "a.csv:3: 1 column where the first line has 3; a quote before"),
        ("a,y\n" + '"' + "x" * 200_000, "field larger than field limit"),
        (b"a,b,y\n1,2,0\n\0,3,1\n", r"a.csv:3: not a text: it holds the character '\x00'"),
        (bytes(range(256)), r"a.csv:1: not a text: it holds the character '\x00'"),
        (bytes(range(1, 32)) * 9, "a.csv:1: not a text: it holds the character '\\x01'"),
        ("a,b,a\n1,2,0\n1,3,1\n", "a.csv:1: two columns are named 'a'"),
        ("\na,a ,y\n1,2,0\n1,3,1\n", "a.csv:2: two columns are named 'a'"),
        ("a,y\n,0\n,1\n", "no feature is left: column a: dropped: it has no value in any row"),
        ("a,y\n1,\n2,NA\n", "a.csv: the target y has no value in any row"),
        ("a,y\n1,2004-01-01\n2,2004-01-02\n", "a.csv: the target y holds dates: name another column"),
        ("a,y\n1,$2\n2,$3.50\n3,$9\n", "a.csv:2: column y: '$2' has a currency sign: write plain numbers"),
    ],
)  # fmt: skip
def test_one_line_for_files_without_a_table(read: Read, text: str | bytes, said: str) -> None:
    with pytest.raises(DataError) as error:
        read(text)
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
        (bytes(range(256)), "a.svm:1: not a text"),
    ],
)
def test_bad_svmlight(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(DataError) as error:
        read_frame(write(tmp_path, text, "a.svm"), None)
    assert said in str(error.value)


def test_columns_separated_by_spaces_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.data: no commas, semicolons or tabs between columns"):
        read_frame(write(tmp_path, "5.1  3.5 1\n4.9  3.0 2\n", "a.data"), None)


def test_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv: No such file"):
        read_frame(tmp_path / "nowhere.csv", None)
    with pytest.raises(DataError, match="directory"):
        read_frame(tmp_path, None)


PIECES = st.sampled_from(
    [
        "1", "2.5", "-3", "007", "1,5", "1.234,5", "NA", "", "?", "red", "no", "$5", "3%", "inf", "nan", "1_0",
        "x", "2004-01-02", "01/02/2004", "12:30", '"a', '"', "#", "1:2", "Unnamed: 0", "id", "0", "\x00",
        "\xe9", " ",
    ]
)  # fmt: skip
TEXTS = st.lists(st.lists(PIECES, min_size=1, max_size=4), max_size=8)


@settings(max_examples=300)
@given(TEXTS, st.sampled_from([",", ";", "\t", " "]), st.sampled_from([None, "1", "y", "2"]))
def test_any_file_gives_a_frame_or_one_line(
    rows: list[list[str]], delimiter: str, target: str | None
) -> None:
    """Any file gives either a frame that can be prepared, or an error of one line."""
    import tempfile

    text = "\n".join(delimiter.join(row) for row in rows)
    with tempfile.TemporaryDirectory() as folder:
        for name, encoding in (("a.csv", "utf-8"), ("a", "latin-1")):
            check_reading(write(Path(folder), text.encode(encoding), name), target)


def check_reading(path: Path, target: str | None) -> None:
    """Check that a frame is complete: numbers or gaps, texts, a target in each row, and printable lines."""
    try:
        found = read_frame(path, target)
    except DataError as error:
        check_line(str(error))
        return
    assert found.n == len(found.target if found.target is not None else ()) > 0
    for spec, values in zip(found.columns, found.data, strict=True):
        assert values.shape == (found.n,)
        if spec.numeric:
            assert not np.isinf(values.astype(float)).any()
        else:
            assert all(isinstance(v, str) for v in values)
    for line in said(found):
        check_line(line)


def check_line(text: str) -> None:
    """Check that a text is one line."""
    assert text
    assert "\n" not in text


# --- the header -------------------------------------------------------------------------------------

TITANIC = "class,sex,age,survived\n" + "".join(
    f"{c},{s},{a},{'yes' if (i * 7) % 3 else 'no'}\n"
    for i, (c, s, a) in enumerate(
        (c, s, a)
        for c in ("1st", "2nd", "crew")
        for s in ("man", "woman")
        for a in ("child", "adult")
    )
)


def test_a_table_of_words_has_its_header(read: Read) -> None:
    found = read(TITANIC)
    assert kinds(found) == dict.fromkeys(("class", "sex", "age"), "category")
    assert set(found.target or []) == {"yes", "no"}
    # Without the header row the rest has no header: words of the first row recur below it.
    found = read(TITANIC.partition("\n")[2])
    assert list(kinds(found)) == ["1", "2", "3"]
    assert len(found.target or []) == 12


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a,b\n1,2\n3,4\n", True),
        ("1,2\n3,4\n", False),
        ("when,cost\n2004-01-01,x\n2004-01-02,y\n", True),
        ("2004-01-01,x\n2004-01-02,y\n", False),
        ("na,inf,y\n1,2,0\n2,3,1\n", True),
        ("?,man,yes\nx,woman,no\nx,man,no\nz,man,yes\n", False),
        ("country,1990,2000\nPeru,1,2\nChad,2,4\n", True),
        ("Peru,1,2\nChad,2,4\n", False),
        ("x,x,y\nu,v,w\nu,v,w\n", False),
        (",x,y\n0,a,1\n1,b,2\n", True),
    ],
)
def test_headers(read: Read, text: str, named: bool) -> None:
    assert read(text, "2", categorical=()).schema.named is named


@pytest.mark.parametrize("start", [0, 1])
def test_columns_numbered_by_pandas(read: Read, start: int) -> None:
    head = f"{start},{start + 1},y\n"
    found = read(head + "5,6,0\n7,8,1\n", "y")
    assert numbers(found).tolist() == [[5, 6], [7, 8]]
    assert (list(found.target), found.schema.named) == ([0, 1], True)
    found = read(head + "5,6,red\n7,8,blue\n7,9,red\n")
    assert list(found.target or []) == ["red", "blue", "red"]
    # Otherwise the first line is a row of data.
    for text in (head + "5,6,no\n7,8,1\n", "5,6,y\n7,8,0\n7,8,1\n"):
        assert (read(text).target or [])[0] == "y"


def test_the_name_of_the_target_reveals_the_header(read: Read) -> None:
    assert list(read("u,v\nx,w\nz,q\n", "v", categorical=("u",)).target or []) == ["w", "q"]


def test_row_names_of_r(read: Read) -> None:
    """R's ``write.table(sep=",")`` writes no column name for the row names."""
    found = read("a,b\nMazda,1,2\nFiat,2,4\n", "b", drop=("Unnamed: 0",))
    assert numbers(found).tolist() == [[1], [2]]
    assert "the first column has no name: the header is one field short" in said(found)


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
def test_no_such_column(read: Read, target: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(lines(), target)
    with pytest.raises(DataError, match=said.replace("for the target", "to drop")):
        read(lines(), drop=(target,))


def test_a_wide_table_does_not_fill_the_screen(read: Read) -> None:
    names = [f"{i:04d}x" for i in range(500)]
    with pytest.raises(DataError) as error:
        read(",".join(names) + "\n" + ",".join("1" * 500) + "\n" + ",".join("2" * 500), "?")
    assert "0000x, 0001x, 0002x" in str(error.value)
    assert "(500 in all)" in str(error.value)
    assert len(str(error.value)) < 500


def test_a_column_named_by_a_number(read: Read) -> None:
    """A column name takes precedence over a position."""
    assert list(read("2,x,1\n1,2,0\n5,1,3\n", "x").target) == [2, 1]
    assert list(read("1,2,0\n3,4,1\n", "2").target) == [2, 4]


# --- numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "delimiter", "expected", "style"),
    [
        (["1", "-.5", "+2e3"], ",", [1, -0.5, 2000], None),
        (["1,5", "-2", ",25"], ";", [1.5, -2, 0.25], "decimal commas"),
        (["1,5", "-2e0", "2,5e1"], "\t", [1.5, -2, 25], "decimal commas"),
        (["1.234,5", "7", "2.000.000"], ";", [1234.5, 7, 2e6], "dots between thousands, decimal commas"),
        (['"1,234"', '"12,345.5"', "7"], ",", [1234, 12345.5, 7], "commas between thousands"),
        (['"1,234"', "7", "8.5"], ",", [1234, 7, 8.5], "commas between thousands"),
        (["12 345", "1 000 000.5", "7"], ",", [12345, 1000000.5, 7], "spaces between thousands"),
        (["12 345,5", "1'000", "7"], ";", [12345.5, 1000, 7], "spaces between thousands, decimal commas"),
    ],
)  # fmt: skip
def test_ways_of_writing_numbers(
    read: Read, values: list[str], delimiter: str, expected: list[float], style: str | None
) -> None:
    found = column(read, values, delimiter, drop=("x",), numeric=("c",))
    assert found.data[0].tolist() == expected
    found = column(read, values, delimiter, drop=("x",))
    assert found.data[0].tolist() == expected
    assert [d.text for d in found.decisions] == [f"written with {style}"] * (style is not None)


def test_ambiguous_commas_follow_the_rest_of_the_file(read: Read) -> None:
    rows = "1,234;{};a\n2,345;{};b\n999;{};b\n"
    found = read("c;d;y\n" + rows.format("0,5", "1,25", "2"))
    assert found.data[0].tolist() == [1.234, 2.345, 999]
    found = read("c;d;y\n" + rows.format("0.5", "1.25", "2"))
    assert found.data[0].tolist() == [1234, 2345, 999]
    for other in (("1", "2", "3"), ("u", "v", "u")):
        with pytest.raises(
            DataError, match=r"a\.csv:2: column c: '1,234' is ambiguous: write 1234 or 1\.234"
        ):
            read("c;d;y\n" + rows.format(*other))
    # Without the other column, dots between thousands would read as decimal points.
    found = read("c;d;y\n1.234;0,5;a\n2.345;1,5;b\n999;2,5;b\n")
    assert found.data[0].tolist() == [1234, 2345, 999]
    assert read("c;d;y\n1.234;5;a\n2.345;1;b\n").data[0].tolist() == [1.234, 2.345]


def test_semicolons_between_decimal_commas_without_a_header(read: Read) -> None:
    found = read("1,5;2,5;3,5\n2,5;4,5;1,5\n")
    assert numbers(found).tolist() == [[1.5, 2.5], [2.5, 4.5]]
    assert list(found.target or []) == ["3.5", "1.5"]


def test_a_decimal_comma_where_commas_separate_is_refused(read: Read) -> None:
    with pytest.raises(
        DataError, match=r"a\.csv:2: column c: '1,5' has a decimal comma, which is read"
    ):
        column(read, ['"1,5"', '"2,5"', '"3,25"'])


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["$1", "$2.50", "-$3", "$1,200"], "a currency sign"),
        (["1 \u20ac", "2,50 \u20ac", "3\u20ac"], "a currency sign"),
        (["EUR 5", "EUR 6.50", "7 USD"], "a currency sign"),
        (["1,5%", "2,5 %", "3%"], "a percent sign"),
        (["1_000", "2_000", "3_500"], "an underscore"),
    ],
)
def test_amounts_are_not_classes(read: Read, values: list[str], what: str) -> None:
    quoted = [f'"{v}"' for v in values]
    with pytest.raises(DataError) as error:
        column(read, quoted)
    assert f"a.csv:2: column c: '{values[0]}' has {what}: write plain numbers, or --drop c" in str(
        error.value
    )
    assert kinds(column(read, quoted, categorical=("c",)))["c"] == "category"
    assert kinds(column(read, quoted, drop=("c",))) == {"x": "number"}


def test_percentages_are_numbers(read: Read) -> None:
    found = column(read, ["45%", "-2.5 %", "", "100%"])
    assert found.data[1].tolist() == pytest.approx([45.0, -2.5, np.nan, 100.0], nan_ok=True)
    assert "column c: written with percent signs" in said(found)
    text = "x;c;y\n1;45,5%;0\n2;3 %;1\n3;0,5%;1\n"
    assert read(text).data[1].tolist() == [45.5, 3.0, 0.5]
    assert "column c: written with percent signs, decimal commas" in said(read(text))


def test_percentages_as_the_target(read: Read) -> None:
    found = read("x,y\n1,45%\n2,7.5%\n3,0%\n", target="y")
    assert list(found.target or []) == ["45", "7.5", "0"]
    assert "column y: written with percent signs" in said(found)


@pytest.mark.parametrize(
    ("values", "unit", "numbers"),
    [
        (["50.1 m2", "", "7 m2"], "m2", [50.1, np.nan, 7]),
        (["24 min", "-3.5 min"], "min", [24, -3.5]),
        (["24min", "NA", "3min"], "min", [24, np.nan, 3]),
        (["50m2", "60m2"], "m2", [50, 60]),
        (['"1,200 km"', "950 km"], "km", [1200, 950]),
        (["5 \u00b0C", "6.5 \u00b0C"], "\u00b0C", [5, 6.5]),
    ],
)
def test_numbers_with_one_unit(
    read: Read, values: list[str], unit: str, numbers: list[float]
) -> None:
    found = column(read, values)
    assert found.columns[1] == ColumnSpec("c", "number", unit)
    assert found.data[1].tolist() == pytest.approx(numbers, nan_ok=True)
    assert any(line.endswith(f"the unit {unit}") for line in said(found))
    assert column(read, values, numeric=("c",)).columns[1].form == unit


def test_units_of_decimal_commas_and_of_the_target(read: Read) -> None:
    assert read("x;c;y\n1;45,5 kg;0\n2;3 kg;1\n").data[1].tolist() == [45.5, 3.0]
    assert list(read("x,y\n1,45 kg\n2,7.5 kg\n", target="y").target or []) == ["45", "7.5"]


@pytest.mark.parametrize(
    "values",
    [["24 min", "2 h"] * 3, ["136A", "137A"] * 3, ["2004 Jan", "2005 Jan"]],
)
def test_values_without_one_unit_keep_their_kind(read: Read, values: list[str]) -> None:
    assert column(read, values).columns[1].kind == ("date" if "Jan" in values[0] else "category")


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ("24 h", "column c: '24 h' has the unit h, not the unit min of the training data"),
        ("24", "column c: '24' has no unit, not the unit min of the training data"),
    ],
)
def test_another_unit_in_a_further_file(tmp_path: Path, values: str, what: str) -> None:
    """Numbers of another unit are refused, and numbers in Parquet, which have none."""
    schema = read_frame(write(tmp_path, "x,c,y\n1,5 min,2\n3,7.5 min,5\n"), None).schema
    assert read_like(write(tmp_path, "c,x\n9 min,1\n", "b.csv"), schema).data[1].tolist() == [9]
    with pytest.raises(DataError, match=f"{what}$"):
        read_like(write(tmp_path, f"c,x\n{values},1\n", "b.csv"), schema)
    pd.DataFrame({"c": [1.5], "x": [2.5]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"column c: numbers without the unit min$"):
        read_like(tmp_path / "b.parquet", schema)
    plain = read_frame(write(tmp_path, "x,c,y\n1,5,2\n3,7.5,5\n"), None).schema
    with pytest.raises(DataError, match="has the unit h, but the training data has numbers"):
        read_like(write(tmp_path, "c,x\n24 h,1\n", "b.csv"), plain)


def test_times_of_day(read: Read) -> None:
    found = column(read, ["13:15", "6:00", "", "23:30:36"])
    assert found.columns[1] == ColumnSpec("c", "date", "time of day")
    days = [13.25 / 24, 0.25, np.nan, 23.51 / 24]
    assert found.data[1].tolist() == pytest.approx(days, nan_ok=True)
    text = "column c: times of day, read as the share of the day before them; drop it with --drop COLUMN"
    assert text in said(found)
    assert column(read, ["13:15", "24:10", "13:15"]).columns[1].kind == "category"
    with pytest.raises(DataError, match="the target y holds times of day: name another column"):
        read("x,y\n1,13:15\n2,14:15\n", target="y")


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["45%", "50", "60%"], "'45%' is not written as the other numbers are"),
        (["45%", "50%", "60%", "<1%"], "'<1%' is not a finite number, but 3 of 4 values are"),
    ],
)
def test_percentages_mixed_with_other_values(read: Read, values: list[str], what: str) -> None:
    with pytest.raises(DataError, match=what):
        column(read, values)


@pytest.mark.parametrize(
    "word", ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "?", "#N/A", "<NA>"]
)
@pytest.mark.parametrize("others", [["1", "2.5", "3"], ["red", "blue", "red"]])
def test_marks_of_missing_values(read: Read, word: str, others: list[str]) -> None:
    found = column(read, [*others, word])
    gap = found.data[1][3]
    assert np.isnan(gap) if others[0] == "1" else gap == ""
    rule = (
        "missing values become the median"
        if others[0] == "1"
        else "missing is a category of its own"
    )
    assert f"column c (1 missing): {rule}" in said(found)


@pytest.mark.parametrize("word", [".", "-", "*", "None", "missing", ".."])
def test_marks_of_missing_values_in_numeric_columns_only(read: Read, word: str) -> None:
    found = column(read, ["1", word, "2", "5"])
    assert np.isnan(found.data[1]).tolist() == [False, True, False, False]
    assert f"column c: '{word}' read as missing" in said(found)
    assert column(read, ["red", word, "red", word]).data[1].tolist() == ["red", word, "red", word]


def test_missing_is_imputed_dropped_or_an_error(read: Read) -> None:
    values = ["1", "", "3", "NA", "7"]
    assert column(read, values).n == 5
    found = column(read, values, missing="drop")
    assert found.data[1].tolist() == [1, 3, 7]
    assert (list(found.place.lines), list(found.target or [])) == ([2, 4, 6], ["a", "a", "a"])
    assert said(found) == ["dropped 2 of 5 rows with a missing value"]
    with pytest.raises(DataError, match=r"a\.csv:3: column c: is missing"):
        column(read, values, missing="error")
    with pytest.raises(DataError, match="every row has a missing value"):
        read("a,b,y\n1,,0\n,2,1\n", missing="drop")
    for way in ("drop", "error"):
        assert said(column(read, ["1", "5", "9"], missing=way)) == []


def test_rows_without_a_target_are_dropped(read: Read) -> None:
    found = read("a,b,y\n1,1,0\n2,5,\n3,2,NA\n4.5,7,1\n")
    assert (found.n, list(found.target or [])) == (2, ["0", "1"])
    assert list(found.place.lines) == [2, 5]
    assert said(found)[0] == "dropped 2 rows without a value of the target y (the first in line 3)"
    # "None" is a class among words, but missing among numbers.
    assert read("a,y\n1,None\n5,Some\n3,None\n").n == 3
    assert read("a,y\n1,None\n5,2\n3,4\n").n == 2


def test_targets_are_numbers_as_python_writes_them(read: Read) -> None:
    found = read("a;y\n1,5;0,5\n2,5;1.000,25\n3;7\n")
    assert [float(v) for v in found.target or []] == [0.5, 1000.25, 7]


# --- words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", [("False", "True"), ("no", "yes"), ("f", "t"), ("FALSE", "TRUE")])
def test_booleans_are_two_values(read: Read, pair: tuple[str, str]) -> None:
    found = column(read, [pair[1], pair[0], pair[1]])
    assert found.data[1].tolist() == [pair[1], pair[0], pair[1]]
    assert f"column c ({pair[0]} = 0, {pair[1]} = 1): two values, encoded as 0 and 1" in said(found)


def test_words_are_categories(read: Read) -> None:
    found = column(read, ["red", "blue", "green", "red"])
    assert said(found) == ["column c (3 values): categories: a 0/1 column for each value"]


def test_ids_with_leading_zeros_are_text(read: Read) -> None:
    found = column(read, ["007", "010", "007", "011"])
    assert found.data[1].tolist() == ["007", "010", "007", "011"]
    assert "column c: leading zeros: read as text; read numbers with --numeric COLUMN" in said(
        found
    )
    assert column(read, ["007", "010", "011"], numeric=("c",)).data[1].tolist() == [7, 10, 11]
    assert kinds(column(read, ["0.07", "0", "-0.1"]))["c"] == "number"


def test_a_scale_with_words_is_categories(read: Read) -> None:
    values = ["0", "1", "2", "3+"] * 6
    found = column(read, values)
    assert kinds(found)["c"] == "category"
    assert "column c: words among numbers ('3+'): all are read as text" in said(found)


@pytest.mark.parametrize("code", ["136A", "7b", "c168"])
def test_digits_with_a_letter_are_codes(read: Read, code: str) -> None:
    """In a column of families 1, 2, ..., the family 136A is a code and not a typing error."""
    values = [str(i // 3) for i in range(60)]
    found = column(read, [*values, code])
    assert kinds(found)["c"] == "category"
    assert f"column c: words among numbers ('{code}'): all are read as text" in said(found)


@pytest.mark.parametrize("slip", ["12k", "5g", "l0", "O5", "136AB"])
def test_other_letters_are_typing_errors(read: Read, slip: str) -> None:
    with pytest.raises(DataError, match=f"column c: '{slip}' is not a finite number"):
        column(read, [*(str(i // 2) for i in range(60)), slip])
    with pytest.raises(DataError, match="column c: '13A' is not a finite number"):
        column(read, [*(f"{i / 2}" for i in range(60)), "13A"])


def test_infinity_is_not_a_category(read: Read) -> None:
    with pytest.raises(DataError, match="column c: '1E400' is not a finite number"):
        column(read, ["1,5", "2,5", "1E400"], ";", numeric=("c",))


def test_a_word_among_decimal_commas(read: Read) -> None:
    values = [f"{i},5" for i in range(12)]
    for options in ({}, {"numeric": ("c",)}):
        with pytest.raises(DataError, match=r"a\.csv:14: column c: 'red' is not a finite number"):
            column(read, [*values, "red"], ";", **options)
    with pytest.raises(DataError, match="column c: '1,5' is not a finite number"):
        column(read, ["1.5", "1,5", "2.5"], ";", numeric=("c",))
    with pytest.raises(DataError, match="column c: '1,5' is not written as the other numbers are"):
        column(read, ["1.5", "1,5", "2.5"], ";")
    with pytest.raises(DataError, match="column c: 'inf' is not a finite number, but 16 of 24"):
        column(read, ["1", "2", "inf"] * 8)


@pytest.mark.parametrize("mark", ["T", "<0.5", "n.d."])
def test_marks_among_numbers_are_refused(read: Read, mark: str) -> None:
    values = [mark if i % 7 == 3 else f"{i * 1.37:.2f}" for i in range(60)]
    with pytest.raises(DataError, match=r"a\.csv:5: column c: .* but 51 of 60 values are"):
        column(read, values)


def test_unique_texts_are_dropped(read: Read) -> None:
    values = [f"name {i}" for i in range(30)]
    found = column(read, values)
    assert kinds(found) == {"x": "number"}
    assert said(found) == [
        "column c (30 texts in 30 rows): dropped: nearly every row has a text of its own; "
        "keep it with --categorical COLUMN"
    ]
    assert kinds(column(read, values, categorical=("c",)))["c"] == "category"
    codes = [f"A/{i}" if i % 3 == 0 else str(1000 + i) for i in range(30)]
    assert kinds(column(read, codes)) == {"x": "number"}
    with pytest.raises(DataError, match=r"no feature is left: column c \(30 texts in 30 rows\)"):
        column(read, values, drop=("x",))


def test_reasons_when_no_feature_is_left(read: Read) -> None:
    """The error lists the reasons of all dropped columns, not only the first."""
    lines = [f"{i},name {i},{i % 2}" for i in range(30)]
    with pytest.raises(DataError, match=r"no feature is left: column Unnamed: 0: .*; column c \("):
        read("\n".join([",c,y", *lines]))


def test_options_for_columns(read: Read) -> None:
    values = ["3.0", "1", "3", "1.0", "2"]
    found = column(read, values, categorical=("c",))
    assert (kinds(found)["c"], found.data[1].tolist()) == ("code", ["3", "1", "3", "1", "2"])
    assert kinds(column(read, values, categorical=("2",)))["c"] == "code"
    with pytest.raises(DataError, match=r"a\.csv:3: column c: 'red' is not a finite number"):
        column(read, ["1", "red", "red"], numeric=("c",))
    for options, what in (
        (
            {"categorical": ("c",), "numeric": ("2",)},
            "column c is asked to be categorical and numeric",
        ),
        ({"drop": ("y",)}, "column y is the target: it is no feature"),
        ({"numeric": ("y",)}, "column y is the target: it is no feature"),
        ({"drop": ("c",), "categorical": ("c",)}, "column c is dropped: it is neither"),
    ):
        with pytest.raises(DataError, match=what):
            column(read, values, **options)
    with pytest.raises(DataError, match="no feature is left: all are dropped"):
        column(read, values, drop=("x", "c"))


# --- dates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "form", "days"),
    [
        (["1970-01-01", "1970-01-03", "1969-12-31"], "ISO", [0, 2, -1]),
        (["1970/01/01", "1970/01/03", "1970/01/03"], "ISO", [0, 2, 2]),
        (["1970-01-01 12:00", "1970-01-02T06:00:00Z", "1970-01-01 01:00+01:00"], "ISO", [0.5, 1.25, 0]),
        (["1970-01", "1970-02", "1971-01"], "ISO", [0, 31, 365]),
        (["1970Q1", "1970Q2", "1971Q1"], "quarter", [0, 90, 365]),
        (["1970 W02", "1970 W03", "1971-W01"], "week", [4, 11, 368]),
        (["1970 Jan", "1970 Feb", "1971 Jan"], "%Y %b", [0, 31, 365]),
        (["1970 January", "1970 February", "1971 May"], "%Y %B", [0, 31, 485]),
        (["01.01.1970", "13.01.1970", "01.02.1970"], "%d.%m.%Y", [0, 12, 31]),
        (["01/01/1970", "13/01/1970", "01/02/1970"], "%d/%m/%Y", [0, 12, 31]),
        (["01/01/1970", "01/13/1970", "02/01/1970"], "%m/%d/%Y", [0, 12, 31]),
        (["1/1/1970 06:00", "1/13/1970 12:00", "2/1/1970 00:00"], "%m/%d/%Y %H:%M", [0.25, 12.5, 31]),
        (["Jan 1 1970", "Jan 13 1970", "Feb 1 1970"], "%b %d %Y", [0, 12, 31]),
        (["1-Jan-70", "13-Jan-70", "01-Feb-70"], "%d-%b-%y", [0, 12, 31]),
        (["January 1, 1970", "February 1, 1970", "March 1, 1970"], "%B %d, %Y", [0, 31, 59]),
    ],
)  # fmt: skip
def test_dates_are_days(read: Read, values: list[str], form: str, days: list[float]) -> None:
    found = column(read, [*(f'"{v}"' for v in values), ""])
    assert (found.columns[1].kind, found.columns[1].form) == ("date", form)
    assert found.data[1][:3].tolist() == days
    assert np.isnan(found.data[1][3])
    assert (
        f"column c (form {form}): dates, read as days since 1970-01-01; drop it with --drop COLUMN"
    ) in said(found)


def test_ambiguous_dates_are_refused(read: Read) -> None:
    with pytest.raises(
        DataError,
        match=r"a\.csv:2: column c: '01/02/2004' may have the day first or the month first",
    ):
        column(read, ["01/02/2004", "02/02/2004", "03/04/2004"])
    assert column(read, ["02/02/2004", "03/03/2004"]).columns[1].kind == "date"


@pytest.mark.parametrize(
    "values", [["2004-13-01"] * 3, ["10-12", "13-15", "10-12"], ["a1", "b2", "b2"]]
)
def test_values_that_are_not_dates(read: Read, values: list[str]) -> None:
    assert column(read, values).columns[1].kind == "category"


# --- indices, constants, copies ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "index", "rownames", "row.names", "id", "ID"])
@pytest.mark.parametrize("start", [0, 1])
def test_an_index_is_dropped(read: Read, name: str, start: int) -> None:
    rows = "".join(f"{i + start},{i * i}.5,{i % 2}\n" for i in range(12))
    found = read(f"{name},x,y\n{rows}")
    assert kinds(found) == {"x": "number"}
    shown = name or "Unnamed: 0"
    (line,) = said(found)
    assert line.startswith(f"column {shown}: dropped: ")
    kept = read(f"{name},x,y\n{rows}", numeric=(shown,))
    assert list(kinds(kept)) == [shown, "x"]
    assert said(kept) == [
        f"column {shown}: it counts the rows; drop it with --drop COLUMN unless the order of the rows has a meaning"
    ]


def test_columns_that_are_not_an_index(read: Read) -> None:
    # An index with another name is kept and reported.
    found = read("day,x,y\n" + "".join(f"{i},{i * i}.5,{i % 2}\n" for i in range(12)))
    assert list(kinds(found)) == ["day", "x"]
    assert said(found) == [
        "column day: it counts the rows; drop it with --drop COLUMN unless the order of the rows has a meaning"
    ]
    # The only column is kept.
    assert read("index,y\n0,1\n1,5\n2,3\n").n == 3
    assert read("".join(f"{i},{i * i % 7}\n" for i in range(20))).n == 20
    # A column with repeated values is kept.
    assert list(kinds(read("id,x,y\n1,2,0\n1,3,1\n2,5,1\n"))) == ["id", "x"]
    # A column whose name only ends in these letters is kept.
    assert "acid" in kinds(read("x,acid,y\n1,3,0\n3,7,1\n2,5,1\n"))


def test_an_index_of_some_of_the_rows(read: Read) -> None:
    """The index that pandas writes after a split, which covers some of the rows, is dropped."""
    assert list(kinds(read(",x,y\n17,2,0\n3,3,1\n9,5,1\n"))) == ["x"]
    assert list(kinds(read("customer_id,x,y\n17,2,0\n3,3,1\n9,5,1\n"))) == ["x"]


def test_an_index_without_a_header(read: Read) -> None:
    rows = "".join(f"{i},{i * i % 11}.5,{i % 3},{i % 2}\n" for i in range(12))
    assert list(kinds(read(rows))) == ["2", "3"]
    assert list(kinds(read(rows, numeric=("1",)))) == ["1", "2", "3"]


def test_constants_are_reported(read: Read) -> None:
    found = read("a,b,c,y\n1,7,u,0\n2,7,u,1\n5,7,u,1\n")
    assert list(kinds(found)) == ["a", "b", "c"]
    assert said(found) == ["columns b (7) and c ('u'): the same value in every row"]


def test_a_column_without_values_is_dropped(read: Read) -> None:
    found = read("a,b,y,\n1,,0,\n2,NA,1,\n5,,1,\n")
    assert list(kinds(found)) == ["a"]
    assert found.schema.target == "y"
    assert said(found) == ["column b: dropped: it has no value in any row"]


def test_a_copy_of_the_target_is_reported(read: Read) -> None:
    rows = "".join(f"{i % 3},{'uvw'[i % 3]},{i * i % 5},{'xyz'[i % 3]}\n" for i in range(12))
    text = " ".join(said(read("a,b,c,y\n" + rows)))
    assert "columns a and b: it determines the target exactly" in text
    assert "c and" not in text
    assert "one to one" not in " ".join(said(read("a,y\n1,2\n5,7\n3,9\n")))


def test_decisions_share_lines() -> None:
    many = [ReadingDecision(f"c{i}", "text", f"{i}") for i in range(9)]
    assert decision_lines(many[:2]) == ["columns c0 (0) and c1 (1): text"]
    assert decision_lines(many)[0].endswith("c5 (5) and 3 more: text")
    assert decision_lines(
        [ReadingDecision(None, "a"), ReadingDecision("b", "a"), ReadingDecision(None, "a")]
    ) == [
        "a",
        "column b: a",
    ]


# --- Parquet ----------------------------------------------------------------------------------------


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kselect.datasets.table.arrow.find_spec", lambda name: None)
    with pytest.raises(
        DataError, match=r"a\.parquet: Parquet needs pyarrow \(pip install pyarrow\)"
    ):
        read_frame(write(tmp_path, b"PAR1", "a.parquet"), None)


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    table = pd.DataFrame(
        {
            "number": [1.5, None, 3.0, 4.0],
            "whole": pd.array([1, None, 3, 9], dtype="Int64"),
            "zip": ["02139", "10001", "02139", None],
            "flag": [True, False, True, True],
            "when": pd.to_datetime(
                ["1970-01-01 00:00", "1970-01-03 00:00", None, "1970-01-01 12:00"]
            ),
            "day": [date(1970, 1, 2), None, date(1970, 1, 4), date(1970, 1, 1)],
            "kind": pd.Categorical(["u", "v", None, "u"]),
            "y": ["a", "b", None, "b"],
        }
    )
    path = tmp_path / "a.parquet"
    table.to_parquet(path)
    found = read_frame(path, "y")
    assert list(kinds(found).values()) == [
        "number",
        "number",
        "category",
        "category",
        "date",
        "date",
        "category",
    ]
    assert (found.n, list(found.target or [])) == (3, ["a", "b", "b"])
    assert found.data[2].tolist() == ["02139", "10001", ""]
    assert found.data[3].tolist() == ["True", "False", "True"]
    assert found.data[4].tolist() == [0, 2, 0.5]
    assert found.data[5][[0, 2]].tolist() == [1, 0]
    back = read_like(path, found.schema)
    assert all(len(values) == 4 for values in back.data)
    for raw, what in (
        (path.read_bytes()[:-9], "not a whole Parquet file"),
        (b"PAR1", "not a whole"),
    ):
        with pytest.raises(DataError, match=what):
            read_frame(write(tmp_path, raw, "b.parquet"), "y")


# --- hostile files ----------------------------------------------------------------------------------


def deflated(raw: bytes) -> bytes:
    """Return a packed archive of one file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", raw)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zip", deflated)],
)
def test_a_bomb(tmp_path: Path, ending: str, pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kselect.datasets.content.SMALLEST_LIMIT", 2**16)
    monkeypatch.setattr("kselect.datasets.content.LARGEST_RATIO", 10)
    path = write(tmp_path, pack(b"1,2,3\n" * 2**16), f"a.csv.{ending}")
    with pytest.raises(DataError, match=r"unpacked, it is too large: more than \d+ bytes"):
        read_frame(path, None)


def test_more_fields_than_memory_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that memory cannot hold as fields is refused before it is split."""
    said = r"3004 fields in 1002 lines need 0\.0 GiB of memory; 0\.0"
    # Numbers need less memory than strings.
    for rows, enough in (("1,2,3\n2,1,4\n", 144_184), ("1,x,3\n2,z,4\n", 580_940)):
        path = write(tmp_path, "a,b,y\n" + rows * 500)
        monkeypatch.setattr(
            "kselect.datasets.table.read.available_memory", lambda most=enough: most - 1
        )
        with pytest.raises(DataError, match=said):
            read_frame(path, None)
        monkeypatch.setattr(
            "kselect.datasets.table.read.available_memory", lambda most=enough: most
        )
        read_frame(path, None)


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.csv")
    for path, said in (
        (tmp_path / "nowhere.csv", "No such file"),
        (tmp_path, "directory"),
        (tmp_path / "pipe.csv", "is a pipe, not a file"),
        (Path("/dev/zero"), "is a device, not a file"),
    ):
        with pytest.raises(DataError, match=said):
            read_frame(path, None)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("a\x1b[31m,b,y\n1,2,3\n1,2,red\n3,4,5\n", None),
        ("a,b\n1,2\n", "\x1b[31m"),
        ("a\x1b[31m,b\n1,2\n", "c"),
        ("a\x1b[31m,b\n2,1\n2,2\n2,3\n", None),
    ],
)
def test_control_characters_are_escaped(tmp_path: Path, text: str, target: str | None) -> None:
    try:
        frame = read_frame(write(tmp_path, text, "a\x1b[2J.csv"), target)
    except DataError as error:
        said = [str(error)]
    else:
        said = decision_lines(frame.decisions)
    assert said
    assert all(line.isprintable() for line in said)


def test_long_names_are_cut(tmp_path: Path) -> None:
    long = "z" * 100_000
    wide = ",".join(f"c{i}" for i in range(5000)) + "\n" + ",".join("1" * 5000) + "\n"
    for text, target in ((f"{long},y\n1,1\n1,2\n", "x"), ("a,y\n1,1\n", long), (wide, "x")):
        said = message_of(DataError, read_frame, write(tmp_path, text), target)
        assert len(said) < 1000 + len(str(tmp_path))
    frame = read_frame(write(tmp_path, f"{long},y\n1,1\n1,2\n"), None)
    assert max(map(len, decision_lines(frame.decisions))) < 300


# --- further files ----------------------------------------------------------------------------------

HEADER = "age,sex,zip,joined,y\n"
ROWS = "31,m,01,2004-01-01,a\n45,f,02,2004-02-01,b\n,m,01,2004-03-01,a\n7,,02,2004-04-13,b\n9,f,01,,a\n"


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    """Return the schema of a number, two categories and a date."""
    found = read_frame(write(tmp_path, HEADER + ROWS), None).schema
    assert [spec.kind for spec in found.columns] == ["number", "category", "category", "date"]
    return found


def same(one: Frame, other: Frame) -> bool:
    """Return whether two frames hold the same features."""
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
    order = [3, 0, 2, 1]  # without the target, and with an unknown column
    text = "".join(",".join([*(row[i] for i in order), "?"]) + "\n" for row in rows)
    found = read_like(write(tmp_path, gzip.compress(text.encode()), "b.csv.gz"), schema)
    assert same(there, found)
    assert found.target is None


def test_one_row_and_one_column(tmp_path: Path, schema: Schema) -> None:
    """In a further file the columns are known: a header above a single row of words is a header."""
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


def test_a_dropped_index_may_stay_in_further_files(tmp_path: Path) -> None:
    schema = read_frame(write(tmp_path, ",x,y\n0,5,1\n1,7,2\n2,9,1\n"), None).schema
    assert read_like(write(tmp_path, ",x\n0,5\n", "b.csv"), schema).data[0].tolist() == [5]
    assert read_like(write(tmp_path, "x\n5\n", "b.csv"), schema).data[0].tolist() == [5]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age,sex,zip\n1,m,01\n", "b.csv: without the column 'joined', which the model needs"),
        ("age,y\n1,m\n", "b.csv: without the columns 'sex', 'zip', 'joined', which the model needs"),
        ("Age,sex,zip,Joined\n1,m,01,2004-01-01\n", "b.csv: without the columns 'age', 'joined', which the "
         "model needs; rename 'Age', which differs from 'age' in case only"),
        ("AGE,SEX,ZIP,JOINED\n1,m,01,2004-01-01\n", "b.csv: without the columns 'age', 'sex', 'zip', 'joined', "
         "which the model needs; rename 'AGE', which differs from 'age' in case only"),
        ("1,m,01,2004-01-01\n", "b.csv: no header line with the columns of the model: 'age', 'sex', "),
        ("sex,zip,joined,age\nm,01,2004-01-01,x\n", "b.csv:2: column age: 'x' is not a finite number, "
         "but the training data has numbers in this column; kselect fit --categorical age reads them as c"),
        ("age,sex,zip,joined\n1,m,01,1.1.2004\n", "b.csv:2: column joined: '1.1.2004' is not a date of the"),
        ("age,sex,zip,joined\n", "b.csv: a header and no rows"),
        ("1 1:1 2:5\n", "b.csv: svmlight, but the model has learned from columns"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_the_schema(
    tmp_path: Path, schema: Schema, text: str, said: str
) -> None:
    with pytest.raises(DataError) as error:
        read_like(write(tmp_path, text, "b.csv"), schema)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("learned", "text", "named"),
    [
        ("x,price", "x,Price\n1,2\n", "'Price', which differs from 'price'"),
        ("x,price", "x,price\n1,2\n", ""),
        ("x,price", "x\n1\n", ""),
        ("Y,y", "Y\n1\n", ""),  # a feature is no target in another case
    ],
)
def test_a_target_in_another_case_is_named(
    tmp_path: Path, learned: str, text: str, named: str
) -> None:
    """Predictions need no target, so that a note is enough."""
    schema = read_frame(write(tmp_path, f"{learned}\n1,5\n2,7\n4,5\n"), None).schema
    found = read_like(write(tmp_path, text, "b.csv"), schema)
    note = f"predictions are not compared with the target; rename {named} in case only"
    assert [d.text for d in found.decisions] == ([note] if named else [])
    assert found.no_target == (f"; rename {named} in case only" if named else "")


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


def test_svmlight_like_another_file(tmp_path: Path) -> None:
    schema = read_frame(write(tmp_path, "1 1:5 3:2\n0 2:1\n", "a.svm"), None).schema
    found = read_like(write(tmp_path, gzip.compress(b"0 1:7\n"), "b.gz"), schema)
    assert np.column_stack(found.data).tolist() == [[7, 0, 0]]
    with pytest.raises(DataError, match="index above n_features = 3"):
        read_like(write(tmp_path, "0 4:7\n", "b.svm"), schema)


def test_an_unreadable_target_is_ignored_in_further_files(tmp_path: Path) -> None:
    schema = read_frame(write(tmp_path, "x,y\n1,2\n2,3\n"), None).schema
    found = read_like(write(tmp_path, "x,y\n5,$3\n", "b.csv"), schema)
    assert found.target is None
    assert "predictions are not compared with the target: " in str(found.decisions[-1])
    assert read_like(write(tmp_path, "x,y\n5,\n", "b.csv"), schema).target is None
