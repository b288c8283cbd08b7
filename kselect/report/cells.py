"""The measured cells of the ranking tables, until these use ``Table``."""

from __future__ import annotations

from dataclasses import dataclass

from kselect.core.table import Mark


@dataclass(frozen=True)
class Shown:
    """A cell as text."""

    mean: str
    sd: str
    mark: Mark
    failures: int
    hint: str


@dataclass(frozen=True)
class Row:
    """The cells of a data set."""

    dataset: str
    name: str
    unit: str
    exponent: int
    cells: tuple[Shown, ...]
