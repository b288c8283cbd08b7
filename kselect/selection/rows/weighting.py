"""The weights of a selection's rows: the given weights times the weights of the classes.

Class weights depend on the rows that are trained on, so that the training part of an outer fold forms its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import show_number
from kselect.numerics.linalg import Array
from kselect.numerics.sigmoid import codes
from kselect.numerics.weights import Weights

BALANCED = "balanced"
FORMS = "balanced, or a weight per class, as in a=1,b=5"
ClassWeight = str | Mapping[Any, Any] | None


@dataclass(frozen=True)
class ClassWeights:
    """The weight of each class in the order of the targets; None balances the classes of the training rows."""

    values: tuple[float, ...] | None

    def of_rows(self, targets: Array, given: Array | None) -> Array:
        """Return the weight of each row, from the targets (q, n) and the weights given.

        Balanced weights are ``n / (classes * n_class)``, where weights given count as rows.
        """
        own = codes(targets)
        counts = np.bincount(own, np.ones(len(own)) if given is None else given)
        if self.values is None:
            present = counts > 0
            each = counts.sum() / (present.sum() * np.where(present, counts, 1.0))
        else:
            each = np.array(self.values)
        return np.asarray(each[own] if given is None else each[own] * given)


@dataclass(frozen=True, eq=False)
class Weighting:
    """The weights of rows: given per row, per class, both or (None) equal."""

    given: Array | None = None
    classes: ClassWeights | None = None

    def __bool__(self) -> bool:
        return self.given is not None or self.classes is not None

    def of(self, targets: Array) -> Weights | None:
        """Return the weights of the rows with these targets."""
        if self.classes is None:
            return Weights.of(self.given)
        return Weights.of(self.classes.of_rows(targets, self.given), self.given, True)

    def part(self, rows: Any) -> Weighting:
        """Return the same for some rows."""
        return Weighting(None if self.given is None else self.given[rows], self.classes)


def class_weights(asked: ClassWeight, names: Sequence[Any]) -> ClassWeights | None:
    """Return the weights that are asked for classes of these names; a class that is not named has the weight 1.

    ``asked`` is ``balanced``, a dictionary, or text such as ``a=1,b=5``.
    """
    if asked is None:
        return None
    if not len(names):
        raise ConfigError("class weights are for classification; this is a regression")
    if isinstance(asked, str):
        if asked == BALANCED:
            return ClassWeights(None)
        asked = parse_pairs(asked)
        names = [str(name) for name in names]
    if not isinstance(asked, Mapping):
        raise ConfigError(f"class weights: {quoted(asked)}; write {FORMS}")
    known = list(names)
    for name, value in asked.items():
        if name not in known:
            hint = nearest(str(name), [str(one) for one in known])
            raise ConfigError(f"class weights: no class {quoted(name)}{hint}")
        if not (is_real(value) and 0 < float(value) < np.inf):
            raise ConfigError(f"class weights: {quoted(value)} of {name} is not a positive number")
    return ClassWeights(tuple(float(asked.get(name, 1.0)) for name in known))


def parse_pairs(text: str) -> dict[str, float]:
    """Return the weights that ``a=1,b=5`` gives by class; a name may contain an equals sign."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        try:
            number = float(value) if equals else np.nan
        except ValueError:
            number = np.nan
        if not (name.strip() and np.isfinite(number)):
            raise ConfigError(f"class weights: {quoted(part.strip())}; write {FORMS}")
        if name.strip() in found:
            raise ConfigError(f"class weights: two for {quoted(name.strip())}")
        found[name.strip()] = number
    return found


def is_real(value: Any) -> bool:
    """Return whether a value is a number."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_weights(values: Any, n: int) -> Array:
    """Return weights given as an array: one per row, finite, not negative, and at least two of them positive."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError("sample_weight: the weights are not numbers") from None
    if found.ndim == 0:
        found = np.full(n, float(found))
    if found.shape != (n,):
        raise ConfigError(
            f"sample_weight: shape {found.shape} for {n} rows; give one weight per row"
        )
    if not np.isfinite(found).all() or found.min() < 0:
        bad = float(found[~(np.isfinite(found) & (found >= 0))][0])
        raise ConfigError(
            f"sample_weight: a weight is finite and not negative, not {show_number(bad)}"
        )
    if np.count_nonzero(found) < 2:
        raise ConfigError(
            f"sample_weight: all weights but {np.count_nonzero(found)} are zero; two rows need a positive one"
        )
    return found
