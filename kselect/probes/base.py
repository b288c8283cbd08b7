"""What a probe is: a function of a path and folds that gives one value for every ridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from kselect.errors import ConfigError, nearest
from kselect.parameters import Parameter, read_parameters


@dataclass(frozen=True)
class Probe:
    """A registered probe; a ``rate`` is the factor that a step of the other probes' parameter gains."""

    name: str
    function: Callable[..., Any]
    paper: str
    parameters: tuple[Parameter, ...]
    rate: bool = False

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of a name, None where there is none."""
        return next((p for p in self.parameters if p.name == name), None)


PROBES: dict[str, Probe] = {}
F = TypeVar("F", bound=Callable[..., Any])


def probe(name: str, *, paper: str, rate: bool = False) -> Callable[[F], F]:
    """Register ``function(path, folds, *, parameter=default...)`` under the name that configs use."""

    def register(function: F) -> F:
        PROBES[name] = Probe(name, function, paper, read_parameters(function), rate)
        return function

    return register


def find_probe(name: str) -> Probe:
    """The probe of a name, or a ConfigError with the nearest one."""
    if name not in PROBES:
        raise ConfigError(f"unknown probe {name!r}{nearest(name, PROBES)}")
    return PROBES[name]
