"""How often a column chooses a point on the edge of the grid: its best may then lie beyond it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kselect.core.experiment import Experiment
from kselect.kernels import Kernel
from kselect.search.edges import Axis, Edge, End, edges_of
from kselect.stats.comparison import labels_of
from kselect.stats.samples import table_records
from kselect.stats.study import Study

Spot = tuple[Axis, End]
SPOTS: tuple[Spot, ...] = (
    ("kernel", "smallest"),
    ("kernel", "largest"),
    ("lam", "smallest"),
    ("lam", "largest"),
)
# Above this share of choices at an edge a verdict that leans on a column says so.
LARGE = 0.5


@dataclass(frozen=True)
class EdgeShares:
    """The choices of one column over data sets, splits and settings, and the share of them at each edge.

    A share is None where there is no such edge, or no choice; ``anywhere`` counts a choice on two edges once.
    """

    method: str
    choices: int
    shares: tuple[float | None, ...]
    anywhere: float | None

    @property
    def large(self) -> bool:
        """Whether more than half of the choices lie at an edge."""
        return self.anywhere is not None and self.anywhere > LARGE


def edge_shares(study: Study, loss: str) -> tuple[EdgeShares, ...]:
    """The columns of one loss, each with its shares."""
    counts = count_choices(study, loss)
    there = possible(study.experiment)
    labels = labels_of(study.experiment, loss)
    return tuple(shares_of(label, counts.get(label, {}), there) for label in labels)


def count_choices(study: Study, loss: str) -> dict[str, Counter[tuple[Edge, ...]]]:
    """Column -> how many of its choices lie on which edges; a kernel that is in no grid is not counted."""
    experiment = study.experiment
    kernels = {(k.name, k.text): k for k in experiment.kernels}
    table = table_records(study.records, experiment, loss)
    chosen = table[table["status"] == "ok"]
    found: dict[str, Counter[tuple[Edge, ...]]] = {}
    columns = (chosen[c] for c in ("method", "kernel", "chosen", "lam", "n_train"))
    # Few of the choices differ, so that each is looked at once.
    for (label, name, text, lam, n), count in Counter(zip(*columns, strict=True)).items():
        kernel = kernels.get((name, text))
        if kernel is not None:
            edges = edges_of(experiment.kernels, ridges(experiment, lam, n), kernel, lam)
            found.setdefault(label, Counter())[edges] += count
    return found


def ridges(experiment: Experiment, lam: float, n: int) -> tuple[float, ...]:
    """What lam was chosen from: a fixed one from nothing else."""
    return experiment.lam.lams(n) if experiment.lam.mode == "select" else (lam,)


def possible(experiment: Experiment) -> tuple[bool, ...]:
    """For each spot whether the grid has such an edge."""
    lam = experiment.lam.mode == "select" and len(experiment.lam.values) > 1
    return tuple(lam if axis == "lam" else varied(experiment.kernels) for axis, _ in SPOTS)


def varied(kernels: Iterable[Kernel]) -> bool:
    """Whether some kernel's parameter has several values to choose from."""
    every = list(kernels)
    return any(edges_of(every, (), kernel, 1.0) for kernel in every)


def shares_of(
    method: str, counts: Mapping[tuple[Edge, ...], int], there: tuple[bool, ...]
) -> EdgeShares:
    """Counts -> shares."""
    choices = sum(counts.values())
    if not choices or not any(there):
        return EdgeShares(method, choices, (None,) * len(SPOTS), None)
    at: Counter[Spot] = Counter()
    for edges, count in counts.items():
        at.update(dict.fromkeys({(e.axis, e.end) for e in edges}, count))
    anywhere = sum(count for edges, count in counts.items() if edges)
    shares = (at[s] / choices if known else None for s, known in zip(SPOTS, there, strict=True))
    return EdgeShares(method, choices, tuple(shares), anywhere / choices)


def leaning(study: Study, loss: str, labels: Iterable[str]) -> tuple[EdgeShares, ...]:
    """Of some columns those with more than half of their choices at an edge."""
    wanted = set(labels)
    return tuple(s for s in study.once(edge_shares, loss) if s.method in wanted and s.large)
