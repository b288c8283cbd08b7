"""A person's own file as a data set: what is known of it, and that nothing else is taken for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kselect.datasets.fetch import Places
from kselect.datasets.own_files import (
    OwnInfo,
    facts_of,
    look_at_file,
    own_info,
    read_own_dataset,
    source_of,
)
from kselect.datasets.registry import find_dataset
from kselect.datasets.table.raw_table import TableOptions
from kselect.errors import DataError

TEXT = "a,b,y\n1,S,u\n2,,v\n3,M,w\n4,S,u\n"
PLAIN, OPTIONS = TableOptions(), TableOptions(drop=("b",))


def described(folder: Path, text: str = TEXT, options: TableOptions = PLAIN) -> OwnInfo:
    """The entry of a file."""
    path = folder / "my.csv"
    path.write_text(text)
    return own_info("my", path, None, options, facts_of(*look_at_file(path, None, options)))


def test_what_is_known(tmp_path: Path) -> None:
    info = described(tmp_path)
    assert (info.task, info.rows, info.features) == ("classification", 4, 2)
    source = source_of(info, Places(tmp_path))
    assert (source.kind, source.sha256) == ("own", info.sha256)
    assert {info: 1}[replace(info)] == 1


def test_the_data_set(tmp_path: Path) -> None:
    info = described(tmp_path)
    data = read_own_dataset(info, source_of(info, Places(tmp_path)))
    assert data.y.tolist() == [0, 1, 2, 0]
    assert data.targets.tolist() == [[1, -1, -1, 1], [-1, 1, -1, -1], [-1, -1, 1, -1]]
    assert data.frame is not None
    assert [spec.name for spec in data.frame.columns] == ["a", "b"]
    two = described(tmp_path, TEXT.replace("w", "v"), OPTIONS)
    data = read_own_dataset(two, source_of(two, Places(tmp_path)))
    assert data.y.tolist() == data.targets[0].tolist() == [-1, 1, 1, -1]


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    info = described(tmp_path)
    source = source_of(info, Places(tmp_path))
    info.path.write_text(TEXT + "5,S,v\n")
    with pytest.raises(DataError, match="wrong checksum"):
        source_of(info, Places(tmp_path))
    with pytest.raises(DataError, match="changed since it was checked"):
        read_own_dataset(info, source)
    info.path.unlink()
    with pytest.raises(DataError, match=r"my\.csv: No such file or directory \(my\)"):
        source_of(info, Places(tmp_path))


def test_registered_sets_are_found_as_before(tmp_path: Path) -> None:
    assert source_of(find_dataset("heart"), Places(tmp_path, offline=True)).kind == "embedded"
    assert not find_dataset("heart").reading


def test_how_a_file_is_read_is_part_of_what_its_numbers_rest_on(tmp_path: Path) -> None:
    one, other = described(tmp_path), described(tmp_path, options=OPTIONS)
    assert one.sha256 == other.sha256
    assert one.reading != other.reading
    assert np.isin(
        list(one.reading), ["target", "task", "drop", "categorical", "numeric", "missing"]
    ).all()
