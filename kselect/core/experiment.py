"""What a config means once it is read: frozen values that flow from plan to report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from kselect.core.method import TABLE, Choice, LamGrid, Method, SearchName, Setting
from kselect.datasets.registry import DataSetInfo, Task, find_dataset
from kselect.datasets.splits import count_train
from kselect.kernels import Kernel
from kselect.numerics.losses import Loss


class Figure(Protocol):
    """A figure or table beside the main one, as the config asks for it; each kind has its own dataclass."""

    @property
    def name(self) -> str:
        """The name of its files."""
        ...

    @property
    def kind(self) -> str:
        """The section that shows it."""
        ...


@dataclass(frozen=True)
class Variant:
    """Another reading of the protocol, run beside it: its name, and in words what it changes."""

    name: str
    changes: str


@dataclass(frozen=True)
class Fewer:
    """So many splits alone: on the data set of that name, or where more than ``rows`` rows train."""

    splits: int
    dataset: str = ""
    rows: int = 0


@dataclass(frozen=True)
class Experiment:
    """A config with every default filled in and every name resolved.

    ``train`` is the share of rows to train on; None takes the splits that come with a data set. ``own`` are data
    sets that are not in the registry.
    """

    name: str
    paper: str
    title: str
    learners: tuple[tuple[Task, Choice], ...]
    scale: Literal["zscore", "minmax", "none"]
    scale_on: Literal["all", "train"]
    train: float | None
    stratify: bool
    splits: tuple[int, ...]
    seed: int
    kernels: tuple[Kernel, ...]
    lam: LamGrid
    ridge: Literal["fixed", "per-fold"]
    loss: Loss
    methods: tuple[Method, ...]
    datasets: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    fewer_splits: tuple[Fewer, ...] = ()
    tune_folds: int = 3
    search: SearchName = "grid"
    own: tuple[DataSetInfo, ...] = ()
    variants: tuple[Variant, ...] = ()

    def info(self, dataset: str) -> DataSetInfo:
        """What is known of a data set: the config's own, or the registry's.

        Where splits are drawn, its plain file serves, and not the one that comes with splits.
        """
        found = next((d for d in self.own if d.name == dataset), None) or find_dataset(dataset)
        return found if self.train is None else replace(found, original=None, given=None)

    def task(self, dataset: str) -> Task:
        """Classification or regression."""
        return self.info(dataset).task

    def learner(self, task: Task) -> Choice:
        """What is trained on a data set of that task."""
        return dict(self.learners)[task]

    def train_rows(self, dataset: str) -> int:
        """How many rows a training part has, as planning counts them."""
        info = self.info(dataset)
        if self.train is not None:
            return count_train(info.rows, self.train)
        return info.given.train if info.given else info.rows

    def splits_on(self, dataset: str) -> tuple[int, ...]:
        """The splits of one data set: those of the config, or fewer; of given ones as many as it comes with."""
        rows, given = self.train_rows(dataset), self.info(dataset).given
        limits = [
            f.splits
            for f in self.fewer_splits
            if f.dataset == dataset or (not f.dataset and rows > f.rows)
        ]
        limits += [given.splits] if given else []
        return tuple(s for s in self.splits if s < min(limits, default=s + 1))

    def methods_on(self, dataset: str, split: int | None = None) -> tuple[Method, ...]:
        """The methods of one data set, on one split or any, as its task has them."""
        task = self.task(dataset)
        mine = (
            m.on(task)
            for m in self.methods
            if (not m.datasets or dataset in m.datasets)
            and (not m.splits or split is None or split in m.splits)
        )
        seen = (replace(m, column=self.column(task, m.at).text) if m.at else m for m in mine)
        return tuple(dict.fromkeys(seen))

    def column(self, task: Task, label: str) -> Method:
        """The column of the table at whose best a probe looks: under the experiment's own loss."""
        return next(m.on(task) for m in self.table if m.label == label)

    @property
    def table(self) -> tuple[Method, ...]:
        """The methods of the main table."""
        return tuple(m for m in self.methods if m.part == TABLE)

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of the table, in the order of the config."""
        return tuple(dict.fromkeys(m.label for m in self.table))

    @property
    def losses(self) -> tuple[str, ...]:
        """The losses that were computed, the config's own first."""
        found = dict.fromkeys(m.loss for m in self.table if m.loss)
        return (self.loss, *(loss for loss in found if loss != self.loss))

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What a cell of the table is conditioned on."""
        return self.lam.settings

    def settings_of(self, method: Method) -> tuple[Setting, ...]:
        """The settings that a method fills: all, the one ridge of a figure, or every place of the grid."""
        if method.everywhere:
            return tuple(s for kernel in self.kernels for s in self.lam.settings_at(kernel.text))
        if self.lam.mode == "select" or method.lam is None:
            return self.settings
        return tuple(s for s in self.settings if s.value == method.lam)

    def demand(self, methods: Iterable[Method]) -> dict[Method, tuple[Setting, ...]]:
        """Methods with the settings that each fills."""
        return {m: self.settings_of(m) for m in methods}


@dataclass(frozen=True)
class FigureContext:
    """What a figure may refer to: the columns of the table, by label, and the grids around them."""

    methods: Mapping[str, tuple[Method, ...]]
    lam: LamGrid
    datasets: tuple[str, ...]
    narrowed: bool
    """Whether a flag left out data sets, so that a figure may name some that are not there."""
    learners: Mapping[str, Choice]
    """Data set -> what is trained on it."""

    def first(self, label: str) -> Method:
        """The method of a column under the experiment's own loss."""
        return self.methods[label][0]


class FigureKind(Protocol):
    """How a kind of figure is read from a config, and which methods it needs beside the table's."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Any
    ) -> Figure:
        """The figure; what is wrong with it is told to ``wrong(keys, text)``."""
        ...

    def methods(self, figure: Any, columns: FigureContext) -> Iterable[Method]:
        """What has to be computed for it."""
        ...

    def keep(self, figure: Any, labels: frozenset[str]) -> Figure | None:
        """The figure with some columns of the table alone, None where nothing of it is left."""
        ...
