"""The keys of a config with their defaults, and the rules about which values may be combined.

Pydantic checks the keys one after the other; its messages are reworded and get the line of each problem. Limits on
the size of a config follow, so that a mistyped range is refused before anything is allocated, then rules about
several keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
    folder_name,
    read_fewer_splits,
    read_lam,
    read_loss,
    read_splits,
    read_train,
    whole_number,
)
from kselect.core.experiment import ScaleTarget, SplitLimit
from kselect.core.method import Choice, LamGrid, Method, SearchName, show
from kselect.criteria.base import Aggregation
from kselect.datasets.prepare import Scale
from kselect.datasets.registry import Task
from kselect.errors import ConfigError, nearest
from kselect.formats import CONFIG
from kselect.grids import LARGEST_SEARCH
from kselect.kernels import Kernel
from kselect.kernels.sums import default_family, is_sum, parts_of
from kselect.learners import LEARNERS
from kselect.learners.problem import RidgeMode
from kselect.numerics.losses import CLASSIFICATION_LOSSES, LOSSES, Loss
from kselect.search.continuous import LEARNER, SEARCHES

if TYPE_CHECKING:
    from kselect.numerics.scorers import Scorer

FolderName = Annotated[str, PlainValidator(field(folder_name))]
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
# Choices of a criterion that are for labels -1 and +1 only.
NEEDS_LABELS = {
    "loss": CLASSIFICATION_LOSSES,
    "form": frozenset({"error", "smoothed"}),
    "operator": frozenset({"printed"}),
}
# The criterion whose held-out predictions scikit-learn's scorers score.
SCORED_CRITERION = "k-CV"
# The learners with a C.
HAVE_C = ("svm", "smooth-hinge")
# Limits. They stay below the number of values that a document may hold, so that the config that a results folder
# keeps can be read back.
MOST_GRID_VALUES = 4000  # of all grids together
MOST_COLUMNS = 200
MOST_VARIANTS = 20
MOST_FIGURE_METHODS = 2000  # of all figures together


class ConfigFile(BaseModel):
    """The keys of a config; a key of two words has a hyphen in the file."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        arbitrary_types_allowed=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )

    format: int = CONFIG.newest
    kselect: Annotated[str, PlainValidator(field(as_text))] = ""
    name: FolderName
    paper: Annotated[str, PlainValidator(field(as_text))] = ""
    title: Annotated[str, PlainValidator(field(as_text))] = ""
    learner: Annotated[Learners, PlainValidator(field(read_learners))]
    scale: Scale = "zscore"
    scale_on: Literal["all", "train"] = "train"
    scale_target: ScaleTarget = "none"
    train: Annotated[float | None, PlainValidator(field(read_train))] = 0.7
    stratify: bool = False
    splits: Annotated[tuple[int, ...], PlainValidator(field(read_splits))] = tuple(range(10))
    fewer_splits: Annotated[tuple[SplitLimit, ...], PlainValidator(read_fewer_splits)] = ()
    seed: Annotated[int, PlainValidator(whole_number(0))] = 0
    kernels: Annotated[tuple[Kernel, ...], PlainValidator(field(read_kernels))] = ()
    lam: Annotated[LamGrid, PlainValidator(field(read_lam))] = NO_GRID
    ridge: RidgeMode = "fixed"
    loss: Annotated[str, PlainValidator(field(read_loss))] = "squared"
    also_loss: list[Loss] = []
    average: Aggregation | None = None
    tune_folds: Annotated[int, PlainValidator(whole_number(2))] = 3
    search: SearchName = "grid"
    criteria: Annotated[list[Item], Field(min_length=1)]
    datasets: Annotated[list[DataSetName], Field(min_length=1)]
    estimators: dict[FolderName, dict[str, Any]] = {}
    figures: dict[FolderName, dict[str, Any]] = {}
    claims: list[dict[str, Any]] = []
    variants: dict[FolderName, Annotated[dict[str, Any], Field(min_length=1)]] = {}
    plugins: list[str] = []

    def methods(self, item: CriterionItem) -> tuple[Method, ...]:
        """Return the methods of an item under ``criteria``, one per loss, with every parameter written out.

        Their label is the item's own, or ``5-KS(eta=2)`` with the parameters that differ from the usual ones.
        """
        scorer = self.scorer_of(item)
        loss = item.criterion.defaults.get("loss") if item.search and self.scored else self.loss
        average = "folds" if scorer else self.average
        shared = {"loss": loss, "average": average}
        usual = {name: shared.get(name) or v for name, v in item.criterion.defaults.items()}
        other = [f"{k}={show(v)}" for k, v in sorted(item.own.items()) if v != usual[k]]
        first = Method(
            item.title or (f"{item.name}({';'.join(other)})" if other else item.name),
            item.criterion.name,
            item.folds,
            tuple(sorted((usual | dict(item.own)).items())),
            tuned=item.tuned,
            scored_by=item.scored_by,
            search=item.search,
            kernel=item.kernel,
            scorer=scorer,
        )
        if "loss" not in usual or "loss" in item.own or item.search:
            return (first,)
        return (first, *(first.with_params(loss=loss) for loss in self.also_loss))

    @property
    def scored(self) -> bool:
        """Whether the loss is one of scikit-learn's scorers."""
        return self.loss not in LOSSES

    def scorer_of(self, item: CriterionItem) -> Scorer | None:
        """Return the scorer by which an item chooses: cross-validation on a grid, without a loss of its own."""
        if not self.scored or item.criterion.name != SCORED_CRITERION:
            return None
        if item.search or "loss" in item.own:
            return None
        from kselect.numerics.scorers import find_scorer

        return find_scorer(self.loss)


KEYS = tuple(name.replace("_", "-") for name in ConfigFile.model_fields)


def read_config(document: Document) -> ConfigFile:
    """Return the keys of a document, or raise one ConfigError with all problems.

    Rules about several keys are checked once every single key is valid. Figures are checked later, because they
    refer to what the config means.
    """
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
    for name, written in config.figures.items():
        if not isinstance(written.get("paper", ""), str | int):
            shown = describe(written["paper"])
            document.wrong(
                ("figures", name, "paper"), f"must be a number of the paper, not {shown}"
            )
    kernels, lams = len(config.kernels), len(config.lam.values)
    for key, size, what, most in (
        ("kernels", kernels * lams, "kernels times ridges", LARGEST_SEARCH),
        ("kernels", kernels + lams, "values of all grids together", MOST_GRID_VALUES),
        ("criteria", len(config.criteria), "criteria", MOST_COLUMNS),
        ("estimators", len(config.estimators), "estimators", MOST_COLUMNS),
        ("figures", len(config.figures), "figures", MOST_COLUMNS),
        ("claims", len(config.claims), "claims", MOST_COLUMNS),
        ("variants", len(config.variants), "variants", MOST_VARIANTS),
    ):
        if size > most:
            document.wrong((key,), f"{size} {what} are too many: {most} at most")
    document.check()
    if not all(item.search for item in config.criteria):
        for key in ("kernels", "lam"):
            if key not in document.data:
                document.wrong((), f"{key}: this key is missing")
    check_criteria(config, document)
    check_datasets(config, document)
    check_targets(config, document)
    check_scorer(config, document)
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


def check_criteria(config: ConfigFile, document: Document) -> None:
    """Note repeated columns and losses, and criteria that do not fit learners, kernels or losses."""
    seen: dict[str, int] = {}
    for i, item in enumerate(config.criteria):
        methods = config.methods(item)
        label = methods[0].label
        if label in seen:
            document.wrong(("criteria", i), f"{label} is already criteria[{seen[label]}]")
        seen.setdefault(label, i)
        for words in dict.fromkeys(misfits(item, methods, config, document)):
            document.wrong(("criteria", i), words)
    for i, loss in enumerate(config.also_loss):
        if loss in (config.loss, *config.also_loss[:i]):
            document.wrong(("also-loss", i), f"{loss!r} is already listed")


def misfits(
    item: CriterionItem, methods: tuple[Method, ...], config: ConfigFile, document: Document
) -> Iterator[str]:
    """Yield the reasons why a criterion cannot be used with the rest of the config."""
    criterion, name = item.criterion, item.name
    tasks = {document.dataset(dataset).task for dataset in config.datasets}
    if item.search:
        yield from search_misfits(item.search, methods[0], config)
        return
    for task, choice in config.learner:
        if task in tasks:
            scoring = LEARNERS.find(dict(item.scored_by).get(task, choice).name)
            yield from criterion.misfits(name, scoring, [k.name for k in config.kernels])
    if methods[0].scorer:
        if item.own.get("average", config.average) == "points":
            yield f"{config.loss} is averaged over folds: leave out average: points"
        methods = methods[1:]
    shared = [("loss", method.loss) for method in methods] + [("average", config.average)]
    for key, value in shared:
        parameter = criterion.parameter(key)
        if parameter and value and key not in item.own and value not in parameter.choices:
            yield f"{name} has no {key} {value!r}{nearest(value, parameter.choices)}"


def search_misfits(search: Choice, method: Method, config: ConfigFile) -> Iterator[str]:
    """Yield the reasons why a search cannot minimise a criterion in this config."""
    if words := SEARCHES[search.name].misfit(method):
        yield words
    for _, choice in config.learner:
        if choice.name != LEARNER:
            yield f"{search.name} learns kernels of the learner {LEARNER}, not of {choice.name}"
    if is_sum(method.kernel):
        try:
            parts_of(method.kernel, default_family)
        except ConfigError as error:
            yield str(error)
        if not config.lam.values:
            yield "a sum of kernels needs lam: its search starts from the best ridge of that grid"
    if config.ridge != "fixed":
        yield f"{search.name} keeps the ridge in every fold: ridge must be fixed"
    if method.tuned or method.scored_by:
        yield f"{search.name} neither tunes parameters nor scores another learner"


def check_scorer(config: ConfigFile, document: Document) -> None:
    """Note what does not go with a loss that is one of scikit-learn's scorers, which is the test error too."""
    if not config.scored:
        return
    from kselect.numerics.scorers import REGRESSION, find_scorer

    loss, here = config.loss, ("loss",)
    task = "regression" if loss in REGRESSION else "classification"
    for name in config.datasets:
        if document.dataset(name).task != task:
            document.wrong(here, f"{loss} is for {task}; {name} is not")
    if config.paper:
        what = "is the test error too, which the numbers of a paper are not: leave out paper"
        document.wrong(here, f"{loss} {what}")
    if config.estimators and find_scorer(loss).asks != "predictions":
        asked = find_scorer(loss).asks
        document.wrong(here, f"{loss} takes {asked}; of estimators only predictions are known")


def check_targets(config: ConfigFile, document: Document) -> None:
    """Note a grid of C for a learner without C, and scaled targets where no data set is a regression."""
    tasks = {document.dataset(name).task for name in config.datasets}
    for task, choice in config.learner:
        if config.lam.unit == "C" and task in tasks and choice.name not in HAVE_C:
            words = f"C is the parameter of {' and '.join(HAVE_C)}, not of {choice.name}"
            document.wrong(("lam", "unit"), words)
    if config.scale_target != "none" and "regression" not in tasks:
        document.wrong(("scale-target",), "scales the targets of regressions; there is none here")


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
