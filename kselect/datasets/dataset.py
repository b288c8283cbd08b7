"""A data set in memory: a matrix of features, a target, and where its bytes came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kselect.datasets.registry import DataSetInfo, Task
from kselect.datasets.splits import Split
from kselect.datasets.svmlight import read_svmlight
from kselect.errors import DataError
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
    """Rows ready for a learner, labels -1 and +1 in classification, and the splits that come with them."""

    name: str
    task: Task
    X: Array
    y: Array
    sha256: str
    splits: tuple[Split, ...] = ()


def read_dataset(info: DataSetInfo, source: Source) -> DataSet:
    """The data set of a registry entry from a file; its shape and labels must be what the registry says."""
    X, y = read_svmlight(source.path, info.features)
    if len(y) != info.rows:
        raise DataError(
            f"{source.path}: {len(y)} rows where the registry says {info.rows} ({info.name})"
        )
    if info.task == "classification":
        y = map_labels(y, {float(k): float(v) for k, v in info.labels.items()}, source.path)
    return DataSet(info.name, info.task, X, y, source.sha256)


def map_labels(y: Array, labels: dict[float, float], path: Path) -> Array:
    """The labels of a file as -1 and +1."""
    found = sorted(set(np.unique(y).tolist()))
    unknown = [v for v in found if v not in labels]
    if unknown:
        shown = ", ".join(show_number(v) for v in unknown[:5])
        wanted = " and ".join(show_number(v) for v in sorted(labels))
        raise DataError(f"{path}: label {shown} where the registry knows {wanted}")
    if len(found) < 2:
        raise DataError(f"{path}: one class only ({show_number(found[0])})")
    return np.array([labels[v] for v in y.tolist()])
