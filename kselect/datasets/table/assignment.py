"""The use of each column of a table: the target, a feature, or the weights, groups or times of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kselect.datasets.table.column_inference import (
    Commas,
    column_text,
    infer_dates,
    number_style,
    read_as,
)
from kselect.datasets.table.raw_table import (
    ColumnSpec,
    Frame,
    RawTable,
    ReadingDecision,
    RowRoles,
    TableOptions,
    TargetNames,
)
from kselect.errors import printable, quoted
from kselect.numerics.linalg import Array

AskedKind = Literal["number", "category"]


def assign(
    raw: RawTable, target: TargetNames, options: TableOptions
) -> tuple[tuple[int, ...], list[tuple[int, AskedKind | None]]]:
    """Return the targets' positions (none for svmlight), and each feature's position with the kind asked for."""
    goals = target_positions(raw, names_asked(target))
    dropped = {raw.find(name, " to drop") for name in options.drop}
    aside = role_positions(raw, options, goals)
    for i, flag in aside.items():
        if i in dropped:
            raise raw.place.error(
                f"column {raw.names[i]} is named by {flag}: it is dropped already"
            )
    asked: dict[int, AskedKind] = {}
    for name in options.categorical:
        asked[raw.find(name)] = "category"
    for name in options.numeric:
        i = raw.find(name)
        if asked.setdefault(i, "number") != "number":
            raise raw.place.error(f"column {raw.names[i]} is asked to be categorical and numeric")
    for goal in goals:
        if goal in dropped | set(asked):
            what = "the target" if len(goals) == 1 else "a target"
            raise raw.place.error(f"column {raw.names[goal]} is {what}: it is no feature")
    for i in dropped & set(asked):
        raise raw.place.error(
            f"column {raw.names[i]} is dropped: it is neither categorical nor numeric"
        )
    for i in aside.keys() & asked.keys():
        raise raw.place.error(f"column {raw.names[i]} is named by {aside[i]}: it is no feature")
    features = (i for i in range(len(raw.names)) if i not in {*goals, *dropped, *aside})
    return goals, [(i, asked.get(i)) for i in features]


def names_asked(target: TargetNames) -> tuple[str, ...]:
    """Return the names of the targets that are asked for, each once; none for the last column."""
    return tuple(dict.fromkeys((target,) if isinstance(target, str) else target or ()))


def target_positions(raw: RawTable, names: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of the targets, each once: the last column if none is named, none for svmlight."""
    if raw.form != "columns":  # its lines begin with the target
        for name in names:
            what = f"svmlight begins each line with its target: no column {name!r}"
            raise raw.place.error(what)
        return ()
    if len(raw.names) < 2:
        raise raw.place.error("one column only; a target and a feature are needed")
    if not names:
        return (len(raw.names) - 1,)
    for name in names:
        parts = [part.strip() for part in name.split(",")]
        if name not in raw.names and len(parts) > 1 and set(parts) <= set(raw.names):
            flags = " ".join(f"--target {printable(part)}" for part in parts)
            raise raw.place.error(f"no column {quoted(name)} for the target; write {flags}")
    return tuple(dict.fromkeys(raw.find(name, " for the target") for name in names))


# --- columns that say something about the rows ----------------------------------------------------------------


def role_positions(raw: RawTable, options: TableOptions, goals: Sequence[int]) -> dict[int, str]:
    """Return the position of each column that is not a feature, with the flag that names it."""
    found: dict[int, str] = {}
    for name in ("weights", "groups", "time"):
        if (wanted := getattr(options, name)) is None:
            continue
        i = raw.find(wanted, f" for --{name}")
        if i in goals:
            raise raw.place.error(f"column {raw.names[i]} is the target: not for --{name} too")
        if i in found:
            raise raw.place.error(f"column {raw.names[i]} is named by {found[i]} and --{name}")
        found[i] = f"--{name}"
    return found


def read_roles(
    raw: RawTable, options: TableOptions, goals: Sequence[int], commas: Commas
) -> RowRoles:
    """Read the weights, groups and times of the rows."""
    at = {flag: i for i, flag in role_positions(raw, options, goals).items()}
    weights = groups = times = None
    if (i := at.get("--weights")) is not None:
        weights = weights_of(raw, i, commas)
    if (i := at.get("--groups")) is not None:
        groups = np.array([str(text) for text in column_text(raw, i, commas).fields], dtype=object)
        for row in np.flatnonzero(groups == "")[:1].tolist():
            raise raw.place.error(f"column {raw.names[i]}: the group is missing", row)
    if (i := at.get("--time")) is not None:
        times = numbers_of(raw, i, commas, "--time")
    return RowRoles(weights, groups, times)


def weights_of(raw: RawTable, i: int, commas: Commas) -> Array:
    """Return a column of weights, none of which is negative."""
    weights = numbers_of(raw, i, commas, "--weights")
    for row in np.flatnonzero(weights < 0)[:1].tolist():
        text = f"column {raw.names[i]}: a weight is not negative, as {weights[row]:g} is"
        raise raw.place.error(text, row)
    return weights


def numbers_of(raw: RawTable, i: int, commas: Commas, flag: str) -> Array:
    """Return a column of numbers, or of dates for times, without gaps."""
    fields, name = raw.columns[i], raw.names[i]
    if isinstance(fields, np.ndarray):
        values = np.asarray(fields, dtype=np.float64)
    else:
        column = column_text(raw, i, commas)
        style = number_style(column, True)
        spec: ColumnSpec | None = ColumnSpec(name, "number", style.unit if style else "")
        if style is None and flag == "--time" and column.counts:
            dates = infer_dates(column)
            if dates is None:
                raise raw.place.error(f"column {name}: {flag} takes numbers or dates")
            spec = dates.spec
        assert spec is not None
        values = np.asarray(read_as(spec, column), dtype=np.float64)
    for row in np.flatnonzero(~np.isfinite(values))[:1].tolist():
        raise raw.place.error(f"column {name}: the value for {flag} is missing", row)
    return values


def without_weight(frame: Frame) -> Frame:
    """Remove the rows of weight 0, which must not matter in any way."""
    weights = frame.roles.weights
    if weights is None or weights.all():
        return frame
    rows = np.flatnonzero(weights)
    if len(rows) < 2:
        raise frame.place.error("fewer than two rows have a positive weight")
    text = f"dropped {frame.n - len(rows)} of {frame.n} rows with the weight 0"
    return frame.take(rows).with_decisions([ReadingDecision(None, text)])
