"""The shape of a config file: its keys and their defaults.

Pydantic checks the shape; what it finds is put in plain words, each with its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import ErrorDetails

from kselect.config.document import Document
from kselect.config.fields import (
    Chosen,
    Entry,
    Wrong,
    as_text,
    describe,
    field,
    figure_name,
    find_paper,
    folder_name,
    named,
    read_entry,
    read_fraction,
    read_kernels,
    read_learner,
    read_ridges,
    read_seed,
    read_splits,
)
from kselect.criteria import Criterion
from kselect.criteria.base import Aggregation
from kselect.datasets.registry import find_dataset
from kselect.datasets.scaling import Scale
from kselect.errors import nearest
from kselect.grids import parse_grid, parse_number, show_number
from kselect.kernels import Kernel
from kselect.learners.base import RidgeMode
from kselect.model.experiment import Ridges
from kselect.numerics.losses import Loss
from kselect.probes import find_probe

Text = Annotated[str, PlainValidator(field(as_text))]
Number = Annotated[float, PlainValidator(field(parse_number))]
Grid = Annotated[tuple[float, ...], PlainValidator(field(parse_grid))]
FigureName = Annotated[str, PlainValidator(field(figure_name))]
DataSetName = Annotated[str, PlainValidator(named(find_dataset))]
ProbeName = Annotated[str, PlainValidator(named(find_probe))]
CriterionEntry = Annotated[Entry, PlainValidator(field(read_entry))]

# Pydantic's kind of error -> what the key takes.
KINDS = {
    "bool_type": "true or false",
    "list_type": "a list, as in [a, b]",
    "dict_type": "a mapping, as in {key: value}",
    "model_type": "a mapping, as in {key: value}",
}


class FigureFile(BaseModel):
    """A figure: criteria with one fixed lam, or probes at some columns, and the parameter that is swept."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, Grid]

    criteria: Annotated[list[Text], Field(min_length=1)] | None = None
    lam: Number | None = None
    probes: Annotated[list[ProbeName], Field(min_length=1)] | None = None
    at: Annotated[list[Text], Field(min_length=1)] | None = None
    datasets: Annotated[list[DataSetName], Field(min_length=1)] | None = None


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
    learner: Annotated[Chosen, PlainValidator(field(read_learner))]
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
