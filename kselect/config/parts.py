"""Kernels, learners and criteria as a config writes them, with their grids and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import product
from math import prod
from typing import Any

from kselect.config.document import Location
from kselect.config.validators import TASKS, KeyProblem, as_text, attempt, describe, fail, only_item
from kselect.core.method import Choice
from kselect.criteria import Criterion, find_criterion
from kselect.datasets.registry import Task
from kselect.errors import ConfigError, nearest
from kselect.grids import LARGEST_GRID, parse_grid
from kselect.kernels import KERNELS, Kernel
from kselect.kernels.default_families import AUTO, default_candidates
from kselect.learners import LEARNERS
from kselect.registry import Part
from kselect.search.continuous import SEARCHES

SCORED_BY = "scored-by"
SEARCH, KERNEL, LABEL = "search", "kernel", "label"


def own_parameters(owner: Part, here: Location, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters written with a criterion, learner or search; ``here`` is their location."""
    known = [p.name for p in owner.parameters]
    parsed: dict[str, Any] = {}
    problems: list[KeyProblem] = []
    for key, value in own.items():
        parameter = owner.parameter(key)
        if parameter is None:
            problems.append(((*here, key), unknown_parameter(str(here[-1]), key, known)))
            continue
        parsed[key], wrong = attempt(parameter.parse, value)
        problems += [((*here, key), wrong)] if wrong else []
    if problems:
        fail(*problems)
    return parsed


def with_defaults(owner: Part, here: Location, own: object) -> Choice:
    """Return a learner or search with all its parameters, those not written at their defaults."""
    if own is None:
        own = {}
    if not isinstance(own, dict):
        fail((here, f"must be a mapping of its parameters, not {describe(own)}"))
    params = owner.defaults | own_parameters(owner, here, own)
    return Choice(owner.name, tuple(sorted(params.items())))


def unknown_parameter(owner: str, name: str, known: list[str]) -> str:
    """Return the message for a parameter that a kernel, learner or criterion lacks."""
    return f"unknown parameter of {owner}" + (nearest(name, known) if known else "; it has none")


def read_kernels(value: object) -> tuple[Kernel, ...]:
    """Return all kernels of the grids in ``{gaussian: {tau: GRID}, linear: {}}``, or those of ``auto``."""
    if value == AUTO:
        return default_candidates()
    if not isinstance(value, dict) or not value:
        shown = describe(value or None)
        usual = "must be auto, or a mapping such as {gaussian: {tau: 2^-6:2^6}}"
        raise ConfigError(f"{usual}, not {shown}")
    found: list[Kernel] = []
    problems: list[KeyProblem] = []
    for name, grids in value.items():
        members, wrong = kernel_grid(name, {} if grids is None else grids)
        found += members
        problems += wrong
    if problems:
        fail(*problems)
    return tuple(found)


def kernel_grid(name: str, grids: object) -> tuple[list[Kernel], list[KeyProblem]]:
    """Return the kernels of one name, the product of its grids, and what is wrong with them."""
    cls, wrong = attempt(KERNELS.find, name)
    if cls is None:
        return [], [((name,), wrong)]
    if cls.learned:
        how = "{5-CV: {search: quasi-newton, kernel: NAME}} under criteria"
        words = f"has parameters that are learned, not searched on a grid: {how}"
        return [], [((name,), words)]
    if not isinstance(grids, dict):
        return [], [((name,), f"must be a mapping of its parameters, not {describe(grids)}")]
    known = [f.name for f in fields(cls)]
    problems: list[KeyProblem] = [
        ((name, key), unknown_parameter(name, key, known)) for key in grids if key not in known
    ]
    problems += [((name,), f"the parameter {p!r} is missing") for p in known if p not in grids]
    values: list[tuple[float, ...]] = []
    for parameter in (p for p in known if p in grids):
        try:
            grid = parse_grid(grids[parameter])
            for value in grid:  # 1 is valid for every kernel parameter: positive and whole
                cls(**{**dict.fromkeys(known, 1.0), parameter: value})
        except ConfigError as error:
            problems.append(((name, parameter), str(error)))
            grid = ()
        values.append(grid)
    size = prod(map(len, values))
    if size > LARGEST_GRID:
        problems.append(((name,), f"{size} kernels are too many: {LARGEST_GRID} at most"))
    if problems:
        return [], problems
    return [cls(*point) for point in product(*values)], []


def read_learners(value: object) -> tuple[tuple[Task, Choice], ...]:
    """Return the learner of each task: ``lssvm``, ``{svm: {bias: false}}``, or ``{classification: svm, ...}``."""
    given: dict[Task | None, Any] = {None: value}
    if isinstance(value, dict) and value and set(value) <= set(TASKS):
        given = {task: value[task] for task in TASKS if task in value}
    found: dict[Task, Choice] = {}
    for task, written in given.items():
        name, own = only_item(written)
        learner = LEARNERS.find(as_text(name))
        if task is not None and task not in learner.tasks:
            tasks = " and ".join(sorted(learner.tasks))
            fail(((task,), f"the learner {learner.name} is for {tasks} only"))
        here: Location = (learner.name,) if task is None else (task, learner.name)
        choice = with_defaults(learner, here, own)
        found |= {t: choice for t in TASKS if t in learner.tasks and task in (t, None)}
    return tuple(found.items())


@dataclass(frozen=True)
class CriterionItem:
    """One item under ``criteria``: a criterion, its folds, and everything that is written with it."""

    criterion: Criterion
    folds: int | None
    name: str
    """The criterion with its folds, as in ``5-KS``."""
    own: Mapping[str, Any]
    tuned: tuple[tuple[str, tuple[Any, ...]], ...]
    scored_by: tuple[tuple[Task, Choice], ...]
    search: Choice | None
    kernel: str
    title: str


def read_criterion(value: object) -> CriterionItem:
    """Return the item in ``5-KS``, ``{5-KS: {eta: 2}}`` or ``{RKS: {eta: {tune: [1, 32]}, scored-by: lssvm}}``."""
    label, own = only_item(value)
    if not isinstance(label, str):
        shown = describe(value)
        raise ConfigError(f"must be a name such as 5-CV, or {{5-KS: {{eta: 1}}}}, not {shown}")
    criterion, folds = find_criterion(label)
    if own is not None and not isinstance(own, dict):
        fail(((label,), f"must be a mapping of its parameters, not {describe(own)}"))
    here: Location = (label,)
    written = dict(own or {})
    scored_by = read_scored_by(label, written.pop(SCORED_BY, None))
    searched = read_search(label, written)
    grids = {k: v["tune"] for k, v in written.items() if isinstance(v, dict) and set(v) == {"tune"}}
    usual = {k: criterion.defaults.get(k) for k in grids}
    params = own_parameters(criterion, here, written | usual)
    tuned = {}
    for key, grid in grids.items():
        values, wrong = attempt(parse_grid, grid)
        if values is None:
            fail(((label, key, "tune"), wrong))
        parsed = (own_parameters(criterion, here, {key: v})[key] for v in values)
        tuned[key] = tuple(parsed)
        del params[key]
    pairs = tuple(sorted(tuned.items()))
    name = criterion.label(folds)
    return CriterionItem(criterion, folds, name, params, pairs, scored_by, *searched)


def read_search(label: str, written: dict[str, Any]) -> tuple[Choice | None, str, str]:
    """Take ``search: flkl`` or ``{quasi-newton: {steps: 10}}``, ``kernel: ard`` and ``label`` out of an item."""
    search, kernel = written.pop(SEARCH, None), written.pop(KERNEL, "")
    title = written.pop(LABEL, "")
    for key, value in ((KERNEL, kernel), (LABEL, title)):
        if not isinstance(value, str):
            fail(((label, key), f"must be text, not {describe(value)}"))
    if search is None:
        if kernel:
            words = "goes with a search, as in search: flkl; a grid has its own kernels"
            fail(((label, KERNEL), words))
        return None, "", title
    name, own = only_item(search)
    kind, wrong = attempt(SEARCHES.find, str(name))
    if kind is None:
        fail(((label, SEARCH), wrong))
    return with_defaults(kind, (label, SEARCH), own), kernel or "gaussian", title


def read_scored_by(label: str, value: object) -> tuple[tuple[Task, Choice], ...]:
    """Return the learners that a criterion scores: ``lssvm``, or ``{classification: {svm: {bias: false}}}``."""
    if value is None:
        return ()
    by_task = isinstance(value, dict) and set(value) <= set(TASKS)
    given = value if isinstance(value, dict) and by_task else dict.fromkeys(TASKS, value)
    found = []
    for task in TASKS:
        if task in given:
            here: Location = (label, SCORED_BY, task) if by_task else (label, SCORED_BY)
            name, own = only_item(given[task])
            if not isinstance(name, str) or not isinstance(own, dict | None):
                fail((here, "takes a learner, or {classification: LEARNER}"))
            learner, wrong = attempt(LEARNERS.find, name)
            if learner is None:
                fail((here, wrong))
            found.append((task, with_defaults(learner, (*here, name), own)))
    return tuple(found)
