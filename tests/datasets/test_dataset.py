"""A file must be what the registry says."""

from __future__ import annotations

import bz2
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from kselect.datasets.content import sha256_of
from kselect.datasets.dataset import Source, map_labels, read_dataset
from kselect.datasets.registry import as_info, find_dataset
from kselect.errors import DataError

INFO = as_info(
    "toy",
    {
        "task": "classification", "rows": 3, "features": 3, "labels": {"1": -1, "2": 1},
        "file": "toy", "sha256": "0", "licence": "none stated",
    },
)  # fmt: skip


def source(folder: Path, text: str) -> Source:
    path = folder / "toy"
    path.write_text(text)
    return Source(path, "cache", sha256_of(text.encode()))


def test_labels_and_width(tmp_path: Path) -> None:
    data = read_dataset(INFO, source(tmp_path, "2 1:1\n1 2:2\n2\n"))
    assert data.y.tolist() == [1, -1, 1]
    assert data.X.tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 0]]
    assert (data.name, data.task) == ("toy", "classification")
    assert data.sha256 == hashlib.sha256(b"2 1:1\n1 2:2\n2\n").hexdigest()


def test_targets_of_regression_stay(tmp_path: Path) -> None:
    info = replace(INFO, task="regression", labels={})
    assert read_dataset(info, source(tmp_path, "2.5 1:1\n-1\n7\n")).y.tolist() == [2.5, -1, 7]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2\n", r"2 rows where the registry says 3 \(toy\)"),
        ("1\n2\n3\n", "label 3 where the registry knows 1 and 2"),
        ("1\n1\n1\n", r"one class only \(1\)"),
        ("1\n2\n1 4:1\n", "index above n_features = 3"),
    ],
)
def test_files_of_another_shape(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_dataset(INFO, source(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "toy"))


def test_many_unknown_labels_are_not_all_shown(tmp_path: Path) -> None:
    import numpy as np

    with pytest.raises(DataError, match=r"label 0, 1, 2, 3, 4 where"):
        map_labels(np.arange(50.0), {-1.0: -1.0, 60.0: 1.0}, tmp_path)


def test_the_bytes_that_are_parsed_are_those_that_are_checked(tmp_path: Path) -> None:
    """A file that was swapped after the plan was made gives no numbers under the good checksum."""
    planned = source(tmp_path, "2 1:1\n1 2:2\n2\n")
    assert read_dataset(INFO, planned).sha256 == planned.sha256
    other = "1 1:1\n2 2:2\n1\n"
    planned.path.write_text(other)
    with pytest.raises(DataError) as caught:
        read_dataset(INFO, planned)
    assert str(caught.value) == (
        f"{planned.path}: changed since it was checked: sha256 is {sha256_of(other.encode())}, "
        f"it was {planned.sha256}"
    )


def test_the_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two reads it could change."""
    planned = source(tmp_path, "2 1:1\n1 2:2\n2\n")
    reads = []

    def read(path: Path, most: int) -> bytes:
        content = path.read_bytes()
        reads.append(path)
        path.write_text("1\n1\n1\n")
        return content

    monkeypatch.setattr("kselect.datasets.content.read_regular", read)
    assert read_dataset(INFO, planned).y.tolist() == [1, -1, 1]
    assert reads == [planned.path]


def test_a_packed_file_is_checked_as_it_lies_there(tmp_path: Path) -> None:
    path = tmp_path / "toy.bz2"
    path.write_bytes(bz2.compress(b"2 1:1\n1 2:2\n2\n"))
    planned = Source(path, "embedded", sha256_of(path.read_bytes()))
    assert read_dataset(INFO, planned).y.tolist() == [1, -1, 1]
    path.write_bytes(bz2.compress(b"2 1:1\n1 2:2\n2\n" + b"#" * 10**6))
    planned = replace(planned, sha256=sha256_of(path.read_bytes()))
    with pytest.raises(
        DataError, match=f"unpacked, it is too large: more than {INFO.largest} bytes"
    ):
        read_dataset(INFO, planned)


def test_a_worker_checks_what_it_reads(tmp_path: Path) -> None:
    """The function that a worker calls, local or dask: the failure is the file's, with both sums."""
    from kselect.run.trial import load

    planned = Source(tmp_path / "heart", "cache", "0" * 64)
    planned.path.write_text("1 1:1\n")
    with pytest.raises(
        DataError, match=f"heart: changed since it was checked: .* it was {'0' * 64}"
    ):
        load(find_dataset("heart"), planned)
