"""Scaling, and the way from a table to the matrix of a kernel machine, fitted on training rows.

scikit-learn's SimpleImputer and OneHotEncoder, in a ColumnTransformer, find the medians and the levels. These are
kept as plain values, and applying them is arithmetic. So a model file contains no code, and a preparation that is
read from it gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from kselect.datasets.normal_scores import Curves
from kselect.datasets.table.column_inference import absent, shown
from kselect.datasets.table.raw_table import (
    ColumnKind,
    ColumnSpec,
    FileForm,
    Frame,
    ReadingDecision,
    Schema,
)
from kselect.numerics.linalg import Array, Index, Mask
from kselect.numerics.memory import BLOCK

Levels = tuple[str, ...]
Scale = Literal["zscore", "minmax", "none"]
# Of a table that is read as a whole: quantile gives z-scores of normal scores (normal_scores.py).
TableScale = Literal["zscore", "minmax", "quantile", "none"]
Each = Callable[[Callable[[Array], Array]], list[Array]]
MISSING_LEVEL = "(missing)"
NAMES_SHOWN = 3
# A column whose spread is below this share of its values needs more digits for its mean than a number has.
NARROW = 2.0**-22


def fit_scale(X: Array, scale: Scale) -> tuple[Array, Array]:
    """Return ``(shift, divisor)`` such that the scaled rows are ``(X - shift) / divisor``.

    ``zscore`` gives mean 0 and standard deviation 1 (with divisor n); ``minmax`` gives the range [-1, 1]. A
    constant column becomes zero. If the middle of a narrow column is no floating-point number, the shift is two
    rows: the nearest numbers, and the rest.
    """
    if scale == "none":
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    return scale_of_blocks(
        lambda of: [of(X[i : i + BLOCK]) for i in range(0, len(X), BLOCK)], scale
    )


def scale_of_blocks(each: Each, scale: Scale) -> tuple[Array, Array]:
    """Return the same for rows in blocks; ``each`` applies a function to every block, in the order of the rows.

    The sums of the blocks are added in this order, wherever the blocks lie.
    """
    shift, divisor, varies = middle_and_spread(each, scale)
    narrow = (divisor < NARROW * np.abs(shift)) & varies
    if not narrow.any():
        return shift, divisor
    rest, middle = np.zeros_like(shift), shift[narrow]

    def close(of: Callable[[Array], Array]) -> list[Array]:
        return each(lambda X: of(X[:, narrow] - middle))

    # Rows this close to the shift differ from it by exact numbers.
    rest[narrow], divisor[narrow], _ = middle_and_spread(close, scale)
    return np.stack([shift, rest]), divisor


def middle_and_spread(each: Each, scale: Scale) -> tuple[Array, Array, Mask]:
    """Return what becomes 0 and what becomes 1 in each column, to the rounding error of its largest value.

    The third result tells the columns that are not constant.
    """
    ends = each(lambda X: np.stack([X.min(axis=0), X.max(axis=0)]))
    low, high = np.min([e[0] for e in ends], axis=0), np.max([e[1] for e in ends], axis=0)
    constant = low == high
    if scale == "zscore":
        # In units of a power of two, which changes no digit, sums and squares cannot overflow.
        unit = np.ldexp(1.0, np.frexp(np.maximum(np.abs(low), np.abs(high)))[1] - 1)
        n = sum(int(m) for m in each(lambda X: np.array(len(X))))
        mean = sum(each(lambda X: np.asarray((X / unit).sum(axis=0)))) / n
        squares = sum(each(lambda X: np.asarray(np.square(X / unit - mean).sum(axis=0))))
        shift, divisor = mean * unit, np.sqrt(squares / n) * unit
    else:
        # Halves first: high - low of two huge values would overflow.
        shift, divisor = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
    negligible = divisor < np.finfo(np.float64).tiny
    spread = np.where(constant | negligible, 1.0, divisor)
    return np.where(constant, low, shift), spread, ~constant


def apply_scale(X: Array, shift: Array, divisor: Array) -> Array:
    """Return ``(X - shift) / divisor``."""
    # Halves: the difference of two huge values would overflow.
    half = 0.5 * X
    for part in np.atleast_2d(shift):
        half -= 0.5 * part
    return np.asarray(half / (0.5 * divisor))


@dataclass(frozen=True, eq=False)
class Preparation:
    """Imputation, encoding and scaling, as learned from the training rows.

    ``medians`` and ``levels`` have one entry per column, ``shift`` and ``divisor`` one per feature (``shift``
    two rows of them, see ``fit_scale``). The median of a
    category is NaN, and a number has no levels. A category of two levels is one feature, 0 or 1, scaled like a
    number. A category of more levels is a 0/1 feature per level, which is not scaled: z-scores would put the rows
    of a rare level far away from all others. ``curves`` map the numbers before they are scaled.
    """

    schema: Schema
    scale: TableScale
    medians: Array
    levels: tuple[Levels, ...]
    shift: Array
    divisor: Array
    curves: Curves | None = None

    def transform(self, frame: Frame) -> tuple[Array, tuple[ReadingDecision, ...]]:
        """Return the rows as numbers, and decisions about levels that the training rows do not have."""
        if frame.columns != self.schema.columns:
            raise frame.place.error("its columns are not those that the preparation was fitted on")
        if frame.numbers is not None:
            return self.scaled(frame.numbers), ()
        X = np.hstack(encode(frame, self.medians, self.levels))
        found = map(unseen_levels, frame.columns, frame.data, self.levels)
        return self.scaled(X), tuple(d for d in found if d is not None)

    def scaled(self, X: Array) -> Array:
        """Return rows of numbers, mapped and scaled."""
        bent = X if self.curves is None else self.curves.bend(X)
        return apply_scale(bent, self.shift, self.divisor)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features: ``age``, ``sex=male``, ``port=(missing)``."""
        found: list[str] = []
        for spec, levels in zip(self.schema.columns, self.levels, strict=True):
            kept = levels[1:] if len(levels) == 2 else levels
            values = [f"{spec.name}={level or MISSING_LEVEL}" for level in kept]
            found += [spec.name] if spec.numeric else values
        return tuple(found)

    @property
    def column_of_feature(self) -> Index:
        """The number of the column that each feature comes from."""
        widths = [1 if len(levels) in (0, 2) else len(levels) for levels in self.levels]
        return np.repeat(np.arange(len(widths), dtype=np.intp), widths)

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Preparation:
        """Return the preparation of a dict; raise KeyError, TypeError or ValueError if it is invalid."""
        schema = read_schema(found["schema"])
        levels = tuple(tuple(map(text_of, column)) for column in found["levels"])
        if found["scale"] not in get_args(TableScale):
            raise ValueError(f"no scale {found['scale']!r}")
        medians, shift, divisor = (
            np.asarray(found[name], dtype=np.float64) for name in ("medians", "shift", "divisor")
        )
        curves = Curves.of_members(found)
        made = cls(schema, found["scale"], medians, levels, shift, divisor, curves)
        if not len(medians) == len(levels) == len(schema.columns):
            raise ValueError("not one median and one list of levels per column")
        one = (len(made.names),)
        if divisor.shape != one or shift.shape not in (one, (2, *one)):
            raise ValueError("not one shift and one divisor per feature")
        if (curves is None) is (found["scale"] == "quantile") or (
            curves and curves.sizes.shape != one
        ):
            raise ValueError("not one curve per feature")
        if not (
            np.isfinite(shift).all() and (divisor > 0).all()
        ):  # an infinite one makes a constant
            raise ValueError("a shift that is not finite, or a divisor that is not positive")
        numeric = [spec.numeric for spec in schema.columns]
        if not np.isfinite(medians[numeric]).all():
            raise ValueError("a median that is not finite")
        return made


def fit_preparation(frame: Frame, scale: TableScale, rows: Index | None = None) -> Preparation:
    """Learn medians, levels and scale from the given rows only; the default is all rows."""
    if (X := frame.numbers) is not None:
        X = X if rows is None else X[rows]
        levels = (Levels(),) * X.shape[1]
        curves, fitted = bent_scale(X, scale, [True] * X.shape[1])
        return Preparation(frame.schema, scale, np.median(X, axis=0), levels, *fitted, curves)
    part = frame if rows is None else frame.take(rows)
    medians, levels = learn(part)
    blocks = encode(part, medians, levels)
    gaps = [
        s.numeric and bool(absent(v).all()) for s, v in zip(part.columns, part.data, strict=True)
    ]
    numeric = np.repeat([s.numeric for s in part.columns], [B.shape[1] for B in blocks])
    curves, fitted = bent_scale(np.hstack(blocks), scale, numeric.tolist())
    found = of_columns(frame.schema, scale, medians, levels, gaps, fitted)
    return replace(found, curves=curves)


def bent_scale(
    X: Array, scale: TableScale, numeric: Sequence[bool]
) -> tuple[Curves | None, tuple[Array, Array]]:
    """Return the curves of the numbers if the scale has any, and the scale of what they give."""
    if scale != "quantile":
        return None, fit_scale(X, scale)
    curves = Curves.through(X, numeric)
    return curves, fit_scale(curves.bend(X), "zscore")


def of_columns(
    schema: Schema,
    scale: TableScale,
    medians: Array,
    levels: tuple[Levels, ...],
    gaps: Sequence[bool],
    fitted: tuple[Array, Array],
) -> Preparation:
    """Return the preparation of columns; ``gaps`` says which have no value, ``fitted`` is the features' scale."""
    shift, divisor = fitted
    pairs = zip(schema.columns, levels, strict=True)
    widths = [1 if spec.numeric or len(known) == 2 else len(known) for spec, known in pairs]
    indicators = np.repeat([width > 1 for width in widths], widths)
    # A number that no training row has says nothing: its feature is 0 in every row.
    divisor = np.where(np.repeat(gaps, widths), np.inf, np.where(indicators, 1.0, divisor))
    return Preparation(schema, scale, medians, levels, np.where(indicators, 0.0, shift), divisor)


def learn(frame: Frame) -> tuple[Array, tuple[Levels, ...]]:
    """Return the median of each number and the levels of each category; a missing value is a level, too.

    Numbers without gaps do not need scikit-learn, which takes a second to import.
    """
    numbers = [i for i, spec in enumerate(frame.columns) if spec.numeric]
    others = [i for i, spec in enumerate(frame.columns) if not spec.numeric]
    medians, levels = np.full(len(frame.columns), np.nan), dict[int, Levels]()
    if not others and not any(absent(values).any() for values in frame.data):
        return np.median(np.column_stack(frame.data), axis=0), (Levels(),) * len(numbers)
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    table = pd.DataFrame(
        {i: pd.Series(v, dtype=v.dtype) for i, v in enumerate(frame.data)}, copy=False
    )
    median = SimpleImputer(strategy="median", keep_empty_features=True)
    encoder = OneHotEncoder(drop="if_binary", handle_unknown="ignore", sparse_output=False)
    steps = [("number", median, numbers), ("category", encoder, others)]
    # The largest numbers may overflow here; the search reports them.
    with np.errstate(over="ignore", invalid="ignore"):
        fitted = ColumnTransformer([step for step in steps if step[2]]).fit(table)
    if numbers:
        medians[numbers] = fitted.named_transformers_["number"].statistics_
    if others:
        found = fitted.named_transformers_["category"].categories_
        levels = {i: tuple(values.tolist()) for i, values in zip(others, found, strict=True)}
    return medians, tuple(levels.get(i, ()) for i in range(len(frame.columns)))


def encode(frame: Frame, medians: Array, levels: Sequence[Levels]) -> list[Array]:
    """Return the unscaled features of each column.

    A category has a 0/1 column per level; with two levels, only the second has one. An unknown value is 0 in
    every column.
    """
    blocks = []
    for spec, values, median, known in zip(frame.columns, frame.data, medians, levels, strict=True):
        if spec.numeric:
            blocks.append(np.where(absent(values), median, values)[:, None])
            continue
        position = {level: i for i, level in enumerate(known)}
        codes = np.array([position.get(value, -1) for value in values], dtype=np.intp)
        ones = np.asarray(codes[:, None] == np.arange(len(known)), dtype=np.float64)
        blocks.append(ones[:, 1:] if len(known) == 2 else ones)
    return blocks


def unseen_levels(spec: ColumnSpec, values: Any, levels: Levels) -> ReadingDecision | None:
    """Return the decision about values that no training row has."""
    known = set(levels)
    strange = [] if spec.numeric else [value for value in values if value not in known]
    if not strange:
        return None
    distinct = [shown(v) if v else "missing" for v in sorted(set(strange))]
    more = f" and {len(distinct) - NAMES_SHOWN} more" if len(distinct) > NAMES_SHOWN else ""
    taken = f"read as {shown(levels[0])}" if len(levels) == 2 else "read as none of the values"
    rows = f"{len(strange)} row{'' if len(strange) == 1 else 's'}"
    text = f"{', '.join(distinct[:NAMES_SHOWN])}{more} not in the training rows: {taken}"
    return ReadingDecision(spec.name, text, rows)


def read_schema(found: Mapping[str, Any]) -> Schema:
    """Return a schema from JSON; raise ValueError if it is invalid."""
    columns = []
    for column in found["columns"]:
        if (kind := column["kind"]) not in get_args(ColumnKind):
            raise ValueError(f"no kind of column {kind!r}")
        columns.append(ColumnSpec(text_of(column["name"]), kind, text_of(column["form"])))
    if found["form"] not in get_args(FileForm) or not columns:
        raise ValueError(f"no schema of form {found['form']!r}")
    named, width = found["named"] is True, int(found["width"])
    # Model files of the formats 1 and 2 have one target, whose name is empty in svmlight.
    targets = found["targets"] if "targets" in found else filter(None, [found["target"]])
    return Schema(found["form"], named, width, tuple(map(text_of, targets)), tuple(columns))


def text_of(value: Any) -> str:
    """Return a value that is a string; refuse any other."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
