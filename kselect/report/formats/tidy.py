"""Tidy CSV: one line per cell, full precision, for programs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence


def number(value: float | None) -> str:
    """Ten digits: enough for any use, and the same on every machine; nothing for NaN and None."""
    return "" if value is None or math.isnan(value) else f"{value:.10g}"


def write_lines(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A CSV with a head and Unix line ends."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return text.getvalue()
