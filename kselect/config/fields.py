"""What each key of a config takes: validators that turn what was written into what it means."""

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
from kselect.core.method import TABLE, LamGrid, LamMode, LamUnit
from kselect.datasets.registry import Task, find_dataset
from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import LARGEST_GRID, parse_grid
from kselect.papers import PAPERS

TASKS: tuple[Task, ...] = ("classification", "regression")
SPLITS = re.compile(r"[0-9]{1,9}|[0-9]{1,9}-[0-9]{1,9}(,[0-9]{1,9}-[0-9]{1,9})*")
T = TypeVar("T")
Wrong = tuple[Location, str]


def fail(*problems: Wrong) -> NoReturn:
    """Leave a validator with worded problems, each at a place below the validated key."""
    raise PydanticCustomError("worded", "worded", {"problems": problems})


def attempt(action: Callable[..., T], *arguments: Any) -> tuple[T | None, str]:
    """The result and no text, or no result and the text of the ConfigError."""
    try:
        return action(*arguments), ""
    except ConfigError as error:
        return None, str(error)


def field(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """A pydantic validator from a function that raises ConfigError."""

    def validate(value: Any) -> T:
        try:
            return read(value)
        except ConfigError as error:
            fail(((), str(error)))

    return validate


def describe(value: object) -> str:
    """A value as a sentence names it."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return f"the switch {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {quoted(value)}"
    if isinstance(value, str):
        return f"the text {quoted(value)}" if value else "empty"
    return "a mapping" if isinstance(value, dict) else "a list"


def as_text(value: object) -> str:
    """Text; a bare number needs quotes, so that 007 and 7 stay apart."""
    if isinstance(value, str):
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    quotes = f"; write it in quotes: '{quoted(value)}'" if number else ""
    raise ConfigError(f"must be text, not {describe(value)}{quotes}")


def folder_name(value: object) -> str:
    """A name that is a plain folder name on every system."""
    name = as_text(value)
    if not re.fullmatch(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?", name):
        rule = "use letters, digits, '-', '_' and '.', with no '.' at either end"
        raise ConfigError(f"{quoted(name)} is not a plain folder name; {rule}")
    return name


def figure_name(value: object) -> str:
    """The name of a figure: a file name, and not that of the table."""
    name = folder_name(value)
    if name == TABLE:
        raise ConfigError(f"{TABLE!r} is the name of the table; give the figure another")
    return name


def named(find: Callable[[str], object]) -> Callable[[Any], str]:
    """A validator for the name of a registered thing."""

    def read(value: object) -> str:
        name = as_text(value)
        find(name)
        return name

    return field(read)


def dataset_name(value: object, context: ValidationInfo) -> str:
    """The name of a registered data set, or of one that the config describes itself."""
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


def find_paper(name: str) -> None:
    """A paper that the project reproduces, or the empty text for none."""
    if name:
        PAPERS.find(name)


def read_fraction(value: object) -> float:
    """A share of the rows, strictly between none and all."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"must be a number such as 0.7, not {describe(value)}")
    if not 0 < value < 1:
        raise ConfigError(f"must lie between 0 and 1, both excluded, not {quoted(value)}")
    return float(value)


def read_seed(value: object) -> int:
    """A whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"must be a whole number, 0 or more, not {describe(value)}")
    return value


def read_splits(value: object) -> tuple[int, ...]:
    """``3`` -> 0, 1, 2; ``'2-4'`` -> 2, 3, 4; ``'0-1,5-6'`` -> 0, 1, 5, 6."""
    written = str(value) if isinstance(value, int) else value
    if not isinstance(written, str) or not SPLITS.fullmatch(written):
        shown = describe(value)
        raise ConfigError(f"must be a count such as 10 or a range such as 0-4, not {shown}")
    ranges = [part.split("-") for part in written.split(",")]
    ends = [(int(r[0]), int(r[1])) if len(r) == 2 else (0, int(r[0]) - 1) for r in ranges]
    shown = quoted(written)[1:-1]
    if any(high < low for low, high in ends):
        raise ConfigError(f"{shown} holds no split; write 1 or more, or a range such as 0-4")
    if any(low <= high for (_, high), (low, _) in pairwise(ends)):
        raise ConfigError(f"{shown}: ranges must ascend and not overlap")
    if ends[-1][1] >= LARGEST_GRID:
        raise ConfigError(f"{shown} is too much: split numbers end at {LARGEST_GRID - 1}")
    return tuple(split for low, high in ends for split in range(low, high + 1))


def positive_grid(value: object) -> tuple[float, ...]:
    """A grid of positive numbers."""
    values = parse_grid(value)
    bad = next((v for v in values if v <= 0), None)
    if bad is not None:
        raise ConfigError(f"must be positive, not {bad:g}")
    return values


def read_ridges(value: object) -> LamGrid:
    """``{fixed: grid}`` or ``{select: grid}``; with ``unit: n lam`` the grid is one of ridges."""
    modes: tuple[LamMode, ...] = get_args(LamMode)
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
    values, wrong = attempt(positive_grid, value[named[0]])
    if values is None:
        fail(((named[0],), wrong))
    return LamGrid(values, named[0], read_unit(value.get("unit", "lam")))


def read_unit(value: object) -> LamUnit:
    """``lam`` or ``n lam``."""
    for unit in get_args(LamUnit):
        if value == unit:
            found: LamUnit = unit
            return found
    fail((("unit",), f"must be {' or '.join(get_args(LamUnit))}, not {describe(value)}"))


def read_train(value: object) -> float | None:
    """A share of the rows, or ``given``: the splits that come with a data set."""
    return None if value == "given" else read_fraction(value)


def read_tune_folds(value: object) -> int:
    """How many inner folds choose a tuned parameter."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 2:
        raise ConfigError(f"must be a whole number, 2 or more, not {describe(value)}")
    return value


def read_fewer(value: object, context: ValidationInfo) -> tuple[SplitLimit, ...]:
    """``{cpusmall: 10, above 1500: 10}``: so many splits alone, on a data set or above so many training rows."""
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
