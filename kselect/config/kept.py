"""The config that a results folder keeps: every choice written out, and wide enough for all that it holds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kselect.config.criteria import KERNEL, LABEL, SEARCH, Entry
from kselect.config.document import Document, read_document, write_yaml
from kselect.config.own_sets import take_own, written_entry
from kselect.config.rules import read_config
from kselect.config.schema import ConfigFile
from kselect.core.method import Choice
from kselect.datasets.own_files import OwnInfo
from kselect.errors import ConfigError
from kselect.grids import show_number

# What all results of a folder share: a config that differs in one of these does not belong to it.
PROTOCOL = (
    *("learner", "scale", "scale-on", "train", "stratify", "seed", "kernels", "lam", "ridge"),
    *("loss", "average", "also-loss", "tune-folds", "search"),
)


def held_by(path: Path) -> Document | None:
    """The config that a results folder keeps; None where there is none that can be read."""
    try:
        held = take_own(read_document(path))
    except ConfigError:
        return None
    return held if isinstance(held.data, dict) else None


def widen(
    document: Document,
    datasets: Iterable[str],
    splits: Iterable[int],
    held: Document | None,
) -> None:
    """Add data sets and splits that flags asked for, and what the folder holds under the same protocol."""
    data: dict[str, Any] = document.data
    data["datasets"] = list(dict.fromkeys([*data["datasets"], *datasets]))
    config = read_config(document)
    wanted = {*config.splits, *splits}
    if held is not None and same_protocol(document, held):
        before = read_config(held)
        data["datasets"] = list(dict.fromkeys([*data["datasets"], *held.data["datasets"]]))
        document.own = held.own | document.own
        wanted |= set(before.splits)
        known = {config.label(one) for one in config.criteria}
        pairs = zip(before.criteria, held.data["criteria"], strict=True)
        data["criteria"] += [written for one, written in pairs if before.label(one) not in known]
    data["splits"] = split_ranges(tuple(sorted(wanted)))


def same_protocol(document: Document, held: Document) -> bool:
    """Whether two configs agree in all that their results share."""
    try:
        return protocol_text(document) == protocol_text(held)
    except ConfigError:
        return False


def protocol_text(document: Document) -> str:
    """All that the results of a folder share, as text that can be compared."""
    written = spelt_out(read_config(document), document)
    return write_yaml((key, written.get(key)) for key in PROTOCOL)


def held_protocol(folder: Path) -> str | None:
    """That of the config that a folder keeps, None where there is none."""
    held = held_by(folder / "config.resolved.yaml")
    try:
        return protocol_text(held) if held else None
    except ConfigError:
        return None


def resolved(document: Document, folder: Path) -> str:
    """The config as YAML with every choice written out; ``load_config`` reads back an equal experiment.

    ``folder`` is where it will lie: paths of own files are relative to it.
    """
    written = spelt_out(read_config(document), document)
    own = {name: info for name, info in document.own.items() if isinstance(info, OwnInfo)}
    written["datasets"] = [
        written_entry(own[name], folder) if name in own else name for name in written["datasets"]
    ]
    return write_yaml(written.items())


def spelt_out(config: ConfigFile, document: Document) -> dict[str, Any]:
    """Every key, as written or at its default; grids as lists, and each criterion's parameters in full."""
    written: dict[str, Any] = {
        name.replace("_", "-"): getattr(config, name) for name in type(config).model_fields
    }
    given: dict[str, Any] = document.data
    written |= {key: given[key] for key in ("fewer-splits", "figures", "variants") if key in given}
    written |= {
        "learner": {
            task: {choice.name: {k: plain(v) for k, v in choice.params}}
            for task, choice in config.learner
        },
        "train": "given" if config.train is None else config.train,
        "splits": split_ranges(config.splits),
        "kernels": kernel_grids(config) or None,
        "lam": ridge_grid(config),
        "criteria": [{one.name: written_out(one, config)} for one in config.criteria],
        "datasets": list(config.datasets),
    }
    return {k: v for k, v in written.items() if v is not None and v != ()}


def ridge_grid(config: ConfigFile) -> dict[str, Any] | None:
    """The grid of lam, None where no criterion has one."""
    values = [plain(v) for v in config.lam.values]
    return {config.lam.mode: values, "unit": config.lam.unit} if values else None


def written_out(one: Entry, config: ConfigFile) -> dict[str, Any]:
    """All parameters of an entry but a loss that is the config's, and what is chosen or asked beside them."""
    params = one.usual(config.loss, config.average) | dict(one.own)
    if "loss" not in one.own:
        params.pop("loss", None)
    tuned = {name: {"tune": [plain(v) for v in values]} for name, values in one.tuned}
    scored = {"scored-by": {task: named(choice) for task, choice in one.scored_by}}
    found = {k: plain(v) for k, v in params.items()} | tuned | (scored if one.scored_by else {})
    if one.search:
        found |= {SEARCH: {one.search.name: dict(one.search.params)}, KERNEL: one.kernel}
    return found | ({LABEL: one.title} if one.title else {})


def named(choice: Choice) -> str | dict[str, Any]:
    """A learner by name, with its parameters where it has some."""
    params = {k: plain(v) for k, v in choice.params}
    return {choice.name: params} if params else choice.name


def split_ranges(splits: tuple[int, ...]) -> str:
    """``0, 1, 5`` -> ``0-1,5-5``: flags may have added splits beyond a gap."""
    held = frozenset(splits)
    starts = [s for s in splits if s - 1 not in held]
    ends = [s for s in splits if s + 1 not in held]
    return ",".join(f"{low}-{high}" for low, high in zip(starts, ends, strict=True))


def plain(value: Any) -> Any:
    """A parameter as a config writes it: whole numbers without a fraction, infinity as text."""
    if not isinstance(value, float):
        return value
    if value == float("inf"):
        return "inf"
    return int(value) if value.is_integer() and abs(value) < 1e15 else float(show_number(value))


def kernel_grids(config: ConfigFile) -> dict[str, dict[str, list[Any]]]:
    """Kernel -> parameter -> its values, of which the kernels are the products."""
    grids: dict[str, dict[str, list[Any]]] = {}
    for kernel in config.kernels:
        grid = grids.setdefault(kernel.name, {p: [] for p in kernel.parameters})
        for parameter, value in kernel.parameters.items():
            if plain(value) not in grid[parameter]:
                grid[parameter].append(plain(value))
    return grids
