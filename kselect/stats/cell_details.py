"""The details of one cell of the main table: the chosen hyper-parameters, choices at an edge, and failures."""

from __future__ import annotations

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kselect.kernels.base import read_parameters
from kselect.search.grid import edges_of
from kselect.stats.samples import table_records
from kselect.stats.study import Study

COLUMNS = (
    *("setting", "dataset", "method", "split"),
    *("status", "kernel", "chosen", "lam", "tuned", "n_train", "reason"),
)
# The widths of a kernel with one width per feature, theta1, theta2, ..., are summarised together.
NUMBERED = re.compile(r"^([A-Za-z_]+)\d+$")


@dataclass(frozen=True)
class ChosenValue:
    """The values of one hyper-parameter over splits; ``each`` is the number of values per choice."""

    name: str
    median: float
    low: float
    high: float
    each: int = 1


@dataclass(frozen=True)
class CellDetail:
    """One method on one data set under one setting.

    ``kernels`` counts the chosen kernel families. ``edges`` counts the choices at an edge of the grid; it is None
    if no choice can lie on an edge. ``failures`` are reasons, each with its splits.
    """

    choices: int
    kernels: tuple[tuple[str, int], ...]
    values: tuple[ChosenValue, ...]
    edges: int | None
    failures: tuple[tuple[str, tuple[int, ...]], ...]


def cell_details(study: Study, loss: str) -> Mapping[tuple[str, str, str], CellDetail]:
    """Return (setting, data set, method) -> the details of that cell in the table of a loss."""
    table = table_records(study.records, study.experiment, loss).sort_values("split")
    groups: dict[tuple[str, str, str], list[Sequence[Any]]] = defaultdict(list)
    for row in zip(*(table[name] for name in COLUMNS), strict=True):
        groups[row[0], row[1], row[2]].append(row[3:])
    return {place: describe(study, rows) for place, rows in groups.items()}


def describe(study: Study, rows: Sequence[Sequence[Any]]) -> CellDetail:
    """Return the details of one cell from its records."""
    values: dict[str, list[float]] = defaultdict(list)
    kernels: dict[str, int] = {}
    failures: dict[str, list[int]] = {}
    choices, edges, searched = 0, 0, False
    for split, status, kernel, chosen, lam, tuned, n, reason in rows:
        if status != "ok":
            failures.setdefault(str(reason), []).append(int(split))
            continue
        choices += 1
        kernels[kernel] = kernels.get(kernel, 0) + 1
        for name, value in chosen_numbers(chosen, float(lam), tuned).items():
            match = NUMBERED.match(name)
            values[match[1] if match else name].append(value)
        at_edge = None if math.isnan(lam) else on_edge(study, kernel, chosen, float(lam), int(n))
        searched |= at_edge is not None
        edges += bool(at_edge)
    shown = tuple(
        ChosenValue(
            *(name, statistics.median_low(many), min(many), max(many)),
            max(1, len(many) // choices),
        )
        for name, many in values.items()
    )
    reasons = tuple((reason, tuple(splits)) for reason, splits in failures.items())
    counted = tuple(kernels.items())
    return CellDetail(choices, counted, shown, edges if searched else None, reasons)


def chosen_numbers(chosen: str, lam: float, tuned: str) -> dict[str, float]:
    """Return the hyper-parameters of one choice that are numbers; another package's class may have others."""
    found = {} if math.isnan(lam) else {"lam": lam}
    for part in (*chosen.split(";"), *tuned.split(";")):
        with suppress(ValueError):
            found |= read_parameters(part)
    return found


def on_edge(study: Study, kernel: str, chosen: str, lam: float, n: int) -> bool | None:
    """Return whether a choice lies on an edge of the grid; None if it is not a choice from the grid."""
    return study.once(edge_of_choice, kernel, chosen, lam, n)


def edge_of_choice(study: Study, kernel: str, chosen: str, lam: float, n: int) -> bool | None:
    """Look up the kernel of the grid, and compare the choice with the ends of the grid."""
    experiment = study.experiment
    known = (k for k in experiment.kernels if (k.name, k.text) == (kernel, chosen))
    found = next(known, None)
    if found is None:
        return None
    selected = experiment.lam.mode == "select"
    lams = sorted(experiment.lam.lams(n)) if selected else [lam]
    return bool(edges_of(experiment.kernels, lams, found, lam))
