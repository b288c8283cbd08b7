"""What a criterion is: a function of a path that gives one score for every ridge, the lower the better."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from kselect.errors import ConfigError, nearest
from kselect.parameters import Parameter, read_parameters

Aggregation = Literal["points", "folds"]
ANY = None


@dataclass(frozen=True)
class Criterion:
    """A registered criterion; in its name a ``k`` stands for the number of folds."""

    name: str
    function: Callable[..., Any]
    paper: str
    learners: frozenset[str] | None
    kernels: frozenset[str] | None
    reconstructed: str
    parameters: tuple[Parameter, ...]

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def takes_folds(self) -> bool:
        """Whether its name, and its function, have folds."""
        return "k" in self.name.split("-")

    @property
    def pattern(self) -> re.Pattern[str]:
        """``k-KS`` -> matches ``5-KS``."""
        parts = [r"(\d+)" if part == "k" else re.escape(part) for part in self.name.split("-")]
        return re.compile("-".join(parts))

    def label(self, folds: int | None) -> str:
        """``k-KS`` with 5 folds -> ``5-KS``."""
        return "-".join(str(folds) if part == "k" else part for part in self.name.split("-"))

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of a name, None where there is none."""
        return next((p for p in self.parameters if p.name == name), None)


CRITERIA: dict[str, Criterion] = {}
F = TypeVar("F", bound=Callable[..., Any])


def criterion(
    name: str,
    *,
    paper: str,
    learners: frozenset[str] | None = ANY,
    kernels: frozenset[str] | None = ANY,
    reconstructed: str = "",
) -> Callable[[F], F]:
    """Register ``function(path[, folds], *, parameter=default...)`` under the name that tables use.

    ``reconstructed`` names what is, where the defining paper was not to be had; it is shown everywhere.
    """

    def register(function: F) -> F:
        CRITERIA[name] = Criterion(
            name, function, paper, learners, kernels, reconstructed, read_parameters(function)
        )
        return function

    return register


def find_criterion(label: str) -> tuple[Criterion, int | None]:
    """``5-KS`` -> (the criterion k-KS, 5 folds); an unknown one is a ConfigError with the nearest name."""
    for candidate in CRITERIA.values():
        if match := candidate.pattern.fullmatch(label):
            folds = int(match[1]) if candidate.takes_folds else None
            if folds is not None and folds < 2:
                raise ConfigError(f"{label!r}: cross-validation needs 2 folds or more")
            return candidate, folds
    known = [c.label(number_in(label)) if c.takes_folds else c.name for c in CRITERIA.values()]
    raise ConfigError(f"unknown criterion {label!r}{nearest(label, known)} (kselect list criteria)")


def number_in(label: str) -> int:
    """The number of folds that somebody seems to have meant; 5 where there is none."""
    found = re.search(r"\d+", label)
    return int(found[0]) if found and int(found[0]) > 1 else 5
