"""A data set is read from its file or formula only if the content matches the registry."""

from __future__ import annotations

import bz2
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments import message_of
from scipy.io import savemat

from kselect.config.load import load_config
from kselect.datasets import fetch
from kselect.datasets.content import git_blob_id, sha256_of
from kselect.datasets.dataset import Source, read_dataset
from kselect.datasets.fetch import Places, fetch_into_cache, resolve
from kselect.datasets.registry import BENCHMARKS, DataSetInfo, as_info, find_dataset
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


def test_regression_targets_are_unchanged(tmp_path: Path) -> None:
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
    with pytest.raises(DataError, match=r"label 0, 3, 4, 5, 6 where"):
        read_dataset(replace(INFO, rows=9), source(tmp_path, "0\n1\n2\n3\n4\n5\n6\n7\n8\n"))


def test_a_file_changed_after_planning_is_refused(tmp_path: Path) -> None:
    """A file that was replaced after planning is refused instead of used under the planned checksum."""
    planned = source(tmp_path, "2 1:1\n1 2:2\n2\n")
    assert read_dataset(INFO, planned).sha256 == planned.sha256
    other = "1 1:1\n2 2:2\n1\n"
    planned.path.write_text(other)
    assert message_of(DataError, read_dataset, INFO, planned) == (
        f"{planned.path}: changed since it was checked: sha256 is {sha256_of(other.encode())}, "
        f"it was {planned.sha256}"
    )


def test_the_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read only once, because it could change between two reads."""
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


def test_a_packed_file_is_checked_without_unpacking(tmp_path: Path) -> None:
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
    """The function that workers call refuses a changed file, and shows both checksums."""
    from kselect.run.trial import load

    planned = Source(tmp_path / "heart", "cache", "0" * 64)
    planned.path.write_text("1 1:1\n")
    with pytest.raises(
        DataError, match=f"heart: changed since it was checked: .* it was {'0' * 64}"
    ):
        load(find_dataset("heart"), planned)


# --- Raetsch's sets ---------------------------------------------------------------------------------

THYROID = find_dataset("thyroid")


def collection(path: Path) -> str:
    """Write a file in the collection's form that contains only thyroid, and return its git blob id."""
    rng = np.random.default_rng(0)
    order = np.array([rng.permutation(215) for _ in range(4)]) + 1
    t = np.where(np.arange(215) % 3 == 0, 1.0, -1.0)[:, None]
    fields = {"x": rng.normal(size=(215, 5)), "t": t}
    savemat(path, {"thyroid": {**fields, "train": order[:, :140], "test": order[:, 140:]}})
    return git_blob_id(path.read_bytes())


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache with the file; its blob id is the pinned one."""
    blob = collection(tmp_path / BENCHMARKS.file)
    pinned = replace(BENCHMARKS, blob=blob)
    for module in ("fetch", "dataset", "raetsch"):
        monkeypatch.setattr(f"kselect.datasets.{module}.BENCHMARKS", pinned)
    return tmp_path


def test_the_original_splits_come_first(known: Path) -> None:
    """The original file comes before the embedded copy and brings its own splits."""
    source = resolve(THYROID, Places(known, None, offline=True))
    assert source.kind == "original"
    assert source.sha256 == hashlib.sha256((known / BENCHMARKS.file).read_bytes()).hexdigest()
    data = read_dataset(THYROID, source)
    assert len(data.splits) == 4
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(data.splits[0].train, np.sort(rng.permutation(215)[:140]))


def test_from_a_mirror(known: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A mirror holds the file in its folder raetsch or at its top."""
    cache = tmp_path_factory.mktemp("cache")
    assert resolve(THYROID, Places(cache, str(known), offline=True)).kind == "original"
    (known / "raetsch").mkdir()
    (known / BENCHMARKS.file).rename(known / "raetsch" / BENCHMARKS.file)
    source = resolve(THYROID, Places(cache, str(known), offline=True))
    assert source.path == known / "raetsch" / BENCHMARKS.file
    assert fetch_into_cache(THYROID, Places(cache, str(known), offline=True)).kind == "original"
    assert (cache / BENCHMARKS.file).is_file()


def test_a_file_with_a_wrong_blob_id_is_not_read(tmp_path: Path) -> None:
    """A damaged file in the cache is skipped; in a mirror it is an error that shows both ids."""
    collection(tmp_path / BENCHMARKS.file)
    assert resolve(THYROID, Places(tmp_path, None, offline=True)).kind == "embedded"
    with pytest.raises(
        DataError, match=r"wrong checksum: git blob id is \w{40}, the registry has 4b54"
    ):
        resolve(THYROID, Places(tmp_path / "cache", str(tmp_path), offline=True))


def test_sizes_must_equal_the_published_ones(known: Path) -> None:
    assert THYROID.given is not None
    other = replace(THYROID, given=replace(THYROID.given, train=141))
    source = resolve(other, Places(known, None, offline=True))
    with pytest.raises(DataError, match=r"thyroid has \(140, 75, 5\) training rows"):
        read_dataset(other, source)


@pytest.mark.parametrize("name", ["thyroid", "twonorm-generated"])
def test_drawn_splits(name: str, tmp_path: Path) -> None:
    """Drawn splits have the published sizes, are disjoint and reproducible, and differ by number."""
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


def test_no_file_found(tmp_path: Path) -> None:
    """The error names the address of the collection and the alternatives."""
    with pytest.raises(DataError, match=r"ringnorm: no file .*gunnar_raetsch.*--skip-missing"):
        resolve(find_dataset("ringnorm"), Places(tmp_path, None, offline=True))


def test_the_site_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All sets of the collection share one file, and one failed request."""
    asked: list[str] = []

    def gone(url: str, info: DataSetInfo) -> bytes:
        asked.append(url)
        raise fetch.Unreachable("no network")

    monkeypatch.setattr(fetch, "download", gone)
    for name in ("thyroid", "heart", "german"):
        assert resolve(find_dataset(name), Places(tmp_path)).kind == "embedded"
    assert asked == [BENCHMARKS.url]


@pytest.mark.parametrize(("train", "original"), [("given", "heart"), (0.7, None)])
def test_drawn_splits_use_the_plain_file(
    train: object, original: str | None, tmp_path: Path
) -> None:
    """If a config draws its own splits, heart is the LIBSVM file, whatever the cache contains."""
    config = tmp_path / "c.yaml"
    grids = "learner: lssvm\nkernels: {gaussian: {tau: 1}}\nlam: {select: 0.1}\n"
    config.write_text(f"name: c\ntrain: {train}\n{grids}criteria: [5-CV]\ndatasets: [heart]\n")
    found = load_config(config, {}).info("heart")
    assert (found.original, found.given is None) == (original, original is None)
