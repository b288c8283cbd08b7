"""The resolved config in a results folder: every choice written out, and covering all results of the folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kselect import __version__
from kselect.config.document import Document, read_document, write_yaml
from kselect.config.estimator_entries import with_versions
from kselect.config.own_entries import take_own, written_entry
from kselect.config.parts import KERNEL, LABEL, SEARCH, CriterionItem
from kselect.config.plugin_entries import FOLDER, changed_plugins
from kselect.config.schema import ConfigFile, read_config
from kselect.datasets.dataset import OwnInfo
from kselect.errors import ConfigError, brief
from kselect.formats import CONFIG
from kselect.grids import show_grid, show_number
from kselect.kernels.default_families import AUTO, is_auto

# The keys that all results of a folder share: a config that differs in one of them does not belong to it.
PROTOCOL = (
    *("learner", "scale", "scale-on", "train", "stratify", "seed", "kernels", "lam", "ridge"),
    *("loss", "average", "also-loss", "tune-folds", "search", "scale-target"),
)
MOST_KEYS = 3  # that a message names


def stored_config(path: Path) -> Document | None:
    """Return the config that a results folder keeps, or None if it is absent or invalid."""
    try:
        stored = take_own(read_document(path))
    except ConfigError:
        return None
    return stored if isinstance(stored.data, dict) else None


def widen(
    document: Document, datasets: Iterable[str], splits: Iterable[int], stored: Document | None
) -> None:
    """Add the data sets and splits of flags, all that the folder holds under the same protocol, and versions."""
    data: dict[str, Any] = document.data
    data["datasets"] = list(dict.fromkeys([*data["datasets"], *datasets]))
    config = read_config(document)
    wanted = {*config.splits, *splits}
    try:
        same = stored is not None and protocol_text(document) == protocol_text(stored)
    except ConfigError:
        same = False
    if stored is not None and same:
        before = read_config(stored)
        data["datasets"] = list(dict.fromkeys([*data["datasets"], *stored.data["datasets"]]))
        document.own = stored.own | document.own
        wanted |= set(before.splits)
        known = {config.methods(item)[0].label for item in config.criteria}
        pairs = zip(before.criteria, stored.data["criteria"], strict=True)
        data["criteria"] += [
            written for item, written in pairs if before.methods(item)[0].label not in known
        ]
        now = data.get("estimators", {})
        if gone := {k: v for k, v in before.estimators.items() if k not in now}:
            data["estimators"] = {**now, **gone}
    if "estimators" in data:
        data["estimators"] = with_versions(document, stored)
    data["splits"] = split_ranges(tuple(sorted(wanted)))


def protocol_text(document: Document) -> str:
    """Return all that the results of a folder share, as text that can be compared."""
    written = spelt_out(read_config(document), document)
    return write_yaml((key, written.get(key)) for key in PROTOCOL)


def differences(there: Document | None, here: Document) -> str:
    """Return in which keys, estimators and plug-ins a stored config differs from this one; empty if in none."""
    if there is None:
        return ""
    try:
        before, now = (
            dict(flat("", {key: written.get(key) for key in PROTOCOL}))
            for written in (spelt_out(read_config(d), d) for d in (there, here))
        )
        for label in sorted(estimators(there).keys() & estimators(here).keys()):
            before |= flat(f"estimators.{label}", estimators(there)[label])
            now |= flat(f"estimators.{label}", estimators(here)[label])
    except ConfigError:
        return ""
    found = [
        f"{key}: {brief(before.get(key, 'absent'))} there, {brief(now.get(key, 'absent'))} here"
        for key in {**before, **now}
        if before.get(key) != now.get(key)
    ]
    found += changed_plugins(there, here.plugins)
    more = [f"{len(found) - MOST_KEYS} more"] if len(found) > MOST_KEYS else []
    return "; ".join([*found[:MOST_KEYS], *more])


def estimators(document: Document) -> dict[str, Any]:
    """Return the entries of a config's key ``estimators``, by label."""
    return document.data.get("estimators") or {}


def flat(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the values of a nested mapping as text, each with its keys: ``kernels.laplacian.width``."""
    part = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
    if isinstance(part, dict) and not any(isinstance(v, (list, dict)) for v in part.values()):
        yield key, " ".join([*value, *(f"{k} {v}".lower() for k, v in part.items())])
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from flat(f"{key}.{name}" if key else name, part)
    elif value and isinstance(value, list) and all(isinstance(v, (int, float)) for v in value):
        yield key, show_grid(value)
    elif value is not None:
        text = show_number(value) if isinstance(value, float) else str(value)
        yield key, text.lower() if isinstance(value, bool) else text


def stored_protocol(folder: Path) -> str | None:
    """Return the protocol of the config that a folder keeps, or None without a valid one."""
    stored = stored_config(folder / "config.resolved.yaml")
    try:
        return protocol_text(stored) if stored else None
    except ConfigError:
        return None


def resolved(document: Document, folder: Path) -> str:
    """Return the config as YAML with every choice written out; ``load_config`` reads back an equal experiment.

    ``folder`` will contain the file: the paths of own files are relative to it.
    """
    config = read_config(document)
    written = spelt_out(config, document) | {"format": CONFIG.newest, "kselect": __version__}
    written["splits"] = split_ranges(config.splits)
    written["criteria"] = [{item.name: written_out(item, config)} for item in config.criteria]
    own = {name: info for name, info in document.own.items() if isinstance(info, OwnInfo)}
    written["datasets"] = [
        written_entry(own[name], folder) if name in own else name for name in config.datasets
    ]
    if document.plugins:
        written["plugins"] = [f"{FOLDER}/{plugin.name}" for plugin in document.plugins]
    return write_yaml(written.items())


def spelt_out(config: ConfigFile, document: Document) -> dict[str, Any]:
    """Return every key as written or at its default, grids as lists; criteria and data sets as they were read."""
    written: dict[str, Any] = {
        name.replace("_", "-"): getattr(config, name)
        for name in type(config).model_fields
        if name not in ("claims", "estimators", "plugins")
    }
    given: dict[str, Any] = document.data
    kept = ("fewer-splits", "estimators", "figures", "claims", "variants")
    written |= {key: given[key] for key in kept if key in given}
    lams = [plain(v) for v in config.lam.values]
    grids: dict[str, dict[str, list[Any]]] = {}  # the kernels are the products of these grids
    for kernel in config.kernels:
        grid = grids.setdefault(kernel.name, {p: [] for p in kernel.parameters})
        for parameter, value in kernel.parameters.items():
            if plain(value) not in grid[parameter]:
                grid[parameter].append(plain(value))
    kernels = AUTO if is_auto(config.kernels) else grids or None
    written |= {
        "learner": {
            task: {choice.name: {k: plain(v) for k, v in choice.params}}
            for task, choice in config.learner
        },
        "train": "given" if config.train is None else config.train,
        "kernels": kernels,
        "lam": {config.lam.mode: lams, "unit": config.lam.unit} if lams else None,
    }
    return {k: v for k, v in written.items() if v is not None and v != ()}


def written_out(item: CriterionItem, config: ConfigFile) -> dict[str, Any]:
    """Return all that a criterion is written with; a loss that is the config's is left out."""
    params = dict(config.methods(item)[0].params)
    shown = [k for k in item.criterion.defaults if k != "loss" or k in item.own]
    found = {k: plain(params[k]) for k in shown}
    found |= {name: {"tune": [plain(v) for v in values]} for name, values in item.tuned}
    if item.scored_by:
        found["scored-by"] = {
            task: {choice.name: {k: plain(v) for k, v in choice.params}}
            if choice.params
            else choice.name
            for task, choice in item.scored_by
        }
    if item.search:
        found |= {SEARCH: {item.search.name: dict(item.search.params)}, KERNEL: item.kernel}
    return found | ({LABEL: item.title} if item.title else {})


def split_ranges(splits: tuple[int, ...]) -> str:
    """Return split numbers as ranges: 0, 1, 5 is ``0-1,5-5``, since flags may have added splits beyond a gap."""
    present = frozenset(splits)
    starts = [s for s in splits if s - 1 not in present]
    ends = [s for s in splits if s + 1 not in present]
    return ",".join(f"{low}-{high}" for low, high in zip(starts, ends, strict=True))


def plain(value: Any) -> Any:
    """Return a parameter as a config writes it: whole numbers without a fraction, infinity as text."""
    if not isinstance(value, float):
        return value
    if value == float("inf"):
        return "inf"
    return int(value) if value.is_integer() and abs(value) < 1e15 else float(show_number(value))
