"""What a criterion is: a function of a path that gives one score for every ridge, the lower the better.

A probe is a criterion of another role: it is not minimised but looked at where a criterion has its best.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_type_hints

from kselect.criteria.guards import GuardFunction
from kselect.errors import ConfigError, nearest
from kselect.learners import Learner
from kselect.learners.capabilities import WORDS, Path
from kselect.registry import Part, Registry, read_parameters

Aggregation = Literal["points", "folds"]
Remarks = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Criterion(Part):
    """A registered criterion; in its name a ``k`` stands for the number of folds.

    ``need`` is the protocol of the paths that it asks, read off its first argument; ``kernels`` are those that it
    knows, None for all; ``guards`` names the reasons of its infinite scores. ``remarks``: for a kernel, what
    the criterion amounts to on it, which every table says.
    """

    need: type[Any]
    folded: bool
    kernels: frozenset[str] | None = None
    reconstructed: str = ""
    guards: GuardFunction | None = None
    remarks: Remarks = ()

    @property
    def takes_folds(self) -> bool:
        """Whether its name, and its function, have folds."""
        return self.folded

    @property
    def holds_out(self) -> bool:
        """Whether all that it asks of a path with folds are the predictions of exact cross-validation."""
        return self.folded and self.need is Path

    @property
    def pattern(self) -> re.Pattern[str]:
        """``k-KS`` -> matches ``5-KS``."""
        parts = [r"(\d+)" if part == "k" else re.escape(part) for part in self.name.split("-")]
        return re.compile("-".join(parts))

    def label(self, folds: int | None) -> str:
        """``k-KS`` with 5 folds -> ``5-KS``."""
        return "-".join(str(folds) if part == "k" else part for part in self.name.split("-"))

    def misfits(
        self, name: str, learner: Learner, kernels: Iterable[str], columns: bool = False
    ) -> Iterator[str]:
        """Why it cannot be used with a learner or a kernel: the one place where that is decided."""
        if learner.lacks(self.need, columns=columns):
            where = " on Nystrom columns" if columns else ""
            yield f"{name} needs {WORDS[self.need]}, which {learner.name} does not have{where}"
        for kernel in dict.fromkeys(kernels):
            if self.kernels is not None and kernel not in self.kernels:
                valid = ", ".join(sorted(self.kernels))
                yield f"{name} works with the kernel {valid} only, not with {kernel}"


CRITERIA: Registry[Criterion] = Registry("criterion", "kselect.criteria", "kselect list criteria")
PROBES: Registry[Criterion] = Registry("probe", "kselect.criteria")
F = TypeVar("F", bound=Callable[..., Any])


def criterion(
    name: str,
    *,
    paper: str,
    kernels: frozenset[str] | None = None,
    reconstructed: str = "",
    guards: GuardFunction | None = None,
    remarks: Remarks = (),
) -> Callable[[F], F]:
    """Register ``function(path[, folds], *, parameter=default...)`` under the name that tables use.

    The annotation of ``path`` says what it needs of a learner. ``reconstructed`` names what is, where the
    defining paper was not to be had; it is shown everywhere, and so are ``remarks`` where their kernel is searched.
    """
    return registering(CRITERIA, name, paper, kernels, reconstructed, guards, remarks)


def probe(name: str, *, paper: str) -> Callable[[F], F]:
    """Register a function of the same form as a probe."""
    return registering(PROBES, name, paper)


def registering(
    registry: Registry[Criterion],
    name: str,
    paper: str,
    kernels: frozenset[str] | None = None,
    reconstructed: str = "",
    guards: GuardFunction | None = None,
    remarks: Remarks = (),
) -> Callable[[F], F]:
    """A decorator that reads a function's signature and keeps it."""

    def register(function: F) -> F:
        need = get_type_hints(function)["path"]
        folded = "folds" in inspect.signature(function).parameters
        parameters = read_parameters(function)
        registry[name] = Criterion(
            name, function, paper, parameters, need, folded, kernels, reconstructed, guards, remarks
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


def find_probe(name: str) -> Criterion:
    """The probe of a name, or a ConfigError with the nearest one."""
    return PROBES.find(name)


def number_in(label: str) -> int:
    """The number of folds that somebody seems to have meant; 5 where there is none."""
    found = re.search(r"\d+", label)
    return int(found[0]) if found and int(found[0]) > 1 else 5
