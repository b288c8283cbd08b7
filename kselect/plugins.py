"""Plug-ins: files of a user's own that register criteria, kernels, learners, searches and kinds of figure.

A plug-in is one Python file; it may import whatever is installed. It is executed once per content, under a module
name of its own, and a new version replaces the entries of the old one. Worker processes receive the content itself,
so that they compute with the same code on any machine.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from kselect.errors import ConfigError, KselectError, printable
from kselect.files import read_regular, reason
from kselect.registry import MARK, REGISTRIES, Plugin, definition

LARGEST_FILE = 2**20
# The plug-in that was loaded last under each file name.
LOADED: dict[str, Plugin] = {}


def read_plugin(path: Path) -> Plugin:
    """Return the content of a plug-in file; a file that cannot be read is a ConfigError."""
    shown = printable(path)
    if path.suffix != ".py":
        raise ConfigError(f"{shown}: a plug-in is a Python file, NAME.py")
    try:
        content = read_regular(path, LARGEST_FILE)
        content.decode()  # a results folder keeps it as text
        return Plugin(path.name, content)
    except UnicodeDecodeError:
        raise ConfigError(f"{shown}: not UTF-8 text; save the file as UTF-8") from None
    except FileNotFoundError:
        raise ConfigError(f"{shown}: no such file") from None
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else error
        raise ConfigError(f"{shown}: cannot be read: {why}") from None


def load_plugin(path: Path) -> Plugin:
    """Read and execute a plug-in file; any error in it is a ConfigError with its line."""
    plugin = read_plugin(path)
    load(plugin, str(path))
    return plugin


def load(plugin: Plugin, shown: str = "") -> None:
    """Execute a plug-in unless it is loaded already; ``shown`` names its file in messages."""
    before = LOADED.get(plugin.name)
    if before == plugin:
        return
    if before is not None:
        unload(before)
    file = shown or plugin.name
    module = ModuleType(module_name(plugin))
    module.__file__ = file
    setattr(module, MARK, plugin)
    sys.modules[module.__name__] = module
    LOADED[plugin.name] = plugin
    try:
        exec(compile(plugin.content, file, "exec"), vars(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        unload(plugin)
        raise ConfigError(located(error, file)) from None


def unload(plugin: Plugin) -> None:
    """Forget a plug-in and everything that it has registered."""
    for registry in REGISTRIES.values():
        registry.drop(plugin)
    sys.modules.pop(module_name(plugin), None)
    LOADED.pop(plugin.name, None)


def module_name(plugin: Plugin) -> str:
    """Return the name of a plug-in's module, which differs for each content."""
    stem = re.sub(r"\W", "_", plugin.name.removesuffix(".py"))
    return f"kselect_plugin_{stem}_{plugin.sha256[:12]}"


def located(error: BaseException, file: str) -> str:
    """Return an error in one line, ``mine.py:3: ModuleNotFoundError: ...``, with its last line in the file."""
    return f"{printable(file)}:{line_in(error, file) or 1}: {in_words(error)}"


def line_in(error: BaseException, file: str) -> int:
    """Return the last line of a file that an error has passed, 0 if it has passed no line of it."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno or 1
    frames = traceback.extract_tb(error.__traceback__)
    return next((f.lineno or 1 for f in reversed(frames) if f.filename == file), 0)


def in_words(error: BaseException) -> str:
    """Return an error as one line of text."""
    if isinstance(error, KselectError):
        text = str(error)
    else:
        what = error.msg if isinstance(error, SyntaxError) else error
        text = f"{type(error).__name__}: {what}"
    return " ".join(printable(text.replace("\n", " ")).split())


def load_all(plugins: Iterable[Plugin]) -> None:
    """Load plug-ins that another process has read."""
    for plugin in plugins:
        load(plugin)


def registered_by(plugin: Plugin) -> Iterator[tuple[str, str, Any]]:
    """Yield kind, name and object of each part that a plug-in provides."""
    for kind, registry in REGISTRIES.items():
        for name, owner in registry.plugins.items():
            if owner == plugin:
                yield kind, name, registry[name]


def companion(item: Any, prefix: str) -> Any:
    """Return what the module of a part defines as ``<prefix>_<name in lower case>``, as in ``oracle_median``."""
    thing = definition(item)
    module = sys.modules.get(thing.__module__)
    return getattr(module, f"{prefix}_{thing.__name__.lower()}", None)
