"""What may not stand together in a config, each key being right by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose

from kselect.config.document import Document, Location
from kselect.config.fields import Entry, attempt, unknown_parameter
from kselect.config.schema import ConfigFile, FigureFile, read_keys
from kselect.config.sizes import check_sizes
from kselect.criteria import Criterion
from kselect.datasets.registry import find_dataset
from kselect.errors import nearest
from kselect.grids import show_number
from kselect.learners import find_learner
from kselect.numerics.losses import CLASSIFICATION_LOSSES
from kselect.probes import find_probe
from kselect.probes.base import Probe

# Choices of a criterion that compare a prediction with a label -1 or +1.
NEEDS_LABELS = {"loss": CLASSIFICATION_LOSSES, "form": frozenset({"error", "smoothed"})}


def read_config(document: Document) -> ConfigFile:
    """A config in which nothing is wrong; else one ConfigError with all that is.

    Whether keys may stand together is looked at once each is right by itself.
    """
    config = read_keys(document)
    check_sizes(config, document)
    check_criteria(config, document)
    check_datasets(config, document)
    for name, figure in config.figures.items():
        check_figure(name, figure, config, document)
    document.check()
    return config


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
    if criterion.learners is not None and config.learner.name not in criterion.learners:
        valid = ", ".join(sorted(criterion.learners))
        yield f"{name} works with the learner {valid} only, not with {config.learner.name}"
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
    tasks = find_learner(config.learner.name).tasks
    for i, name in enumerate(config.datasets):
        task = find_dataset(name).task
        if name in config.datasets[:i]:
            first = config.datasets.index(name)
            document.wrong(("datasets", i), f"{name} is datasets[{first}] already")
        if task not in tasks:
            words = f"{name} is a {task} data set; the learner {config.learner.name} is for"
            document.wrong(("datasets", i), f"{words} {', '.join(sorted(tasks))} only")
        for demand in demands if task == "regression" else []:
            words = f"{name} is a regression data set; {demand} is for classification only"
            document.wrong(("datasets", i), words)


def label_demands(config: ConfigFile) -> Iterator[str]:
    """What in a config needs labels -1 and +1; the config's own loss is squared in a regression."""
    if config.stratify:
        yield "stratify: true"
    for one in config.criteria:
        for key, value in one.own.items():
            if value in NEEDS_LABELS.get(key, ()):
                yield f"{key} {value!r} of {one.name}"


def check_figure(name: str, figure: FigureFile, config: ConfigFile, document: Document) -> None:
    """One parameter to sweep, and either criteria at a lam of the experiment or probes at columns."""
    here = ("figures", name)
    swept = figure.__pydantic_extra__
    if len(swept) != 1:
        found = f"not {' and '.join(swept)}" if swept else "such as eta: 2^-10:2^10"
        document.wrong(here, f"needs one parameter to sweep, {found}")
    if figure.probes is None:
        check_criteria_figure(here, figure, config, document)
    else:
        check_probe_figure(here, figure, config, document)


def check_criteria_figure(
    here: Location, figure: FigureFile, config: ConfigFile, document: Document
) -> None:
    """Each criterion is a column of the table and has the parameter; the lam is one of the grid."""
    for key in ("at", "datasets"):
        if getattr(figure, key) is not None:
            document.wrong((*here, key), "goes with probes")
    if figure.lam is None:
        document.wrong((*here, "lam"), "this key is missing")
    elif config.lam.mode == "select":
        document.wrong((*here, "lam"), "a figure needs a fixed lam; this config selects it")
    elif not any(isclose(figure.lam, v) for v in config.lam.values):
        valid = ", ".join(show_number(v) for v in config.lam.values)
        words = f"{show_number(figure.lam)} is not in the grid of lam; valid: {valid}"
        document.wrong((*here, "lam"), words)
    if figure.criteria is None:
        document.wrong((*here, "criteria"), "this key is missing")
    table = {config.label(one): one for one in config.criteria}
    for label in check_labels((*here, "criteria"), figure.criteria or [], table, document):
        for parameter, values in figure.__pydantic_extra__.items():
            one = table[label]
            check_sweep(here, one.name, one.criterion, parameter, values, document)


def check_probe_figure(
    here: Location, figure: FigureFile, config: ConfigFile, document: Document
) -> None:
    """Each column has folds, and one of the probes has the parameter."""
    for key in ("criteria", "lam"):
        if getattr(figure, key) is not None:
            document.wrong((*here, key), "does not go with probes")
    if figure.at is None:
        document.wrong((*here, "at"), "this key is missing")
    table = {config.label(one): one for one in config.criteria}
    for label in check_labels((*here, "at"), figure.at or [], table, document):
        if table[label].folds is None:
            document.wrong((*here, "at"), f"{label} has no folds for a probe to look at")
    # A flag may have left out data sets that the figure names.
    named = [] if "datasets" in document.sources else figure.datasets or []
    for i, dataset in enumerate(named):
        if dataset not in config.datasets:
            words = f"{dataset!r} is not under datasets{nearest(dataset, config.datasets)}"
            document.wrong((*here, "datasets", i), words)
    probes = [find_probe(name) for name in figure.probes or []]
    for parameter, values in figure.__pydantic_extra__.items():
        owner = next((p for p in probes if p.parameter(parameter)), probes[0])
        check_sweep(here, owner.name, owner, parameter, values, document)


def check_labels(
    here: Location, labels: list[str], table: Mapping[str, Entry], document: Document
) -> Iterator[str]:
    """The labels that are columns of the table; another one, or one that stands twice, is wrong."""
    for i, label in enumerate(labels):
        if label in labels[:i]:
            document.wrong((*here, i), f"{label} is there already")
        elif label not in table:
            document.wrong((*here, i), f"{label!r} is not under criteria{nearest(label, table)}")
        else:
            yield label


def check_sweep(
    here: Location,
    label: str,
    owner: Criterion | Probe,
    name: str,
    values: tuple[float, ...],
    document: Document,
) -> None:
    """A criterion or probe of a figure has the parameter and takes every value."""
    parameter = owner.parameter(name)
    if parameter is None:
        known = [p.name for p in owner.parameters]
        document.wrong((*here, name), unknown_parameter(label, name, known))
        return
    wrong = [words for value in values for words in attempt(parameter.parse, value)[1:] if words]
    if wrong:
        document.wrong((*here, name), wrong[0])
