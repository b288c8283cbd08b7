"""A paper's own numbers beside ours: how far apart, in standard errors of the two means."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from kselect.model.experiment import setting
from kselect.stats.comparison import Cell, Comparison

Verdict = Literal["within 2", "2 to 4", "beyond 4", "no spread", "missing"]
VERDICTS: tuple[Verdict, ...] = ("within 2", "2 to 4", "beyond 4", "no spread", "missing")
SPREADS = ("sd", "se")


@dataclass(frozen=True)
class Distance:
    """One published cell beside ours, in the data set's unit; ours is NaN where it is missing.

    ``errors`` is ``difference / sqrt(se_published^2 + se_ours^2)``.
    """

    table: str
    dataset: str
    method: str
    setting: str
    published: float
    published_spread: float
    spread_kind: str
    mean: float
    sd: float
    runs: int
    difference: float
    errors: float
    verdict: Verdict


def measure(comparison: Comparison, published: pd.DataFrame, runs: int) -> tuple[Distance, ...]:
    """Every published error (spread an sd or se); the paper's means are over ``runs`` splits."""
    rows = published[published["spread_kind"].isin(SPREADS)].to_dict("records")
    return tuple(measure_cell(comparison, row, runs) for row in rows)


def measure_cell(comparison: Comparison, row: Mapping[Hashable, Any], runs: int) -> Distance:
    """One published cell; it stays listed where we have no number for it."""
    ours = read_setting(row["setting"])
    dataset, method = str(row["dataset"]), str(row["method"])
    block = comparison.block(ours)
    cell = block.cells.get((dataset, method)) if block else None
    mean, spread, kind = float(row["mean"]), float(row["spread"]), str(row["spread_kind"])
    theirs = (str(row["table"]), dataset, method, ours, mean, spread, kind)
    if cell is None or not cell.runs:
        return Distance(*theirs, math.nan, math.nan, 0, math.nan, math.nan, "missing")
    difference = cell.mean - mean
    errors = divide(difference, combine(spread if kind == "se" else spread / math.sqrt(runs), cell))
    return Distance(*theirs, cell.mean, cell.sd, cell.runs, difference, errors, judge(errors))


def read_setting(published: object) -> str:
    """``lambda=0.001`` -> ``lam=0.001``; an empty one -> ``selected``."""
    text = "" if pd.isna(published) else str(published).strip()  # type: ignore[call-overload]
    name, _, value = text.partition("=")
    return setting(float(value)) if name == "lambda" else text or "selected"


def combine(published: float, cell: Cell) -> float:
    """The standard error of the difference of two independent means."""
    return math.hypot(published, cell.sd / math.sqrt(cell.runs))


def divide(difference: float, error: float) -> float:
    """``difference / error``; without any spread only an equal mean is near."""
    if error == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return difference / error


def judge(errors: float) -> Verdict:
    """Within 2 standard errors, 2 to 4, or beyond; one split alone has no spread to judge by."""
    if math.isnan(errors):
        return "no spread"
    return "within 2" if abs(errors) <= 2 else "2 to 4" if abs(errors) <= 4 else "beyond 4"


def count_verdicts(distances: Sequence[Distance]) -> dict[Verdict, int]:
    """How many cells have each verdict, in their fixed order."""
    found = Counter(d.verdict for d in distances)
    return {v: found[v] for v in VERDICTS}
