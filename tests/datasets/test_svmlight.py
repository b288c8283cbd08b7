"""The svmlight reader and writer: accepted files, and refused ones with their messages."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
from experiments import message_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kselect.datasets.content import read_content, unpack
from kselect.datasets.svmlight import parse_svmlight, write_svmlight
from kselect.errors import DataError
from kselect.numerics.linalg import Array

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8)

MALFORMED = {
    "bad label": ("one 1:2", "label is not a number: 'one'"),
    "label of Python only": ("1_0 1:2", "label is not a number: '1_0'"),
    "NaN label": ("nan 1:2", "label is not finite: 'nan'"),
    "infinite label": ("-inf 1:2", "label is not finite: '-inf'"),
    "missing colon": ("1 1:2 3", "missing colon: '3'"),
    "space after the colon": ("1 1: 2", "value is not a number: '1:'"),
    "index not an integer": ("1 1.5:2", "index is not an integer: '1.5:2'"),
    "no index": ("1 :2", "index is not an integer: ':2'"),
    "index of another script": ("1 \u0663:2", "index is not an integer: '\u0663:2'"),
    "index 0": ("1 0:2", "index below 1: '0:2'"),
    "negative index": ("1 -3:2", "index below 1: '-3:2'"),
    "duplicated index": ("1 2:2 2:3", "duplicated index: '2:3'"),
    "descending indices": ("1 2:2 1:3", "indices not ascending: '1:3'"),
    "absurd index": ("1 99999999999:2", "index above 1000000: '99999999999:2'"),
    "value not a number": ("1 1:x", "value is not a number: '1:x'"),
    "two colons": ("1 1:2:3", "value is not a number: '1:2:3'"),
    "NaN value": ("1 1:nan", "value is not finite: '1:nan'"),
    "infinite value": ("1 1:inf", "value is not finite: '1:inf'"),
    "overflowing value": ("1 1:1e999", "value is not finite: '1:1e999'"),
    "qid": ("1 qid:3 1:2", "qid is not supported: 'qid:3'"),
}


def written(folder: Path, text: str | bytes, name: str = "data.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return path


def read_svmlight(path: Path, n_features: int | None = None) -> tuple[Array, Array]:
    """Return the matrix and the labels of a file."""
    return parse_svmlight(unpack(path, read_content(path))[1], path, n_features)


def message(path: Path, n_features: int | None = None) -> str:
    return message_of(DataError, read_svmlight, path, n_features)


def test_reads_a_dense_matrix_and_the_labels_as_written(tmp_path: Path) -> None:
    X, y = read_svmlight(written(tmp_path, "+1 1:0.5 3:-2e1\n-1\n2.5 2:1 # 3:9\n"))
    assert X.tolist() == [[0.5, 0, -20], [0, 0, 0], [0, 1, 0]]
    assert y.tolist() == [1, -1, 2.5]
    assert X.dtype == y.dtype == np.float64


@pytest.mark.parametrize("text", ["1 1:2", "\n 1 1:2 \n\n", "# head\r\n1\t1:2\r\n", "1 1:2#\n#"])
def test_blank_lines_comments_and_line_ends_do_not_matter(tmp_path: Path, text: str) -> None:
    X, y = read_svmlight(written(tmp_path, text))
    assert (X.tolist(), y.tolist()) == ([[2.0]], [1.0])


def test_n_features_pads_with_zeros(tmp_path: Path) -> None:
    path = written(tmp_path, "1 2:7\n")
    assert read_svmlight(path, 4)[0].tolist() == [[0, 7, 0, 0]]
    assert read_svmlight(path, 2)[0].tolist() == read_svmlight(path)[0].tolist() == [[0, 7]]
    assert message(path, 1) == f"{path}:1: index above n_features = 1: '2:7'"


def test_rows_with_only_a_label_are_zeros(tmp_path: Path) -> None:
    path = written(tmp_path, "1\n-1\n")
    assert read_svmlight(path)[0].shape == (2, 0)
    assert read_svmlight(path, 3)[0].tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("kind", MALFORMED)
@pytest.mark.parametrize("name", ["data.txt", "data.bz2"])
def test_a_malformed_line_is_named(tmp_path: Path, kind: str, name: str) -> None:
    line, problem = MALFORMED[kind]
    text = f"# head\n1 1:1\n{line}\n1 x:x\n".encode()
    path = written(tmp_path, bz2.compress(text) if name.endswith(".bz2") else text, name)
    assert message(path) == f"{path}:3: {problem}"


def test_long_or_unprintable_text_stays_on_one_short_line(tmp_path: Path) -> None:
    shown = message(written(tmp_path, f"{'z' * 500} 1:1")).partition(": '")[2]
    assert shown == f"{'z' * 57}...'"
    assert r"'\x1b[31m'" in message(written(tmp_path, "\x1b[31m 1:1"))


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
@pytest.mark.parametrize("name", ["data.txt", "data.bz2"])
def test_an_empty_file_is_an_error(tmp_path: Path, text: str, name: str) -> None:
    data = bz2.compress(text.encode()) if name.endswith(".bz2") else text.encode()
    path = written(tmp_path, data, name)
    assert message(path) == f"{path}:1: no examples in the file: ''"


def test_bytes_that_are_not_utf8_are_named_by_line(tmp_path: Path) -> None:
    path = written(tmp_path, b"1 1:2\n1 1:\xff\n1 1:2\n")
    assert message(path) == rf"{path}:2: not UTF-8 text: '1 1:\\xff'"


def test_rows_stay_sparse_until_their_size_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve bytes per row that ask for eight megabytes each are refused with their sizes before any allocation."""
    path = written(tmp_path, "1 1:1\n-1 1000000:1\n" * 10_000)

    def zeros(*_: object) -> Array:
        raise AssertionError("a matrix was allocated")

    with monkeypatch.context() as patch:
        patch.setattr(np, "zeros", zeros)
        patch.setattr("kselect.datasets.svmlight.available_memory", lambda: 2**30)
        assert message(path) == (
            f"{path}: 20000 rows x 1000000 features need 447.0 GiB of memory as 3 matrices; "
            "1.0 GiB are free"
        )
    few = written(tmp_path, "1 1:1\n-1 1000:1\n", "few.txt")
    assert read_svmlight(few)[0].shape == (2, 1000)


def test_gzip(tmp_path: Path) -> None:
    text = b"1 1:2\n-1 2:0.5\n"
    path = written(tmp_path, gzip.compress(text), "data.svm.gz")
    assert read_svmlight(path)[0].tolist() == [[2, 0], [0, 0.5]]


def test_the_first_wrong_bytes_are_named(tmp_path: Path) -> None:
    """A wrong byte is reported before other mistakes in the lines above it."""
    path = written(tmp_path, "1 1:x # \u03c4\n".encode() + b"1 \xe2\x82\n")
    assert message(path) == rf"{path}:2: not UTF-8 text: '1 \\xe2\\x82'"


def test_a_name_stays_on_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "x", "a\nerror: b\x1b[31m")
    assert message(path) == rf"{tmp_path}/a\nerror: b\x1b[31m:1: label is not a number: 'x'"


@given(X=hnp.arrays(np.float64, SHAPES, elements=FINITE | st.just(0.0)), data=st.data())
@pytest.mark.parametrize("name", ["round.txt", "round.bz2"])
def test_written_files_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, name: str, X: Array, data: st.DataObject
) -> None:
    y = data.draw(hnp.arrays(np.float64, len(X), elements=FINITE))
    path = tmp_path_factory.getbasetemp() / name
    write_svmlight(path, X, y)
    X_read, y_read = read_svmlight(path, X.shape[1])
    np.testing.assert_array_equal(X_read, X)
    np.testing.assert_array_equal(y_read, y)


def test_the_writer_is_terse_and_deterministic(tmp_path: Path) -> None:
    X, y = [[1.0, 0.0, 0.1], [-0.0, 1e22, -3.0]], [1.0, -0.0]
    write_svmlight(tmp_path / "a.txt", X, y)
    assert (tmp_path / "a.txt").read_bytes() == b"1 1:1 3:0.1\n0 2:1e+22 3:-3\n"
    for name in ("a.bz2", "b.bz2"):
        write_svmlight(tmp_path / name, X, y)
    assert (tmp_path / "a.bz2").read_bytes() == (tmp_path / "b.bz2").read_bytes()
    assert bz2.decompress((tmp_path / "a.bz2").read_bytes()) == (tmp_path / "a.txt").read_bytes()


@pytest.mark.parametrize(
    ("X", "y"),
    [([[np.nan]], [1.0]), ([[1.0]], [np.inf]), ([[1.0]], [1.0, 2.0]), ([1.0], [1.0]), ([], [])],
)
def test_the_writer_refuses_unreadable_values(tmp_path: Path, X: object, y: object) -> None:
    with pytest.raises(ValueError, match="cannot write"):
        write_svmlight(tmp_path / "bad.txt", np.array(X), np.array(y))
    assert not (tmp_path / "bad.txt").exists()


def test_a_matrix_larger_than_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix is refused if memory cannot hold it three times: as read, as scaled, and in between."""
    monkeypatch.setattr("kselect.datasets.svmlight.available_memory", lambda: 3 * 8 * 20)
    assert parse_svmlight(b"1\n1 5:1\n1\n1\n", Path("a"))[0].shape == (4, 5)
    assert message_of(DataError, parse_svmlight, b"1\n1\n1\n", Path("a\n"), 7) == (
        r"a\n: 3 rows x 7 features need 0.0 GiB of memory as 3 matrices; 0.0 GiB are free"
    )
