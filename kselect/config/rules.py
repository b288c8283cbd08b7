"""What may not stand together in a config, each key being right by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kselect.config.criteria import Entry
from kselect.config.document import Document
from kselect.config.schema import ConfigFile, read_keys
from kselect.config.sizes import check_sizes
from kselect.errors import nearest
from kselect.learners import find_learner
from kselect.numerics.losses import CLASSIFICATION_LOSSES
from kselect.search.kinds import LEARNER, SEARCHES

# Choices of a criterion that compare a prediction with a label -1 or +1.
NEEDS_LABELS = {"loss": CLASSIFICATION_LOSSES, "form": frozenset({"error", "smoothed"})}


def read_config(document: Document) -> ConfigFile:
    """A config in which nothing is wrong; else one ConfigError with all that is.

    Whether keys may stand together is looked at once each is right by itself. Figures come later: they refer to
    what the config means.
    """
    config = read_keys(document)
    check_sizes(config, document)
    check_grids(config, document)
    check_criteria(config, document)
    check_datasets(config, document)
    document.check()
    return config


def check_grids(config: ConfigFile, document: Document) -> None:
    """A grid, where some criterion has no search of its own."""
    if all(one.search for one in config.criteria):
        return
    for key in ("kernels", "lam"):
        if key not in document.data:
            document.wrong((), f"{key}: this key is missing")


def check_criteria(config: ConfigFile, document: Document) -> None:
    """No column twice, no loss twice, and each criterion with the learners, kernels and losses."""
    seen: dict[str, int] = {}
    for i, one in enumerate(config.criteria):
        label = config.label(one)
        if label in seen:
            document.wrong(("criteria", i), f"{label} is criteria[{seen[label]}] already")
        seen.setdefault(label, i)
        for words in dict.fromkeys(misfits(one, config, document)):
            document.wrong(("criteria", i), words)
    for i, loss in enumerate(config.also_loss):
        if loss in (config.loss, *config.also_loss[:i]):
            document.wrong(("also-loss", i), f"{loss!r} is there already")


def misfits(one: Entry, config: ConfigFile, document: Document) -> Iterator[str]:
    """Why a criterion cannot be used with the rest of the config."""
    criterion, name = one.criterion, one.name
    tasks = {document.dataset(dataset).task for dataset in config.datasets}
    if one.search:
        yield from search_misfits(one, config)
        return
    for task, choice in config.learner:
        if task in tasks:
            scoring = find_learner(dict(one.scored_by).get(task, choice).name)
            yield from criterion.misfits(name, scoring, [k.name for k in config.kernels])
    shared = [("loss", loss) for loss in config.losses(one)] + [("average", config.average)]
    for key, value in shared:
        parameter = criterion.parameter(key)
        if parameter and value and key not in one.own and value not in parameter.choices:
            yield f"{name} has no {key} {value!r}{nearest(value, parameter.choices)}"


def search_misfits(one: Entry, config: ConfigFile) -> Iterator[str]:
    """Why a search cannot minimise a criterion here."""
    assert one.search is not None
    params = one.usual(config.loss, config.average) | dict(one.own)
    if words := SEARCHES[one.search.name].misfit(one.method(one.name, params)):
        yield words
    for _, choice in config.learner:
        if choice.name != LEARNER:
            yield f"{one.search.name} learns kernels of the learner {LEARNER}, not of {choice.name}"
    if config.ridge != "fixed":
        yield f"{one.search.name} keeps the ridge in every fold: ridge must be fixed"
    if one.tuned or one.scored_by:
        yield f"{one.search.name} neither tunes parameters nor asks another learner"


def check_datasets(config: ConfigFile, document: Document) -> None:
    """No data set twice, and none whose target no learner or criterion can take."""
    demands = list(label_demands(config))
    tasks = [task for task, _ in config.learner]
    for i, name in enumerate(config.datasets):
        task = document.dataset(name).task
        if name in config.datasets[:i]:
            first = config.datasets.index(name)
            document.wrong(("datasets", i), f"{name} is datasets[{first}] already")
        if config.train is None and document.dataset(name).given is None:
            document.wrong(
                ("datasets", i), f"{name} comes without splits, which train: given asks for"
            )
        if task not in tasks:
            learners = " and ".join(dict.fromkeys(choice.name for _, choice in config.learner))
            words = f"{name} is a {task} data set; the learner {learners} is for"
            document.wrong(("datasets", i), f"{words} {', '.join(sorted(tasks))} only")
        for demand in demands if task == "regression" else []:
            words = f"{name} is a regression data set; {demand} is for classification only"
            document.wrong(("datasets", i), words)
        if name in document.own and config.scale_on == "all":
            words = f"scale-on: all lets test rows scale the others; {name} takes scale-on: train"
            document.wrong(("datasets", i), words)


def label_demands(config: ConfigFile) -> Iterator[str]:
    """What in a config needs labels -1 and +1; the config's own loss is squared in a regression."""
    if config.stratify:
        yield "stratify: true"
    for one in config.criteria:
        values: Mapping[str, object] = one.own
        for key, value in values.items():
            if value in NEEDS_LABELS.get(key, ()):
                yield f"{key} {value!r} of {one.name}"
