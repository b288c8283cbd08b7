"""A paper's own numbers next to ours: the distance of each cell in standard errors, and cell counts by distance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kselect.core.claim import Paper
from kselect.core.experiment import Experiment
from kselect.core.method import Setting
from kselect.datasets.splits import count_train
from kselect.stats.sources import Published
from kselect.stats.study import Study

Agreement = Literal["within 2", "2 to 4", "beyond 4", "no spread", "missing"]
AGREEMENTS: tuple[Agreement, ...] = ("within 2", "2 to 4", "beyond 4", "no spread", "missing")
# Printed percentages have two decimals, hence this many different values.
PRINTABLE = 10_000
# Half a unit of the second decimal, and what the rounding of floats adds to it.
HALF = 0.005
ROUNDING = 1e-9


@dataclass(frozen=True)
class Distance:
    """One published cell next to ours, in the data set's unit; ours is NaN if it is missing.

    ``method`` and ``setting`` are our names; ``stand_in`` is the data set that provides our numbers if the paper's
    own could not be obtained. ``errors`` is ``difference / sqrt(se_published^2 + se_ours^2)``, and ``deviations``
    is the same with standard deviations of a single split.
    """

    published: Published
    method: str
    setting: Setting
    mean: float
    sd: float
    runs: int
    difference: float
    errors: float
    verdict: Agreement
    deviations: float = math.nan
    stand_in: str = ""


def distances(study: Study, loss: str) -> tuple[Distance, ...]:
    """Compare every published test error with ours under one loss; nothing if the paper is not known.

    Columns that are only printed are skipped: nobody runs them here.
    """
    paper = study.paper
    if paper is None:
        return ()
    rows = (row for row in study.published if row.method not in paper.printed_only)
    return tuple(measure(study, loss, paper, row) for row in rows)


def measure(study: Study, loss: str, paper: Paper, row: Published) -> Distance:
    """Compare one published cell with ours, or with its stand-in's; without our number the verdict is "missing"."""
    experiment, comparison = study.experiment, study.comparison(loss)
    printed = paper.column(row.method)
    # Our method of the printed name, or the only one with that name and parameters: 5-KS(eta=4) for 5-KS.
    others = [label for label in experiment.criteria if label.partition("(")[0] == printed]
    renamed = printed not in experiment.criteria and len(others) == 1
    method = others[0] if renamed else printed
    unit, value = row.setting.unit, row.setting.value or 0.0  # no value: the ridge was selected
    settings = (s for s in experiment.lam.settings() if s.unit == unit)
    setting = next((s for s in settings if math.isclose(s.value or 0.0, value)), row.setting)
    cells, stand_in = comparison.cells.get(setting, {}), ""
    cells = {} if method in experiment.estimators else cells  # never the paper's own column
    cell = cells.get((row.dataset, method))
    if cell is None or not cell.runs:
        info = experiment.info
        stand_in = next((d for d in experiment.datasets if info(d).stands_for == row.dataset), "")
        cell = cells.get((stand_in, method))
    nan = math.nan
    if cell is None or not cell.runs:
        return Distance(row, method, setting, nan, nan, 0, nan, nan, "missing")
    difference = cell.mean - row.mean
    # The square root of the paper's own number of splits turns its standard error into its standard deviation.
    root = math.sqrt(paper.splits_on(row.dataset))
    error, sd = (
        (row.spread, row.spread * root) if row.kind == "se" else (row.spread / root, row.spread)
    )
    spreads = (math.hypot(error, cell.sd / math.sqrt(cell.runs)), math.hypot(sd, cell.sd))
    # If both spreads are 0, the distance is 0 for equal means and infinite for others.
    far = math.copysign(math.inf, difference) if difference else 0.0
    errors, deviations = (difference / spread if spread else far for spread in spreads)
    verdict: Agreement = (
        "within 2" if abs(errors) <= 2 else "2 to 4" if abs(errors) <= 4 else "beyond 4"
    )
    return Distance(
        *(row, method, setting, cell.mean, cell.sd, cell.runs, difference, errors),
        # With a single split, our standard deviation and so the distance are NaN.
        "no spread" if math.isnan(errors) else verdict,
        deviations,
        stand_in,
    )


@dataclass(frozen=True)
class AgreementCounts:
    """The number of cells of one method, or of all methods, with each verdict.

    ``near`` is the number of cells within one standard deviation of a single split.
    """

    method: str
    cells: int
    verdicts: dict[Agreement, int]
    near: int


def count_agreements(found: Iterable[Distance]) -> tuple[AgreementCounts, ...]:
    """Count the cells of each method, in the order of the published table, and last of all methods together."""
    cells = list(found)
    methods = {
        m: [d for d in cells if d.method == m] for m in dict.fromkeys(d.method for d in cells)
    }
    counts = []
    for name, mine in [*methods.items(), ("all", cells)]:
        verdicts = Counter(d.verdict for d in mine)
        near = sum(abs(d.deviations) <= 1.0 for d in mine)
        counts.append(AgreementCounts(name, len(mine), {v: verdicts[v] for v in AGREEMENTS}, near))
    return tuple(counts)


def off_everywhere(found: Iterable[Distance]) -> tuple[str, ...]:
    """Return the data sets of which every cell that can be judged is beyond 4 standard errors."""
    verdicts: dict[str, set[Agreement]] = {}
    for d in found:
        if d.verdict not in ("no spread", "missing"):
            verdicts.setdefault(d.published.dataset, set()).add(d.verdict)
    return tuple(name for name, seen in verdicts.items() if seen == {"beyond 4"})


@dataclass(frozen=True)
class WholeCounts:
    """Published error rates that equal k/n_test exactly, which is unlikely for a mean over many splits.

    ``sets`` are the data sets with such cells: (name, rows of the test part, (method, k) of each such cell).
    ``cells`` is the number of cells that were checked, ``whole`` the number of such cells, and ``expected`` the
    number to expect by chance.
    """

    sets: tuple[tuple[str, int, tuple[tuple[str, int], ...]], ...]
    whole: int
    cells: int
    expected: float


def whole_counts(experiment: Experiment, found: Sequence[Distance]) -> WholeCounts:
    """Find whole counts in classification data sets that the experiment splits by a share of the rows."""
    sets, number, total, expected = [], 0, 0, 0.0
    for name in dict.fromkeys(d.published.dataset for d in found):
        known = name in experiment.datasets and experiment.info(name).task == "classification"
        if not known or experiment.train is None:
            continue
        rows = experiment.info(name).rows
        rows -= count_train(rows, experiment.train)
        cells = [d for d in found if d.published.dataset == name]
        counts = [(d.published.mean, d.method, round(d.published.mean * rows / 100)) for d in cells]
        whole = tuple(
            (m, k) for mean, m, k in counts if abs(100 * k / rows - mean) <= HALF + ROUNDING
        )
        number += len(whole)
        total += len(cells)
        expected += rows * len(cells) / PRINTABLE
        sets += [(name, rows, whole)] if whole else []
    return WholeCounts(tuple(sets), number, total, expected)
