"""A person's own files as data sets of an experiment: described by a config, read by the readers of ``select``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kselect.datasets.content import sha256_of
from kselect.datasets.dataset import DataSet, Source
from kselect.datasets.fetch import Places, resolve
from kselect.datasets.frames import Frame, TableOptions, read_frame
from kselect.datasets.registry import DataSetInfo, Task
from kselect.datasets.targets import Target, as_target
from kselect.errors import DataError, printable
from kselect.files import read_regular, reason


@dataclass(frozen=True)
class OwnInfo(DataSetInfo):
    """What is known of an own file: where it is, and how its columns are to be taken."""

    path: Path = Path()
    target: str | None = None
    options: TableOptions = field(default_factory=TableOptions)

    def __hash__(self) -> int:
        return super().__hash__()

    @property
    def reading(self) -> Mapping[str, Any]:
        """How the bytes become a table: its numbers rest on that, too."""
        asked = self.options
        columns = {"drop": asked.drop, "categorical": asked.categorical, "numeric": asked.numeric}
        return {"target": self.target, "missing": asked.missing, "task": self.task, **columns}


def own_info(
    name: str,
    path: Path,
    target: str | None,
    options: TableOptions,
    facts: tuple[Task, int, int, str],
) -> OwnInfo:
    """The entry of a file; ``facts`` are its task, rows, columns and checksum."""
    task, rows, features, sha256 = facts
    return OwnInfo(
        name, task, rows, features, {}, path.name, None, sha256, None, None, "your own", "",
        path=path, target=target, options=options,
    )  # fmt: skip


def look_at_file(path: Path, target: str | None, options: TableOptions) -> tuple[Frame, Target]:
    """What is in a file."""
    frame = read_frame(path, target, options)
    return frame, as_target(frame, options.task)


def facts_of(frame: Frame, goal: Target) -> tuple[Task, int, int, str]:
    """Task, rows, columns and checksum."""
    return goal.task, frame.n, len(frame.columns), frame.sha256


def source_of(info: DataSetInfo, places: Places) -> Source:
    """The file of a data set: an own one where the config says, any other where it is found first."""
    if not isinstance(info, OwnInfo):
        return resolve(info, places)
    try:
        found = sha256_of(read_regular(info.path, info.path.stat().st_size))
    except OSError as error:
        raise DataError(f"{printable(info.path)}: {reason(error)} ({info.name})") from None
    if found != info.sha256:
        raise DataError(
            f"{printable(info.path)}: wrong checksum: sha256 is {found}, the config has {info.sha256}"
        )
    return Source(info.path, "own", found)


def read_own_dataset(info: OwnInfo, source: Source) -> DataSet:
    """The table in an own file, of the bytes with the source's checksum; nothing is fitted to its rows yet."""
    frame, goal = look_at_file(source.path, info.target, info.options)
    if frame.sha256 != source.sha256:
        raise DataError(
            f"{printable(source.path)}: changed since it was checked: "
            f"sha256 is {frame.sha256}, it was {source.sha256}"
        )
    empty = np.empty((frame.n, 0))
    return DataSet(info.name, goal.task, empty, goal.labels, source.sha256, (), goal.values, frame)
