"""What is to be learned: a target as classes or as numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.frames import Frame
from kselect.datasets.tables.raw import Place, Task
from kselect.datasets.tables.written_numbers import is_number
from kselect.errors import brief, quoted
from kselect.grids import show_number
from kselect.numerics.linalg import Array

MANY_CLASSES = 20


@dataclass(frozen=True, eq=False)
class Target:
    """(q, n) targets, the classes behind them, and why they were taken so."""

    task: Task
    values: Array
    classes: tuple[str, ...]
    why: str

    @property
    def labels(self) -> Array:
        """(n,): numbers, -1 and +1 for two classes, or the positions 0, 1, 2, ... of more."""
        if len(self.values) == 1:
            return np.asarray(self.values[0])
        return np.asarray(self.values.argmax(axis=0), dtype=np.float64)


def as_target(frame: Frame, task: Task | None) -> Target:
    """Classes or numbers: by ``task``, else by what the target looks like."""
    place, fields = frame.place, frame.target
    if fields is None:
        raise place.error("it has no target")
    numbers = fields if isinstance(fields, np.ndarray) else as_numbers(place, fields, task)
    names = [str(v) for v in fields] if numbers is None else [show_number(v) for v in numbers]
    distinct = sorted(set(names), key=lambda v: (float(v) if is_number(v) else 0.0, v))
    if len(distinct) < 2:
        raise place.error(f"the target has one value only ({brief(distinct[0])}): nothing to learn")
    why = "as asked for"
    if task is None:
        task, why = infer_task(numbers, len(distinct), len(names))
    if task == "regression":
        return Target(task, np.asarray(numbers)[None, :], (), why)
    if len(distinct) > max(MANY_CLASSES, len(names) // 2):
        raise place.error(
            f"the target has {len(distinct)} values in {len(names)} rows: too many for classes"
        )
    return Target(task, one_against_rest(names, distinct), tuple(distinct), why)


def as_numbers(place: Place, fields: Sequence[str], task: Task | None) -> Array | None:
    """The fields as numbers, None where they are class names; a mixture is an error with its line."""
    numeric = [is_number(v) for v in fields]
    if task == "regression" or all(numeric):
        for row, (field, good) in enumerate(zip(fields, numeric, strict=True)):
            if not (good and math.isfinite(float(field))):
                raise place.error(f"the target {quoted(field)} is not a finite number", row)
        return np.array([float(v) for v in fields])
    if any(numeric) and task is None and not is_scale(fields, numeric):
        text, number = numeric.index(False), numeric.index(True)
        where = f" in line {place.lines[number]}" if len(place.lines) else ""
        raise place.error(
            f"the target {quoted(fields[text])} is not a number, but {quoted(fields[number])}{where} is; "
            "--task classification takes both as classes",
            text,
        )
    return None


def is_scale(fields: Sequence[str], numeric: Sequence[bool]) -> bool:
    """Whether words among numbers are classes, as in ``<5``, ``5``, ``6+``: few values, no word in one row only."""
    words = Counter(v for v, good in zip(fields, numeric, strict=True) if not good)
    return len(set(fields)) <= few(len(fields)) and min(words.values()) > 1


def few(n: int) -> int:
    """How many values of n rows may be classes."""
    return min(MANY_CLASSES, n // 5)


def infer_task(numbers: Array | None, distinct: int, n: int) -> tuple[Task, str]:
    """Text, two values, or a few whole numbers are classes; anything else is a regression."""
    if numbers is None:
        return "classification", f"the target is text with {distinct} values"
    if distinct == 2:
        return "classification", "the target has two values"
    if distinct <= few(n) and (numbers == np.round(numbers)).all():
        why = f"the target has {distinct} values, all whole numbers; --task regression takes them as numbers"
        return "classification", why
    return "regression", f"the target has {distinct} values"


def one_against_rest(names: Sequence[Any] | NDArray[Any], classes: Sequence[Any]) -> Array:
    """-1 and +1: one row for two classes (the second is +1), one row per class for more."""
    labels = np.asarray(names)
    positive = classes[1:] if len(classes) == 2 else classes
    return np.array([np.where(labels == c, 1.0, -1.0) for c in positive])
