"""The timing tables: seconds and ratios in print, all numbers for the CSV, captions, and the sentences below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kselect.core.experiment import Experiment
from kselect.core.table import DASH, Column, Group, Table, Values
from kselect.report.words import SCALES, SCALES_ON, describe_kernels, describe_learners
from kselect.store.timings import REPEATS, Seconds
from kselect.timing.ratios import (
    ABOUT,
    CostComparison,
    CostSummary,
    Number,
    TimedPair,
    TimingEntry,
    comparisons,
    ratio,
    summarise,
)

NAME = "seconds"
ROUGH = "~"
WAYS = (
    *(("paper's", "paper"), ("  without training", "without_fits")),
    *(("ours", "ours"), ("published", "published")),
)
# Seconds have no more than four digits.
NUMBERS = (
    *("paper_cpu", "paper_wall", "paper_share", "ours_cpu", "ours_wall", "ours_share", "published"),
    *("paper_over_ours", "cv_over_bif", "published_cv_over_bif", "exact_ours_over_bif"),
    *("paper_without_training", "cv_over_bif_without_training"),
)
TIDY = (
    *(Column(csv=name) for name in ("dataset", "rows", "features", "method")),
    *(Column(csv=name, csv_format=".4g") for name in NUMBERS),
    *(Column(csv="exact_costs"), Column(csv="score_difference", csv_format=".1e")),
    *(Column(csv="budget", csv_format=""), Column(csv="environment"), Column(csv="failure")),
)


@dataclass(frozen=True)
class TimingSheet:
    """The content of the timing tables: tables, findings, and notes."""

    tables: tuple[Table, ...]
    findings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def printed(self) -> tuple[Table, ...]:
        """Return the tables with all sentences below the last."""
        *others, last = self.tables
        return (*others, replace(last, notes=(*self.findings, *self.notes)))


def make_sheet(
    experiment: Experiment,
    found: Sequence[TimingEntry],
    machines: Sequence[str],
    notes: Sequence[str],
) -> TimingSheet:
    """Make all tables and sentences."""
    pairs = comparisons(found)
    tables = [seconds_table(experiment, found, machines)]
    for pair in dict.fromkeys(one.pair for one in pairs):
        name = f"{NAME}-ratios" if len(tables) == 1 else f"{NAME}-ratios-{pair.short}"
        tables.append(ratios_table(name, pair, [one for one in pairs if one.pair == pair]))
    way = "by the closed form" if experiment.search == "grid" else "by bounds or the closed form"
    findings = [sentence for s in summarise(pairs) for sentence in describe_cost(s, way)]
    failures = (
        f"{e.dataset}, {e.method} failed: {e.cell.failure.rstrip('.')}."
        for e in found
        if e.cell and e.cell.failure
    )
    below = (*agreement(found, moving=moving(experiment)), *notes, *failures)
    return TimingSheet(tuple(tables), tuple(findings), below)


def tidy_table(found: Sequence[TimingEntry]) -> Table:
    """Return all numbers, a row per data set and method; ratios of a pair stand in the row of k-CV."""
    pairs = {(p.exact.dataset, p.exact.method): p for p in comparisons(found)}
    rows: list[Values] = []
    for e in found:
        cell, pair = e.cell, pairs.get((e.dataset, e.method))
        numbers = [e.published, ratio(e.paper, e.ours)]
        numbers += [pair.measured, pair.published, pair.price] if pair else [None] * 3
        numbers += [e.without_fits, pair.bare if pair else None]
        rows.append(
            (
                *(e.dataset, e.rows, e.features, e.method),
                *parts(cell.paper if cell else None),
                *parts(cell.ours if cell else None),
                *(n.value if n else None for n in numbers),
                *(pair.verdict if pair else None, cell.difference if cell else None),
                *((cell.budget, cell.environment, cell.failure) if cell else (None,) * 3),
            )
        )
    return Table(NAME, TIDY, (Group(tuple(rows)),))


def parts(seconds: Seconds | None) -> Values:
    """Return CPU seconds, wall seconds and the measured share."""
    return (seconds.cpu, seconds.wall, seconds.share) if seconds else (None,) * 3


def seconds_table(
    experiment: Experiment, found: Sequence[TimingEntry], machines: Sequence[str]
) -> Table:
    """Return up to four rows per data set: the paper's algorithm, also without training, ours, and as published."""
    methods = list(dict.fromkeys(e.method for e in found))
    ways = [way for way in WAYS if any(getattr(e, way[1]) for e in found)]
    groups = []
    for name in dict.fromkeys(e.dataset for e in found):
        mine = {e.method: e for e in found if e.dataset == name}
        one = next(iter(mine.values()))
        names = iter((name, f"  {one.rows} x {one.features}", "", ""))
        rows = (
            (next(names), way, *(show_entry(mine[m], key) for m in methods)) for way, key in ways
        )
        groups.append(Group(tuple(rows)))
    columns = (Column("data set", align="left"), Column("algorithm", align="left"))
    caption = describe(experiment, found, machines)
    return Table(NAME, (*columns, *map(Column, methods)), tuple(groups), caption)


def show_entry(entry: TimingEntry, key: str) -> str:
    """Return ``0.52``, or ``~52 (8 %)`` if only a share of the grid was measured."""
    text = show(getattr(entry, key))
    seconds: Seconds | None = getattr(entry.cell, key, None)
    return text if seconds is None or seconds.whole else f"{text} ({100 * seconds.share:.2g} %)"


def show(number: Number | None) -> str:
    """Return three digits, with a tilde if extrapolated; a dash without a number."""
    if number is None:
        return DASH
    value = number.value
    decimals = min(4, max(0, 2 - math.floor(math.log10(value)))) if value > 0 else 0
    return f"{ROUGH if number.rough else ''}{value:.{decimals}f}"


def ratios_table(name: str, pair: TimedPair, pairs: Sequence[CostComparison]) -> Table:
    """Return the ratios of one pair, a row per k and data set."""
    short, exact = pair.short, pair.exact
    headings = (
        *(f"{exact} / {short}", "published", f"{exact} / exact, ours"),
        *(f"exact {exact}, ours", f"{pair.approximate}, paper's", f"exact / {short}"),
    )
    bare = any(one.bare for one in pairs)
    columns = (
        *(Column("folds", align="left"), Column("data set", align="left")),
        *(Column(heading) for heading in headings),
        *([Column(f"{exact} / {short} without training")] if bare else []),
        Column("exact costs"),
    )
    folds = list(dict.fromkeys(one.folds for one in pairs))
    counts = ", ".join(f"{(k - 1) ** 3 / (pair.factors * k**2):.2g} for {k} folds" for k in folds)
    caption = (
        "Ratios of seconds, which can be compared between machines.",
        f"{exact} / {short}: both with the paper's algorithms, here and as published.",
        f"The count of operations gives {counts}: k Cholesky factors of n - n/k rows against {pair.words}.",
        f"{exact} / exact, ours: how much faster kselect is at the same k-fold cross-validation.",
        f"The next columns are the CPU seconds of exact {exact} with our algorithm, the CPU seconds of "
        f"{pair.approximate} with the paper's, and their ratio. The last column says whether exact "
        f"cross-validation costs no more than the approximation (ratio up to 1), about as much (up to {ABOUT:g}), "
        "or more.",
    )
    groups = []
    for k in folds:
        mine = [one for one in pairs if one.folds == k]
        rows = tuple(
            (
                *(str(k) if one is mine[0] else "", one.exact.dataset),
                *map(show, (one.measured, one.published, one.shortcut)),
                *map(show, (one.exact.ours, one.approximate.paper, one.price)),
                *([show(one.bare)] if bare else []),
                one.verdict or DASH,
            )
            for one in mine
        )
        groups.append(Group(rows))
    return Table(name, columns, tuple(groups), caption)


def describe(
    experiment: Experiment, found: Sequence[TimingEntry], machines: Sequence[str]
) -> tuple[str, ...]:
    """Say what was measured, how, and on which machines."""
    count = len(experiment.lam.values)
    ridges = "of the ridge" if moving(experiment) else f"{count} ridge{'s' * (count != 1)}"
    where = f" {SCALES_ON[experiment.scale_on]}" if experiment.scale != "none" else ""
    tasks = [experiment.info(name).task for name in experiment.datasets]
    texts = [
        f"CPU seconds of a whole selection over {describe_kernels(experiment)} and {ridges}: "
        f"{describe_learners(experiment.learners, tasks)}, {SCALES[experiment.scale]}{where}, the training part of "
        f"split {experiment.splits[0]} (rows x features below the name).",
        "One method at a time, one process, one BLAS thread; wall seconds are in the CSV.",
        *describe_algorithms(experiment),
        f"A short selection is the fastest of up to {REPEATS}.",
    ]
    if any(method.tuned for method in experiment.table):
        texts.append(
            "A tuned parameter has its default value: its inner cross-validation is not timed."
        )
    texts.append(f"Machine: {'; '.join(machines)}.")
    if any(e.published is not None for e in found):
        texts.append(f"Published: {experiment.paper}, on its own machine.")
    rough = [e for e in found if any(n and n.rough for n in (e.paper, e.ours))]
    if budgets := {e.cell.budget for e in rough if e.cell}:
        shown = " or ".join(f"{b:g}" for b in sorted(budgets))
        texts.append(
            f"{ROUGH}: extrapolated from the share of the grid in parentheses, measured in an order that covers "
            f"widths and ridges evenly, until a budget of {shown} s was used up."
        )
    return tuple(texts)


def moving(experiment: Experiment) -> bool:
    """Return whether every method searches all values instead of a grid."""
    return bool(experiment.table) and all(m.search for m in experiment.table)


def describe_algorithms(experiment: Experiment) -> list[str]:
    """Describe the papers' algorithms and ours, over a grid and in continuous searches."""
    texts = []
    if not moving(experiment):
        ours = "Ours: kselect's, one factorisation of the kernel for all ridges"
        bounds = (
            "; k-CV with the learner's own loss by bounds (search: pruned), which gives the minimum and not the "
            "whole surface"
        )
        texts = [
            "Paper's: the papers' own algorithms, with one kernel matrix per width (k-CV: a Cholesky solution for "
            "every fold and grid point; BIF: one inverse for every grid point, then the recursion; FBIF: one "
            "training for every grid point; ER: the eigenvalues of every kernel matrix, and one training for every "
            "grid point; the smoothed hinge by Newton's method in the primal).",
            f"{ours}{'' if experiment.search == 'grid' else bounds}.",
        ]
    if any(m.search for m in experiment.table):
        texts.append(
            "FLKL, paper's: Nelder-Mead over its two hyper-parameters, with an inner gradient descent for the "
            "widths of every fold. Ours: continuous searches with analytic gradients (kselect list searches), "
            "each including its start, the RBF solution. Ours run to their end; a search of the paper that exceeds "
            "the budget has no seconds."
        )
    return texts


def describe_cost(s: CostSummary, way: str) -> list[str]:
    """State the findings for one pair and k."""
    count, name = sum(s.counts.values()), s.lowest.approximate.method
    about = f"about as much (up to {ABOUT:g} times)"
    words = ", ".join(f"{about if p == 'about as much' else p} on {n}" for p, n in s.counts.items())
    low, high = (show(one.price) for one in (s.lowest, s.highest))
    spread = (
        f"{show(Number(s.median))} times the seconds of {name} in the median of {count} data "
        f"sets, from {low} ({s.lowest.exact.dataset}) to {high} ({s.highest.exact.dataset})"
        if count > 1
        else f"{low} times the seconds of {name} on {s.lowest.exact.dataset}"
    )
    found = [f"{s.folds} folds: exact cross-validation {way} takes {spread}: {words}."]
    if s.measured is not None and s.published is not None:
        found.append(
            f"{s.folds} folds: k-CV takes {show(Number(s.measured))} times the seconds of {name} with the "
            f"paper's algorithms here, {show(Number(s.published))} times as published (medians of the data "
            "sets that have both)."
        )
    return found


def agreement(found: Sequence[TimingEntry], *, moving: bool) -> tuple[str, ...]:
    """State the largest difference of the two algorithms' scores, which are of the same criterion."""
    gaps = [(e.cell.difference, e) for e in found if e.cell and e.cell.difference is not None]
    if not gaps:
        return ()
    largest, entry = max(gaps, key=lambda pair: pair[0])
    where = (
        "at the ends of their searches"
        if moving
        else "at every grid point where both are computed and finite"
    )
    return (
        f"The scores of the paper's algorithm and of ours, {where}, differ by at most {largest:.0e} of their size "
        f"({entry.dataset}, {entry.method}).",
    )
