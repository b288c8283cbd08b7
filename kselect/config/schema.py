"""The keys of a config with their defaults, and the rules about which values may be combined.

Pydantic checks the keys one after the other; its messages are reworded and get the line of each problem. Limits on
the size of a config follow, so that a mistyped range is refused before anything is allocated, then rules about
several keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import ErrorDetails

from kselect.config.document import Document
from kselect.config.parts import CriterionItem, read_criterion, read_kernels, read_learners
from kselect.config.validators import (
    KeyProblem,
    as_text,
    dataset_name,
    describe,
    field,
    figure_name,
    folder_name,
    read_fewer_splits,
    read_lam,
    read_splits,
    read_train,
    whole_number,
)
from kselect.core.experiment import SplitLimit
from kselect.core.method import Choice, LamGrid, SearchName
from kselect.criteria.base import Aggregation
from kselect.datasets.prepare import Scale
from kselect.datasets.registry import Task
from kselect.errors import nearest
from kselect.grids import LARGEST_SEARCH
from kselect.kernels import Kernel
from kselect.learners import find_learner
from kselect.learners.problem import RidgeMode
from kselect.numerics.losses import CLASSIFICATION_LOSSES, Loss
from kselect.papers import PAPERS
from kselect.search.continuous import LEARNER, SEARCHES

FolderName = Annotated[str, PlainValidator(field(folder_name))]
FigureName = Annotated[str, PlainValidator(field(figure_name))]
DataSetName = Annotated[str, PlainValidator(dataset_name)]
Item = Annotated[CriterionItem, PlainValidator(field(read_criterion))]
Learners = tuple[tuple[Task, Choice], ...]

# Pydantic's kind of error -> what the key takes.
KINDS = {
    "bool_type": "true or false",
    "list_type": "a list, as in [a, b]",
    "dict_type": "a mapping, as in {key: value}",
    "model_type": "a mapping, as in {key: value}",
}
# The lam of a config without a grid.
NO_GRID = LamGrid((), "select")
# Choices of a criterion that compare a prediction with a label -1 or +1.
NEEDS_LABELS = {"loss": CLASSIFICATION_LOSSES, "form": frozenset({"error", "smoothed"})}
# Limits. They stay below the number of values that a document may hold, so that the config that a results folder
# keeps can be read back.
MOST_GRID_VALUES = 4000  # of all grids together
MOST_COLUMNS = 200
MOST_VARIANTS = 20
MOST_FIGURE_METHODS = 2000  # of all figures together


def paper_name(value: object) -> str:
    """Return the name of a paper that the project reproduces, or an empty text for none."""
    name = as_text(value)
    if name:
        PAPERS.find(name)
    return name


class ConfigFile(BaseModel):
    """The keys of a config; a key of two words has a hyphen in the file."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        arbitrary_types_allowed=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )

    name: FolderName
    paper: Annotated[str, PlainValidator(field(paper_name))] = ""
    title: Annotated[str, PlainValidator(field(as_text))] = ""
    learner: Annotated[Learners, PlainValidator(field(read_learners))]
    scale: Scale = "zscore"
    scale_on: Literal["all", "train"] = "train"
    train: Annotated[float | None, PlainValidator(field(read_train))] = 0.7
    stratify: bool = False
    splits: Annotated[tuple[int, ...], PlainValidator(field(read_splits))] = tuple(range(10))
    fewer_splits: Annotated[tuple[SplitLimit, ...], PlainValidator(read_fewer_splits)] = ()
    seed: Annotated[int, PlainValidator(whole_number(0))] = 0
    kernels: Annotated[tuple[Kernel, ...], PlainValidator(field(read_kernels))] = ()
    lam: Annotated[LamGrid, PlainValidator(field(read_lam))] = NO_GRID
    ridge: RidgeMode = "fixed"
    loss: Loss = "squared"
    also_loss: list[Loss] = []
    average: Aggregation | None = None
    tune_folds: Annotated[int, PlainValidator(whole_number(2))] = 3
    search: SearchName = "grid"
    criteria: Annotated[list[Item], Field(min_length=1)]
    datasets: Annotated[list[DataSetName], Field(min_length=1)]
    figures: dict[FigureName, dict[str, Any]] = {}
    variants: dict[FolderName, Annotated[dict[str, Any], Field(min_length=1)]] = {}

    def label(self, item: CriterionItem) -> str:
        """Return the table column of a criterion."""
        return item.label(item.usual(self.loss, self.average))

    def losses(self, item: CriterionItem) -> tuple[Loss, ...]:
        """Return the losses that a criterion is computed with; ``also-loss`` adds none to a loss of its own."""
        own = "loss" in item.own or item.search is not None
        expands = item.criterion.parameter("loss") is not None and not own
        return (self.loss, *self.also_loss) if expands else (self.loss,)


KEYS = tuple(name.replace("_", "-") for name in ConfigFile.model_fields)


def read_config(document: Document) -> ConfigFile:
    """Return the keys of a document, or raise one ConfigError with all problems.

    Rules about several keys are checked once every single key is valid. Figures are checked later, because they
    refer to what the config means.
    """
    config = read_keys(document)
    kernels, lams = len(config.kernels), len(config.lam.values)
    check_size(document, "kernels", kernels * lams, "kernels times ridges", LARGEST_SEARCH)
    check_size(
        document, "kernels", kernels + lams, "values of all grids together", MOST_GRID_VALUES
    )
    check_size(document, "criteria", len(config.criteria), "criteria", MOST_COLUMNS)
    check_size(document, "figures", len(config.figures), "figures", MOST_COLUMNS)
    check_size(document, "variants", len(config.variants), "variants", MOST_VARIANTS)
    document.check()
    if not all(item.search for item in config.criteria):
        for key in ("kernels", "lam"):
            if key not in document.data:
                document.wrong((), f"{key}: this key is missing")
    check_criteria(config, document)
    check_datasets(config, document)
    document.check()
    return config


def read_keys(document: Document) -> ConfigFile:
    """Return the keys of a document, checked one after the other."""
    if not isinstance(document.data, dict):
        shown = describe(document.data)
        document.wrong((), f"a config is a mapping (name: ..., learner: ...), not {shown}")
        document.check()
    try:
        config = ConfigFile.model_validate(document.data, context=document.own)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            for location, words in reworded(details):
                document.wrong(location, words)
    document.check()
    return config


def reworded(error: ErrorDetails) -> list[KeyProblem]:
    """Return a problem that pydantic found in the words of a config."""
    # Pydantic reports a wrong key of a mapping below that key, as '[key]'.
    location = tuple(part for part in error["loc"] if part != "[key]")
    kind, value = error["type"], error["input"]
    if kind == "worded":
        return [((*location, *where), words) for where, words in error["ctx"]["problems"]]
    words = f"must be {KINDS.get(kind, 'something else')}, not {describe(value)}"
    if kind == "missing":
        words = "this key is missing"
    elif kind == "extra_forbidden":
        words = f"unknown key{nearest(str(error['loc'][-1]), KEYS)}"
    elif kind == "too_short":
        words = "the list is empty"
    elif kind == "literal_error":
        valid = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        words = f"must be one of {', '.join(valid)}, not {describe(value)}"
        if isinstance(value, str):
            words = f"unknown value {value!r}{nearest(value, valid)}"
    return [(location, words)]


def check_size(document: Document, key: str, size: int, what: str, most: int) -> None:
    """Note a problem if there is too much of something."""
    if size > most:
        document.wrong((key,), f"{size} {what} are too many: {most} at most")


def check_criteria(config: ConfigFile, document: Document) -> None:
    """Note repeated columns and losses, and criteria that do not fit learners, kernels or losses."""
    seen: dict[str, int] = {}
    for i, item in enumerate(config.criteria):
        label = config.label(item)
        if label in seen:
            document.wrong(("criteria", i), f"{label} is already criteria[{seen[label]}]")
        seen.setdefault(label, i)
        for words in dict.fromkeys(misfits(item, config, document)):
            document.wrong(("criteria", i), words)
    for i, loss in enumerate(config.also_loss):
        if loss in (config.loss, *config.also_loss[:i]):
            document.wrong(("also-loss", i), f"{loss!r} is already listed")


def misfits(item: CriterionItem, config: ConfigFile, document: Document) -> Iterator[str]:
    """Yield the reasons why a criterion cannot be used with the rest of the config."""
    criterion, name = item.criterion, item.name
    tasks = {document.dataset(dataset).task for dataset in config.datasets}
    if item.search:
        yield from search_misfits(item, item.search, config)
        return
    for task, choice in config.learner:
        if task in tasks:
            scoring = find_learner(dict(item.scored_by).get(task, choice).name)
            yield from criterion.misfits(name, scoring, [k.name for k in config.kernels])
    shared = [("loss", loss) for loss in config.losses(item)] + [("average", config.average)]
    for key, value in shared:
        parameter = criterion.parameter(key)
        if parameter and value and key not in item.own and value not in parameter.choices:
            yield f"{name} has no {key} {value!r}{nearest(value, parameter.choices)}"


def search_misfits(item: CriterionItem, search: Choice, config: ConfigFile) -> Iterator[str]:
    """Yield the reasons why a search cannot minimise a criterion in this config."""
    params = item.usual(config.loss, config.average) | dict(item.own)
    if words := SEARCHES[search.name].misfit(item.method(item.name, params)):
        yield words
    for _, choice in config.learner:
        if choice.name != LEARNER:
            yield f"{search.name} learns kernels of the learner {LEARNER}, not of {choice.name}"
    if config.ridge != "fixed":
        yield f"{search.name} keeps the ridge in every fold: ridge must be fixed"
    if item.tuned or item.scored_by:
        yield f"{search.name} neither tunes parameters nor scores another learner"


def check_datasets(config: ConfigFile, document: Document) -> None:
    """Note repeated data sets, and those that the learner, a criterion or the protocol cannot take."""
    # What needs labels -1 and +1; the loss of the config itself is squared in a regression.
    demands = ["stratify: true"] if config.stratify else []
    for item in config.criteria:
        needs = ((k, v) for k, v in item.own.items() if v in NEEDS_LABELS.get(k, ()))
        demands += [f"{key} {value!r} of {item.name}" for key, value in needs]
    tasks = [task for task, _ in config.learner]
    for i, name in enumerate(config.datasets):
        here, task = ("datasets", i), document.dataset(name).task
        if name in config.datasets[:i]:
            first = config.datasets.index(name)
            document.wrong(here, f"{name} is already datasets[{first}]")
        if config.train is None and document.dataset(name).given is None:
            document.wrong(here, f"{name} has no given splits, which train: given needs")
        if task not in tasks:
            learners = " and ".join(dict.fromkeys(choice.name for _, choice in config.learner))
            words = f"{name} is a {task} data set; the learner {learners} is for"
            document.wrong(here, f"{words} {', '.join(sorted(tasks))} only")
        for demand in demands if task == "regression" else []:
            words = f"{name} is a regression data set; {demand} is for classification only"
            document.wrong(here, words)
        if name in document.own and config.scale_on == "all":
            words = f"scale-on: all scales with the test rows; {name} needs scale-on: train"
            document.wrong(here, words)
