"""A user's data file, prepared for a selection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kselect
from kselect.datasets.table.raw_table import TableOptions
from kselect.errors import DataError
from kselect.selection.own_data import read_own, read_table

TEXT = "a,b,size,y\n1,,S,10\n2,4,M,9\n3,6,L,10\n5,5,S,9\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a small table and return its path."""
    (tmp_path / "my.csv").write_text(TEXT)
    return tmp_path / "my.csv"


def test_a_table(path: Path) -> None:
    table = kselect.read_table(path)
    assert table.X.shape == (4, 5)
    assert table.y.tolist() == ["10", "9", "10", "9"]
    assert table.size == "4 rows, 3 columns as 5 features"
    np.testing.assert_allclose(table.X[:, :2].mean(axis=0), 0, atol=1e-12)


def test_options_reach_the_frame(path: Path) -> None:
    table = read_table(
        path, target="a", drop=["y"], categorical=["b"], missing="drop", scale="none"
    )
    assert table.X.shape == (3, 6)
    assert table.y.tolist() == [2, 3, 5]
    assert table.target.task == "regression"
    assert read_table(path, task="regression").y.tolist() == [10, 9, 10, 9]
    assert read_table(path, drop=["b", "size"]).size == "4 rows, 1 feature"


def test_memory_is_asked_before_the_target(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kselect.selection.refusals.available_memory", lambda: 100)
    with pytest.raises(DataError, match=r"my\.csv: 4 rows need"):
        read_own(path, None, TableOptions(task="regression"), "zscore", 1)
    read_own(path, None, TableOptions(), "zscore", None)
