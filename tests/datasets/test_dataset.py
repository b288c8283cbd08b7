"""A file must be what the registry says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kselect.datasets.dataset import Source, map_labels, read_dataset
from kselect.datasets.registry import as_info
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
    return Source(path, "cache", "0")


def test_labels_and_width(tmp_path: Path) -> None:
    data = read_dataset(INFO, source(tmp_path, "2 1:1\n1 2:2\n2\n"))
    assert data.y.tolist() == [1, -1, 1]
    assert data.X.tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 0]]
    assert (data.name, data.task, data.sha256) == ("toy", "classification", "0")


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
