"""Kernels and learners as a config names them, with their grids and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from itertools import product
from math import prod
from typing import Any

from kselect.config.document import Location
from kselect.config.fields import TASKS, Wrong, as_text, attempt, describe, fail
from kselect.core.method import Choice
from kselect.datasets.registry import Task
from kselect.errors import ConfigError, nearest
from kselect.grids import LARGEST_GRID, parse_grid
from kselect.kernels import Kernel, find_kernel
from kselect.learners import find_learner
from kselect.registry import Part


def read_kernels(value: object) -> tuple[Kernel, ...]:
    """``{gaussian: {tau: grid}, linear: {}}``: the union over kernels of their grids."""
    if not isinstance(value, dict) or not value:
        shown = describe(value or None)
        raise ConfigError(f"must be a mapping such as {{gaussian: {{tau: 2^-6:2^6}}}}, not {shown}")
    found: list[Kernel] = []
    problems: list[Wrong] = []
    for name, grids in value.items():
        members, wrong = kernel_grid(name, {} if grids is None else grids)
        found += members
        problems += wrong
    if problems:
        fail(*problems)
    return tuple(found)


def kernel_grid(name: str, grids: object) -> tuple[list[Kernel], list[Wrong]]:
    """All kernels of one name (the product of its grids), and what is wrong with them."""
    cls, wrong = attempt(find_kernel, name)
    if cls is None:
        return [], [((name,), wrong)]
    if cls.learned:
        how = (
            "learned, not tried on a grid: {5-CV: {search: flkl, kernel: "
            + name
            + "}} under criteria"
        )
        return [], [((name,), f"has a parameter per feature, which is {how}")]
    if not isinstance(grids, dict):
        return [], [((name,), f"must be a mapping of its parameters, not {describe(grids)}")]
    known = [f.name for f in fields(cls)]
    problems: list[Wrong] = [
        ((name, key), unknown_parameter(name, key, known)) for key in grids if key not in known
    ]
    problems += [((name,), f"the parameter {p!r} is missing") for p in known if p not in grids]
    values: list[tuple[float, ...]] = []
    for parameter in (p for p in known if p in grids):
        grid, wrong = attempt(kernel_values, cls, parameter, grids[parameter])
        values.append(grid or ())
        problems += [((name, parameter), wrong)] if wrong else []
    size = prod(map(len, values))
    if size > LARGEST_GRID:
        problems.append(((name,), f"{size} kernels are too many: {LARGEST_GRID} at most"))
    if problems:
        return [], problems
    return [cls(*point) for point in product(*values)], []


def kernel_values(cls: type[Kernel], parameter: str, grid: object) -> tuple[float, ...]:
    """The grid of one kernel parameter; the kernel itself says which values it takes."""
    values = parse_grid(grid)
    for value in values:
        # 1 is a value of every kernel parameter: positive and whole.
        cls(**{**{f.name: 1.0 for f in fields(cls)}, parameter: value})
    return values


def read_learners(value: object) -> tuple[tuple[Task, Choice], ...]:
    """``lssvm``, ``{quadratic-svr: {eps: 0.1}}``, or ``{classification: svm, regression: krr}``."""
    if isinstance(value, dict) and value and set(value) <= set(TASKS):
        return tuple((task, read_learner(value[task], task)) for task in TASKS if task in value)
    choice = read_learner(value)
    tasks = find_learner(choice.name).tasks
    return tuple((task, choice) for task in TASKS if task in tasks)


def read_learner(value: object, task: Task | None = None) -> Choice:
    """One learner with all its parameters, those not written at their defaults."""
    written, own = value, None
    if isinstance(value, dict) and len(value) == 1:
        written, own = next(iter(value.items()))
    learner = find_learner(as_text(written))
    here: Location = (learner.name,) if task is None else (task, learner.name)
    if task is not None and task not in learner.tasks:
        fail(
            (
                (task,),
                f"the learner {learner.name} is for {' and '.join(sorted(learner.tasks))} only",
            )
        )
    if own is not None and not isinstance(own, dict):
        fail((here, f"must be a mapping of its parameters, not {describe(own)}"))
    given = own_parameters(learner, here, own or {})
    return Choice(learner.name, tuple(sorted((learner.defaults | given).items())))


def own_parameters(owner: Part, here: Location, own: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters written with a criterion or a learner, as it takes them; ``here`` is where they stand."""
    known = [p.name for p in owner.parameters]
    parsed: dict[str, Any] = {}
    problems: list[Wrong] = []
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


def unknown_parameter(owner: str, name: str, known: list[str]) -> str:
    """The text for a parameter that a kernel or criterion lacks."""
    return f"unknown parameter of {owner}" + (nearest(name, known) if known else "; it has none")
