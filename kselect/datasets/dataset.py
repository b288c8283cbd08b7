"""A data set in memory: a matrix of features, a target, and where its bytes came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kselect.datasets.content import read_content, sha256_of
from kselect.datasets.frames import Frame
from kselect.datasets.generated import generate
from kselect.datasets.raetsch import read_benchmark
from kselect.datasets.registry import BENCHMARKS, DataSetInfo, Task
from kselect.datasets.splits import Split, draw_given
from kselect.datasets.svmlight import parse_svmlight
from kselect.errors import DataError, printable
from kselect.grids import show_number
from kselect.numerics.linalg import Array


@dataclass(frozen=True)
class Source:
    """A file that holds a data set: where it was found, and its checked sum."""

    path: Path
    kind: str
    sha256: str


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows ready for a learner, labels -1 and +1 in classification, and the splits that come with them.

    More than two classes are labelled 0, 1, 2, ...; ``targets`` are then (q, n), one row of -1 and +1 per class.
    Where there is a ``frame``, X is empty: the rows become numbers by what a training part teaches.
    """

    name: str
    task: Task
    X: Array
    y: Array
    sha256: str
    splits: tuple[Split, ...] = ()
    several: Array | None = None
    frame: Frame | None = None

    @property
    def targets(self) -> Array:
        """(q, n)."""
        return self.y[None] if self.several is None else self.several


def read_dataset(info: DataSetInfo, source: Source) -> DataSet:
    """The data set of a registry entry from a file: of the bytes with the source's checksum, and of no others.

    Its shape and labels must be what the registry says. Where it is published with splits that are not to be had,
    as many of the same sizes are drawn, always the same ones.
    """
    if source.kind == "generated":
        return with_splits(info, *generate(str(info.formula)), source)
    original = source.kind == "original"
    content = read_content(source.path, (BENCHMARKS if original else info).largest)
    # The bytes that are parsed are those whose sum is compared: a worker reads long after the plan
    # was made, and the file may be another one by then.
    if (found := sha256_of(content)) != source.sha256:
        raise DataError(
            f"{printable(source.path)}: changed since it was checked: "
            f"sha256 is {found}, it was {source.sha256}"
        )
    if original:
        return as_published(info, source, content)
    X, y = parse_svmlight(content, source.path, info.features, info.largest)
    if len(y) != info.rows:
        raise DataError(
            f"{printable(source.path)}: {len(y)} rows where the registry says {info.rows} ({info.name})"
        )
    if info.task == "classification":
        y = map_labels(y, {float(k): float(v) for k, v in info.labels.items()}, source.path)
    return with_splits(info, X, y, source)


def with_splits(info: DataSetInfo, X: Array, y: Array, source: Source) -> DataSet:
    """Rows with drawn splits of the published sizes, if it has any."""
    drawn = draw_given(info.name, info.given, len(y)) if info.given else ()
    return DataSet(info.name, info.task, X, y, source.sha256, drawn)


def as_published(info: DataSetInfo, source: Source, content: bytes) -> DataSet:
    """A set of the collection's own file with its own splits."""
    found = read_benchmark(source.path, content, str(info.original))
    sizes = found.train.shape[1], found.test.shape[1], found.X.shape[1]
    wanted = (info.given.train, info.given.test, info.features) if info.given else sizes
    if sizes != wanted:
        raise DataError(
            f"{printable(source.path)}: {info.name} has {sizes} training rows, test rows and features, "
            f"the registry says {wanted}"
        )
    splits = tuple(found.split(number) for number in range(found.splits))
    return DataSet(info.name, info.task, found.X, found.y, source.sha256, splits)


def map_labels(y: Array, labels: dict[float, float], path: Path) -> Array:
    """The labels of a file as -1 and +1."""
    found = sorted(set(np.unique(y).tolist()))
    unknown = [v for v in found if v not in labels]
    if unknown:
        shown = ", ".join(show_number(v) for v in unknown[:5])
        wanted = " and ".join(show_number(v) for v in sorted(labels))
        raise DataError(f"{printable(path)}: label {shown} where the registry knows {wanted}")
    if len(found) < 2:
        raise DataError(f"{printable(path)}: one class only ({show_number(found[0])})")
    return np.array([labels[v] for v in y.tolist()])
