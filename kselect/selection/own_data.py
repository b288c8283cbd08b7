"""A user's own file prepared for a selection: its columns, its target, and the rows as numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.prepare import Preparation, TableScale, fit_preparation
from kselect.datasets.registry import Task
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.raw_table import Frame, Missing, TableOptions, TargetNames
from kselect.datasets.table.target import Target, as_target
from kselect.errors import ConfigError, DataError, printable
from kselect.numerics.linalg import Array, Index
from kselect.numerics.sigmoid import codes
from kselect.search.pruned_gradients import keeps_few_matrices as many_rows
from kselect.selection.candidates.families import Rows
from kselect.selection.refusals import check_memory
from kselect.selection.rows.holding_out import HoldOut, pairs_of


@dataclass(frozen=True, eq=False)
class OwnData:
    """A file prepared for a kernel machine; the preparation is fitted on all rows.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    frame : Frame
        The columns as they were read, with the decisions made about them in ``frame.decisions``.
    target : Target
        The target: its task, its classes and its values.
    preparation : Preparation
        Imputation, encoding and scaling of the features.
    X : array of shape (rows, features)
        The prepared features.
    y : array of shape (rows,), or (rows, targets) for several targets
        The target in scikit-learn's form: class names, or numbers.
    size : str
        Rows, columns and features in words.
    """

    path: Path
    frame: Frame
    target: Target
    preparation: Preparation
    X: Array

    @property
    def y(self) -> NDArray[Any]:
        """The target in scikit-learn's form: the class name of each row, or numbers."""
        target = self.target
        if target.task == "regression":
            several = len(target.values) > 1
            return np.ascontiguousarray(target.values.T if several else target.values[0])
        return np.asarray(np.array(target.classes)[codes(target.values)])

    @property
    def rows(self) -> Rows:
        """The features with the target and their columns, from which a selection lays its grids."""
        return Rows(self.X, self.target.values, self.preparation.column_of_feature)

    @property
    def weights(self) -> Array | None:
        """The weight of each row, if a column holds it."""
        return self.frame.roles.weights

    @property
    def groups(self) -> Index | None:
        """The number of each row's group, if a column holds it."""
        groups = self.frame.roles.groups
        return None if groups is None else np.unique(groups.astype(str), return_inverse=True)[1]

    def hold_out(self, repeats: int = 1, stratify: bool = False) -> HoldOut:
        """Return how the rows are held out, with their groups and times."""
        classes = None
        if stratify:
            if not self.target.classes:
                raise ConfigError("stratify shares out classes; this is a regression")
            classes = codes(self.target.values)
        return HoldOut(self.groups, self.frame.roles.times, classes, repeats)

    def splits(
        self, folds: int = 5, *, repeats: int = 1, stratify: bool = False, random_state: int = 0
    ) -> list[tuple[Index, Index]]:
        """Return pairs of training and test rows for the parameter ``cv`` of an estimator.

        Parameters
        ----------
        folds : int
            Number of folds, or of windows if the table has times.
        repeats : int
            Number of partitions into folds.
        stratify : bool
            Whether every fold has the same share of each class.
        random_state : int
            Seed of the folds.

        Returns
        -------
        list of (train, test)
            Rows of one group stay together. With times, rows are tested after all earlier ones.
        """
        found = self.hold_out(repeats, stratify).split(len(self.X), folds, random_state)
        return [(train, test) for train, test, _ in pairs_of(found)]

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
    target: TargetNames,
    options: TableOptions,
    scale: TableScale,
    workers: int | None,
    columns: int | None = None,
    *,
    few: bool = False,
) -> OwnData:
    """Read and prepare a file; ``workers`` is None if no search follows, ``columns`` if it is exact.

    A search that may keep ``few`` matrices is refused here only if these are too large.
    Rows whose matrices would not fit into memory are refused as soon as they are counted.
    """
    frame = read_frame(path, target, options)
    if workers is not None:
        try:
            check_memory(frame.n, workers, columns, few=few and many_rows(frame.n))
        except DataError as error:
            raise DataError(f"{printable(path)}: {error}") from None
    values = as_target(frame, options.task)
    preparation = fit_preparation(frame, scale)
    X, _ = preparation.transform(frame)
    return OwnData(path, frame, values, preparation, X)


def read_table(
    path: str | os.PathLike[str],
    target: TargetNames = None,
    task: Task | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    missing: Missing = "impute",
    scale: TableScale = "zscore",
    weights: str | None = None,
    groups: str | None = None,
    time: str | None = None,
) -> OwnData:
    """Read a file as ``kselect select`` does: columns to features, missing values filled, features scaled.

    The preparation is fitted on all rows. To fit it on training rows only, for a test on the others, use
    ``kselect.datasets.prepare.fit_preparation(table.frame, scale, rows)``.

    Parameters
    ----------
    path : str or path
        CSV (commas, semicolons or tabs), JSON lines, svmlight, Parquet, Feather or Excel, also compressed.
    target : str or sequence of str, optional
        Name of the target column, or its number from 1; several names for several numeric targets. Default: the
        last column.
    task : {"classification", "regression"}, optional
        Default: inferred from the target.
    drop, categorical, numeric : sequence of str
        Columns to drop, to treat as categories, and to treat as numbers.
    missing : {"impute", "drop", "error"}
        Missing values: fill in the median or a category of their own, drop the row, or raise an error.
    scale : {"zscore", "minmax", "quantile", "none"}
        Scaling of the features; ``"quantile"`` maps their ranks to a normal distribution.
    weights, groups, time : str, optional
        Columns that are no features but say of each row how much it weighs, to which group it belongs, and when it
        was. Rows of weight 0 are dropped.

    Returns
    -------
    OwnData
        ``X`` and ``y`` for an estimator, ``frame.decisions`` with what was decided about the columns.

    Raises
    ------
    kselect.errors.DataError
        If the file cannot be read or has no usable target.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from kselect import read_table
    >>> path = Path(mkdtemp()) / "flats.csv"
    >>> _ = path.write_text("rooms,area,rent\\n2,50,700\\n3,70,910\\n1,30,480\\n4,95,1250\\n")
    >>> table = read_table(path, task="regression")
    >>> table.X.shape
    (4, 2)
    >>> table.y.tolist()
    [700.0, 910.0, 480.0, 1250.0]
    """
    columns = tuple(drop), tuple(categorical), tuple(numeric), missing, task
    options = TableOptions(*columns, weights, groups, time)
    return read_own(Path(path), target, options, scale, None)
