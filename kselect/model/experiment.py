"""What a config means once it is read: frozen values that flow from plan to report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from kselect.grids import show_number
from kselect.kernels import Kernel

TABLE = "table"
REGRESSION_LOSS = "squared"


@dataclass(frozen=True)
class Method:
    """One column of a table: a criterion with its parameters, under the label that users gave it.

    ``part`` says what it is for: the table, or the figure of that name. ``lam`` restricts it to one
    ridge (a figure's sweep); None means every ridge of the experiment. ``at`` makes it a probe: its
    criterion is not minimised but looked at where the column of that label has its best. ``datasets``
    restricts it to some data sets; empty means all.
    """

    label: str
    criterion: str
    folds: int | None
    params: tuple[tuple[str, Any], ...]
    part: str = TABLE
    lam: float | None = None
    at: str = ""
    datasets: tuple[str, ...] = ()

    @property
    def loss(self) -> str:
        """The loss that it averages, empty where the criterion has no such choice."""
        return str(dict(self.params).get("loss", ""))

    @property
    def text(self) -> str:
        """``eta=1;loss=squared``: every parameter, as records write them."""
        return ";".join(
            f"{k}={show_number(v) if isinstance(v, float) else v}" for k, v in self.params
        )


@dataclass(frozen=True)
class Ridges:
    """The lam grid: each value a setting of its own (``fixed``), or one more thing to choose (``select``)."""

    values: tuple[float, ...]
    mode: Literal["fixed", "select"]


@dataclass(frozen=True)
class Sweep:
    """A figure: test error over one parameter of some criteria, at one fixed lam."""

    name: str
    criteria: tuple[str, ...]
    parameter: str
    values: tuple[float, ...]
    lam: float


@dataclass(frozen=True)
class ProbeFigure:
    """A figure: what probes find, over one of their parameters, where some columns have their best."""

    name: str
    probes: tuple[str, ...]
    at: tuple[str, ...]
    parameter: str
    values: tuple[float, ...]
    datasets: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    """A config with every default filled in and every name resolved."""

    name: str
    paper: str
    title: str
    learner: str
    scale: Literal["zscore", "minmax", "none"]
    scale_on: Literal["all", "train"]
    train: float
    stratify: bool
    splits: tuple[int, ...]
    seed: int
    kernels: tuple[Kernel, ...]
    lam: Ridges
    ridge: Literal["fixed", "per-fold"]
    loss: str
    methods: tuple[Method, ...]
    datasets: tuple[str, ...]
    sweeps: tuple[Sweep, ...]
    probes: tuple[ProbeFigure, ...] = ()
    learner_params: tuple[tuple[str, Any], ...] = ()

    def methods_on(self, dataset: str, task: str) -> tuple[Method, ...]:
        """The methods of one data set; in a regression every loss is the squared one."""
        mine = (m for m in self.methods if not m.datasets or dataset in m.datasets)
        if task == "regression":
            mine = (with_loss(m, REGRESSION_LOSS) for m in mine)
        return tuple(dict.fromkeys(mine))

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of the table, in the order of the config."""
        return tuple(dict.fromkeys(m.label for m in self.methods if m.part == TABLE))

    @property
    def losses(self) -> tuple[str, ...]:
        """The losses that were computed, the config's own first."""
        found = dict.fromkeys(m.loss for m in self.methods if m.part == TABLE and m.loss)
        return (self.loss, *(loss for loss in found if loss != self.loss))

    def cells(self, method: Method) -> tuple[tuple[str, int | None], ...]:
        """The settings that a method fills, each with the position of its lam; None: lam is chosen too."""
        if self.lam.mode == "select":
            return (("selected", None),)
        return tuple(
            (setting(lam), position)
            for position, lam in enumerate(self.lam.values)
            if method.lam is None or method.lam == lam
        )

    @property
    def settings(self) -> tuple[str, ...]:
        """What a cell of the table is conditioned on: each fixed lam, or ``selected``."""
        if self.lam.mode == "select":
            return ("selected",)
        return tuple(setting(lam) for lam in self.lam.values)


def with_loss(method: Method, loss: str) -> Method:
    """The method with another loss, where it has one at all."""
    params = dict(method.params)
    if "loss" not in params:
        return method
    return replace(method, params=tuple(sorted({**params, "loss": loss}.items())))


def setting(lam: float) -> str:
    """``lam=0.001``: a fixed ridge as records write it."""
    return f"lam={show_number(lam)}"
