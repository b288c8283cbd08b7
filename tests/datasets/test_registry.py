"""The registry is complete, and names nobody knows get the nearest one."""

from __future__ import annotations

import re

import pytest

from kselect.datasets.fetch import packaged
from kselect.datasets.registry import SITE, DataSetInfo, find_dataset, load_registry
from kselect.errors import ConfigError

ENTRIES = load_registry().values()


@pytest.mark.parametrize("info", ENTRIES, ids=lambda info: info.name)
def test_every_entry(info: DataSetInfo) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", info.sha256)
    assert info.task in ("classification", "regression")
    assert info.rows > 0
    assert info.features > 0
    assert info.licence
    assert info.folder in ("binary", "regression", None)
    assert sorted(info.labels.values()) == ([-1, 1] if info.task == "classification" else [])
    if info.folder:
        assert info.url == f"{SITE}/{info.folder}/{info.file}"
    else:
        assert info.url is None
    assert (info.embedded is None) == (info.embedded_sha256 is None)
    if info.embedded:
        assert (packaged("embedded") / info.embedded).is_file()


def test_files_differ() -> None:
    assert len({info.file for info in ENTRIES}) == len(ENTRIES)
    assert len({info.sha256 for info in ENTRIES}) == len(ENTRIES)


def test_unknown_name() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown data set 'germna'; did you mean 'german\.numer'"
    ):
        find_dataset("germna")
