"""An experiment back to YAML, every choice written out: what a results folder keeps as its config."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, get_args

from kselect.config.document import write_yaml
from kselect.config.fields import Entry
from kselect.config.schema import spell, usual
from kselect.criteria import CRITERIA
from kselect.criteria.base import Aggregation
from kselect.errors import ConfigError
from kselect.kernels import Kernel
from kselect.model.experiment import TABLE, Experiment, Method

WRITTEN = (
    *("name", "paper", "title", "learner", "scale", "scale_on", "train", "stratify", "splits"),
    *("seed", "kernels", "lam", "ridge", "loss"),
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
    figures |= {
        p.name: {
            "probes": list(p.probes),
            "at": list(p.at),
            "datasets": list(p.datasets),
            p.parameter: [plain(v) for v in p.values],
        }
        for p in experiment.probes
    }
    written = {key.replace("_", "-"): getattr(experiment, key) for key in WRITTEN}
    written |= {
        "learner": {experiment.learner: {k: plain(v) for k, v in experiment.learner_params}},
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
    # In a regression the experiment's loss gives way to the squared one, a criterion's own does not.
    if tuple(m.loss for m in methods) == losses:
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
