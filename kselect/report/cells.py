"""One row of a table as text: the same decimals throughout, taken from the standard deviations."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kselect.stats.comparison import Cell

Mark = Literal["best", "close", ""]
LARGEST_FIXED = 1e5


@dataclass(frozen=True)
class Shown:
    """A cell as text, both numbers without the row's power of ten; empty where there is none."""

    mean: str
    sd: str
    mark: Mark
    failures: int
    hint: str


@dataclass(frozen=True)
class Row:
    """A data set's cells, to be multiplied by ``10^exponent``.

    ``name`` is the data set with what its reader must know: ``cpusmall (4 splits)``.
    """

    dataset: str
    name: str
    unit: str
    exponent: int
    cells: tuple[Shown, ...]


def show_row(dataset: str, unit: str, cells: Sequence[Cell], splits: int) -> Row:
    """Cells -> text. Percentages stand as they are; squared errors may share a power of ten.

    ``splits`` is how many the caption speaks of; a row with fewer says so.
    """
    exponent = 0 if unit == "%" else find_exponent([c.mean for c in cells if c.runs])
    scale = 10.0**-exponent
    decimals = find_decimals(
        [c.sd * scale for c in cells if c.sd > 0], [c.mean * scale for c in cells if c.runs], unit
    )
    name = dataset + describe_fewer([c.tried for c in cells if c.tried], splits)
    return Row(dataset, name, unit, exponent, tuple(show_cell(c, scale, decimals) for c in cells))


def describe_fewer(counts: Sequence[int], splits: int) -> str:
    """`` (4 splits)``, or `` (3 to 10 splits)`` where methods differ; nothing where all have as many as said."""
    low, high = min(counts, default=splits), max(counts, default=splits)
    if low >= splits:
        return ""
    return f" ({low if low == high else f'{low} to {high}'} split{'s' * (high != 1)})"


def find_exponent(means: Sequence[float]) -> int:
    """That of the lowest positive mean where it lies outside 0.1 .. 10^4; the rest need none."""
    positive = [m for m in means if 0 < m < math.inf]
    if not positive or 0.1 <= min(positive) < 1e4:
        return 0
    return math.floor(math.log10(min(positive)))


def find_decimals(sds: Sequence[float], means: Sequence[float], unit: str) -> int:
    """Two for percentages, as the papers print them; else two digits of the typical sd, at most 3."""
    if unit == "%":
        return 2
    typical = statistics.median(sds) if sds else 0.1 * min(filter(None, means), default=0.01)
    if not 0 < typical < math.inf:
        return 3
    return min(3, max(0, 1 - math.floor(math.log10(typical))))


def show_cell(cell: Cell, scale: float, decimals: int) -> Shown:
    """One cell as text with its mark."""
    mark: Mark = "best" if cell.best else "close" if cell.not_worse else ""
    mean = show_fixed(cell.mean * scale, decimals)
    return Shown(mean, show_fixed(cell.sd * scale, decimals), mark, cell.failures, hint(cell))


def show_fixed(value: float, decimals: int) -> str:
    """``14.30``; enormous values as ``1.2e+08``; nothing for NaN."""
    if math.isnan(value):
        return ""
    return f"{value:.{decimals}f}" if abs(value) < LARGEST_FIXED else f"{value:.1e}"


def show_p(value: float) -> str:
    """``0.034``, ``< 0.001``."""
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def hint(cell: Cell) -> str:
    """What the cell alone cannot say: runs, failures, and the tests against the best."""
    parts = [f"{cell.runs} runs"]
    parts += [f"{cell.failures} failed"] if cell.failures else []
    parts += [f"{cell.missing} not run"] if cell.missing else []
    if cell.worse and cell.worse_corrected:
        parts.append(
            f"worse than the best: p = {show_p(cell.worse.p_value)}, "
            f"corrected p = {show_p(cell.worse_corrected.p_value)}"
            if cell.worse.possible
            else "no test with fewer than two shared runs"
        )
    return "; ".join(parts)
