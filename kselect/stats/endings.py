"""How the continuous searches ended: converged or not, and how often a limit held them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kselect.kernels.base import read_parameters
from kselect.stats.samples import table_records
from kselect.stats.study import Study


@dataclass(frozen=True)
class Ending:
    """One column: its runs by how they ended, and the mean number of variables held by a limit (NaN: not known)."""

    method: str
    runs: int
    states: tuple[tuple[str, int], ...]
    held: float
    zeros: float


def endings(study: Study) -> tuple[Ending, ...]:
    """Every column that a continuous search fills."""
    experiment = study.experiment
    table = table_records(study.records, experiment, experiment.loss)
    good = table[(table["status"] == "ok") & (table["state"] != "")]
    moved = [m.label for m in experiment.table if m.search]
    return tuple(
        ending(
            label, *(list(good[good["method"] == label][c]) for c in ("state", "tuned", "chosen"))
        )
        for label in dict.fromkeys(moved)
    )


def ending(label: str, states: list[str], tuned: list[str], chosen: list[str]) -> Ending:
    """One column from its records; ``zeros`` is the mean share of widths that are zero."""
    held = [v["held"] for v in map(read_parameters, tuned) if "held" in v]
    widths = [[v == 0.0 for v in read_parameters(text).values()] for text in chosen]
    counts = tuple(sorted(Counter(states).items(), key=lambda one: (-one[1], one[0])))
    return Ending(
        label, len(states), counts, mean(held), mean(sum(w) / len(w) for w in widths if w)
    )


def mean(values: Iterable[float]) -> float:
    """NaN of none."""
    known = list(values)
    return math.fsum(known) / len(known) if known else math.nan
