"""Sets with given splits: of the collection's own file where it is, else drawn ones; formulas in place of files."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from kselect.config.load import load_config
from kselect.datasets import fetch
from kselect.datasets.content import git_blob_id
from kselect.datasets.dataset import read_dataset
from kselect.datasets.fetch import Places, fetch_into_cache, resolve
from kselect.datasets.registry import BENCHMARKS, DataSetInfo, find_dataset
from kselect.errors import DataError

THYROID = find_dataset("thyroid")


def collection(path: Path) -> str:
    """A file of the collection's form with thyroid alone; its git blob id."""
    rng = np.random.default_rng(0)
    order = np.array([rng.permutation(215) for _ in range(4)]) + 1
    t = np.where(np.arange(215) % 3 == 0, 1.0, -1.0)[:, None]
    fields = {"x": rng.normal(size=(215, 5)), "t": t}
    savemat(path, {"thyroid": {**fields, "train": order[:, :140], "test": order[:, 140:]}})
    return git_blob_id(path.read_bytes())


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with the file, under the blob id that is pinned."""
    blob = collection(tmp_path / BENCHMARKS.file)
    pinned = replace(BENCHMARKS, blob=blob)
    for module in ("fetch", "dataset", "raetsch"):
        monkeypatch.setattr(f"kselect.datasets.{module}.BENCHMARKS", pinned)
    return tmp_path


def test_the_original_splits_come_first(known: Path) -> None:
    """Before the embedded copy, and with the splits of the file."""
    source = resolve(THYROID, Places(known, None, offline=True))
    assert source.kind == "original"
    assert source.sha256 == hashlib.sha256((known / BENCHMARKS.file).read_bytes()).hexdigest()
    data = read_dataset(THYROID, source)
    assert len(data.splits) == 4
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(data.splits[0].train, np.sort(rng.permutation(215)[:140]))


def test_from_a_mirror(known: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """In its folder raetsch, or at its top."""
    cache = tmp_path_factory.mktemp("cache")
    assert resolve(THYROID, Places(cache, str(known), offline=True)).kind == "original"
    (known / "raetsch").mkdir()
    (known / BENCHMARKS.file).rename(known / "raetsch" / BENCHMARKS.file)
    source = resolve(THYROID, Places(cache, str(known), offline=True))
    assert source.path == known / "raetsch" / BENCHMARKS.file
    assert fetch_into_cache(THYROID, Places(cache, str(known), offline=True)).kind == "original"
    assert (cache / BENCHMARKS.file).is_file()


def test_another_file_is_not_read(tmp_path: Path) -> None:
    """A damaged one in the cache is passed over; in a mirror it is an error that shows both ids."""
    collection(tmp_path / BENCHMARKS.file)
    assert resolve(THYROID, Places(tmp_path, None, offline=True)).kind == "embedded"
    with pytest.raises(
        DataError, match=r"wrong checksum: git blob id is \w{40}, the registry has 4b54"
    ):
        resolve(THYROID, Places(tmp_path / "cache", str(tmp_path), offline=True))


def test_sizes_must_be_those_that_were_published(known: Path) -> None:
    assert THYROID.given is not None
    other = replace(THYROID, given=replace(THYROID.given, train=141))
    source = resolve(other, Places(known, None, offline=True))
    with pytest.raises(DataError, match=r"thyroid has \(140, 75, 5\) training rows"):
        read_dataset(other, source)


@pytest.mark.parametrize("name", ["thyroid", "twonorm-generated"])
def test_drawn_splits(name: str, tmp_path: Path) -> None:
    """Of the published sizes, disjoint, always the same, another for each number and name."""
    info = find_dataset(name)
    assert info.given is not None
    source = resolve(info, Places(tmp_path, None, offline=True))
    data, again = read_dataset(info, source), read_dataset(info, source)
    assert len(data.splits) == info.given.splits == 100
    for one, other in zip(data.splits[:3], again.splits, strict=False):
        np.testing.assert_array_equal(one.train, other.train)
        assert (len(one.train), len(one.test)) == (info.given.train, info.given.test)
        assert not set(one.train) & set(one.test)
    assert not np.array_equal(data.splits[0].train, data.splits[1].train)


def test_a_formula_has_no_file(tmp_path: Path) -> None:
    info = find_dataset("ringnorm-generated")
    source = resolve(info, Places(tmp_path, None, offline=True))
    assert (source.kind, source.sha256) == ("generated", info.sha256)
    data = read_dataset(info, source)
    assert data.X.shape == (7400, 20)
    assert set(np.unique(data.y)) == {-1.0, 1.0}
    with pytest.raises(DataError, match="drawn from a formula"):
        fetch_into_cache(info, Places(tmp_path, None, offline=True))


def test_nothing_to_be_had(tmp_path: Path) -> None:
    """The collection's address is named, and the ways out."""
    with pytest.raises(DataError, match=r"ringnorm: no file .*gunnar_raetsch.*--skip-missing"):
        resolve(find_dataset("ringnorm"), Places(tmp_path, None, offline=True))


def test_the_site_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All sets of the collection share one file, and one failure to reach it."""
    asked: list[str] = []

    def gone(url: str, info: DataSetInfo) -> bytes:
        asked.append(url)
        raise fetch.Unreachable("no network")

    monkeypatch.setattr(fetch, "download", gone)
    for name in ("thyroid", "heart", "german"):
        assert resolve(find_dataset(name), Places(tmp_path)).kind == "embedded"
    assert asked == [BENCHMARKS.url]


@pytest.mark.parametrize(("train", "original"), [("given", "heart"), (0.7, None)])
def test_a_share_of_the_rows_is_one_of_the_plain_file(
    train: object, original: str | None, tmp_path: Path
) -> None:
    """Where a config draws its splits, heart is the LIBSVM file, whatever lies in the cache."""
    config = tmp_path / "c.yaml"
    grids = "learner: lssvm\nkernels: {gaussian: {tau: 1}}\nlam: {select: 0.1}\n"
    config.write_text(f"name: c\ntrain: {train}\n{grids}criteria: [5-CV]\ndatasets: [heart]\n")
    found = load_config(config, {}).info("heart")
    assert (found.original, found.given is None) == (original, original is None)
