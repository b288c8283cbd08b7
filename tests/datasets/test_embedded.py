"""The embedded copies agree with the registry, and with the LIBSVM files if a mirror has them.

A mirror is a folder with the LIBSVM files, at its top or in libsvm/. KSELECT_TEST_MIRROR names it; the default
is ../shared/data next to the repository.
"""

from __future__ import annotations

import bz2
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from kselect.datasets.content import read_content, unpack
from kselect.datasets.registry import DataSetInfo, load_registry
from kselect.datasets.svmlight import parse_svmlight
from kselect.numerics.linalg import Array

ROOT = Path(__file__).resolve().parents[2]
EMBEDDED = ROOT / "data" / "embedded"
MIRROR = Path(os.environ.get("KSELECT_TEST_MIRROR") or ROOT.parent / "shared" / "data")

REGISTRY = load_registry()
COPIES = {name: info for name, info in REGISTRY.items() if info.embedded}
REORDERED = {
    *("sonar", "cpusmall", "diabetis", "flare_solar", "german", "image", "splice", "thyroid"),
}

SCALED_DIGITS = 1e-6  # six significant digits in [-1, 1]: at most 5e-7 off
SINGLE_PRECISION = 2e-7  # 58.669998 instead of 58.67: 2e-6 of columns that are 10 to 100 000 wide
SAME_NUMBERS = 1e-12  # the same digits: only the rounding of the scaling
IN_SINGLE_PRECISION = {"australian", "diabetes"}


def read_svmlight(path: Path, n_features: int | None = None) -> tuple[Array, Array]:
    """Return the matrix and the labels of a file."""
    return parse_svmlight(unpack(path, read_content(path))[1], path, n_features)


def tolerance(info: DataSetInfo) -> float:
    """Return how much the digits of the LIBSVM file may change a value on the scale [-1, 1]."""
    if info.name in {
        "german",
        "image",
        "synthetic",
        "thyroid",
    }:  # eight digits, scaled in another way
        return SCALED_DIGITS
    if "_scale" in info.file and info.name != "ionosphere":  # published with five decimals
        return SCALED_DIGITS
    return SINGLE_PRECISION if info.name in IN_SINGLE_PRECISION else SAME_NUMBERS


def signed(info: DataSetInfo, y: Array) -> Array:
    """Return the labels mapped by the registry, or the regression target."""
    if info.task == "regression":
        return y
    return np.array([float(info.labels[f"{label:g}"]) for label in y])


def embedded(info: DataSetInfo) -> tuple[Array, Array]:
    assert info.embedded is not None
    X, y = read_svmlight(EMBEDDED / info.embedded, info.features)
    return X, signed(info, y)


def libsvm(info: DataSetInfo) -> tuple[Array, Array]:
    """Return the file of the mirror."""
    paths = [path for path in (MIRROR / info.place, MIRROR / info.file) if path.is_file()]
    if not paths:
        pytest.skip(f"no mirror: {info.file} is not in {MIRROR} (KSELECT_TEST_MIRROR)")
    assert hashlib.sha256(paths[0].read_bytes()).hexdigest() == info.sha256
    X, y = read_svmlight(paths[0], info.features)
    return X, signed(info, y)


def scaled(X: Array) -> Array:
    """Scale every column to [-1, 1]; a constant column becomes 0."""
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    result: Array = np.where(width > 0, 2 * (X - low) / np.where(width > 0, width, 1) - 1, 0)
    return result


def ranks(values: Array, within: float) -> Array:
    """Return each value's position among the distinct values; values up to `within` apart count as equal."""
    order = np.argsort(values, kind="stable")
    places = np.empty(len(values))
    places[order] = np.concatenate([[0], np.cumsum(np.diff(values[order]) > within)])
    return places


def same_multiset(first: Array, second: Array, within: float) -> bool:
    """Return whether the rows are equal up to their order, and each value up to `within`."""
    columns = np.vstack([first, second]).T
    coded = np.column_stack([ranks(column, within) for column in columns])
    one, other = coded[: len(first)], coded[len(first) :]
    sort = [rows[np.lexsort(rows.T)] for rows in (one, other)]
    return np.array_equal(*sort)


def test_the_folder_holds_the_copies_in_the_registry() -> None:
    named = {info.embedded for info in COPIES.values()}
    assert {path.name for path in EMBEDDED.iterdir()} == named
    assert len(COPIES) == 19


@pytest.mark.parametrize("name", COPIES)
def test_the_checksum_agrees_with_the_registry(name: str) -> None:
    info = COPIES[name]
    data = (EMBEDDED / str(info.embedded)).read_bytes()
    assert hashlib.sha256(data).hexdigest() == info.embedded_sha256
    assert len(data) < 300_000
    assert bz2.decompress(data).endswith(b"\n")


@pytest.mark.parametrize("name", COPIES)
def test_rows_features_and_labels_agree_with_the_registry(name: str) -> None:
    info = COPIES[name]
    X, y = read_svmlight(EMBEDDED / str(info.embedded))
    assert X.shape == (info.rows, info.features)
    assert len(y) == info.rows
    if info.task == "classification":
        assert {f"{label:g}" for label in y} == set(info.labels)
        assert set(info.labels.values()) == {-1, 1}


@pytest.mark.parametrize("name", COPIES)
def test_the_rows_are_those_of_libsvm(name: str) -> None:
    info = COPIES[name]
    (X, y), (X_there, y_there) = embedded(info), libsvm(info)
    ours, theirs = np.column_stack([scaled(X), y]), np.column_stack([scaled(X_there), y_there])
    assert same_multiset(ours, theirs, tolerance(info))


@pytest.mark.parametrize("name", COPIES)
def test_the_rows_have_the_order_of_libsvm_unless_the_note_denies_it(name: str) -> None:
    info = COPIES[name]
    (X, y), (X_there, y_there) = embedded(info), libsvm(info)
    apart = np.abs(scaled(X) - scaled(X_there)).max()
    assert (apart <= tolerance(info) and np.array_equal(y, y_there)) == (name not in REORDERED)
    assert ("another order" in info.note) == (name in REORDERED)


def test_same_multiset_detects_a_difference() -> None:
    rows = np.array([[0.0, 1.0], [0.5, -1.0], [0.0, 1.0]])
    assert same_multiset(rows, rows[[2, 1, 0]] + 1e-9, 1e-6)
    assert not same_multiset(rows, rows[[0, 1, 1]], 1e-6)
    assert not same_multiset(rows, rows + np.array([[0, 0], [1e-3, 0], [0, 0]]), 1e-6)
