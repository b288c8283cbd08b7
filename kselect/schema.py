"""The shape of a config file: its keys, their defaults, and what may not stand together.

Pydantic checks the shape; what it finds is put in plain words, each with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isclose
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import ErrorDetails

from kselect.criteria import Criterion
from kselect.criteria.base import Aggregation
from kselect.datasets.registry import find_dataset
from kselect.datasets.scaling import Scale
from kselect.errors import nearest
from kselect.experiment import Ridges
from kselect.fields import (
    Entry,
    Wrong,
    as_text,
    attempt,
    describe,
    field,
    figure_name,
    find_paper,
    folder_name,
    named,
    read_entry,
    read_fraction,
    read_kernels,
    read_ridges,
    read_seed,
    read_splits,
    unknown_parameter,
)
from kselect.grids import parse_grid, parse_number, show_number
from kselect.kernels import Kernel
from kselect.learners import find_learner
from kselect.learners.base import RidgeMode
from kselect.losses import CLASSIFICATION_LOSSES, Loss
from kselect.yaml_lines import Document, Location

Text = Annotated[str, PlainValidator(field(as_text))]
Number = Annotated[float, PlainValidator(field(parse_number))]
Grid = Annotated[tuple[float, ...], PlainValidator(field(parse_grid))]
FigureName = Annotated[str, PlainValidator(field(figure_name))]
DataSetName = Annotated[str, PlainValidator(named(find_dataset))]
CriterionEntry = Annotated[Entry, PlainValidator(field(read_entry))]

# Choices of a criterion that compare a prediction with a label -1 or +1.
NEEDS_LABELS = {"loss": CLASSIFICATION_LOSSES, "form": frozenset({"error", "smoothed"})}
# Pydantic's kind of error -> what the key takes.
KINDS = {
    "bool_type": "true or false",
    "list_type": "a list, as in [a, b]",
    "dict_type": "a mapping, as in {key: value}",
    "model_type": "a mapping, as in {key: value}",
}


class FigureFile(BaseModel):
    """A figure: criteria, one fixed lam, and one more key, the parameter that is swept."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, Grid]

    criteria: Annotated[list[Text], Field(min_length=1)]
    lam: Number


class ConfigFile(BaseModel):
    """The keys of a config; a key of two words has a hyphen in the file."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        arbitrary_types_allowed=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )

    name: Annotated[str, PlainValidator(field(folder_name))]
    paper: Annotated[str, PlainValidator(named(find_paper))] = ""
    title: Text = ""
    learner: Annotated[str, PlainValidator(named(find_learner))]
    scale: Scale = "zscore"
    scale_on: Literal["all", "train"] = "train"
    train: Annotated[float, PlainValidator(field(read_fraction))] = 0.7
    stratify: bool = False
    splits: Annotated[tuple[int, ...], PlainValidator(field(read_splits))] = tuple(range(10))
    seed: Annotated[int, PlainValidator(field(read_seed))] = 0
    kernels: Annotated[tuple[Kernel, ...], PlainValidator(field(read_kernels))]
    lam: Annotated[Ridges, PlainValidator(field(read_ridges))]
    ridge: RidgeMode = "fixed"
    loss: Loss = "squared"
    also_loss: list[Loss] = []
    average: Aggregation | None = None
    criteria: Annotated[list[CriterionEntry], Field(min_length=1)]
    datasets: Annotated[list[DataSetName], Field(min_length=1)]
    figures: dict[FigureName, FigureFile] = {}

    def label(self, entry: Entry) -> str:
        """The column of the table that an entry makes."""
        return spell(entry, usual(entry.criterion, self.loss, self.average))

    def losses(self, entry: Entry) -> tuple[Loss, ...]:
        """The losses that an entry is computed with; nothing beside its own where it has one."""
        expands = entry.criterion.parameter("loss") is not None and "loss" not in entry.own
        return (self.loss, *self.also_loss) if expands else (self.loss,)


def usual(criterion: Criterion, loss: str, average: str | None) -> dict[str, Any]:
    """The parameters of a criterion before its own mapping: its defaults, then the config's."""
    shared = {"loss": loss, "average": average}
    return {p.name: shared.get(p.name) or p.default for p in criterion.parameters}


def spell(entry: Entry, usual: Mapping[str, Any]) -> str:
    """``5-KS``, or ``5-KS(eta=2)`` where a parameter of its own differs from the usual."""
    other = [f"{k}={show(v)}" for k, v in sorted(entry.own.items()) if v != usual[k]]
    return f"{entry.name}({';'.join(other)})" if other else entry.name


def show(value: object) -> str:
    """A parameter as labels write it."""
    return show_number(value) if isinstance(value, float) else str(value)


KEYS = tuple(name.replace("_", "-") for name in ConfigFile.model_fields)


def read_config(document: Document) -> ConfigFile:
    """A config in which nothing is wrong; else one ConfigError with all that is.

    Whether keys may stand together is looked at once each is right by itself.
    """
    config = read_keys(document)
    check_criteria(config, document)
    check_datasets(config, document)
    for name, figure in config.figures.items():
        check_figure(name, figure, config, document)
    document.check()
    return config


def read_keys(document: Document) -> ConfigFile:
    """The keys of a document, each by itself."""
    if not isinstance(document.data, dict):
        shown = describe(document.data)
        document.wrong((), f"a config is a mapping (name: ..., learner: ...), not {shown}")
        document.check()
    try:
        config = ConfigFile.model_validate(document.data)
    except ValidationError as error:
        problems = [p for details in error.errors(include_url=False) for p in translate(details)]
        for location, words in problems:
            document.wrong(location, words)
    document.check()
    return config


def translate(error: ErrorDetails) -> list[Wrong]:
    """What pydantic found, in the words of a config."""
    # A wrong key of a mapping is reported below it, as '[key]'.
    location = tuple(part for part in error["loc"] if part != "[key]")
    if error["type"] == "worded":
        return [((*location, *where), words) for where, words in error["ctx"]["problems"]]
    return [(location, plain_words(error))]


def plain_words(error: ErrorDetails) -> str:
    """One sentence for each kind of error that the models above can have."""
    kind, value = error["type"], error["input"]
    if kind == "missing":
        return "this key is missing"
    if kind == "extra_forbidden":
        return f"unknown key{nearest(str(error['loc'][-1]), KEYS)}"
    if kind == "too_short":
        return "the list is empty"
    if kind == "literal_error":
        valid = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        if isinstance(value, str):
            return f"unknown value {value!r}{nearest(value, valid)}"
        return f"must be one of {', '.join(valid)}, not {describe(value)}"
    return f"must be {KINDS.get(kind, 'something else')}, not {describe(value)}"


def check_criteria(config: ConfigFile, document: Document) -> None:
    """No column twice, no loss twice, and each criterion with the learner, kernels and losses."""
    seen: dict[str, int] = {}
    for i, one in enumerate(config.criteria):
        label = config.label(one)
        if label in seen:
            document.wrong(("criteria", i), f"{label} is criteria[{seen[label]}] already")
        seen.setdefault(label, i)
        for words in misfits(one, config):
            document.wrong(("criteria", i), words)
    for i, loss in enumerate(config.also_loss):
        if loss in (config.loss, *config.also_loss[:i]):
            document.wrong(("also-loss", i), f"{loss!r} is there already")


def misfits(one: Entry, config: ConfigFile) -> Iterator[str]:
    """Why a criterion cannot be used with the rest of the config."""
    criterion, name = one.criterion, one.name
    if criterion.learners is not None and config.learner not in criterion.learners:
        valid = ", ".join(sorted(criterion.learners))
        yield f"{name} works with the learner {valid} only, not with {config.learner}"
    for kernel in dict.fromkeys(k.name for k in config.kernels):
        if criterion.kernels is not None and kernel not in criterion.kernels:
            valid = ", ".join(sorted(criterion.kernels))
            yield f"{name} works with the kernel {valid} only, not with {kernel}"
    shared = [("loss", loss) for loss in config.losses(one)] + [("average", config.average)]
    for key, value in shared:
        parameter = criterion.parameter(key)
        if parameter and value and key not in one.own and value not in parameter.choices:
            yield f"{name} has no {key} {value!r}{nearest(value, parameter.choices)}"


def check_datasets(config: ConfigFile, document: Document) -> None:
    """No data set twice, and none whose target the learner or a criterion cannot take."""
    demands = list(label_demands(config))
    tasks = find_learner(config.learner).tasks
    for i, name in enumerate(config.datasets):
        task = find_dataset(name).task
        if name in config.datasets[:i]:
            first = config.datasets.index(name)
            document.wrong(("datasets", i), f"{name} is datasets[{first}] already")
        if task not in tasks:
            words = f"{name} is a {task} data set; the learner {config.learner} is for"
            document.wrong(("datasets", i), f"{words} {', '.join(sorted(tasks))} only")
        for demand in demands if task == "regression" else []:
            words = f"{name} is a regression data set; {demand} is for classification only"
            document.wrong(("datasets", i), words)


def label_demands(config: ConfigFile) -> Iterator[str]:
    """What in a config compares predictions with labels -1 and +1."""
    if config.stratify:
        yield "stratify: true"
    losses = (config.loss, *config.also_loss)
    yield from (f"loss {v!r}" for v in losses if v in NEEDS_LABELS["loss"])
    for one in config.criteria:
        for key, value in one.own.items():
            if value in NEEDS_LABELS.get(key, ()):
                yield f"{key} {value!r} of {one.name}"


def check_figure(name: str, figure: FigureFile, config: ConfigFile, document: Document) -> None:
    """One parameter, which each of its criteria has, at a lam of the experiment."""
    here = ("figures", name)
    if config.lam.mode == "select":
        document.wrong((*here, "lam"), "a figure needs a fixed lam; this config selects it")
    elif not any(isclose(figure.lam, v) for v in config.lam.values):
        valid = ", ".join(show_number(v) for v in config.lam.values)
        words = f"{show_number(figure.lam)} is not in the grid of lam; valid: {valid}"
        document.wrong((*here, "lam"), words)
    swept = figure.__pydantic_extra__
    if len(swept) != 1:
        found = f"not {' and '.join(swept)}" if swept else "such as eta: 2^-10:2^10"
        document.wrong(here, f"needs one parameter to sweep, {found}")
    table = {config.label(one): one for one in config.criteria}
    for i, label in enumerate(figure.criteria):
        if label in figure.criteria[:i]:
            document.wrong((*here, "criteria", i), f"{label} is there already")
        elif label not in table:
            words = f"{label!r} is not under criteria{nearest(label, table)}"
            document.wrong((*here, "criteria", i), words)
        for parameter, values in swept.items() if label in table else ():
            check_sweep(here, table[label], parameter, values, document)


def check_sweep(
    here: Location, one: Entry, name: str, values: tuple[float, ...], document: Document
) -> None:
    """A criterion of a figure has the parameter and takes every value."""
    parameter = one.criterion.parameter(name)
    if parameter is None:
        known = [p.name for p in one.criterion.parameters]
        document.wrong((*here, name), unknown_parameter(one.name, name, known))
        return
    wrong = [words for value in values for words in attempt(parameter.parse, value)[1:] if words]
    if wrong:
        document.wrong((*here, name), wrong[0])
