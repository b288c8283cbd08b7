"""A user's own file made ready for a selection: its frame, its target, and the rows as numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.frames import Frame, Missing, TableOptions, read_frame
from kselect.datasets.preparation import Preparation, fit_preparation
from kselect.datasets.registry import Task
from kselect.datasets.scaling import Scale
from kselect.datasets.targets import Target, as_target
from kselect.errors import DataError, printable
from kselect.numerics.linalg import Array
from kselect.selection.engine import check_memory
from kselect.selection.held_out import codes


@dataclass(frozen=True, eq=False)
class OwnData:
    """A file, and what a kernel machine sees of it; all rows are training rows of the preparation."""

    path: Path
    frame: Frame
    goal: Target
    preparation: Preparation
    X: Array

    @property
    def y(self) -> NDArray[Any]:
        """The target as scikit-learn takes it: the class's name of each row, or numbers."""
        goal = self.goal
        if goal.task == "regression":
            return np.asarray(goal.values[0])
        return np.asarray(np.array(goal.classes)[codes(goal.values)])

    @property
    def size(self) -> str:
        """``891 rows, 7 columns as 12 features``."""
        rows, columns, features = len(self.X), len(self.frame.columns), self.X.shape[1]
        last = f"{features} feature{'' if features == 1 else 's'}"
        if columns != features:
            last = f"{columns} column{'' if columns == 1 else 's'} as {last}"
        return f"{rows} rows, {last}"


def read_own(
    path: Path,
    target: str | None,
    options: TableOptions,
    scale: Scale,
    workers: int | None,
) -> OwnData:
    """The rows of a file; ``workers`` is None where no n-by-n matrix will be made.

    What memory does not hold is said as soon as the rows are counted, before anything is made of them.
    """
    frame = read_frame(path, target, options)
    if workers is not None:
        try:
            check_memory(frame.n, workers)
        except DataError as error:
            raise DataError(f"{printable(path)}: {error}") from None
    goal = as_target(frame, options.task)
    preparation = fit_preparation(frame, scale)
    X, _ = preparation.transform(frame)
    return OwnData(path, frame, goal, preparation, X)


def read_table(
    path: str | os.PathLike[str],
    target: str | None = None,
    task: Task | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    missing: Missing = "impute",
    scale: Scale = "zscore",
) -> OwnData:
    """A file as ``kselect select`` sees it: ``.X`` and ``.y`` for an estimator, ``.frame`` for what was decided.

    The preparation is fitted on all rows; what has to be fitted on a training part alone, for a test on the
    others, is ``fit_preparation(table.frame, scale, rows)``.
    """
    options = TableOptions(tuple(drop), tuple(categorical), tuple(numeric), missing, task)
    return read_own(Path(path), target, options, scale, None)
