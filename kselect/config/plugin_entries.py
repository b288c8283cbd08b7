"""The key ``plugins`` of a config and the flag ``--plugin``: files that register parts of a user's own.

A path in a config is relative to the config. A results folder keeps a copy of every plug-in in ``plugins/``, so
that its report needs no other file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from kselect.config.document import Document
from kselect.config.parts import read_criterion
from kselect.config.validators import describe
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError, printable
from kselect.plugins import load_plugin, read_plugin, registered_by
from kselect.registry import Plugin

FOLDER = "plugins"
FOLDS = 5  # of a criterion that a flag adds


def take_plugins(document: Document, flags: Iterable[Path] = ()) -> Document:
    """Load the plug-ins of a config and of flags, and note their problems.

    The criteria of a flag's plug-in join the columns of the config, with their defaults, unless it names them.
    """
    if not isinstance(document.data, dict):
        return document
    written = document.data.get("plugins")
    if written is not None and not isinstance(written, list):
        document.wrong(("plugins",), f"must be a list, as in [mine.py], not {describe(written)}")
        written = None
    for i, one in enumerate(written or ()):
        if not isinstance(one, str):
            document.wrong(("plugins", i), f"must be a file, as in mine.py, not {describe(one)}")
            continue
        try:
            add(document, load_plugin(Path(document.path).parent / one))
        except ConfigError as error:
            document.wrong(("plugins", i), str(error))
    document.check()
    for path in flags:
        plugin = load_plugin(path)
        add(document, plugin)
        document.data.setdefault("plugins", []).append(str(path))
        add_columns(document, plugin)
    return document


def add(document: Document, plugin: Plugin) -> None:
    """Add a plug-in to a document; two different files of one name are refused."""
    same = [p for p in document.plugins if p.name == plugin.name]
    if any(p != plugin for p in same):
        raise ConfigError(f"two plug-ins are called {printable(plugin.name)}; rename one of them")
    if not same:
        document.plugins.append(plugin)


def add_columns(document: Document, plugin: Plugin) -> None:
    """Add the criteria of a plug-in that a config does not name as columns."""
    written = document.data.get("criteria")
    if not isinstance(written, list):
        return
    named = set()
    for item in written:
        with suppress(ConfigError, ValueError):  # reported when the config itself is read
            named.add(read_criterion(item).criterion.name)
    for kind, name, found in registered_by(plugin):
        if kind == CRITERIA.kind and name not in named:
            written.append(found.label(FOLDS if found.takes_folds else None))


def kept_plugins(stored: Document | None) -> dict[str, Plugin]:
    """Return the plug-ins whose copies a results folder keeps, by file name."""
    found = {}
    for one in stored.data.get("plugins") or () if stored is not None else ():
        with suppress(ConfigError):  # a copy that was deleted
            plugin = read_plugin(Path(stored.path).parent / str(one)) if stored else None
            if plugin is not None:
                found[plugin.name] = plugin
    return found


def add_kept(document: Document, stored: Document | None) -> None:
    """Load the plug-ins that only the results folder has, whose columns are there."""
    now = {plugin.name for plugin in document.plugins}
    for name in kept_plugins(stored):
        if name not in now and stored is not None:
            path = Path(stored.path).parent / FOLDER / name
            add(document, load_plugin(path))
            document.data.setdefault("plugins", []).append(str(path))


def changed_plugins(stored: Document | None, now: Iterable[Plugin]) -> list[str]:
    """Return what differs between the kept copies and the plug-ins of now, one text per plug-in."""
    kept: Mapping[str, Plugin] = kept_plugins(stored)
    return [
        f"plugins.{p.name}: {kept[p.name].sha256[:12]} there, {p.sha256[:12]} here"
        for p in now
        if p.name in kept and kept[p.name] != p
    ]
