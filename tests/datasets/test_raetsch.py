"""Raetsch's collection, in every orientation and damaged; git's blob id; data drawn from formulas."""

from __future__ import annotations

import math
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from kselect.datasets.content import git_blob_id
from kselect.datasets.raetsch import (
    GENERATORS,
    MEAN,
    MIXED,
    WAVES,
    SplitSet,
    generate,
    read_benchmark,
    read_set,
    ringnorm,
    three_waveforms,
    twonorm,
    waveform,
)
from kselect.datasets.registry import BENCHMARKS
from kselect.errors import DataError
from kselect.numerics.linalg import Array

SPLITS, TRAIN, TEST, FEATURES = 5, 7, 4, 3
ROWS = TRAIN + TEST


def structs(**changed: Any) -> dict[str, Any]:
    """Return one set in the collection's form: one row per split, counted from 1, and labels as a column."""
    rng = np.random.default_rng(0)
    order = np.array([rng.permutation(ROWS) for _ in range(SPLITS)]) + 1
    t = np.where(np.arange(ROWS) % 2 == 0, 1.0, -1.0)[:, None]
    fields = {"x": rng.normal(size=(ROWS, FEATURES)), "t": t}
    return {**fields, "train": order[:, :TRAIN], "test": order[:, TRAIN:], **changed}


def written(path: Path, **changed: Any) -> Path:
    """Write a file with that set, a variable that is a number, and one that is the list of names."""
    savemat(
        path, {"heart": structs(**changed), "n": 3.0, "benchmarks": np.array(["heart"], object)}
    )
    return path


def read(path: Path) -> SplitSet:
    """Return the set named heart."""
    return read_set(path, path.read_bytes(), "heart")


def test_reads(tmp_path: Path) -> None:
    """Patterns, labels and splits are read; splits count rows from 0."""
    heart, source = read(written(tmp_path / "b.mat")), structs()
    np.testing.assert_array_equal(heart.X, source["x"])
    np.testing.assert_array_equal(heart.y, source["t"].ravel())
    assert len(heart.train) == SPLITS
    for number in range(SPLITS):
        split = heart.split(number)
        np.testing.assert_array_equal(split.train, np.sort(source["train"][number]) - 1)
        np.testing.assert_array_equal(split.test, np.sort(source["test"][number]) - 1)
        assert sorted([*split.train, *split.test]) == list(range(ROWS))


@pytest.mark.parametrize("transposed", [("x",), ("t",), ("train", "test"), ("train",), ("test",)])
def test_any_orientation(tmp_path: Path, transposed: tuple[str, ...]) -> None:
    """The sides that x shares with the labels, and both split matrices with each other, give the orientation."""
    expected = read(written(tmp_path / "a.mat"))
    turned = {name: structs()[name].T for name in transposed}
    found = read(written(tmp_path / "b.mat", **turned))
    for field in ("X", "y", "train", "test"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))


def test_square_split_matrices_have_one_row_per_split(tmp_path: Path) -> None:
    """A square split matrix, as for heart's 100 splits of 100 test rows, has one row per split."""
    square = structs()["test"][:4]
    path = written(tmp_path / "b.mat", train=structs()["train"][:4], test=square)
    np.testing.assert_array_equal(read(path).test, square - 1)


def test_a_split_may_repeat_a_pattern(tmp_path: Path) -> None:
    """Equal rows are stored once in the collection, so a split may repeat a pattern."""
    path = written(
        tmp_path / "b.mat", train=np.array([[1, 1, 2], [3, 2, 2]]), test=np.array([[4], [5]])
    )
    np.testing.assert_array_equal(read(path).split(1).train, [1, 1, 2])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"train": np.array([[0, 1]] * SPLITS)}, r"not a whole number in 1\.\.11"),
        ({"test": np.array([[12]] * SPLITS)}, r"not a whole number in 1\.\.11"),
        ({"test": np.array([[1.5]] * SPLITS)}, r"not a whole number in 1\.\.11"),
        ({"train": np.ones((2, 3)), "test": np.ones((4, 6))}, "no common side"),
        ({"t": np.arange(ROWS)}, "labels are not -1 and 1"),
        ({"x": np.ones((4, 3))}, r"x is \(4, 3\) for 11 labels"),
        ({"x": np.full((ROWS, 2), np.nan)}, "a feature is not finite"),
    ],
)
def test_refuses(tmp_path: Path, changed: dict[str, Any], reason: str) -> None:
    """Wrong content is refused with the file, the set and the reason."""
    path = written(tmp_path / "b.mat", **changed)
    with pytest.raises(DataError, match=f"b.mat: heart: .*{reason}"):
        read(path)


def test_refuses_another_file(tmp_path: Path) -> None:
    """A file that is not MATLAB, is truncated, or lacks the set is refused."""
    text = tmp_path / "text.mat"
    text.write_text("1 2 3\n" * 60)
    with pytest.raises(DataError, match=r"text.mat: not a readable MATLAB file"):
        read(text)
    whole = written(tmp_path / "cut.mat").read_bytes()
    savemat(tmp_path / "packed.mat", {"heart": structs()}, do_compression=True)
    packed = (tmp_path / "packed.mat").read_bytes()
    for data in (whole[:400], packed[:400], packed[:200], whole[:64], b""):
        (tmp_path / "cut.mat").write_bytes(data)
        with pytest.raises(DataError, match=r"cut.mat: not a readable MATLAB file"):
            read(tmp_path / "cut.mat")
    savemat(tmp_path / "other.mat", {"a": 1.0})
    with pytest.raises(DataError, match="no struct heart with x, t, train and test"):
        read(tmp_path / "other.mat")


def test_refuses_a_split_that_is_not_there(tmp_path: Path) -> None:
    """A split number outside the range is refused; splits count from 0."""
    heart = read(written(tmp_path / "b.mat"))
    for number in (-1, SPLITS):
        with pytest.raises(DataError, match=rf"split {number} of 0\.\.4"):
            heart.split(number)


def test_blob_id(tmp_path: Path) -> None:
    """The blob id is git's, for the empty file and for another."""
    assert git_blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    path = tmp_path / "f"
    path.write_bytes(bytes(range(256)))
    run = subprocess.run(["git", "hash-object", path], capture_output=True, text=True, check=True)
    assert git_blob_id(path.read_bytes()) == run.stdout.strip()


def test_requires_the_blob(tmp_path: Path) -> None:
    """A wrong blob id is reported with the expected one before the file is parsed."""
    content = written(tmp_path / "b.mat").read_bytes()
    with pytest.raises(DataError, match=r"git blob id is \w{40}, expected 4b54cae"):
        read_benchmark(tmp_path / "b.mat", content, "heart")


def test_only_the_requested_set_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The requested set is returned, or the error says that it is absent."""
    path = written(tmp_path / "b.mat")
    content = path.read_bytes()
    known = replace(BENCHMARKS, blob=git_blob_id(content))
    monkeypatch.setattr("kselect.datasets.raetsch.BENCHMARKS", known)
    np.testing.assert_array_equal(read_benchmark(path, content, "heart").X, structs()["x"])
    with pytest.raises(DataError, match="no struct"):
        read_benchmark(path, content, "thyroid")


# --- data drawn from formulas -----------------------------------------------------------------------

MANY = 200_000


def test_twonorm() -> None:
    """Two unit Gaussians at distance ``4``: the best half-space errs in ``Phi(-2)``."""
    X, y = twonorm(MANY, np.random.default_rng(0))
    np.testing.assert_allclose((X * y[:, None]).mean(axis=0), MEAN, atol=0.01)
    np.testing.assert_allclose(np.cov((X - MEAN * y[:, None]).T), np.eye(20), atol=0.02)
    error = np.mean(np.sign(X.sum(axis=1)) != y)
    assert error == pytest.approx(0.5 * math.erfc(math.sqrt(2.0)), abs=0.0012)


def test_ringnorm() -> None:
    """A unit Gaussian inside one of twice the width; the best boundary is a sphere and errs in 1.25 %."""
    X, y = ringnorm(MANY, np.random.default_rng(0))
    np.testing.assert_allclose(X[y > 0].mean(axis=0), MEAN, atol=0.02)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), 0.0, atol=0.03)
    np.testing.assert_allclose(np.cov(X[y > 0].T), np.eye(20), atol=0.03)
    np.testing.assert_allclose(np.cov(X[y < 0].T), 4.0 * np.eye(20), atol=0.1)
    inside = np.sum((X - MEAN) ** 2, axis=1) - 0.25 * np.sum(X**2, axis=1) < 20.0 * math.log(4.0)
    assert np.mean(np.where(inside, 1.0, -1.0) != y) == pytest.approx(0.0125, abs=0.001)


def density(X: Array, label: int) -> Array:
    """Return the density of a waveform class up to a common factor, by the midpoint rule over u."""
    a, b = WAVES[MIXED[label]]
    u = (np.arange(40)[:, None] + 0.5) / 40.0
    middle = u * a + (1.0 - u) * b
    exponents = (
        X @ middle.T - 0.5 * np.sum(middle**2, axis=1) - 0.25 * np.sum(X**2, axis=1)[:, None]
    )
    return np.asarray(np.exp(exponents).mean(axis=1))


def test_waveform() -> None:
    """The waves are Breiman's, and the best rules err in 13.3 % for three classes and 8.2 % for two."""
    np.testing.assert_array_equal(WAVES[0][[4, 5, 10, 15, 16]], [0, 1, 6, 1, 0])
    np.testing.assert_array_equal(WAVES[1][4:], WAVES[0][:-4])
    np.testing.assert_array_equal(WAVES[2][:-4], WAVES[0][4:])
    X, classes = three_waveforms(20_000, np.random.default_rng(0))
    for label, mixed in enumerate(MIXED):
        expected = WAVES[mixed].mean(axis=0)
        np.testing.assert_allclose(X[classes == label].mean(axis=0), expected, atol=0.1)
    p = np.stack([density(X, label) for label in range(3)], axis=1)
    p /= p.sum(axis=1, keepdims=True)
    assert np.mean(1.0 - p.max(axis=1)) == pytest.approx(0.133, abs=0.004)
    assert np.mean(np.minimum(p[:, 1], 1.0 - p[:, 1])) == pytest.approx(0.082, abs=0.004)


def test_two_classes_of_waveform() -> None:
    """A third of the rows is +1: the class whose features rise first and fall last."""
    X, y = waveform(30_000, np.random.default_rng(0))
    assert np.mean(y > 0) == pytest.approx(1.0 / 3.0, abs=0.01)
    np.testing.assert_allclose(X[y > 0].mean(axis=0), WAVES[[0, 2]].mean(axis=0), atol=0.1)


@pytest.mark.parametrize("name", GENERATORS)
def test_sizes_and_seeds(name: str) -> None:
    """The sizes are those of table 1 of flkl2014; the seed determines the rows."""
    X, y = generate(name)
    _, rows = GENERATORS[name]
    assert X.shape == (rows, 21 if name.startswith("wave") else 20)
    assert set(np.unique(y).tolist()) == {-1.0, 1.0}
    assert len(np.unique(y[:50])) == 2
    np.testing.assert_array_equal(generate(name)[0], X)
    assert (generate(name, seed=1)[0] != X).all()


def test_each_name_has_its_own_noise() -> None:
    """Sets with different names have different noise."""
    first, second = generate("twonorm-generated")[0], generate("ringnorm-generated")[0]
    assert abs(np.corrcoef(first[:, 0], second[:, 0])[0, 1]) < 0.05
