"""The base class and the registry of all kinds of figure, and a reader for their entries in a config.

A kind of figure is a frozen dataclass. Its fields are what a config asks for; its methods read the config, list the
methods that have to be run for the figure, and show it. A module in this folder registers its kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from kselect.core.experiment import FigureContext, FigureKind
from kselect.core.method import Method
from kselect.criteria import Criterion
from kselect.errors import ConfigError, nearest
from kselect.grids import parse_grid, parse_number, show_number
from kselect.registry import Registry
from kselect.report.elements import File, Passage
from kselect.stats.samples import table_records
from kselect.stats.study import Study

if TYPE_CHECKING:
    import pandas as pd


class ShownKind(FigureKind, Protocol):
    """A kind of figure that a report can show."""

    def show(self, figure: Any, study: Study) -> Iterable[File | Passage]:
        """Return the files of a figure, and what the page shows of it."""
        ...


FIGURES: Registry[ShownKind] = Registry(
    "kind of figure",
    "kselect.report.figures",
    "kselect list figures",
    entries="kselect.figures",
)
# Reports a problem: the keys that lead to it in the config, and the message.
Wrong = Callable[[tuple[str | int, ...], str], None]


@dataclass(frozen=True)
class FigureReader:
    """The entry of one figure in a config (``written``), with methods that read single keys.

    A method that finds a problem reports it to ``wrong``, with the keys that lead to it, and returns a neutral
    value.
    """

    written: Mapping[str, Any]
    context: FigureContext
    wrong: Wrong

    def check_keys(self, *keys: str) -> None:
        """Report the keys that the kind of figure does not have."""
        for key in self.written:
            if key not in keys:
                self.wrong((key,), f"unknown key; valid: {', '.join(keys)}")

    def names(self, key: str) -> list[str]:
        """Read a list of names, which must not be empty."""
        value = self.written.get(key)
        if value is None:
            self.wrong((key,), "this key is missing")
        elif not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self.wrong((key,), "must be a list, as in [a, b]")
        elif not value:
            self.wrong((key,), "the list is empty")
        else:
            return value
        return []

    def labels(self, key: str) -> tuple[str, ...]:
        """Read a list of methods of the table; each may occur once."""
        found: list[str] = []
        for i, label in enumerate(self.names(key)):
            if label in found:
                self.wrong((key, i), f"{label} is there already")
            elif label not in self.context.methods:
                self.unknown_label((key, i), label)
            else:
                found.append(label)
        return tuple(found)

    def label(self, key: str) -> str:
        """Read one method of the table."""
        label = self.written.get(key)
        if label is None:
            self.wrong((key,), "this key is missing")
        elif not isinstance(label, str) or label not in self.context.methods:
            self.unknown_label((key,), label)
        else:
            return label
        return ""

    def unknown_label(self, keys: tuple[str | int, ...], label: object) -> None:
        """Report a method that the table does not have, with the most similar one."""
        hint = nearest(str(label), self.context.methods)
        self.wrong(keys, f"{label!r} is not under criteria{hint}")

    def datasets(self, key: str = "datasets") -> tuple[str, ...]:
        """Read the data sets of a figure; all of the experiment by default."""
        known = self.context.datasets
        if self.written.get(key) is None and key == "datasets":
            return known
        names = self.names(key)
        for i, name in enumerate(names):
            if name not in known and not self.context.narrowed:
                self.wrong((key, i), f"{name!r} is not under datasets{nearest(name, known)}")
        return tuple(name for name in names if name in known)

    def positive(self, key: str, fewest: int = 1) -> tuple[float, ...]:
        """Read a grid of at least ``fewest`` positive numbers."""
        try:
            found = parse_grid(self.written.get(key, ""))
        except ConfigError as error:
            self.wrong((key,), str(error))
            return ()
        if len(found) < fewest:
            self.wrong((key,), f"must be a grid of at least {fewest} positive numbers")
        elif min(found) <= 0:
            self.wrong((key,), "must be positive")
        return found

    def lam(self) -> float:
        """Read one value of the grid of a fixed lam."""
        grid = self.context.lam
        if grid.mode == "select":
            self.wrong(("lam",), "a figure needs a fixed lam; this config selects it")
            return 0.0
        if self.written.get("lam") is None:
            self.wrong(("lam",), "this key is missing")
            return 0.0
        try:
            lam = parse_number(self.written["lam"])
        except ConfigError as error:
            self.wrong(("lam",), str(error))
            return 0.0
        near = [v for v in grid.values if isclose(v, lam)]
        if not near:
            valid = ", ".join(show_number(v) for v in grid.values)
            self.wrong(("lam",), f"{show_number(lam)} is not in the grid of lam; valid: {valid}")
        return near[0] if near else 0.0

    def text(self, key: str) -> str:
        """Read a text, empty by default."""
        value = self.written.get(key, "")
        if not isinstance(value, str):
            self.wrong((key,), "must be a text")
            return ""
        return value

    def sweep(self, *keys: str) -> tuple[str, tuple[float, ...]]:
        """Read the only key that is not one of ``keys``: a parameter with its grid."""
        swept = [key for key in self.written if key not in keys]
        if len(swept) != 1:
            found = f"not {' and '.join(swept)}" if swept else "such as eta: 2^-10:2^10"
            self.wrong((), f"needs one parameter to sweep, {found}")
            return "", ()
        try:
            return swept[0], parse_grid(self.written[swept[0]])
        except ConfigError as error:
            self.wrong((swept[0],), str(error))
            return swept[0], ()

    def values(
        self, owner: Criterion, label: str, name: str, values: Sequence[float]
    ) -> tuple[Any, ...]:
        """Return the values of a sweep as the criterion takes them, up to the first that it refuses."""
        parameter = owner.parameter(name)
        found: list[Any] = []
        if parameter is None:
            known = [p.name for p in owner.parameters]
            hint = nearest(name, known) if known else "; it has none"
            self.wrong((name,), f"unknown parameter of {label}{hint}")
            return ()
        for value in values:
            try:
                found.append(parameter.parse(value))
            except ConfigError as error:
                self.wrong((name,), str(error))
                break
        return tuple(found)


@dataclass(frozen=True)
class FigureBase(ABC):
    """A figure or table of a config; ``name`` is the name of its files.

    A subclass registers itself: ``class Sweep(FigureBase, kind="sweep")``. A config gives that name as ``kind``.
    """

    kind: ClassVar[str] = ""
    # The field that lists methods of the table, and the field with a method that the figure requires.
    LISTED: ClassVar[str] = "criteria"
    REQUIRED: ClassVar[str] = ""

    name: str

    def __init_subclass__(cls, kind: str) -> None:
        cls.kind = kind
        found: Any = cls
        FIGURES.add(kind, found)

    @classmethod
    def read(
        cls, name: str, written: Mapping[str, Any], context: FigureContext, wrong: Wrong
    ) -> Self:
        """Read a figure; what is wrong with it is reported to ``wrong``."""
        return cls.parse(name, FigureReader(written, context, wrong))

    @classmethod
    @abstractmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read the fields of a kind of figure."""

    def methods(self, context: FigureContext) -> Iterable[Method]:
        """Return the methods that have to be run for this figure only."""
        return ()

    def keep(self, labels: frozenset[str]) -> Self | None:
        """Return the figure with only these methods, or None if nothing of it is left."""
        if self.REQUIRED and getattr(self, self.REQUIRED) not in labels:
            return None
        if not self.LISTED:
            return self
        kept = tuple(label for label in getattr(self, self.LISTED) if label in labels)
        changed: dict[str, Any] = {self.LISTED: kept}
        return replace(self, **changed) if kept else None


def good_records(study: Study) -> pd.DataFrame:
    """Return the records of the table under the experiment's own loss that did not fail."""
    table = table_records(study.records, study.experiment, study.experiment.loss)
    return table[table["status"] == "ok"]
