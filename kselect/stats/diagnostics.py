"""Diagnostics of the choices: the share at the edge of the grid, excluded candidates, final states of searches."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kselect.core.record import count_exclusions
from kselect.kernels.base import Kernel, read_parameters
from kselect.search.grid import Axis, Edge, End, edges_of
from kselect.stats.samples import table_records
from kselect.stats.study import Study

SPOTS: tuple[tuple[Axis, End], ...] = (
    ("kernel", "smallest"),
    ("kernel", "largest"),
    ("lam", "smallest"),
    ("lam", "largest"),
)
# Above this share of choices at an edge, a verdict that depends on the method carries a caution.
LARGE = 0.5


@dataclass(frozen=True)
class EdgeShares:
    """The choices of one method over data sets, splits and settings, and the share of them at each edge.

    A share is None without such an edge or without a choice; ``anywhere`` counts a choice on two edges once.
    """

    method: str
    choices: int
    shares: tuple[float | None, ...]
    anywhere: float | None


def edge_shares(study: Study, loss: str) -> tuple[EdgeShares, ...]:
    """Return the shares of each method of one loss."""
    experiment = study.experiment
    kernels = experiment.kernels
    varied = any(edges_of(list(kernels), (), kernel, 1.0) for kernel in kernels)
    selected = experiment.lam.mode == "select" and len(experiment.lam.values) > 1
    exists = [selected if axis == "lam" else varied for axis, _ in SPOTS]
    ours = (m for m in study.comparison(loss).methods if m not in experiment.estimators)
    counts = {m: Counter[frozenset[tuple[Axis, End]]]() for m in ours}
    for (_, label), points in study.once(count_choices, loss).items():
        for point, count in points.items():
            if point.kernel is not None and label in counts:
                counts[label][frozenset((e.axis, e.end) for e in point.edges)] += count
    found = []
    for label, mine in counts.items():
        choices = mine.total()
        if not choices or not any(exists):
            found.append(EdgeShares(label, choices, (None,) * len(SPOTS), None))
            continue
        shares = (
            sum(count for at, count in mine.items() if spot in at) / choices if known else None
            for spot, known in zip(SPOTS, exists, strict=True)
        )
        anywhere = sum(count for at, count in mine.items() if at) / choices
        found.append(EdgeShares(label, choices, tuple(shares), anywhere))
    return tuple(found)


class ChosenPoint(NamedTuple):
    """A chosen kernel, the position of the chosen lam in ascending order, and the edges of the grid it lies on.

    A kernel or a lam that is not on the grid is None.
    """

    kernel: Kernel | None
    lam: int | None
    edges: tuple[Edge, ...]


def count_choices(study: Study, loss: str) -> Mapping[tuple[str, str], Counter[ChosenPoint]]:
    """Return (data set, method) -> number of choices of each point; estimators have grids of their own."""
    experiment = study.experiment
    kernels = {(k.name, k.text): k for k in experiment.kernels}
    table = table_records(study.records, experiment, loss)
    chosen = table[(table["status"] == "ok") & ~table["method"].isin(experiment.estimators)]
    found: dict[tuple[str, str], Counter[ChosenPoint]] = defaultdict(Counter)
    columns = (chosen[c] for c in ("dataset", "method", "kernel", "chosen", "lam", "n_train"))
    # Few of the choices differ, so each is looked up once.
    for (dataset, label, name, text, lam, n), count in Counter(zip(*columns, strict=True)).items():
        kernel, lams = kernels.get((name, text)), sorted(experiment.lam.lams(n))
        # Records keep twelve digits of lam.
        place = next((i for i, value in enumerate(lams) if math.isclose(value, lam)), None)
        among = lams if experiment.lam.mode == "select" else [lam]
        edges = edges_of(experiment.kernels, among, kernel, lam) if kernel is not None else ()
        found[dataset, label][ChosenPoint(kernel, place, edges)] += count
    return found


def leaning(study: Study, loss: str, labels: Iterable[str]) -> tuple[EdgeShares, ...]:
    """Return the methods among ``labels`` that select the edge of the grid in more than half of their choices."""
    wanted = set(labels)
    shares = (s for s in study.once(edge_shares, loss) if s.method in wanted)
    return tuple(s for s in shares if s.anywhere is not None and s.anywhere > LARGE)


@dataclass(frozen=True)
class Excluded:
    """One method on one data set: mean number of exclusions over splits, total per reason, first description."""

    dataset: str
    method: str
    mean: float
    totals: Counter[str]
    reasons: str


def count_excluded(study: Study, loss: str) -> tuple[Excluded, ...]:
    """Return every data set and method for which some candidate was excluded."""
    experiment = study.experiment
    table = table_records(study.records, experiment, loss)
    good = table[table["status"] == "ok"]
    found = []
    for label in experiment.criteria:
        for name in experiment.datasets:
            rows = good[(good["dataset"] == name) & (good["method"] == label)]
            some = rows[rows["excluded"] > 0]
            if len(some):
                described = some["exclusions"].astype(str)
                totals = sum((Counter(count_exclusions(d)) for d in described), Counter[str]())
                mean = float(rows["excluded"].mean())
                found.append(Excluded(name, label, mean, totals, described.iloc[0]))
    return tuple(found)


@dataclass(frozen=True)
class EstimatorRuns:
    """One estimator: its runs, those that failed, and those that warned, with every distinct text of warnings.

    ``excluded`` is the mean number per run of points of its grid that failed, ``reasons`` the first description.
    """

    label: str
    runs: int
    failed: int
    warned: int
    told: tuple[str, ...]
    excluded: float
    reasons: str


def estimator_runs(study: Study) -> tuple[EstimatorRuns, ...]:
    """Return what is known of the runs of each estimator."""
    experiment = study.experiment
    table = table_records(study.records, experiment, experiment.loss)
    found = []
    for label in (m for m in experiment.labels if m in experiment.estimators):
        rows = table[table["method"] == label]
        good, warned = rows[rows["status"] == "ok"], rows[rows["state"] != ""]
        some = good[good["excluded"] > 0]["exclusions"].astype(str)
        found.append(
            EstimatorRuns(
                *(label, len(rows), len(rows) - len(good), len(warned)),
                tuple(dict.fromkeys(warned["state"].astype(str))),
                float(good["excluded"].mean()) if len(good) else 0.0,
                some.iloc[0] if len(some) else "",
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class Ending:
    """One method: its runs by the state in which the search ended.

    ``held`` is the mean number of variables at a limit, NaN if it is not known; ``zeros`` is the mean share of
    widths that are zero.
    """

    method: str
    runs: int
    states: tuple[tuple[str, int], ...]
    held: float
    zeros: float


def endings(study: Study) -> tuple[Ending, ...]:
    """Return how the searches of each method with a continuous search ended."""
    experiment = study.experiment
    table = table_records(study.records, experiment, experiment.loss)
    good = table[(table["status"] == "ok") & (table["state"] != "")]
    found = []
    for label in dict.fromkeys(m.label for m in experiment.table if m.search):
        rows = good[good["method"] == label]
        held = [v["held"] for v in map(read_parameters, rows["tuned"]) if "held" in v]
        widths = [[v == 0.0 for v in read_parameters(text).values()] for text in rows["chosen"]]
        zeros = [sum(w) / len(w) for w in widths if w]
        states = sorted(Counter(rows["state"]).items(), key=lambda one: (-one[1], one[0]))
        means = (math.fsum(v) / len(v) if v else math.nan for v in (held, zeros))
        found.append(Ending(label, len(rows), tuple(states), *means))
    return tuple(found)
