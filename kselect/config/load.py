"""A config file -> the experiment that it means, its parts that flags ask for, and what a folder keeps of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kselect.config.criteria import Entry
from kselect.config.document import Document, read_document
from kselect.config.kept import held_by, protocol_text, resolved, widen
from kselect.config.own_sets import take_own
from kselect.config.rules import read_config
from kselect.config.schema import ConfigFile
from kselect.config.sizes import MOST_SWEPT, check_methods
from kselect.config.variants import described, variant_of
from kselect.core.experiment import Experiment, Figure, FigureContext, FigureKind
from kselect.core.method import Method
from kselect.errors import ConfigError, nearest

Kinds = Mapping[str, FigureKind]
NO_OVERRIDES: Mapping[str, object] = MappingProxyType({})
FLAGS = {"datasets": "--dataset", "splits": "--splits", "criteria": "--criterion"}
SAME = ("name", "paper", "title", "scale", "scale_on", "train", "stratify", "splits", "seed")
SAME_TOO = ("kernels", "lam", "ridge", "loss", "fewer_splits", "tune_folds", "search")


@dataclass(frozen=True)
class Loaded:
    """A config as a command needs it.

    ``asked`` is what the flags leave of it, ``whole`` all of it with what the folder holds already, and
    ``resolved`` the text that says the whole with every choice written out,
    ``protocol`` what of it all results share.
    """

    asked: Experiment
    whole: Experiment
    resolved: str
    protocol: str


def load_config(
    path: Path, kinds: Kinds, overrides: Mapping[str, object] = NO_OVERRIDES
) -> Experiment:
    """The experiment of a config file; every problem of the file is a line of one ConfigError.

    ``overrides`` hold what flags replace: ``datasets`` (names), ``splits`` (text, ``3`` or
    ``0-4``) and ``criteria`` (labels of the file to keep, in figures too). None leaves the file
    as it is.
    """
    return narrowed(take_own(read_document(path)), kinds, overrides)


def load(
    path: Path,
    kinds: Kinds,
    overrides: Mapping[str, object],
    folder_of: Callable[[Experiment], Path],
    variant: str = "",
) -> Loaded:
    """The same with the whole that results are gathered under; the file is read once.

    ``variant`` names one to be loaded in the place of the config.
    """
    document = take_own(read_document(path))
    if variant:
        build(deepcopy(document), kinds)
        document = take_own(variant_of(document, variant))
    asked = narrowed(deepcopy(document), kinds, overrides)
    folder = folder_of(asked)
    held = held_by(folder / "config.resolved.yaml")
    widen(document, asked.datasets, asked.splits, held)
    text = resolved(document, folder)
    return Loaded(asked, build(document, kinds), text, protocol_text(document))


def narrowed(document: Document, kinds: Kinds, overrides: Mapping[str, object]) -> Experiment:
    """The experiment of a document under the flags."""
    given = {key: value for key, value in overrides.items() if value is not None}
    override(document, given)
    experiment = build(document, kinds)
    if "criteria" not in given:
        return experiment
    return keep(experiment, kinds, as_list(given["criteria"]), document.path)


def override(document: Document, given: Mapping[str, object]) -> None:
    """Put the values of flags in the place of the file's, and remember where they come from."""
    for key, value in given.items():
        if key not in FLAGS:
            raise TypeError(f"no flag overrides {key!r}")
        if key != "criteria" and isinstance(document.data, dict):
            document.data[key] = value if key == "splits" else as_list(value)
            document.sources[key] = FLAGS[key]
            if key == "splits":
                # Somebody who names the number of splits means it for every data set.
                document.data.pop("fewer-splits", None)


def as_list(value: object) -> list[Any]:
    """What a repeatable flag gathered."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def keep(experiment: Experiment, kinds: Kinds, wanted: list[Any], path: str) -> Experiment:
    """The experiment with some of its columns; a figure that loses all of its own is dropped.

    What a figure needs beside columns goes with the figure.
    """
    known = experiment.labels
    for label in wanted:
        if label not in known:
            hint = nearest(str(label), known)
            raise ConfigError(f"{FLAGS['criteria']}: {label!r} is not in {path}{hint}")
    labels = frozenset(wanted)
    figures = [kinds[f.kind].keep(f, labels) for f in experiment.figures]
    parts = {f.name for f in figures if f is not None}
    return replace(
        experiment,
        methods=tuple(
            m
            for m in experiment.methods
            if m.label in labels or (m.label not in known and m.part in parts)
        ),
        figures=tuple(f for f in figures if f is not None),
    )


def build(document: Document, kinds: Kinds) -> Experiment:
    """The experiment of a document; what is wrong with it is one ConfigError."""
    config = read_config(document)
    columns = columns_of(config, document)
    figures = read_figures(config, document, kinds, columns)
    document.check()
    table = [method for methods in columns.methods.values() for method in methods]
    needed = needed_methods(figures, kinds, columns)
    check_methods(len(needed), document)
    for name in config.variants:
        build(variant_of(document, name), kinds)
    return Experiment(
        **{key: getattr(config, key) for key in (*SAME, *SAME_TOO)},
        learners=config.learner,
        methods=tuple(dict.fromkeys([*table, *needed])),
        datasets=tuple(config.datasets),
        figures=tuple(figures),
        own=tuple(document.own[name] for name in config.datasets if name in document.own),
        variants=described(document),
    )


def needed_methods(figures: list[Figure], kinds: Kinds, columns: FigureContext) -> list[Method]:
    """What the figures need, a little more than is allowed at most."""
    every = (m for figure in figures for m in kinds[figure.kind].methods(figure, columns))
    return list(islice(every, MOST_SWEPT + 1))


def columns_of(config: ConfigFile, document: Document) -> FigureContext:
    """The columns of the table, one method per loss, every parameter written out."""
    by_task = dict(config.learner)
    tasks = {name: document.dataset(name).task for name in config.datasets}
    return FigureContext(
        {config.label(one): tuple(methods_of(one, config)) for one in config.criteria},
        config.lam,
        tuple(config.datasets),
        "datasets" in document.sources,
        {name: by_task[task] for name, task in tasks.items() if task in by_task},
    )


def methods_of(one: Entry, config: ConfigFile) -> Iterable[Method]:
    """The methods of an entry."""
    label = config.label(one)
    for loss in config.losses(one):
        params = one.usual(config.loss, config.average)
        if "loss" in params:
            params["loss"] = loss
        yield one.method(label, params | dict(one.own))


def read_figures(
    config: ConfigFile, document: Document, kinds: Kinds, columns: FigureContext
) -> list[Figure]:
    """Every figure by its kind: the one that it names, or is named after, or else a sweep."""
    found = []
    for name, written in config.figures.items():
        kind = str(written.get("kind", name if name in kinds else "sweep"))
        if kind not in kinds:
            where = ("figures", name, "kind") if "kind" in written else ("figures", name)
            document.wrong(where, f"unknown kind of figure {kind!r}{nearest(kind, kinds)}")
            continue
        rest = {key: value for key, value in written.items() if key != "kind"}
        problems = len(document.problems)
        figure = kinds[kind].read(
            name,
            rest,
            columns,
            lambda keys, text, name=name: document.wrong(("figures", name, *keys), text),
        )
        if len(document.problems) == problems:
            found.append(figure)
    return found
