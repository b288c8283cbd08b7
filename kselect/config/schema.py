"""The shape of a config file: its keys and their defaults.

Pydantic checks the shape; what it finds is put in plain words, each with its line.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import ErrorDetails

from kselect.config.criteria import Entry, read_entry
from kselect.config.document import Document
from kselect.config.fields import (
    Wrong,
    as_text,
    dataset_name,
    describe,
    field,
    figure_name,
    find_paper,
    folder_name,
    named,
    read_fewer,
    read_ridges,
    read_seed,
    read_splits,
    read_train,
    read_tune_folds,
)
from kselect.config.parts import read_kernels, read_learners
from kselect.core.experiment import SplitLimit
from kselect.core.method import Choice, LamGrid, SearchName
from kselect.criteria.base import Aggregation
from kselect.datasets.prepare import Scale
from kselect.datasets.registry import Task
from kselect.errors import nearest
from kselect.kernels import Kernel
from kselect.learners.base import RidgeMode
from kselect.numerics.losses import Loss

Text = Annotated[str, PlainValidator(field(as_text))]
VariantName = Annotated[str, PlainValidator(field(folder_name))]
FigureName = Annotated[str, PlainValidator(field(figure_name))]
DataSetName = Annotated[str, PlainValidator(dataset_name)]
CriterionEntry = Annotated[Entry, PlainValidator(field(read_entry))]
Learners = tuple[tuple[Task, Choice], ...]

# Pydantic's kind of error -> what the key takes.
KINDS = {
    "bool_type": "true or false",
    "list_type": "a list, as in [a, b]",
    "dict_type": "a mapping, as in {key: value}",
    "model_type": "a mapping, as in {key: value}",
}
# Where no grid is searched.
ALL_RIDGES = LamGrid((), "select")


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
    learner: Annotated[Learners, PlainValidator(field(read_learners))]
    scale: Scale = "zscore"
    scale_on: Literal["all", "train"] = "train"
    train: Annotated[float | None, PlainValidator(field(read_train))] = 0.7
    stratify: bool = False
    splits: Annotated[tuple[int, ...], PlainValidator(field(read_splits))] = tuple(range(10))
    fewer_splits: Annotated[tuple[SplitLimit, ...], PlainValidator(read_fewer)] = ()
    seed: Annotated[int, PlainValidator(field(read_seed))] = 0
    kernels: Annotated[tuple[Kernel, ...], PlainValidator(field(read_kernels))] = ()
    lam: Annotated[LamGrid, PlainValidator(field(read_ridges))] = ALL_RIDGES
    ridge: RidgeMode = "fixed"
    loss: Loss = "squared"
    also_loss: list[Loss] = []
    average: Aggregation | None = None
    tune_folds: Annotated[int, PlainValidator(field(read_tune_folds))] = 3
    search: SearchName = "grid"
    criteria: Annotated[list[CriterionEntry], Field(min_length=1)]
    datasets: Annotated[list[DataSetName], Field(min_length=1)]
    figures: dict[FigureName, dict[str, Any]] = {}
    variants: dict[VariantName, Annotated[dict[str, Any], Field(min_length=1)]] = {}

    def label(self, entry: Entry) -> str:
        """The column of the table that an entry makes."""
        return entry.label(entry.usual(self.loss, self.average))

    def losses(self, entry: Entry) -> tuple[Loss, ...]:
        """The losses that an entry is computed with; nothing beside its own where it has one."""
        own = "loss" in entry.own or entry.search is not None
        expands = entry.criterion.parameter("loss") is not None and not own
        return (self.loss, *self.also_loss) if expands else (self.loss,)


KEYS = tuple(name.replace("_", "-") for name in ConfigFile.model_fields)


def read_keys(document: Document) -> ConfigFile:
    """The keys of a document, each by itself."""
    if not isinstance(document.data, dict):
        shown = describe(document.data)
        document.wrong((), f"a config is a mapping (name: ..., learner: ...), not {shown}")
        document.check()
    try:
        config = ConfigFile.model_validate(document.data, context=document.own)
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
    """One sentence per kind of error that the model above can have."""
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
