"""The registry is complete, and an unknown name is answered with the nearest one."""

from __future__ import annotations

import bz2
import re
from dataclasses import replace

import pytest

from kselect.datasets.registry import SITE, DataSetInfo, as_info, find_dataset, load_registry
from kselect.errors import ConfigError
from kselect.packaged import packaged

ENTRIES = load_registry().values()


@pytest.mark.parametrize("info", ENTRIES, ids=lambda info: info.name)
def test_every_entry(info: DataSetInfo) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", info.sha256) or (info.original and not info.file)
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


@pytest.mark.parametrize("info", ENTRIES, ids=lambda info: info.name)
def test_the_size_limit_of_a_file(info: DataSetInfo) -> None:
    """The size of each file is known, and the limit allows the file and its embedded copy."""
    assert (info.bytes is None) == (not info.file)
    assert (info.bytes or 0) < info.largest < 100_000_000
    if info.embedded:
        raw = (packaged("embedded") / info.embedded).read_bytes()
        assert max(len(raw), len(bz2.decompress(raw))) < info.largest


def test_the_size_limit_allows_the_longest_text() -> None:
    info = as_info("x", {"task": "regression", "rows": 2, "features": 10**4, "file": "x", "sha256": "0",
                         "licence": ""})  # fmt: skip
    longest = [-2.2250738585072014e-308] * 2
    pairs = "".join(f" {i}:{longest[0]!r}" for i in range(10**6 - 10**4 + 1, 10**6 + 1))
    line = f"{longest[1]!r}{pairs}\r\n"
    assert 0.9 * info.largest < 2 * len(line) <= info.largest
    assert replace(info, bytes=10**9).largest == 10**9


def test_files_are_distinct() -> None:
    files = [info for info in ENTRIES if info.file]
    assert len({info.file for info in files}) == len(files) == len(ENTRIES) - 1
    assert len({info.sha256 for info in files}) == len(files)


@pytest.mark.parametrize("info", [i for i in ENTRIES if i.given], ids=lambda info: info.name)
def test_given_splits(info: DataSetInfo) -> None:
    """Given splits have the sizes of table 1 of flkl2014, no more rows than the set, and a file or formula."""
    assert info.given is not None
    assert info.given.train + info.given.test <= info.rows
    assert info.given.splits in (20, 100)
    assert info.original == info.name or info.formula or info.name == "synthetic"
    assert info.stands_for is None or find_dataset(info.stands_for).given == info.given


def test_unknown_name() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown data set 'germna\.numer'; did you mean 'german\.numer'"
    ):
        find_dataset("germna.numer")
