"""Methods, which a table compares, and the settings under which each of them chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from kselect.grids import show_number

if TYPE_CHECKING:
    from kselect.datasets.registry import Task
    from kselect.kernels import Kernel
    from kselect.numerics.scorers import Scorer

TABLE = "table"
REGRESSION_LOSS = "squared"
LamMode = Literal["fixed", "select"]
LamUnit = Literal["lam", "n lam", "C"]
SearchName = Literal["grid", "pruned"]
Params = tuple[tuple[str, Any], ...]
# Parameters that are newer than stored records, with the values that those had: records leave these out.
LATER: Mapping[str, object] = {"operator": "corrected", "p": 1, "memory": 10}


@dataclass(frozen=True)
class Choice:
    """A learner or a search with all its parameters."""

    name: str
    params: Params = ()

    @property
    def text(self) -> str:
        """Return name and parameters, as in ``quasi-newton(steps=10)``."""
        own = ",".join(f"{k}={show(v)}" for k, v in self.params if LATER.get(k) != v)
        return f"{self.name}({own})" if own else self.name


@dataclass(frozen=True)
class Setting:
    """The lam at which a method chooses, or none if it selects lam too.

    With the text of a ``kernel`` as well, it is one grid point.
    """

    position: int | None = None
    value: float | None = None
    unit: LamUnit = "lam"
    kernel: str = ""

    @property
    def text(self) -> str:
        """Return the text in records: ``lam=0.001``, ``tau=4;lam=0.001`` or ``selected``."""
        if self.value is None:
            return "selected"
        return ";".join(filter(None, (self.kernel, f"{self.unit}={show_number(self.value)}")))


SELECTED = Setting()


@dataclass(frozen=True)
class Estimator:
    """A class of another package with ``fit`` and ``predict``: its import path, its parameters and its grid.

    ``version`` names its package, as in ``scikit-learn 1.6.1``, or is the checksum of a file of one's own.
    ``task`` restricts it to the data sets of one task.
    """

    path: str
    version: str
    params: Params = ()
    grid: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    task: Task | None = None

    @property
    def text(self) -> str:
        """Return class and parameters, as in ``sklearn.svm.SVC(C=1.0|8.0,kernel='rbf')``."""
        given = {name: repr(value) for name, value in self.params}
        given |= {name: "|".join(map(repr, values)) for name, values in self.grid}
        return f"{self.path}({','.join(f'{k}={v}' for k, v in sorted(given.items()))})"

    @property
    def points(self) -> tuple[Params, ...]:
        """Return every point of the grid, the first parameter slowest; without a grid, one empty point."""
        names = [name for name, _ in self.grid]
        every = product(*(values for _, values in self.grid))
        return tuple(tuple(zip(names, values, strict=True)) for values in every)


def read_setting(text: str) -> Setting:
    """Read ``lam=0.001``, ``n lam = 1`` or ``C = 1``; an empty text means that the ridge was selected."""
    if not text:
        return SELECTED
    unit, _, value = (part.strip() for part in text.partition("="))
    if unit not in get_args(LamUnit):
        raise ValueError(f"{text!r} is not a setting such as lam=0.001")
    return Setting(value=float(value), unit=cast(LamUnit, unit))


@dataclass(frozen=True)
class LamGrid:
    """The lam grid: each value is a setting of its own (``fixed``), or lam is chosen as well (``select``)."""

    values: tuple[float, ...]
    mode: LamMode
    unit: LamUnit = "lam"

    def settings(self, kernel: str | None = None) -> tuple[Setting, ...]:
        """Return one setting per fixed value, or the single setting under which lam is selected.

        With the text of a kernel, return its grid points: one setting per value in either mode.
        """
        if kernel is None and self.mode == "select":
            return (SELECTED,)
        found = enumerate(self.values)
        return tuple(Setting(i, value, self.unit, kernel or "") for i, value in found)

    def lams(self, n: int) -> tuple[float, ...]:
        """Return the values of lam for n training rows; for an SVM, ``C = 1 / (2 n lam)``."""
        if self.unit == "C":
            return tuple(1.0 / (2.0 * n * value) for value in self.values)
        return self.values if self.unit == "lam" else tuple(value / n for value in self.values)


@dataclass(frozen=True)
class Method:
    """A criterion with its parameters under a label: the unit of comparison.

    Parameters
    ----------
    label : the heading of its table column, as the user gave it.
    criterion, folds, params : the criterion that is minimised, its number of folds, and its parameters.
    part : the table, or the name of the figure that the method is computed for.
    lam : the only lam that it is computed for; None means every setting of the experiment.
    at : makes it a probe: it is not minimised but evaluated where the column of this label has its best point.
    datasets, splits : restrict it to some data sets or splits; empty means all.
    tuned : parameters that an inner cross-validation on the training rows chooses, each with its candidates.
    scored_by : per task, the learner that the criterion evaluates, if it is not the one that is trained.
    everywhere : nothing is chosen; the scores of all grid points are kept.
    search, kernel : a search over all values of this kernel's parameters and lam; None means the grid.
    fixed : a kernel at which it is evaluated for one ``lam``; nothing is chosen.
    column : for a probe, the text of the method at whose choice it is evaluated.
    on_test : it takes the grid point with the lowest test error, which no method may know.
    estimator : a class of another package, which is fitted instead; ``criterion`` is its import path then, and
        ``folds`` belong to its grid.
    scorer : scores the held-out predictions of k-CV in place of a loss; ``params`` have its name as the loss.
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
    on_test: bool = False
    estimator: Estimator | None = None
    scorer: Scorer | None = None

    loss: str = field(init=False, repr=False, compare=False)
    """The loss that the criterion averages, empty if it has no such parameter."""
    text: str = field(init=False, repr=False, compare=False)
    """The text in records that tells it from others of its label, as in ``eta=1;loss=squared``."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", str(dict(self.params).get("loss", "")))
        every: dict[str, Any] = {k: v for k, v in self.params if LATER.get(k) != v}
        every |= {name: "|".join(map(show, values)) for name, values in self.tuned}
        if self.search:
            every |= {"kernel": self.kernel, "search": self.search.text}
        if self.fixed:
            every["fixed"] = self.fixed.text
        if self.scored_by:
            every["scored-by"] = "|".join(dict.fromkeys(c.text for _, c in self.scored_by))
        if self.column:
            every["at"] = f"({self.column})"
        if self.estimator:
            every |= {"class": self.estimator.text, "version": self.estimator.version}
            every |= {"folds": self.folds} if self.folds else {}
        text = ";".join(f"{k}={show(v)}" for k, v in sorted(every.items()))
        object.__setattr__(self, "text", text)

    def with_params(self, **changed: Any) -> Method:
        """Return the method with other values of some parameters, which are then no longer tuned."""
        params = tuple(sorted((dict(self.params) | changed).items()))
        tuned = tuple((name, values) for name, values in self.tuned if name not in changed)
        return replace(self, params=params, tuned=tuned)

    def on(self, task: Task) -> Method:
        """Return the method for data sets of a task; in a regression its loss is the squared one."""
        scored_by = tuple((t, choice) for t, choice in self.scored_by if t == task)
        mine = self if scored_by == self.scored_by else replace(self, scored_by=scored_by)
        if self.scorer:
            return mine
        has_loss = "loss" in dict(self.params)
        return mine.with_params(loss=REGRESSION_LOSS) if task == "regression" and has_loss else mine


def show(value: object) -> str:
    """Return a parameter value as records and labels write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return show_number(value) if isinstance(value, float) else str(value)
