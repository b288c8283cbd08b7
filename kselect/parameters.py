"""The parameters of criteria and learners: what a keyword of a function takes, read from its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import LARGEST_GRID, parse_number


@dataclass(frozen=True)
class Parameter:
    """A keyword of a criterion or a learner: its default, its choices or its kind of number."""

    name: str
    default: Any
    choices: tuple[str, ...] = ()
    whole: bool = False

    def parse(self, value: object) -> Any:
        """The value as the criterion takes it, or a ConfigError that says what it takes."""
        if self.choices:
            if value not in self.choices:
                raise ConfigError(
                    f"{self.name}: {quoted(value)}{nearest(str(value), self.choices)}"
                )
            return value
        if isinstance(value, str) and value == "inf" and not self.whole:
            return float("inf")
        number = parse_number(value)  # type: ignore[arg-type]
        if number < 0:
            raise ConfigError(f"{self.name} must not be negative, not {quoted(value)}")
        if self.whole and number != int(number):
            raise ConfigError(f"{self.name} must be a whole number, not {quoted(value)}")
        if self.whole and number > LARGEST_GRID:
            raise ConfigError(f"{self.name} must be at most {LARGEST_GRID}, not {quoted(value)}")
        return int(number) if self.whole else number


def read_parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The keyword-only arguments of a criterion or a learner, from its signature."""
    hints = get_type_hints(function)
    keywords = (
        p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY
    )
    return tuple(
        Parameter(
            p.name,
            p.default,
            get_args(hints[p.name]) if get_origin(hints[p.name]) is Literal else (),
            hints[p.name] is int,
        )
        for p in keywords
    )
