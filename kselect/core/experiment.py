"""An experiment as its config defines it, with every default filled in and every name resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kselect.core.claim import Claim, Paper
from kselect.core.method import SELECTED, TABLE, Choice, LamGrid, Method, SearchName, Setting
from kselect.datasets.registry import DataSetInfo, Task, find_dataset
from kselect.datasets.splits import count_train
from kselect.kernels import Kernel
from kselect.numerics.losses import LOSSES

if TYPE_CHECKING:
    from kselect.numerics.scorers import Scorer

ScaleTarget = Literal["zscore", "none"]


class Figure(Protocol):
    """A figure or table that the config adds to the main table; each kind has its own dataclass."""

    @property
    def name(self) -> str:
        """Return the name of its files."""

    @property
    def kind(self) -> str:
        """Return the name of its figure kind."""


@dataclass(frozen=True)
class Variant:
    """A variant of a config: its name, and in words what it changes.

    ``reading`` says whether it is another reading of the protocol, not only further columns. ``title`` stands on
    pages; commands and folders use the name.
    """

    name: str
    changes: str
    reading: bool = True
    title: str = ""

    @property
    def words(self) -> str:
        """Return the title, or the name of a variant without a title."""
        return self.title or self.name


@dataclass(frozen=True)
class SplitLimit:
    """A limit on the splits of one data set, or of all data sets with more than ``rows`` training rows."""

    splits: int
    dataset: str = ""
    rows: int = 0


@dataclass(frozen=True)
class Experiment:
    """A config with every default filled in and every name resolved.

    ``train`` is the share of rows to train on; None means the splits that come with a data set. ``own`` are the
    data sets that the config describes itself, from the user's own files. ``source`` is what is known of the
    ``paper``; ``claims`` are the paper's claims, then the config's own. ``skipped`` are the
    estimators that cannot be run here, each with the reason.
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
    loss: str
    methods: tuple[Method, ...]
    datasets: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    fewer_splits: tuple[SplitLimit, ...] = ()
    tune_folds: int = 3
    search: SearchName = "grid"
    scale_target: ScaleTarget = "none"
    own: tuple[DataSetInfo, ...] = ()
    variants: tuple[Variant, ...] = ()
    source: Paper | None = None
    claims: tuple[Claim, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    table: tuple[Method, ...] = field(init=False, repr=False, compare=False)
    """The methods of the main table."""
    labels: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The labels of the main table, in the order of the config."""
    estimators: frozenset[str] = field(init=False, repr=False, compare=False)
    """The labels of other packages' classes, which know no kernel and no lam."""
    losses: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The losses that are computed, the experiment's own first."""
    families: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The names of the kernels, each once."""

    def __post_init__(self) -> None:
        table = tuple(m for m in self.methods if m.part == TABLE)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "labels", tuple(dict.fromkeys(m.label for m in table)))
        others = frozenset(m.label for m in table if m.estimator)
        object.__setattr__(self, "estimators", others)
        losses = dict.fromkeys([self.loss, *(m.loss for m in table if m.loss)])
        object.__setattr__(self, "losses", tuple(losses))
        families = dict.fromkeys(kernel.name for kernel in self.kernels)
        object.__setattr__(self, "families", tuple(families))

    @property
    def scorer(self) -> Scorer | None:
        """The scorer that the loss names, which also tests every choice; None for a loss of single rows."""
        if self.loss in LOSSES:
            return None
        from kselect.numerics.scorers import find_scorer

        return find_scorer(self.loss)

    @property
    def criteria(self) -> tuple[str, ...]:
        """Return the labels of the criteria, without the estimators."""
        return tuple(label for label in self.labels if label not in self.estimators)

    def info(self, dataset: str) -> DataSetInfo:
        """Return the facts about a data set, from the config itself or from the registry.

        If splits are drawn, the file that comes with given splits is not used.
        """
        found = next((d for d in self.own if d.name == dataset), None) or find_dataset(dataset)
        return found if self.train is None else without_splits(found)

    def train_rows(self, dataset: str) -> int:
        """Return the number of training rows, as expected before any data is read."""
        info = self.info(dataset)
        if self.train is not None:
            return count_train(info.rows, self.train)
        return info.given.train if info.given else info.rows

    def splits_on(self, dataset: str) -> tuple[int, ...]:
        """Return the splits of one data set: the splits of the config, up to the limits that apply."""
        rows, given = self.train_rows(dataset), self.info(dataset).given
        limits = [
            f.splits
            for f in self.fewer_splits
            if f.dataset == dataset or (not f.dataset and rows > f.rows)
        ]
        limits += [given.splits] if given else []
        return tuple(s for s in self.splits if s < min(limits, default=s + 1))

    def methods_on(self, dataset: str, split: int | None = None) -> tuple[Method, ...]:
        """Return the methods of one data set, on one split or any, adapted to its task."""
        task = self.info(dataset).task
        mine = (
            m.on(task)
            for m in self.methods
            if (not m.datasets or dataset in m.datasets)
            and (m.estimator is None or m.estimator.task in (None, task))
            and (not m.splits or split is None or split in m.splits)
        )
        seen = (replace(m, column=self.column(task, m.at).text) if m.at else m for m in mine)
        return tuple(dict.fromkeys(seen))

    def column(self, task: Task, label: str) -> Method:
        """Return the method of a table column under the experiment's own loss; probes evaluate its choice."""
        return next(m.on(task) for m in self.table if m.label == label)

    def settings_of(self, method: Method) -> tuple[Setting, ...]:
        """Return the settings with a record of this method: all, one fixed lam, or every grid point.

        An estimator has no lam, and so one record for all settings.
        """
        if method.estimator:
            return (SELECTED,)
        if method.everywhere:
            return tuple(s for kernel in self.kernels for s in self.lam.settings(kernel.text))
        if self.lam.mode == "select" or method.lam is None:
            return self.lam.settings()
        return tuple(s for s in self.lam.settings() if s.value == method.lam)


@cache
def without_splits(info: DataSetInfo) -> DataSetInfo:
    """Return the facts without the file that comes with given splits."""
    return replace(info, original=None, given=None)


@dataclass(frozen=True)
class FigureContext:
    """The part of an experiment that a figure may refer to: table methods by label, lam grid, data sets."""

    methods: Mapping[str, Method]
    """Label -> the method under the experiment's own loss."""
    lam: LamGrid
    datasets: tuple[str, ...]
    narrowed: bool
    """Whether a flag removed data sets; a figure may then name one that is absent."""
    learners: Mapping[str, Choice]
    """Data set -> what is trained on it."""


class FigureKind(Protocol):
    """A kind of figure: how a config describes one, and which methods it needs besides the table's."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Any
    ) -> Figure:
        """Return the figure; report each problem by calling ``wrong(keys, text)``."""

    def methods(self, figure: Any, columns: FigureContext) -> Iterable[Method]:
        """Return the methods to compute for a figure."""

    def keep(self, figure: Any, labels: frozenset[str]) -> Figure | None:
        """Return the figure restricted to some labels, or None if nothing of it is left."""
