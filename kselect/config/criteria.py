"""What stands under ``criteria``: names with the number of folds, and parameters of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kselect.config.document import Location
from kselect.config.fields import TASKS, attempt, describe, fail
from kselect.config.parts import own_parameters
from kselect.core.method import Choice, Method, show
from kselect.criteria import Criterion, find_criterion
from kselect.datasets.registry import Task
from kselect.errors import ConfigError
from kselect.grids import parse_grid
from kselect.learners import find_learner
from kselect.search.kinds import SEARCHES

SCORED_BY = "scored-by"
SEARCH, KERNEL, LABEL = "search", "kernel", "label"
Tuned = tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class Entry:
    """One item under ``criteria``: a criterion, its folds, and what was written with it."""

    criterion: Criterion
    folds: int | None
    own: Mapping[str, Any]
    tuned: Tuned = ()
    scored_by: tuple[tuple[Task, Choice], ...] = ()
    search: Choice | None = None
    kernel: str = ""
    title: str = ""

    @property
    def name(self) -> str:
        """``5-KS``."""
        return self.criterion.label(self.folds)

    def usual(self, loss: str, average: str | None) -> dict[str, Any]:
        """The parameters before its own mapping: the criterion's defaults, then the config's."""
        shared = {"loss": loss, "average": average}
        return {name: shared.get(name) or v for name, v in self.criterion.defaults.items()}

    def label(self, usual: Mapping[str, Any]) -> str:
        """``5-KS``, or ``5-KS(eta=2)`` where a parameter of its own differs from the usual, or its own title."""
        if self.title:
            return self.title
        other = [f"{k}={show(v)}" for k, v in sorted(self.own.items()) if v != usual[k]]
        return f"{self.name}({';'.join(other)})" if other else self.name

    def method(self, label: str, params: Mapping[str, Any]) -> Method:
        """The method with these parameters, every one written out."""
        return Method(
            label,
            self.criterion.name,
            self.folds,
            tuple(sorted(params.items())),
            tuned=self.tuned,
            scored_by=self.scored_by,
            search=self.search,
            kernel=self.kernel,
        )


def read_entry(value: object) -> Entry:
    """``5-KS``, or ``{5-KS: {eta: 2}}``, or ``{RKS: {eta: {tune: [1, 32]}, scored-by: lssvm}}``."""
    label, own = value, None
    if isinstance(value, dict) and len(value) == 1:
        label, own = next(iter(value.items()))
    if not isinstance(label, str):
        shown = describe(value)
        raise ConfigError(f"must be a name such as 5-CV, or {{5-KS: {{eta: 1}}}}, not {shown}")
    criterion, folds = find_criterion(label)
    if own is not None and not isinstance(own, dict):
        fail(((label,), f"must be a mapping of its parameters, not {describe(own)}"))
    written = dict(own or {})
    scored_by = read_scored_by(label, written.pop(SCORED_BY, None))
    moved = read_search(label, written)
    tuned = {k: v["tune"] for k, v in written.items() if isinstance(v, dict) and set(v) == {"tune"}}
    plain = {k: v for k, v in written.items() if k not in tuned}
    return Entry(
        criterion,
        folds,
        own_parameters(criterion, (label,), plain),
        read_tuned(criterion, label, tuned),
        scored_by,
        *moved,
    )


def read_search(label: str, written: dict[str, Any]) -> tuple[Choice | None, str, str]:
    """``search: flkl``, or ``{quasi-newton: {steps: 10}}``; ``kernel: ard``; ``label``: the column's name."""
    search, kernel = written.pop(SEARCH, None), written.pop(KERNEL, "")
    title = written.pop(LABEL, "")
    for key, value in ((KERNEL, kernel), (LABEL, title)):
        if not isinstance(value, str):
            fail(((label, key), f"must be text, not {describe(value)}"))
    if search is None:
        if kernel:
            fail(
                (
                    (label, KERNEL),
                    "goes with a search, as in search: flkl; a grid has its own kernels",
                )
            )
        return None, "", title
    name: object = search
    own: dict[str, Any] | None = None
    if isinstance(search, dict) and len(search) == 1:
        name, own = next(iter(search.items()))
    kind, wrong = attempt(SEARCHES.find, str(name))
    if kind is None:
        fail(((label, SEARCH), wrong))
    params = kind.defaults | own_parameters(kind, (label, SEARCH), own or {})
    return Choice(kind.name, tuple(sorted(params.items()))), kernel or "gaussian", title


def read_tuned(criterion: Criterion, label: str, written: Mapping[str, Any]) -> Tuned:
    """``{eta: grid}``: parameters with the values that an inner cross-validation chooses from."""
    tuned = []
    for key, grid in written.items():
        own_parameters(criterion, (label,), {key: criterion.defaults.get(key)})
        values, wrong = attempt(parse_grid, grid)
        if values is None:
            fail(((label, key, "tune"), wrong))
        tuned.append(
            (key, tuple(own_parameters(criterion, (label,), {key: v})[key] for v in values))
        )
    return tuple(sorted(tuned))


def read_scored_by(label: str, value: object) -> tuple[tuple[Task, Choice], ...]:
    """``lssvm``, or ``{classification: {svm: {bias: false}}}``: the learner whose path the criterion asks."""
    if value is None:
        return ()
    by_task = isinstance(value, dict) and set(value) <= set(TASKS)
    given = value if isinstance(value, dict) and by_task else dict.fromkeys(TASKS, value)
    here = (label, SCORED_BY)
    return tuple(
        (task, read_scorer((*here, task) if by_task else here, given[task]))
        for task in TASKS
        if task in given
    )


def read_scorer(here: Location, value: object) -> Choice:
    """A learner by name, or with parameters of its own."""
    name, own = value, None
    if isinstance(value, dict) and len(value) == 1:
        name, own = next(iter(value.items()))
    if not isinstance(name, str) or not isinstance(own, dict | None):
        fail((here, "takes a learner, or {classification: LEARNER}"))
    learner, wrong = attempt(find_learner, name)
    if learner is None:
        fail((here, wrong))
    params = learner.defaults | own_parameters(learner, (*here, name), own or {})
    return Choice(learner.name, tuple(sorted(params.items())))
