"""Validators that turn what a config writes into what it means: names, numbers, grids and splits."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Any, NoReturn, TypeVar, get_args

from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from kselect.config.document import Location
from kselect.core.experiment import SplitLimit
from kselect.core.method import LamGrid, LamMode, LamUnit
from kselect.datasets.registry import Task, find_dataset
from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import LARGEST_GRID, parse_grid
from kselect.numerics.losses import LOSSES

TASKS: tuple[Task, ...] = ("classification", "regression")
SPLITS = re.compile(r"[0-9]{1,9}|[0-9]{1,9}-[0-9]{1,9}(,[0-9]{1,9}-[0-9]{1,9})*")
T = TypeVar("T")
KeyProblem = tuple[Location, str]


def fail(*problems: KeyProblem) -> NoReturn:
    """Leave a validator with problems, each at a location below the validated key."""
    raise PydanticCustomError("worded", "worded", {"problems": problems})


def attempt(action: Callable[..., T], *arguments: Any) -> tuple[T | None, str]:
    """Return the result and an empty text, or None and the text of the ConfigError."""
    try:
        return action(*arguments), ""
    except ConfigError as error:
        return None, str(error)


def field(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """Return a pydantic validator for a function that raises ConfigError."""

    def validate(value: Any) -> T:
        try:
            return read(value)
        except ConfigError as error:
            fail(((), str(error)))

    return validate


def describe(value: object) -> str:
    """Return a value as an error message names it."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return f"the switch {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {quoted(value)}"
    if isinstance(value, str):
        return f"the text {quoted(value)}" if value else "empty"
    return "a mapping" if isinstance(value, dict) else "a list"


def only_item(value: object) -> tuple[Any, Any]:
    """Return key and value of a mapping with one key, as in ``{5-KS: {eta: 2}}``, or the value itself and None."""
    if isinstance(value, dict) and len(value) == 1:
        return next(iter(value.items()))
    return value, None


def read_loss(value: object) -> str:
    """Return the name of a loss of a row, or of one of scikit-learn's scorers whose best score is known."""
    if isinstance(value, str) and value in LOSSES:
        return value
    from kselect.numerics.scorers import UNBOUNDED, scorer_names

    known = [*LOSSES, *scorer_names()]
    if not isinstance(value, str):
        raise ConfigError(f"must be one of {', '.join(LOSSES)} or a scorer, not {describe(value)}")
    if value not in known:
        raise ConfigError(f"unknown value {quoted(value)}{nearest(value, known)}")
    if value in UNBOUNDED:
        raise ConfigError(f"{value} has no best score, so that no error follows from it")
    return value


def as_text(value: object) -> str:
    """Return text; a bare number needs quotes, so that 007 and 7 stay distinct."""
    if isinstance(value, str):
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    quotes = f"; write it in quotes: '{quoted(value)}'" if number else ""
    raise ConfigError(f"must be text, not {describe(value)}{quotes}")


def folder_name(value: object) -> str:
    """Return a name that is a plain folder name on every system."""
    name = as_text(value)
    if not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?", name):
        rule = "use letters, digits, '-', '_' and '.', with no '.' at either end"
        raise ConfigError(f"{quoted(name)} is not a plain folder name; {rule}")
    return name


def dataset_name(value: object, context: ValidationInfo) -> str:
    """Return the name of a registered data set, or of one that the config describes itself."""
    own: Collection[str] = context.context or ()
    try:
        name = as_text(value)
        if name not in own:
            near = difflib.get_close_matches(name, own, n=1)
            if near:
                raise ConfigError(
                    f"unknown data set {quoted(name)}; did you mean {quoted(near[0])}?"
                )
            find_dataset(name)
    except ConfigError as error:
        fail(((), str(error)))
    return name


def whole_number(least: int) -> Callable[[Any], int]:
    """Return a validator of whole numbers that are not below ``least``."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigError(f"must be a whole number, {least} or more, not {describe(value)}")
        return value

    return field(read)


def read_splits(value: object) -> tuple[int, ...]:
    """Return the split numbers: ``3`` is 0, 1, 2; ``'2-4'`` is 2, 3, 4; ``'0-1,5-6'`` is 0, 1, 5, 6."""
    written = str(value) if isinstance(value, int) else value
    if not isinstance(written, str) or not SPLITS.fullmatch(written):
        shown = describe(value)
        raise ConfigError(f"must be a count such as 10 or a range such as 0-4, not {shown}")
    ranges = [part.split("-") for part in written.split(",")]
    ends = [(int(r[0]), int(r[1])) if len(r) == 2 else (0, int(r[0]) - 1) for r in ranges]
    shown = quoted(written)[1:-1]
    if any(high < low for low, high in ends):
        raise ConfigError(f"{shown} contains no split; write 1 or more, or a range such as 0-4")
    if any(low <= high for (_, high), (low, _) in pairwise(ends)):
        raise ConfigError(f"{shown}: ranges must ascend and not overlap")
    if ends[-1][1] >= LARGEST_GRID:
        raise ConfigError(f"{shown} is too much: split numbers end at {LARGEST_GRID - 1}")
    return tuple(split for low, high in ends for split in range(low, high + 1))


def read_fewer_splits(value: object, context: ValidationInfo) -> tuple[SplitLimit, ...]:
    """Return the limits in ``{cpusmall: 10, above 1500: 10}``: per data set, or above a number of training rows."""
    if not isinstance(value, dict):
        shown = describe(value)
        fail(((), f"must be a mapping such as {{above 1500: 10, a2a: 5}}, not {shown}"))
    found: list[SplitLimit] = []
    for key, count in value.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            fail(((key,), f"must be a number of splits, 1 or more, not {describe(count)}"))
        above = re.fullmatch(r"above ([0-9]{1,9})", key)
        if above:
            found.append(SplitLimit(count, rows=int(above[1])))
            continue
        wrong = "" if key in (context.context or ()) else attempt(find_dataset, key)[1]
        if wrong:
            fail(((key,), f"{wrong}; or write above N for training parts of more than N rows"))
        found.append(SplitLimit(count, dataset=key))
    return tuple(found)


def read_train(value: object) -> float | None:
    """Return a share of the rows, or None for ``given``: the splits that come with a data set."""
    if value == "given":
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"must be a number such as 0.7, not {describe(value)}")
    if not 0 < value < 1:
        raise ConfigError(f"must lie between 0 and 1, both excluded, not {quoted(value)}")
    return float(value)


def read_lam(value: object) -> LamGrid:
    """Return the grid in ``{fixed: GRID}`` or ``{select: GRID}``; ``unit`` is lam, n lam or C."""
    modes: tuple[LamMode, ...] = get_args(LamMode)
    units: tuple[LamUnit, ...] = get_args(LamUnit)
    if not isinstance(value, dict) or not value:
        shown = describe(value or None)
        raise ConfigError(f"must be {{fixed: GRID}} or {{select: GRID}}, not {shown}")
    known = (*modes, "unit")
    unknown = [((key,), f"unknown key{nearest(key, known)}") for key in value if key not in known]
    if unknown:
        fail(*unknown)
    named = [mode for mode in modes if mode in value]
    if len(named) != 1:
        raise ConfigError(f"takes {' or '.join(modes)}, {'not both' if named else 'and a grid'}")
    values, wrong = attempt(parse_grid, value[named[0]])
    if values is not None and min(values) <= 0:
        wrong = f"must be positive, not {next(v for v in values if v <= 0):g}"
    if values is None or wrong:
        fail(((named[0],), wrong))
    asked = value.get("unit", "lam")
    if asked not in units:
        fail((("unit",), f"must be {' or '.join(units)}, not {describe(asked)}"))
    return LamGrid(values, named[0], asked)
