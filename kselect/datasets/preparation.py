"""From a frame to the matrix of a kernel machine: imputation, encoding and scaling, fitted on training rows.

scikit-learn's SimpleImputer and OneHotEncoder, in a ColumnTransformer, find the medians and the levels; what
they found is kept as plain values, and applying it is arithmetic on them. So a model file holds no code, and
a preparation read from it gives the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

from kselect.datasets.frames import Frame, Schema
from kselect.datasets.scaling import Scale, fit_scale
from kselect.datasets.tables.columns import ColumnSpec, Texts, shown
from kselect.datasets.tables.decisions import Decision
from kselect.datasets.tables.raw import Kind
from kselect.datasets.tables.remarks import absent
from kselect.numerics.linalg import Array, Index

Levels = tuple[str, ...]
MISSING_LEVEL = "(missing)"
NAMES_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Preparation:
    """What the training rows have taught, column by column, and feature by feature.

    ``medians`` is NaN for a category, ``levels`` is empty for a number. A category of two levels is one
    feature, 0 or 1, scaled like a number; one of more is a 0/1 feature per level, which is not scaled:
    z-scores would put the rows of a rare level far away from all others.
    """

    schema: Schema
    scale: Scale
    medians: Array
    levels: tuple[Levels, ...]
    shift: Array
    divisor: Array

    def transform(self, frame: Frame) -> tuple[Array, tuple[Decision, ...]]:
        """The rows as numbers, and what did not fit: levels that the training rows do not have."""
        if frame.columns != self.schema.columns:
            raise frame.place.error("its columns are not those that the preparation was fitted on")
        X = frame.numbers
        if X is None:
            X = np.hstack(encode(frame, self.medians, self.levels))
        scaled = np.asarray((0.5 * X - 0.5 * self.shift) / (0.5 * self.divisor))
        if frame.numbers is not None:
            return scaled, ()
        said = map(unseen, frame.columns, frame.data, self.levels)
        return scaled, tuple(d for d in said if d is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names: ``age``, ``sex=male``, ``port=(missing)``."""
        return tuple(
            name
            for pair in zip(self.schema.columns, self.levels, strict=True)
            for name in named(*pair)
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON values and arrays, which ``from_dict`` turns into an equal preparation."""
        return {
            "schema": asdict(self.schema),
            "scale": self.scale,
            "levels": [list(levels) for levels in self.levels],
            "medians": self.medians,
            "shift": self.shift,
            "divisor": self.divisor,
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Preparation:
        """The preparation of a dict; KeyError, TypeError or ValueError where it is none."""
        schema = read_schema(found["schema"])
        levels = tuple(tuple(map(text_of, column)) for column in found["levels"])
        if found["scale"] not in get_args(Scale):
            raise ValueError(f"no scale {found['scale']!r}")
        medians, shift, divisor = (
            np.asarray(found[name], dtype=np.float64) for name in ("medians", "shift", "divisor")
        )
        made = cls(schema, found["scale"], medians, levels, shift, divisor)
        if not len(medians) == len(levels) == len(schema.columns):
            raise ValueError("not one median and one list of levels per column")
        if not shift.shape == divisor.shape == (len(made.names),):
            raise ValueError("not one shift and one divisor per feature")
        return made


def fit_preparation(frame: Frame, scale: Scale, rows: Index | None = None) -> Preparation:
    """What the given rows teach, all by default; the others are not looked at."""
    if frame.numbers is not None:
        return fit_numbers(
            frame.schema, scale, frame.numbers if rows is None else frame.numbers[rows]
        )
    part = frame if rows is None else frame.take(rows)
    medians, levels = learn(part)
    blocks = encode(part, medians, levels)
    shift, divisor = fit_scale(np.hstack(blocks), scale)
    widths = [block.shape[1] for block in blocks]
    indicators = np.repeat([width > 1 for width in widths], widths)
    # A number that no training row has says nothing: its feature is 0 in every row.
    empty = np.repeat([s.numeric and bool(np.isnan(v).all()) for s, v in pairs(part)], widths)
    divisor = np.where(empty, np.inf, np.where(indicators, 1.0, divisor))
    return Preparation(
        frame.schema, scale, medians, levels, np.where(indicators, 0.0, shift), divisor
    )


def fit_numbers(schema: Schema, scale: Scale, X: Array) -> Preparation:
    """The same for numbers without a gap: medians that fill gaps in other rows, and the scale."""
    levels = (Levels(),) * X.shape[1]
    return Preparation(schema, scale, np.median(X, axis=0), levels, *fit_scale(X, scale))


def pairs(frame: Frame) -> list[tuple[ColumnSpec, Any]]:
    """Each column with its values."""
    return list(zip(frame.columns, frame.data, strict=True))


def learn(frame: Frame) -> tuple[Array, tuple[Levels, ...]]:
    """The median of each number and the levels of each category, which may be the missing one.

    Complete numbers alone, as in svmlight, need no scikit-learn: it takes a second to start.
    """
    numbers = [i for i, spec in enumerate(frame.columns) if spec.numeric]
    others = [i for i, spec in enumerate(frame.columns) if not spec.numeric]
    medians, levels = np.full(len(frame.columns), np.nan), [Levels()] * len(frame.columns)
    if not others and not any(absent(values).any() for values in frame.data):
        return np.median(np.column_stack(frame.data), axis=0), tuple(levels)
    fitted = column_transformer(frame, numbers, others).named_transformers_
    if numbers:
        medians[numbers] = fitted["number"].statistics_
    if others:
        for i, found in zip(others, fitted["category"].categories_, strict=True):
            levels[i] = tuple(found.tolist())
    return medians, tuple(levels)


def column_transformer(frame: Frame, numbers: Sequence[int], others: Sequence[int]) -> Any:
    """scikit-learn's imputation and encoding, fitted; scaling is the project's own, as for any data set."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    table = pd.DataFrame(
        {i: pd.Series(v, dtype=v.dtype) for i, v in enumerate(frame.data)}, copy=False
    )
    median = SimpleImputer(strategy="median", keep_empty_features=True)
    encoder = OneHotEncoder(drop="if_binary", handle_unknown="ignore", sparse_output=False)
    steps = [("number", median, list(numbers)), ("category", encoder, list(others))]
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # of the largest numbers; the search says what overflows
        return ColumnTransformer([step for step in steps if step[2]]).fit(table)


def encode(frame: Frame, medians: Array, levels: Sequence[Levels]) -> list[Array]:
    """The unscaled features of each column."""
    blocks = []
    for (spec, values), median, known in zip(pairs(frame), medians, levels, strict=True):
        filled = np.where(np.isnan(values), median, values)[:, None] if spec.numeric else None
        blocks.append(indicators_of(values, known) if filled is None else filled)
    return blocks


def indicators_of(values: Texts, levels: Levels) -> Array:
    """A 0/1 column per level, the second alone of two; a value that is no level has none."""
    position = {level: i for i, level in enumerate(levels)}
    codes = np.array([position.get(value, -1) for value in values], dtype=np.intp)
    ones = np.asarray(codes[:, None] == np.arange(len(levels)), dtype=np.float64)
    return ones[:, 1:] if len(levels) == 2 else ones


def named(spec: ColumnSpec, levels: Levels) -> list[str]:
    """The names of a column's features."""
    if spec.numeric:
        return [spec.name]
    kept = levels[1:] if len(levels) == 2 else levels
    return [f"{spec.name}={level or MISSING_LEVEL}" for level in kept]


def unseen(spec: ColumnSpec, values: Any, levels: Levels) -> Decision | None:
    """What is said of values that no training row has."""
    if spec.numeric:
        return None
    known = set(levels)
    strange = [value for value in values if value not in known]
    if not strange:
        return None
    distinct = [shown(v) if v else "missing" for v in sorted(set(strange))]
    more = f" and {len(distinct) - NAMES_SHOWN} more" if len(distinct) > NAMES_SHOWN else ""
    taken = f"taken as {shown(levels[0])}" if len(levels) == 2 else "taken as none of the values"
    rows = f"{len(strange)} row{'' if len(strange) == 1 else 's'}"
    text = f"{', '.join(distinct[:NAMES_SHOWN])}{more} not among the training rows: {taken}"
    return Decision(spec.name, text, rows)


def read_schema(found: Mapping[str, Any]) -> Schema:
    """A schema from JSON; ValueError where it is none."""
    columns = tuple(
        ColumnSpec(text_of(c["name"]), kind_of(c["kind"]), text_of(c["form"]))
        for c in found["columns"]
    )
    if found["form"] not in ("columns", "svmlight") or not columns:
        raise ValueError(f"no schema of form {found['form']!r}")
    return Schema(
        found["form"],
        found["named"] is True,
        int(found["width"]),
        text_of(found["target"]),
        columns,
    )


def kind_of(value: Any) -> Kind:
    """One of the kinds of columns."""
    if value not in get_args(Kind):
        raise ValueError(f"no kind of column {value!r}")
    kind: Kind = value
    return kind


def text_of(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
