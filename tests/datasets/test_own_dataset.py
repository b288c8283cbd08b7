"""A person's own file as a data set: what is known of it, and that nothing else is taken for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kselect.config.document import read_document
from kselect.config.own_entries import take_own
from kselect.datasets.dataset import OwnInfo, read_dataset
from kselect.datasets.fetch import Places, resolve
from kselect.datasets.registry import find_dataset
from kselect.errors import DataError

TEXT = "a,b,y\n1,S,u\n2,,v\n3,M,w\n4,S,u\n"


def described(folder: Path, text: str = TEXT, more: str = "") -> OwnInfo:
    """The entry of a file."""
    (folder / "my.csv").write_text(text)
    (folder / "my.yaml").write_text(f"datasets: [{{file: my.csv{more}}}]")
    info = take_own(read_document(folder / "my.yaml")).own["my"]
    assert isinstance(info, OwnInfo)
    return info


def test_what_is_known(tmp_path: Path) -> None:
    info = described(tmp_path)
    assert (info.task, info.rows, info.features) == ("classification", 4, 2)
    source = resolve(info, Places(tmp_path))
    assert (source.kind, source.sha256) == ("own", info.sha256)
    assert {info: 1}[replace(info)] == 1


def test_the_data_set(tmp_path: Path) -> None:
    info = described(tmp_path)
    data = read_dataset(info, resolve(info, Places(tmp_path)))
    assert data.y.tolist() == [0, 1, 2, 0]
    assert np.asarray(data.several).tolist() == [[1, -1, -1, 1], [-1, 1, -1, -1], [-1, -1, 1, -1]]
    assert data.frame is not None
    assert [spec.name for spec in data.frame.columns] == ["a", "b"]
    two = described(tmp_path, TEXT.replace("w", "v"), ", drop: b")
    data = read_dataset(two, resolve(two, Places(tmp_path)))
    assert data.y.tolist() == np.asarray(data.several)[0].tolist() == [-1, 1, 1, -1]


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    info = described(tmp_path)
    source = resolve(info, Places(tmp_path))
    info.path.write_text(TEXT + "5,S,v\n")
    with pytest.raises(DataError, match="wrong checksum"):
        resolve(info, Places(tmp_path))
    with pytest.raises(DataError, match="changed since it was checked"):
        read_dataset(info, source)
    info.path.unlink()
    with pytest.raises(DataError, match=r"my\.csv: No such file or directory \(my\)"):
        resolve(info, Places(tmp_path))


def test_registered_sets_are_found_as_before(tmp_path: Path) -> None:
    assert resolve(find_dataset("heart"), Places(tmp_path, offline=True)).kind == "embedded"
    assert not find_dataset("heart").reading


def test_how_a_file_is_read_is_part_of_what_its_numbers_rest_on(tmp_path: Path) -> None:
    one, other = described(tmp_path), described(tmp_path, more=", drop: b")
    assert one.sha256 == other.sha256
    assert one.reading != other.reading
    assert np.isin(
        list(one.reading), ["target", "task", "drop", "categorical", "numeric", "missing"]
    ).all()
