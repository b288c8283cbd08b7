"""A data set in memory: a matrix of features, a target, and the file that they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kselect.datasets.content import changed, file_error, read_content, unpack
from kselect.datasets.raetsch import generate, read_benchmark
from kselect.datasets.registry import BENCHMARKS, DataSetInfo, Task
from kselect.datasets.splits import Split, draw_given
from kselect.datasets.svmlight import parse_svmlight
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.raw_table import Frame, TableOptions
from kselect.datasets.table.target import as_target
from kselect.grids import show_number
from kselect.numerics.linalg import Array


@dataclass(frozen=True)
class OwnInfo(DataSetInfo):
    """The entry of a user's file: a registry entry, the file's path, and how to read its columns."""

    path: Path = Path()
    target: str | None = None
    options: TableOptions = field(default_factory=TableOptions)


@dataclass(frozen=True)
class Source:
    """A file that holds a data set, the kind of place it was found in, and its checksum."""

    path: Path
    kind: str
    sha256: str


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows ready for a learner, and the splits that are published with them.

    Labels are -1 and +1, or 0, 1, 2, ... for more than two classes; ``several`` then has one row of -1 and +1
    per class. If there is a ``frame``, X is empty, because the encoding of its rows depends on the training part.
    """

    name: str
    task: Task
    X: Array
    y: Array
    sha256: str
    splits: tuple[Split, ...] = ()
    several: Array | None = None
    frame: Frame | None = None


def read_dataset(info: DataSetInfo, source: Source) -> DataSet:
    """Read the data set of a registry entry from a file, and check its shape and labels.

    If the published splits are not available, draw splits of the same number and sizes from a fixed seed.
    """
    if isinstance(info, OwnInfo):
        return read_own_dataset(info, source)
    if source.kind == "original":
        return read_original(info, source)
    if source.kind == "generated":
        X, y = generate(str(info.formula))
    else:
        content = read_content(source.path, info.largest, source.sha256)
        _, data = unpack(source.path, content, info.largest)
        X, y = parse_svmlight(data, source.path, info.features)
        if len(y) != info.rows:
            raise file_error(
                source.path, f"{len(y)} rows where the registry says {info.rows} ({info.name})"
            )
        if info.task == "classification":
            labels = {float(k): float(v) for k, v in info.labels.items()}
            found = np.unique(y).tolist()
            if unknown := [show_number(v) for v in found if v not in labels]:
                wanted = " and ".join(map(show_number, sorted(labels)))
                shown = f"label {', '.join(unknown[:5])} where the registry knows {wanted}"
                raise file_error(source.path, shown)
            if len(found) < 2:
                raise file_error(source.path, f"one class only ({show_number(found[0])})")
            y = np.array([labels[v] for v in y.tolist()])
    drawn = draw_given(info.name, info.given, len(y)) if info.given else ()
    return DataSet(info.name, info.task, X, y, source.sha256, drawn)


def read_own_dataset(info: OwnInfo, source: Source) -> DataSet:
    """Read the table in a user's file; its encoding is fitted later, on training rows."""
    frame = read_frame(source.path, info.target, info.options)
    if frame.sha256 != source.sha256:
        raise file_error(source.path, changed(frame.sha256, source.sha256))
    target, empty = as_target(frame, info.options.task), np.empty((frame.n, 0))
    return DataSet(
        info.name, target.task, empty, target.labels, source.sha256, (), target.values, frame
    )


def read_original(info: DataSetInfo, source: Source) -> DataSet:
    """Read a set with its published splits from the file of Raetsch's collection."""
    content = read_content(source.path, BENCHMARKS.largest, source.sha256)
    found = read_benchmark(source.path, content, str(info.original))
    sizes = found.train.shape[1], found.test.shape[1], found.X.shape[1]
    wanted = (info.given.train, info.given.test, info.features) if info.given else sizes
    if sizes != wanted:
        raise file_error(
            source.path,
            f"{info.name} has {sizes} training rows, test rows and features, "
            f"the registry says {wanted}",
        )
    splits = tuple(found.split(number) for number in range(len(found.train)))
    return DataSet(info.name, info.task, found.X, found.y, source.sha256, splits)
