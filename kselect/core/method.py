"""What a table compares: a method, and the settings under which it chooses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from kselect.grids import show_number

if TYPE_CHECKING:
    from kselect.datasets.registry import Task
    from kselect.kernels import Kernel

TABLE = "table"
REGRESSION_LOSS = "squared"
LamMode = Literal["fixed", "select"]
LamUnit = Literal["lam", "n lam"]
SearchName = Literal["grid", "pruned"]
Params = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Choice:
    """A learner or a search, and all its parameters."""

    name: str
    params: Params = ()

    @property
    def text(self) -> str:
        """``quasi-newton(steps=10)``."""
        own = ",".join(f"{k}={show(v)}" for k, v in self.params)
        return f"{self.name}({own})" if own else self.name


@dataclass(frozen=True)
class Setting:
    """What a cell of the table is conditioned on: one ridge of the grid, or none where the ridge is chosen too.

    A ``kernel`` beside the ridge, by its text, makes it one place of the grid.
    """

    position: int | None = None
    value: float | None = None
    unit: LamUnit = "lam"
    kernel: str = ""

    @property
    def text(self) -> str:
        """``lam=0.001``, ``tau=4;lam=0.001`` or ``selected``: how records write it."""
        if self.value is None:
            return "selected"
        return ";".join(filter(None, (self.kernel, f"{self.unit}={show_number(self.value)}")))


SELECTED = Setting()


@dataclass(frozen=True)
class LamGrid:
    """The lam grid: each value a setting of its own (``fixed``), or one more thing to choose (``select``)."""

    values: tuple[float, ...]
    mode: LamMode
    unit: LamUnit = "lam"

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Each fixed value, or the one setting under which it is selected."""
        if self.mode == "select":
            return (SELECTED,)
        return self.settings_at("")

    def settings_at(self, kernel: str) -> tuple[Setting, ...]:
        """Every value with a kernel of that text."""
        return tuple(Setting(i, value, self.unit, kernel) for i, value in enumerate(self.values))

    def lams(self, n: int) -> tuple[float, ...]:
        """lam itself for n training rows."""
        return self.values if self.unit == "lam" else tuple(value / n for value in self.values)


@dataclass(frozen=True)
class Method:
    """One column of a table: a criterion with its parameters, under the label that users gave it.

    ``part`` says what it is for: the table, or the figure of that name. ``lam`` restricts it to one
    ridge (a figure's sweep); None means every ridge of the experiment. ``at`` makes it a probe: it is
    not minimised but looked at where the column of that label has its best. ``datasets`` restricts it to some
    data sets; empty means all. ``tuned`` parameters are chosen by an inner cross-validation on the training rows.
    ``scored_by`` is the learner whose path the criterion asks, by task, where it is not the one that is trained.
    ``column`` is the text of the column that a probe looks at: what it finds rests on how that one chooses.
    ``everywhere``: nothing is chosen, the scores of all places of the grid are kept.
    ``fixed`` is a kernel at which it is looked at, at one ``lam``: nothing is chosen.
    ``search`` moves through all values of a ``kernel``'s parameters and the ridge; None tries those of the grid.
    ``splits`` restricts it to some splits; empty means all.
    """

    label: str
    criterion: str
    folds: int | None
    params: Params
    part: str = TABLE
    lam: float | None = None
    at: str = ""
    datasets: tuple[str, ...] = ()
    tuned: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    scored_by: tuple[tuple[str, Choice], ...] = ()
    everywhere: bool = False
    search: Choice | None = None
    kernel: str = ""
    splits: tuple[int, ...] = ()
    fixed: Kernel | None = None
    column: str = ""

    @property
    def loss(self) -> str:
        """The loss that it averages, empty where the criterion has no such choice."""
        return str(dict(self.params).get("loss", ""))

    @property
    def text(self) -> str:
        """``eta=1;loss=squared``: all that tells it from another of its label, as records write it."""
        tuned = {name: "|".join(map(show, values)) for name, values in self.tuned}
        moved = {"kernel": self.kernel, "search": self.search.text} if self.search else {}
        fixed = {"fixed": self.fixed.text} if self.fixed else {}
        asked = {"scored-by": "|".join(dict.fromkeys(c.text for _, c in self.scored_by))}
        looked = {"at": f"({self.column})"}
        every = dict(self.params) | tuned | moved | fixed
        every |= (asked if self.scored_by else {}) | (looked if self.column else {})
        return ";".join(f"{k}={show(v)}" for k, v in sorted(every.items()))

    def with_params(self, **changed: Any) -> Method:
        """The method with other values of some parameters, which are then no longer tuned."""
        params = tuple(sorted((dict(self.params) | changed).items()))
        tuned = tuple((name, values) for name, values in self.tuned if name not in changed)
        return replace(self, params=params, tuned=tuned)

    def with_loss(self, loss: str) -> Method:
        """The method with another loss, where it has one at all."""
        return self.with_params(loss=loss) if "loss" in dict(self.params) else self

    def on(self, task: Task) -> Method:
        """The method as a data set of that task sees it: a regression's loss is the squared one."""
        scored_by = tuple((t, choice) for t, choice in self.scored_by if t == task)
        mine = replace(self, scored_by=scored_by)
        return mine.with_loss(REGRESSION_LOSS) if task == "regression" else mine


def show(value: object) -> str:
    """A parameter as records and labels write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return show_number(value) if isinstance(value, float) else str(value)
