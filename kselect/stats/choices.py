"""Where the choices of a column fell on the grid of kernels and ridges, data set by data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose
from typing import TYPE_CHECKING

from kselect.core.experiment import Experiment
from kselect.kernels import Kernel
from kselect.search.edges import edges_of
from kselect.stats.comparison import labels_of
from kselect.stats.diagnostics import ridges
from kselect.stats.samples import table_records
from kselect.stats.study import Study

if TYPE_CHECKING:
    import pandas as pd

Place = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """A point of the grid, by its positions, with the share of the splits that chose it.

    Under a fixed ridge every ridge has its own choices, and the shares of each add up to one.
    """

    kernel: int
    lam: int
    share: float
    edge: bool


@dataclass(frozen=True)
class ChoiceMap:
    """One column on one data set; ``beyond`` counts choices that are no points of the grid."""

    dataset: str
    method: str
    cells: tuple[Cell, ...]
    choices: int
    beyond: int


@dataclass(frozen=True)
class Family:
    """Kernels of one kind that stand side by side on the grid: the first position, and how many."""

    name: str
    start: int
    kernels: tuple[Kernel, ...]


def families(kernels: Sequence[Kernel]) -> tuple[Family, ...]:
    """Kernels in the order of the config, each kind once, ascending where it has one parameter."""
    found, start = [], 0
    for name in dict.fromkeys(k.name for k in kernels):
        mine = sorted(
            (k for k in kernels if k.name == name), key=lambda k: (*k.parameters.values(),)
        )
        found.append(Family(name, start, tuple(mine)))
        start += len(mine)
    return tuple(found)


def choice_maps(study: Study, loss: str) -> tuple[ChoiceMap, ...]:
    """Data sets by columns; a column that never chooses a point of the grid has no map anywhere."""
    experiment = study.experiment
    table = table_records(study.records, experiment, loss)
    chosen = table[table["status"] == "ok"]
    maps = [
        make_map(experiment, str(dataset), str(label), rows)
        for (dataset, label), rows in chosen.groupby(["dataset", "method"])
    ]
    labels = [x for x in labels_of(experiment, loss) if any(m.cells for m in maps if m.method == x)]
    found = {(m.dataset, m.method): m for m in maps if m.method in labels}
    places = ((d, x) for d in experiment.datasets for x in labels)
    return tuple(found[place] for place in places if place in found)


def make_map(experiment: Experiment, dataset: str, label: str, rows: pd.DataFrame) -> ChoiceMap:
    """The shares of one column on one data set."""
    positions = {
        (k.name, k.text): f.start + i
        for f in families(experiment.kernels)
        for i, k in enumerate(f.kernels)
    }
    columns = (rows[c] for c in ("kernel", "chosen", "lam", "n_train"))
    known: Counter[Place] = Counter()
    edges: dict[Place, bool] = {}
    for (name, text, lam, n), count in Counter(zip(*columns, strict=True)).items():
        kernel = positions.get((name, text))
        ridge = ridge_position(experiment, lam, n)
        if kernel is not None and ridge is not None:
            known[kernel, ridge] += count
            edges[kernel, ridge] = at_edge(experiment, (name, text), lam, n)
    cells = tuple(make_cells(known, edges, experiment.lam.mode == "fixed"))
    return ChoiceMap(dataset, label, cells, len(rows), len(rows) - sum(known.values()))


def make_cells(known: Counter[Place], edges: dict[Place, bool], fixed: bool) -> Iterator[Cell]:
    """Counts as shares of the splits: of each ridge where that is fixed, or of all."""
    of_ridge: Counter[int] = Counter()
    for (_, lam), count in known.items():
        of_ridge[lam] += count
    for (kernel, lam), count in sorted(known.items()):
        total = of_ridge[lam] if fixed else known.total()
        yield Cell(kernel, lam, count / total, edges[kernel, lam])


def ridge_position(experiment: Experiment, lam: float, n: int) -> int | None:
    """Where a ridge stands in its grid, ascending; records keep twelve digits of it."""
    grid = sorted(experiment.lam.lams(n))
    return next((i for i, value in enumerate(grid) if isclose(value, lam)), None)


def at_edge(experiment: Experiment, kernel: tuple[str, str], lam: float, n: int) -> bool:
    """Whether a choice lies at an edge of the grid; a fixed ridge has none."""
    mine = next(k for k in experiment.kernels if (k.name, k.text) == kernel)
    return bool(edges_of(experiment.kernels, ridges(experiment, lam, n), mine, lam))
