"""What a user asks of ``select``, by flags or by an estimator's parameters, turned into a Request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np

from kselect.core.method import Choice, Method
from kselect.criteria import Criterion, find_criterion
from kselect.errors import ConfigError, nearest
from kselect.grids import parse_grid
from kselect.kernels import KERNELS, Kernel, Points, find_kernel
from kselect.learners import Learner
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array, Index
from kselect.numerics.losses import CLASSIFICATION_LOSSES
from kselect.registry import Parameter

Grid = str | int | float | Sequence[str | int | float]
AUTO = "auto"
SAMPLED = 500  # rows whose distances tell the data's scale

LAM = "10^-7:10^1"
# Kernels learned at the first level of inference: 5-FLKL, or FLKL for short.
FLKL = re.compile(r"(?:([1-9][0-9]{0,8})-)?FLKL")
FLKL_FOLDS = 5


def kernel_grids() -> dict[str, dict[str, str]]:
    """Parameter -> kernel -> the grid that is searched by default, over all registered kernels."""
    found: dict[str, dict[str, str]] = {}
    for name, cls in KERNELS.items():
        for parameter, grid in cls.grids.items():
            found.setdefault(parameter, {})[name] = grid
    return found


def criterion_of(label: str) -> tuple[Criterion, int | None]:
    """The criterion of a label and its folds: ``FLKL`` minimises k-fold cross-validation, and ``LOO`` is ELOO."""
    if flkl := FLKL.fullmatch(label):
        return find_criterion(f"{flkl[1] or FLKL_FOLDS}-CV")
    return find_criterion("ELOO" if label == "LOO" else label)


def make_kernels(
    name: str, grids: Mapping[str, Grid | None], X: Array | None = None
) -> tuple[Kernel, ...]:
    """Every kernel of a family over its parameters' grids; none of one whose parameters are learned.

    Where a grid is not given, or "auto", it lies around the scale of the data X, for parameters that have one.
    """
    cls = find_kernel(name)
    given = {k: g for k, grid in grids.items() if (g := as_plain(grid)) is not None and g != AUTO}
    names = [] if cls.learned else [field.name for field in fields(cls)]
    strange = [key for key in given if key not in names]
    if strange:
        hint = nearest(strange[0], names) if names else "; it has none"
        raise ConfigError(f"the {name} kernel has no parameter {strange[0]!r}{hint}")
    if cls.learned:
        return ()
    own = {**cls.grids, **auto_grids(cls, X)} if set(given) < set(names) else {}
    values = (named_grid(key, given.get(key, own.get(key))) for key in names)
    return tuple(cls(*point) for point in product(*values))


def auto_grids(cls: type[Kernel], X: Array | None) -> Mapping[str, str]:
    """The grids around the data's scale, by the distances of some hundred rows."""
    if X is None or not len(X):
        return {}
    rows = stream(0, "scale").permutation(len(X))[:SAMPLED]
    with np.errstate(over="ignore", invalid="ignore"):  # the search says what overflows
        return cls.around(Points(X[rows]))


def as_plain(grid: Any) -> Any:
    """An array or a number of numpy's as Python's own."""
    if isinstance(grid, np.ndarray | np.generic):
        return grid.tolist()
    if isinstance(grid, (list, tuple, range)):
        return [as_plain(value) for value in grid]
    return grid


def named_grid(name: str, grid: Any) -> tuple[float, ...]:
    """The values of a grid; an error says of which."""
    try:
        return parse_grid(as_plain(grid))
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def make_lams(grid: Grid) -> tuple[float, ...]:
    """The ridges, each positive."""
    lams = named_grid("lam", grid)
    if min(lams) <= 0:
        raise ConfigError(f"lam must be positive, not {min(lams):g}")
    return lams


def make_method(
    label: str, loss: str | None, params: Mapping[str, Any], classification: bool
) -> Method:
    """The criterion of a label with its parameters; what it does not have is an error."""
    criterion, folds = criterion_of(label)
    given = dict(params) | ({"loss": loss} if loss else {})
    values = criterion.defaults
    for name, value in given.items():
        values[name] = find_parameter(criterion, label, name).parse(value)
    if not classification and values.get("loss") in CLASSIFICATION_LOSSES:
        raise ConfigError(f"loss {values['loss']!r} is for classification; this is a regression")
    if not classification and values.get("form") in ("error", "smoothed"):
        raise ConfigError(f"form {values['form']!r} is for classification; this is a regression")
    return Method(label, criterion.name, folds, tuple(sorted(values.items())))


def usual_loss(learner: Learner, label: str, loss: str | None) -> str | None:
    """The loss that was asked for; else the learner's own, where the criterion averages one."""
    criterion, _ = criterion_of(label)
    if loss or learner.loss == "squared" or criterion.parameter("loss") is None:
        return loss
    return learner.loss


def split_parameters(
    learner: Learner, label: str, given: Mapping[str, Any]
) -> tuple[dict[str, Any], Choice]:
    """Parameters by name: what is left for the criterion, and the learner with its own."""
    criterion, _ = criterion_of(label)
    mine = learner.defaults
    rest: dict[str, Any] = {}
    for name, value in given.items():
        parameter = learner.parameter(name)
        if parameter is None or criterion.parameter(name):
            rest[name] = value
        else:
            mine[name] = parameter.parse(value)
    return rest, Choice(learner.name, tuple(sorted(mine.items())))


def find_parameter(criterion: Criterion, label: str, name: str) -> Parameter:
    """A criterion's parameter, or an error with the nearest name."""
    parameter = criterion.parameter(name)
    if parameter is None:
        known = [p.name for p in criterion.parameters]
        hint = nearest(name, known) if known else "; it has no parameters"
        raise ConfigError(f"{label} has no parameter {name!r}{hint}")
    return parameter


def make_folds(method: Method, n: int, seed: int, numbers: Index | None) -> Folds | None:
    """The folds that a criterion asks for: those given, or seeded random ones."""
    k = method.folds
    if k is None:
        if numbers is not None:
            raise ConfigError(f"{method.label} has no folds: leave them out")
        return None
    if numbers is None:
        return draw_folds(n, k, stream(seed, "folds"))
    if len(numbers) != n:
        raise ConfigError(f"{len(numbers)} fold numbers for {n} rows")
    first = 1 if numbers.min() == 1 else 0
    strange = numbers[(numbers < first) | (numbers >= first + k)]
    if len(strange):
        raise ConfigError(
            f"{method.label} takes fold numbers 0 to {k - 1}, or 1 to {k}; {strange[0]} is not one"
        )
    empty = np.setdiff1d(np.arange(first, first + k), numbers)
    if len(empty):
        raise ConfigError(f"{method.label} has {k} folds; no row is in fold {empty[0]}")
    return Folds.from_numbers(numbers - first)
