"""The target of a table: its column, its missing values, and its reading as classes or as numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.registry import Task
from kselect.datasets.table.column_inference import (
    ColumnText,
    Commas,
    column_text,
    number_style,
    refuse_marked,
)
from kselect.datasets.table.raw_table import Fields, FilePlace, Frame, RawTable, ReadingDecision
from kselect.datasets.table.written_values import (
    MISSING,
    MISSING_AMONG_NUMBERS,
    PLAIN,
    TIME,
    AmbiguousDates,
    find_form,
    is_number,
)
from kselect.errors import DataError, brief, quoted
from kselect.grids import show_number
from kselect.numerics.linalg import Array, Index

NAMES_SHOWN = 6
MANY_CLASSES = 20
MANY_NUMBERS = 10  # classes written as whole numbers: more values are counts


def read_targets(
    raw: RawTable, positions: Sequence[int], commas: Commas
) -> tuple[tuple[Fields, ...], Index, list[ReadingDecision]]:
    """Return the targets of some columns, or svmlight's labels, the rows that have all, and notes on the others."""
    if not positions:
        labels = np.empty(0) if raw.labels is None else raw.labels
        return (labels,), np.arange(len(labels)), []
    every = [read_target(raw, i, commas) for i in positions]
    rows = every[0][1]
    for _, other, _ in every[1:]:
        rows = np.intersect1d(rows, other, assume_unique=True)
    if not len(rows):
        raise raw.place.error("no row has a value of every target")
    return tuple(values for values, _, _ in every), rows, [d for one in every for d in one[2]]


def read_target(
    raw: RawTable, i: int, commas: Commas
) -> tuple[Fields, Index, list[ReadingDecision]]:
    """Return the target of column i, the rows that have one, and a report on the others."""
    values: Fields = raw.columns[i]
    decisions: list[ReadingDecision] = []
    if raw.kinds[i] == "date":
        raise date_error(raw.place, raw.names[i])
    if isinstance(values, np.ndarray):
        rows = np.flatnonzero(~np.isnan(values))
    else:
        column = column_text(raw, i, commas)
        values, absent, decisions = target_fields(column)
        if isinstance(values, np.ndarray):
            return values, np.arange(len(values)), decisions
        rows = np.flatnonzero([value not in absent for value in column.fields])
    if not len(rows):
        raise raw.place.error(f"the target {raw.names[i]} has no value in any row")
    if missing := len(values) - len(rows):
        first = int(np.setdiff1d(np.arange(len(values)), rows)[0])
        where = f" (the first in line {raw.place.lines[first]})" if len(raw.place.lines) else ""
        count = "1 row" if missing == 1 else f"{missing} rows"
        text = f"dropped {count} without a value of the target {raw.names[i]}{where}"
        decisions.append(ReadingDecision(None, text))
    return values, rows, decisions


def target_fields(column: ColumnText) -> tuple[Fields, Collection[str], list[ReadingDecision]]:
    """Return the target's values, the words for a missing value, and the decisions.

    The values are plain numbers, or else the fields, with numbers as Python writes them.
    """
    style = number_style(column, True)
    if style is PLAIN and column.plain is not None:
        return column.plain, (), []
    fields = list(column.fields)
    if style is None:
        refuse_marked(column)
        try:
            form = find_form(list(column.counts))
        except AmbiguousDates:
            form = "either"
        if form:
            raise date_error(column.place, column.name, "times of day" if form == TIME else "dates")
        return fields, MISSING, []
    absent = MISSING | MISSING_AMONG_NUMBERS
    if style is PLAIN:
        return fields, absent, []
    plain = {v: v if v in absent else style.plain(v) for v in set(fields)}
    decision = ReadingDecision(column.name, f"written with {style.text}")
    return [plain[v] for v in fields], absent, [decision]


def date_error(place: FilePlace, name: str, what: str = "dates") -> DataError:
    """Return the error for dates, which are not classes, and need a unit of the user's choice as numbers."""
    return place.error(f"the target {name} holds {what}: name another column with --target")


@dataclass(frozen=True, eq=False)
class Target:
    """The targets to learn, (q, n), with the classes behind them and the reason for this reading."""

    task: Task
    values: Array
    classes: tuple[str, ...]
    why: str

    @property
    def labels(self) -> Array:
        """The targets as one row (n,): numbers, -1 and +1 for two classes, or 0, 1, 2, ... for more."""
        if len(self.values) == 1:
            return np.asarray(self.values[0])
        return np.asarray(self.values.argmax(axis=0), dtype=np.float64)

    def take(self, rows: Index) -> Target:
        """Return the targets of some rows."""
        return replace(self, values=self.values[:, rows])


def as_target(frame: Frame, task: Task | None) -> Target:
    """Return the target as classes or as numbers, as ``task`` says, else as the values suggest."""
    place, fields = frame.place, frame.target
    if fields is None:
        raise place.error("it has no target")
    if len(frame.targets) > 1:
        return several_targets(frame, task)
    numbers = fields if isinstance(fields, np.ndarray) else as_numbers(place, fields, task)
    values: NDArray[Any] | list[str] = [str(v) for v in fields] if numbers is None else numbers
    distinct: list[Any] = distinct_values(values)
    if len(distinct) < 2:
        only = brief(class_names(distinct)[0])
        raise place.error(f"the target has only one value ({only}): nothing to learn")
    why = "as asked for"
    if task is None:
        task, why = infer_task(numbers, len(distinct), len(values))
    if task == "regression":
        return Target(task, np.asarray(numbers)[None, :], (), why)
    if len(distinct) > max(MANY_CLASSES, len(values) // 2):
        raise place.error(
            f"the target has {len(distinct)} values in {len(values)} rows: too many for classes"
        )
    return Target(task, one_against_rest(values, distinct), class_names(distinct), why)


def several_targets(frame: Frame, task: Task | None) -> Target:
    """Return several targets, all of which must be numbers."""
    if task == "classification":
        raise frame.place.error("several targets are learned as numbers only: name one --target")
    pairs = zip(frame.schema.targets, frame.targets, strict=True)
    values = np.array([one_of_several(frame.place, name, fields, task) for name, fields in pairs])
    names = [brief(name) for name in frame.schema.targets[:NAMES_SHOWN]]
    more = ", ..." if len(values) > NAMES_SHOWN else ""
    return Target("regression", values, (), f"{len(values)} targets: {', '.join(names)}{more}")


def one_of_several(place: FilePlace, name: str, fields: Fields, task: Task | None) -> Array:
    """Return one of several targets as numbers; refuse classes, which are learned on their own."""
    what, alone = f"the target {brief(name)}:", "several targets are learned as numbers only"
    if not isinstance(fields, np.ndarray):
        words = next((v for v in fields if not is_number(v)), None)
        if words is not None:
            text = f"{what} {quoted(words)} is not a number; {alone}: name one --target"
            raise place.error(text, list(fields).index(words))
        found = as_numbers(place, fields, "regression", what)
        assert found is not None
        fields = found
    distinct = distinct_values(fields)
    if len(distinct) < 2:
        raise place.error(
            f"{what} it has only one value ({class_names(distinct)[0]}): nothing to learn"
        )
    if task is None and infer_task(fields, len(distinct), len(fields))[0] == "classification":
        raise place.error(
            f"{what} its {len(distinct)} values look like classes; {alone}: add --task regression, or name one "
            "--target"
        )
    return fields


def distinct_values(values: Sequence[str] | NDArray[Any]) -> list[Any]:
    """Return the distinct values in order: numbers, or texts of which some may be numbers."""
    if isinstance(values, np.ndarray):
        found: list[Any] = np.unique(values + 0.0).tolist()  # 0 and -0 are one value
        return found
    return sorted(set(values), key=lambda v: (float(v) if is_number(v) else 0.0, v))


def class_names(distinct: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of classes: numbers in their shortest form."""
    return tuple(v if isinstance(v, str) else show_number(v) for v in distinct)


def as_numbers(
    place: FilePlace, fields: Sequence[str], task: Task | None, what: str = "the target"
) -> Array | None:
    """Return the fields as numbers, None if they are class names; refuse a mixture, except for a scale.

    A scale such as ``<5``, ``5``, ``6+`` has few values, and no word that occurs in one row only.
    """
    numeric = [is_number(v) for v in fields]
    if task == "regression" or all(numeric):
        for row, (field, good) in enumerate(zip(fields, numeric, strict=True)):
            if not (good and math.isfinite(float(field))):
                raise place.error(f"{what} {quoted(field)} is not a finite number", row)
        return np.array([float(v) for v in fields])
    words = Counter(v for v, good in zip(fields, numeric, strict=True) if not good)
    is_scale = len(set(fields)) <= few(len(fields)) and min(words.values()) > 1
    if any(numeric) and task is None and not is_scale:
        text, number = numeric.index(False), numeric.index(True)
        where = f" in line {place.lines[number]}" if len(place.lines) else ""
        raise place.error(
            f"the target {quoted(fields[text])} is not a number, but {quoted(fields[number])}{where} is; "
            "--task classification takes both as classes",
            text,
        )
    return None


def few(n: int) -> int:
    """Return how many distinct values in n rows may be classes."""
    return min(MANY_CLASSES, n // 5)


def infer_task(numbers: Array | None, distinct: int, n: int) -> tuple[Task, str]:
    """Take text, two values, or a few whole numbers as classes, and anything else as a regression."""
    if numbers is None:
        return "classification", f"the target is text with {distinct} values"
    if distinct == 2:
        return "classification", "the target has two values"
    whole = bool((numbers == np.round(numbers)).all())
    if whole and MANY_NUMBERS < distinct <= max(MANY_CLASSES, n // 2):
        return "regression", (
            f"the target has {distinct} values, all whole numbers, and more than {MANY_NUMBERS} are counts; "
            "--task classification takes them as classes"
        )
    if whole and distinct <= few(n):
        why = f"the target has {distinct} values, all whole numbers; --task regression takes them as numbers"
        return "classification", why
    return "regression", f"the target has {distinct} values"


def one_against_rest(names: Sequence[Any] | NDArray[Any], classes: Sequence[Any]) -> Array:
    """Return -1 and +1: one row for two classes (the second is +1), one row per class for more."""
    labels = np.asarray(names)
    positive = classes[1:] if len(classes) == 2 else classes
    return np.array([np.where(labels == c, 1.0, -1.0) for c in positive])
