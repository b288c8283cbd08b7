"""The registry of criteria, learners, kernels, searches and figures, and their parameters.

A registry imports every module of its folder, so that a new file is registered without an edit elsewhere.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import LARGEST_GRID, parse_number

T = TypeVar("T")


class Registry(UserDict[str, T]):
    """A mapping of names to registered objects in the order of the files; the first use imports the folder.

    ``also`` is a second folder whose modules register objects.
    """

    def __init__(self, kind: str, folder: str, shown_by: str = "", also: str = "") -> None:
        self.kind, self.folder, self.shown_by, self.also = kind, folder, shown_by, also
        self.registered: dict[str, T] = {}

    @cached_property
    def data(self) -> dict[str, T]:  # type: ignore[override]
        """All objects, once every module of the folder is imported."""
        self.data = (
            self.registered
        )  # before the imports: a module may use the registry while it loads
        for folder in filter(None, (self.folder, self.also)):
            path = importlib.import_module(folder).__path__
            for module in sorted(m.name for m in pkgutil.iter_modules(path)):
                importlib.import_module(f"{folder}.{module}")
        return self.registered

    def __setitem__(self, name: str, item: T) -> None:
        self.registered[name] = item

    def find(self, name: str) -> T:
        """Return the object of a name; an unknown name is a ConfigError that names the nearest one."""
        if name not in self:
            hint = f" ({self.shown_by})" if self.shown_by else ""
            raise ConfigError(f"unknown {self.kind} {quoted(name)}{nearest(name, self)}{hint}")
        return self[name]


@dataclass(frozen=True)
class Parameter:
    """A keyword parameter of a registered function: one of some choices, a number, or a switch."""

    name: str
    default: Any
    choices: tuple[str, ...] = ()
    whole: bool = False
    switch: bool = False

    def parse(self, value: object) -> Any:
        """Return the value as the function takes it; an invalid value is a ConfigError."""
        if self.choices:
            if value not in self.choices:
                raise ConfigError(
                    f"{self.name}: {quoted(value)}{nearest(str(value), self.choices)}"
                )
            return value
        if self.switch:
            found = {"true": True, "false": False}.get(str(value).lower())
            if found is None or not isinstance(value, bool | str):
                raise ConfigError(f"{self.name} must be true or false, not {quoted(value)}")
            return found
        if isinstance(value, str) and value == "inf" and not self.whole:
            return float("inf")
        try:
            number = parse_number(value)  # type: ignore[arg-type]
        except ConfigError as error:
            raise ConfigError(f"{self.name}: {error}") from None
        if number < 0:
            raise ConfigError(f"{self.name} must not be negative, not {quoted(value)}")
        if self.whole and number != int(number):
            raise ConfigError(f"{self.name} must be a whole number, not {quoted(value)}")
        if self.whole and number > LARGEST_GRID:
            raise ConfigError(f"{self.name} must be at most {LARGEST_GRID}, not {quoted(value)}")
        return int(number) if self.whole else number


@dataclass(frozen=True)
class Part:
    """The base class of criteria, learners and searches: a function, its paper and its parameters."""

    name: str
    function: Callable[..., Any]
    paper: str
    parameters: tuple[Parameter, ...]

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each parameter."""
        return {p.name: p.default for p in self.parameters}

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of a name, or None."""
        return next((p for p in self.parameters if p.name == name), None)


def read_parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the keyword-only arguments of a function, from its signature."""
    hints = get_type_hints(function)
    found = []
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.KEYWORD_ONLY:
            hint = hints[p.name]
            choices = get_args(hint) if get_origin(hint) is Literal else ()
            found.append(Parameter(p.name, p.default, choices, hint is int, hint is bool))
    return tuple(found)
