"""A paper's own numbers, read from its tidy table."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast, get_args

from kselect.core.method import SELECTED, Setting
from kselect.errors import DataError

Spread = Literal["sd", "se"]
NAMES = ("lambda", "n lambda")


@dataclass(frozen=True)
class Published:
    """One printed test error: a mean over splits with its standard deviation or standard error."""

    table: str
    dataset: str
    method: str
    setting: Setting
    mean: float
    spread: float
    kind: Spread


def read_published(lines: Iterable[str]) -> tuple[Published, ...]:
    """The test errors of a CSV; its seconds and counts, and cells without a mean, are left out."""
    try:
        return tuple(
            Published(
                row["table"],
                row["dataset"],
                row["method"],
                read_setting(row["setting"]),
                float(row["mean"]),
                float(row["spread"] or "nan"),
                cast(Spread, row["spread_kind"]),
            )
            for row in csv.DictReader(lines)
            if row["spread_kind"] in get_args(Spread) and row["mean"]
        )
    except (KeyError, ValueError) as error:
        raise DataError(f"not a table of published numbers: {error}") from None


def read_setting(text: str) -> Setting:
    """``lambda=0.001``, or nothing where the ridge was selected."""
    if not text:
        return SELECTED
    name, _, value = text.partition("=")
    if name not in NAMES:
        raise ValueError(f"{text!r} is no setting")
    return Setting(value=float(value), unit="n lam" if name == "n lambda" else "lam")
