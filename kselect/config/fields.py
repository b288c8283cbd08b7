"""What each key of a config takes: validators that turn what was written into what it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise, product
from math import prod
from typing import Any, Literal, NoReturn, TypeVar, get_args

from pydantic_core import PydanticCustomError

from kselect.config.document import Location
from kselect.criteria import Criterion, find_criterion
from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import LARGEST_GRID, parse_grid
from kselect.kernels import Kernel, find_kernel
from kselect.learners import Learner, find_learner
from kselect.model.experiment import TABLE, Ridges

PAPERS = ("ecml2014", "tcyb2018", "icml2014", "ijcai2018", "flkl2014")
SPLITS = re.compile(r"[0-9]{1,9}|[0-9]{1,9}-[0-9]{1,9}(,[0-9]{1,9}-[0-9]{1,9})*")
LamMode = Literal["fixed", "select"]
T = TypeVar("T")
Wrong = tuple[Location, str]


@dataclass(frozen=True)
class Entry:
    """One item under ``criteria``: a criterion, its folds, and the parameters written with it."""

    criterion: Criterion
    folds: int | None
    own: Mapping[str, Any]

    @property
    def name(self) -> str:
        """``5-KS``."""
        return self.criterion.label(self.folds)


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


def find_paper(name: str) -> None:
    """A paper that the project reproduces, or the empty text for none."""
    if name and name not in PAPERS:
        raise ConfigError(f"unknown paper {quoted(name)}{nearest(name, PAPERS)}")


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


def read_ridges(value: object) -> Ridges:
    """``{fixed: grid}`` or ``{select: grid}``."""
    modes: tuple[LamMode, ...] = get_args(LamMode)
    if not isinstance(value, dict) or not value:
        shown = describe(value or None)
        raise ConfigError(f"must be {{fixed: GRID}} or {{select: GRID}}, not {shown}")
    unknown = [((key,), f"unknown key{nearest(key, modes)}") for key in value if key not in modes]
    if unknown:
        fail(*unknown)
    if len(value) > 1:
        raise ConfigError("takes fixed or select, not both")
    mode = next(m for m in modes if m in value)
    values, wrong = attempt(positive_grid, value[mode])
    if values is None:
        fail(((mode,), wrong))
    return Ridges(values, mode)


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


@dataclass(frozen=True)
class Chosen:
    """A learner and all its parameters, those not written at their defaults."""

    name: str
    params: tuple[tuple[str, Any], ...] = ()


def read_learner(value: object) -> Chosen:
    """``lssvm``, or ``{quadratic-svr: {eps: 0.1}}``."""
    written, own = value, None
    if isinstance(value, dict) and len(value) == 1:
        written, own = next(iter(value.items()))
    name = as_text(written)
    learner = find_learner(name)
    if own is not None and not isinstance(own, dict):
        fail(((name,), f"must be a mapping of its parameters, not {describe(own)}"))
    given = own_parameters(learner, learner.name, own or {})
    defaults = {p.name: p.default for p in learner.parameters}
    return Chosen(learner.name, tuple(sorted((defaults | given).items())))


def unknown_parameter(owner: str, name: str, known: list[str]) -> str:
    """The text for a parameter that a kernel or criterion lacks."""
    return f"unknown parameter of {owner}" + (nearest(name, known) if known else "; it has none")


def read_entry(value: object) -> Entry:
    """``5-KS``, or ``{5-KS: {eta: 2}}``."""
    label, own = value, None
    if isinstance(value, dict) and len(value) == 1:
        label, own = next(iter(value.items()))
    if not isinstance(label, str):
        shown = describe(value)
        raise ConfigError(f"must be a name such as 5-CV, or {{5-KS: {{eta: 1}}}}, not {shown}")
    criterion, folds = find_criterion(label)
    if own is not None and not isinstance(own, dict):
        fail(((label,), f"must be a mapping of its parameters, not {describe(own)}"))
    return Entry(criterion, folds, own_parameters(criterion, label, own or {}))


def own_parameters(
    owner: Criterion | Learner, label: str, own: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters written with a criterion or a learner, as it takes them."""
    known = [p.name for p in owner.parameters]
    parsed: dict[str, Any] = {}
    problems: list[Wrong] = []
    for key, value in own.items():
        parameter = owner.parameter(key)
        if parameter is None:
            problems.append(((label, key), unknown_parameter(label, key, known)))
            continue
        parsed[key], wrong = attempt(parameter.parse, value)
        problems += [((label, key), wrong)] if wrong else []
    if problems:
        fail(*problems)
    return parsed
