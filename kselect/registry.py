"""The registry of criteria, learners, kernels, searches and figures, and their parameters.

A registry imports every module of its folder, so that a new file is registered without an edit elsewhere. Entry
points of installed packages and plug-in files (``plugins.py``) register further parts; the registry keeps which
plug-in provides a part, because the plug-in's checksum identifies the numbers that the part computes.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
import sys
from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import LARGEST_GRID, parse_number

T = TypeVar("T")
PACKAGE = "kselect"
MARK = (
    "__kselect_plugin__"  # the name under which a module holds the Plugin that it was loaded from
)


@dataclass(frozen=True)
class Plugin:
    """A file outside the package that registers parts; its checksum identifies what the parts compute."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """The checksum of the file."""
        return hashlib.sha256(self.content).hexdigest()


def definition(item: Any) -> Any:
    """Return the function or class behind a registered object."""
    return getattr(item, "function", item)


def plugin_of(item: Any) -> Plugin | None:
    """Return the plug-in that defines a registered object, None for the package's own."""
    name = str(getattr(definition(item), "__module__", PACKAGE))
    if name.partition(".")[0] == PACKAGE:
        return None
    module = sys.modules.get(name)
    known: Plugin | None = getattr(module, MARK, None)
    if known is not None:
        return known
    path = Path(getattr(module, "__file__", None) or name)
    return Plugin(path.name, path.read_bytes() if path.is_file() else name.encode())


class Registry(UserDict[str, T]):
    """A mapping of names to registered objects in the order of the files; the first use imports the folder.

    ``also`` is a second folder whose modules register objects, ``entries`` the group of entry points by which
    installed packages register theirs. ``plugins`` holds the plug-in of each object that is not the package's own.
    """

    def __init__(
        self, kind: str, folder: str, shown_by: str = "", also: str = "", entries: str = ""
    ) -> None:
        self.kind, self.folder, self.shown_by, self.also = kind, folder, shown_by, also
        self.entries = entries
        self.registered: dict[str, T] = {}
        self.plugins: dict[str, Plugin] = {}
        REGISTRIES[kind] = self

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
        for entry in entry_points(group=self.entries) if self.entries else ():
            try:
                entry.load()
            except Exception as error:
                what = f"{type(error).__name__}: {' '.join(str(error).split())}"
                where = f"the entry point {entry.name} of {self.entries} ({entry.value})"
                raise ConfigError(f"{where}: {what}; repair or remove its package") from None
        return self.registered

    def __setitem__(self, name: str, item: T) -> None:
        self.registered[name] = item

    def add(self, name: str, item: T) -> None:
        """Register an object under a name that is still free."""
        plugin = plugin_of(item)
        if plugin is not None:
            # The package's own objects come first, so that a name of theirs counts as taken.
            if name in self:
                owner = self.plugins.get(name)
                by = f"in {owner.name}" if owner else "in kselect"
                raise ConfigError(
                    f"the {self.kind} {quoted(name)} exists already, {by}; choose another name"
                )
            self.plugins[name] = plugin
        self[name] = item

    def drop(self, plugin: Plugin) -> None:
        """Forget everything that a plug-in has registered."""
        for name in [name for name, owner in self.plugins.items() if owner == plugin]:
            del self.plugins[name], self.registered[name]

    def location(self, name: str) -> str:
        """Return ``mine.py:12: `` for messages about an object of a plug-in, empty for the package's own."""
        if name not in self.plugins:
            return ""
        return f"{file_of(self[name])}:{line_of(self[name])}: "

    def find(self, name: str) -> T:
        """Return the object of a name; an unknown name is a ConfigError that names the nearest one."""
        if name not in self:
            hint = f" ({self.shown_by})" if self.shown_by else ""
            raise ConfigError(f"unknown {self.kind} {quoted(name)}{nearest(name, self)}{hint}")
        return self[name]


# Every registry by the kind of its objects.
REGISTRIES: dict[str, Registry[Any]] = {}


def file_of(item: Any) -> str:
    """Return the file that defines an object, as it was named when it was loaded."""
    thing = definition(item)
    module = sys.modules.get(thing.__module__)
    return str(getattr(module, "__file__", None) or thing.__module__)


def line_of(item: Any) -> int:
    """Return the line on which the function or class behind an object is defined."""
    thing = definition(item)
    code = getattr(thing, "__code__", None)
    if code is not None:
        return int(code.co_firstlineno)
    try:
        return inspect.getsourcelines(thing)[1]
    except (OSError, TypeError):
        return 1


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
