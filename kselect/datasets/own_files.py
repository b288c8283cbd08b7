"""Files of the user as data sets of an experiment: described by a config, read like the files of ``select``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kselect.datasets.content import file_error, sha256_of
from kselect.datasets.dataset import DataSet, Source, require_unchanged
from kselect.datasets.fetch import Places, resolve
from kselect.datasets.registry import DataSetInfo, Task
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.raw_table import Frame, TableOptions
from kselect.datasets.table.target import Target, as_target
from kselect.files import read_regular, reason


@dataclass(frozen=True)
class OwnInfo(DataSetInfo):
    """The entry of a user's file: a registry entry, the file's path, and how to read its columns."""

    path: Path = Path()
    target: str | None = None
    options: TableOptions = field(default_factory=TableOptions)

    def __hash__(self) -> int:
        return super().__hash__()

    @property
    def reading(self) -> Mapping[str, Any]:
        """The options by which the bytes become a table; results depend on them, too."""
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
    """Return the entry of a file; ``facts`` are its task, rows, columns and checksum."""
    task, rows, features, sha256 = facts
    return OwnInfo(
        name, task, rows, features, file=path.name, sha256=sha256, licence="your own",
        path=path, target=target, options=options,
    )  # fmt: skip


def look_at_file(path: Path, target: str | None, options: TableOptions) -> tuple[Frame, Target]:
    """Read the table and the target of a file."""
    frame = read_frame(path, target, options)
    return frame, as_target(frame, options.task)


def facts_of(frame: Frame, target: Target) -> tuple[Task, int, int, str]:
    """Return the task, rows, columns and checksum of a table."""
    return target.task, frame.n, len(frame.columns), frame.sha256


def source_of(info: DataSetInfo, places: Places) -> Source:
    """Return the file of a data set: a user's file from the config's path, any other from the first place."""
    if not isinstance(info, OwnInfo):
        return resolve(info, places)
    try:
        found = sha256_of(read_regular(info.path, info.path.stat().st_size))
    except OSError as error:
        raise file_error(info.path, f"{reason(error)} ({info.name})") from None
    if found != info.sha256:
        raise file_error(
            info.path, f"wrong checksum: sha256 is {found}, the config has {info.sha256}"
        )
    return Source(info.path, "own", found)


def read_own_dataset(info: OwnInfo, source: Source) -> DataSet:
    """Read the table in a user's file; its encoding is fitted later, on training rows."""
    frame, target = look_at_file(source.path, info.target, info.options)
    require_unchanged(source, frame.sha256)
    empty = np.empty((frame.n, 0))
    return DataSet(
        info.name, target.task, empty, target.labels, source.sha256, (), target.values, frame
    )
