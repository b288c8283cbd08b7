"""Variants: other readings of a protocol, each a few keys of the config in the place of its own.

``variants: {minmax: {scale: minmax}, eta-4: {params: {eta: 4}}}``: any key that says how results are computed,
or ``params``, which sets a parameter of every criterion that has it, or of those of one name. A variant is a
config of its own, without figures; its results stand below those of the config, in ``variants/<name>``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from kselect.config.criteria import read_entry
from kselect.config.document import Document, Location
from kselect.config.fields import describe
from kselect.config.schema import KEYS
from kselect.core.experiment import Variant
from kselect.core.method import show
from kselect.criteria import Criterion, find_criterion
from kselect.errors import ConfigError, nearest

PARAMS = "params"
OF_ALL = ("name", "paper", "title", "figures", "variants")
CHANGEABLE = (*(key for key in KEYS if key not in OF_ALL), PARAMS)


def variant_of(document: Document, name: str) -> Document:
    """The config that a variant is; what is wrong in it is noted at the line on which it was written."""
    given: Mapping[str, Any] = document.data.get("variants") or {}
    if name not in given:
        raise ConfigError(f"--variant: {name!r} is not in {document.path}{nearest(name, given)}")
    found = Document(document.path, deepcopy(document.data), dict(document.lines))
    found.own = dict(document.own)
    found.data.pop("variants")
    found.data.pop("figures", None)
    for key, value in given[name].items():
        where: Location = ("variants", name, key)
        if key == PARAMS:
            set_params(found, where, value)
        elif key in CHANGEABLE:
            found.data[key] = deepcopy(value)
            move_lines(found, where, key)
        else:
            found.wrong(where, f"no key that a variant can change{nearest(key, CHANGEABLE)}")
    found.check()
    return found


def move_lines(document: Document, where: Location, key: str) -> None:
    """The lines of a variant's key as those of the key that it replaces."""
    document.lines = {at: line for at, line in document.lines.items() if at[:1] != (key,)}
    inside = {at: line for at, line in document.lines.items() if at[: len(where)] == where}
    document.lines |= {(key, *at[len(where) :]): line for at, line in inside.items()}


def set_params(document: Document, where: Location, given: Any) -> None:
    """``{eta: 4}`` in every criterion that has an eta, ``{k-KS: {eta: 4}}`` in those of one name."""
    if not isinstance(given, dict):
        document.wrong(where, f"must be a mapping, as in {{eta: 4}}, not {describe(given)}")
        return
    written = document.data.get("criteria")
    entries = [entry_of(one) for one in written] if isinstance(written, list) else []
    for key, value in given.items():
        values = value if isinstance(value, dict) else {key: value}
        named = [e for e in entries if e and (values is not value or criterion_of(e).name == key)]
        takers = [e for e in named if all(criterion_of(e).parameter(name) for name in values)]
        for label, own in takers:
            own.update(values)
            position = [e and e[0] for e in entries].index(label)
            for one in values:
                place: Location = ("criteria", position, label, one)
                document.lines[place] = document.line((*where, key))
        if not takers:
            document.wrong((*where, key), f"no criterion of this config takes {in_words(values)}")
    document.data["criteria"] = [
        written[i] if entry is None else {entry[0]: entry[1]} for i, entry in enumerate(entries)
    ]


def entry_of(written: Any) -> tuple[str, dict[str, Any]] | None:
    """A criterion's label and what is written with it, None where that is no criterion."""
    try:
        read_entry(written)
    except (ConfigError, ValueError):  # reported where the config itself is read
        return None
    if isinstance(written, str):
        return written, {}
    label, own = next(iter(written.items()))
    return label, dict(own or {})


def criterion_of(entry: tuple[str, dict[str, Any]]) -> Criterion:
    """The criterion of an entry."""
    return find_criterion(entry[0])[0]


def described(document: Document) -> tuple[Variant, ...]:
    """Every variant of a config with what it changes, in words."""
    given: Mapping[str, Mapping[str, Any]] = document.data.get("variants") or {}
    return tuple(Variant(name, ", ".join(changes(keys))) for name, keys in given.items())


def changes(keys: Mapping[str, Any]) -> Iterator[str]:
    """``scale minmax``, ``gaussian tau 2^-1:2^8``."""
    for key, value in keys.items():
        inside = isinstance(value, dict)
        yield in_words(value) if key == PARAMS or inside else f"{key} {in_words(value)}"


def in_words(value: Any) -> str:
    """A value of a config without its brackets."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return " ".join(in_words(one) for one in value)
    return show(value)
