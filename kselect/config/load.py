"""Stage 1: YAML -> Experiment. An error names file, line, key and the nearest valid name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isclose
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kselect.config.document import Document, read_document
from kselect.config.fields import Entry
from kselect.config.rules import read_config
from kselect.config.schema import ConfigFile, FigureFile, usual
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError, nearest
from kselect.model.experiment import Experiment, Method, ProbeFigure, Sweep
from kselect.probes import PROBES

NO_OVERRIDES: Mapping[str, object] = MappingProxyType({})
FLAGS = {"datasets": "--dataset", "splits": "--splits", "criteria": "--criterion"}
SAME = ("name", "paper", "title", "scale", "scale_on", "train", "stratify", "splits")
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
    seen = [replace(p, at=tuple(c for c in p.at if c in wanted)) for p in experiment.probes]
    return replace(
        experiment,
        methods=tuple(m for m in experiment.methods if m.label in wanted),
        sweeps=tuple(s for s in kept if s.criteria),
        probes=tuple(p for p in seen if p.at),
    )


def build(config: ConfigFile) -> Experiment:
    """The experiment of a config in which nothing is wrong."""
    table = {config.label(one): methods_of(one, config) for one in config.criteria}
    figures = config.figures.items()
    sweeps = tuple(sweep_of(n, f, config) for n, f in figures if f.probes is None)
    probes = tuple(probe_of(n, f, config) for n, f in figures if f.probes is not None)
    return Experiment(
        **{key: getattr(config, key) for key in (*SAME, *SAME_TOO)},
        learner=config.learner.name,
        learner_params=config.learner.params,
        methods=(
            *(method for methods in table.values() for method in methods),
            *(method for sweep in sweeps for method in swept(sweep, table)),
            *(method for figure in probes for method in probing(figure, table)),
        ),
        datasets=tuple(config.datasets),
        sweeps=sweeps,
        probes=probes,
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
    lam = next(v for v in config.lam.values if isclose(v, figure.lam or 0.0))
    return Sweep(name, tuple(figure.criteria or ()), parameter, values, lam)


def probe_of(name: str, figure: FigureFile, config: ConfigFile) -> ProbeFigure:
    """A figure of probes, on the data sets that it names or on all."""
    ((parameter, values),) = figure.__pydantic_extra__.items()
    datasets = tuple(d for d in figure.datasets or config.datasets if d in config.datasets)
    return ProbeFigure(
        name, tuple(figure.probes or ()), tuple(figure.at or ()), parameter, values, datasets
    )


def probing(figure: ProbeFigure, table: Mapping[str, list[Method]]) -> Iterable[Method]:
    """A method for each column, probe and value; a probe without the parameter looks once."""
    for label in figure.at:
        for name in figure.probes:
            parameters = PROBES[name].parameters
            defaults = {p.name: p.default for p in parameters}
            swept = next((p for p in parameters if p.name == figure.parameter), None)
            for value in figure.values if swept else (None,):
                given = {swept.name: swept.parse(value)} if swept else {}
                params = tuple(sorted((defaults | given).items()))
                folds = table[label][0].folds
                yield Method(label, name, folds, params, figure.name, None, label, figure.datasets)


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
