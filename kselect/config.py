"""Stage 1: YAML -> Experiment. An error names file, line, key and the nearest valid name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from math import isclose
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from kselect.criteria import CRITERIA
from kselect.criteria.base import Aggregation
from kselect.errors import ConfigError, nearest
from kselect.experiment import TABLE, Experiment, Method, Sweep
from kselect.fields import Entry
from kselect.kernels import Kernel
from kselect.schema import ConfigFile, FigureFile, read_config, spell, usual
from kselect.yaml_lines import Document, read_document, write_yaml

NO_OVERRIDES: Mapping[str, object] = MappingProxyType({})
FLAGS = {"datasets": "--dataset", "splits": "--splits", "criteria": "--criterion"}
SAME = ("name", "paper", "title", "learner", "scale", "scale_on", "train", "stratify", "splits")
SAME_TOO = ("seed", "kernels", "lam", "ridge", "loss")


def load_config(path: Path, overrides: Mapping[str, object] = NO_OVERRIDES) -> Experiment:
    """The experiment of a config file; every problem of the file is a line of one ConfigError.

    ``overrides`` hold what flags replace: ``datasets`` (names), ``splits`` (text, ``3`` or
    ``0-4``) and ``criteria`` (labels of the file to keep, in figures too). None leaves the file
    as it is.
    """
    document = read_document(path)
    given = {key: value for key, value in overrides.items() if value is not None}
    override(document, given)
    experiment = build(read_config(document))
    return keep(experiment, given["criteria"], document.path) if "criteria" in given else experiment


def override(document: Document, given: Mapping[str, object]) -> None:
    """Put the values of flags in the place of the file's, and remember where they come from."""
    for key, value in given.items():
        if key not in FLAGS:
            raise TypeError(f"no flag overrides {key!r}")
        if key != "criteria" and isinstance(document.data, dict):
            document.data[key] = value if key == "splits" else as_list(value)
            document.sources[key] = FLAGS[key]


def as_list(value: object) -> list[Any]:
    """What a repeatable flag gathered."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def keep(experiment: Experiment, labels: object, path: str) -> Experiment:
    """The experiment with some of its columns; a figure without any is dropped."""
    wanted = as_list(labels)
    known = experiment.labels
    for label in wanted:
        if label not in known:
            hint = nearest(str(label), known)
            raise ConfigError(f"{FLAGS['criteria']}: {label!r} is not in {path}{hint}")
    kept = [
        replace(s, criteria=tuple(c for c in s.criteria if c in wanted)) for s in experiment.sweeps
    ]
    return replace(
        experiment,
        methods=tuple(m for m in experiment.methods if m.label in wanted),
        sweeps=tuple(s for s in kept if s.criteria),
    )


def build(config: ConfigFile) -> Experiment:
    """The experiment of a config in which nothing is wrong."""
    table = {config.label(one): methods_of(one, config) for one in config.criteria}
    sweeps = tuple(sweep_of(name, figure, config) for name, figure in config.figures.items())
    return Experiment(
        **{key: getattr(config, key) for key in (*SAME, *SAME_TOO)},
        methods=(
            *(method for methods in table.values() for method in methods),
            *(method for sweep in sweeps for method in swept(sweep, table)),
        ),
        datasets=tuple(config.datasets),
        sweeps=sweeps,
    )


def methods_of(one: Entry, config: ConfigFile) -> list[Method]:
    """The methods of an entry, one for each loss, every parameter written out."""
    methods = []
    for loss in config.losses(one):
        params = usual(one.criterion, config.loss, config.average)
        if "loss" in params:
            params["loss"] = loss
        params |= one.own
        methods.append(
            Method(config.label(one), one.criterion.name, one.folds, tuple(sorted(params.items())))
        )
    return methods


def sweep_of(name: str, figure: FigureFile, config: ConfigFile) -> Sweep:
    """A figure; its one key besides criteria and lam is the parameter."""
    ((parameter, values),) = figure.__pydantic_extra__.items()
    lam = next(v for v in config.lam.values if isclose(v, figure.lam))
    return Sweep(name, tuple(figure.criteria), parameter, values, lam)


def swept(sweep: Sweep, table: Mapping[str, list[Method]]) -> Iterable[Method]:
    """A method for each criterion and value, with the default loss: the first of the table."""
    for label in sweep.criteria:
        method = table[label][0]
        parameters = {p.name: p for p in CRITERIA[method.criterion].parameters}
        for value in sweep.values:
            params = dict(method.params) | {
                sweep.parameter: parameters[sweep.parameter].parse(value)
            }
            yield replace(
                method, params=tuple(sorted(params.items())), part=sweep.name, lam=sweep.lam
            )


def resolved(experiment: Experiment) -> str:
    """The experiment as YAML, every choice written out; ``load_config`` reads back an equal one."""
    also = also_losses(experiment)
    average = common_average(experiment)
    criteria = [
        {methods[0].label.partition("(")[0]: own_of(methods, (experiment.loss, *also))}
        for methods in columns(experiment)
    ]
    lam = {experiment.lam.mode: [plain(v) for v in experiment.lam.values]}
    figures = {
        s.name: {
            "criteria": list(s.criteria),
            s.parameter: [plain(v) for v in s.values],
            "lam": plain(s.lam),
        }
        for s in experiment.sweeps
    }
    written = {key.replace("_", "-"): getattr(experiment, key) for key in (*SAME, *SAME_TOO)}
    written |= {
        "splits": split_ranges(experiment.splits),
        "kernels": kernel_grids(experiment.kernels),
        "lam": lam,
        "also-loss": list(also),
    }
    written |= {"average": average} if average else {}
    written |= {"criteria": criteria, "datasets": list(experiment.datasets), "figures": figures}
    return write_yaml(written.items())


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
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def columns(experiment: Experiment) -> list[list[Method]]:
    """The methods of the table, those of one label together."""
    table = (m for m in experiment.methods if m.part == TABLE)
    return [list(methods) for _, methods in groupby(table, key=lambda m: m.label)]


def also_losses(experiment: Experiment) -> tuple[str, ...]:
    """The losses beside the default that columns were computed with."""
    several = [[m.loss for m in methods] for methods in columns(experiment) if len(methods) > 1]
    return tuple(several[0][1:]) if several else ()


def own_of(methods: list[Method], losses: tuple[str, ...]) -> dict[str, Any]:
    """The mapping of an entry: all parameters, but no loss where it is expanded over the losses."""
    params = {key: plain(value) for key, value in methods[0].params}
    if len(methods) == len(losses) > 1:
        del params["loss"]
    return params


def common_average(experiment: Experiment) -> str | None:
    """The ``average`` of the config, read off the labels: they name only what differs from it."""
    first = [methods[0] for methods in columns(experiment)]
    for average in (None, *get_args(Aggregation)):
        if all(m.label == usual_label(m, experiment.loss, average) for m in first):
            found: str | None = average
            return found
    raise ConfigError(f"the labels of {experiment.name} do not follow from its methods")


def usual_label(method: Method, loss: str, average: str | None) -> str:
    """The label of a method under a config with this loss and average."""
    one = Entry(CRITERIA[method.criterion], method.folds, dict(method.params))
    return spell(one, usual(one.criterion, loss, average))


def kernel_grids(kernels: Iterable[Kernel]) -> dict[str, dict[str, list[Any]]]:
    """Kernel -> parameter -> its values, of which the kernels are the products."""
    grids: dict[str, dict[str, list[Any]]] = {}
    for kernel in kernels:
        grid = grids.setdefault(kernel.name, {p: [] for p in kernel.parameters})
        for parameter, value in kernel.parameters.items():
            if plain(value) not in grid[parameter]:
                grid[parameter].append(plain(value))
    return grids
