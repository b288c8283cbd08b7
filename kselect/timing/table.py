"""Seconds and ratios as text: captions that say what was measured, rows, and the sentences of the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kselect.core.experiment import Experiment
from kselect.core.table import DASH
from kselect.papers.base import TimedPair
from kselect.report.words import SCALES, SCALES_ON, describe_kernels, describe_learners
from kselect.timing.measure import REPEATS, Seconds
from kselect.timing.ratios import ABOUT, Duel, Entry, Number, Summary, duels, summarise
from kselect.timing.speed import RULE, SpeedVerdict, judge_speed

NAME = "seconds"
ROUGH = "~"
WAYS = (("paper's", "paper"), ("ours", "ours"), ("published", "theirs"))

Line = tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """One table: its caption, a head, and groups of lines that belong together; ``left`` columns are text."""

    name: str
    caption: tuple[str, ...]
    head: Line
    left: int
    groups: tuple[tuple[Line, ...], ...]


@dataclass(frozen=True)
class TimingSheet:
    """All that the timing table says: its grids, what they show, the paper's claims judged by them, notes."""

    grids: tuple[Grid, ...]
    findings: tuple[str, ...]
    verdicts: tuple[SpeedVerdict, ...]
    notes: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What stands below the grids."""
        return (*self.findings, *map(tell, self.verdicts), *self.notes)


def make_sheet(
    experiment: Experiment, found: Sequence[Entry], machines: Sequence[str], notes: Sequence[str]
) -> TimingSheet:
    """The whole table as text."""
    pairs = duels(found)
    grids = [seconds_grid(experiment, found, machines)]
    for pair in dict.fromkeys(d.pair for d in pairs):
        name = f"{NAME}-ratios" if len(grids) == 1 else f"{NAME}-ratios-{pair.short}"
        grids.append(ratios_grid(name, pair, [d for d in pairs if d.pair == pair]))
    way = "by the closed form" if experiment.search == "grid" else "by bounds or the closed form"
    findings = [sentence for s in summarise(pairs) for sentence in say(s, way)]
    verdicts = tuple(v for v in judge_speed(experiment, pairs) if v.measured)
    below = (*agreement(found, moving=moving(experiment)), *notes, *failures(found))
    return TimingSheet(tuple(grids), tuple(findings), verdicts, below)


def seconds_grid(experiment: Experiment, found: Sequence[Entry], machines: Sequence[str]) -> Grid:
    """Three lines a data set: the paper's algorithm, ours, and the published seconds where there are any."""
    methods = list(dict.fromkeys(e.method for e in found))
    ways = [way for way in WAYS if any(getattr(e, way[1]) for e in found)]
    groups = []
    for name in dict.fromkeys(e.dataset for e in found):
        mine = {e.method: e for e in found if e.dataset == name}
        one = next(iter(mine.values()))
        names = iter((name, f"  {one.rows} x {one.features}", ""))
        groups.append(
            tuple((next(names), way, *(cell(mine[m], key) for m in methods)) for way, key in ways)
        )
    caption = describe(experiment, found, machines)
    return Grid(NAME, caption, ("data set", "algorithm", *methods), 2, tuple(groups))


def cell(entry: Entry, key: str) -> str:
    """``0.52``, or ``~52 (8 %)`` where only a share of the grid was measured."""
    text = show(getattr(entry, key))
    seconds: Seconds | None = getattr(entry.cell, key, None)
    return text if seconds is None or seconds.whole else f"{text} ({100 * seconds.share:.2g} %)"


def ratios_grid(name: str, pair: TimedPair, pairs: Sequence[Duel]) -> Grid:
    """A line for each k and data set."""
    short, exact = pair.short, pair.exact
    head = (
        *("folds", "data set", f"{exact} / {short}", "published", f"{exact} / exact, ours"),
        *(f"exact {exact}, ours", f"{pair.approximate}, paper's"),
        *(f"exact / {short}", "exact costs"),
    )
    counts = ", ".join(
        f"{(k - 1) ** 3 / (pair.factors * k**2):.2g} for {k} folds"
        for k in dict.fromkeys(d.folds for d in pairs)
    )
    caption = (
        "Ratios of seconds, which can be compared between machines.",
        f"{exact} / {short}: both by the paper's algorithms, here and as published.",
        f"By the count of operations it is {counts}: k Cholesky factors of n - n/k rows against "
        f"{pair.words}.",
        f"{exact} / exact, ours: what kselect saves on the same k-fold cross-validation.",
        f"Then the CPU seconds of exact {exact}, ours, beside those of {pair.approximate} by the paper's "
        "algorithm, their ratio, and whether exact cross-validation costs no more than the approximation "
        f"(ratio up to 1), about as much (up to {ABOUT:g}), or more.",
    )
    groups: list[tuple[Line, ...]] = []
    for folds in dict.fromkeys(d.folds for d in pairs):
        mine = [d for d in pairs if d.folds == folds]
        groups.append(tuple(ratio_line(d, first=d is mine[0]) for d in mine))
    return Grid(name, caption, head, 2, tuple(groups))


def ratio_line(duel: Duel, first: bool) -> Line:
    """One data set."""
    return (
        str(duel.folds) if first else "",
        duel.exact.dataset,
        *map(show, (duel.measured, duel.published, duel.shortcut)),
        *map(show, (duel.exact.ours, duel.approximate.paper, duel.price)),
        duel.verdict or DASH,
    )


def show(number: Number | None) -> str:
    """Three digits, a tilde where something is extrapolated, a dash where there is nothing."""
    if number is None:
        return DASH
    value = number.value
    decimals = min(4, max(0, 2 - math.floor(math.log10(value)))) if value > 0 else 0
    return f"{ROUGH if number.rough else ''}{value:.{decimals}f}"


def describe(
    experiment: Experiment, found: Sequence[Entry], machines: Sequence[str]
) -> tuple[str, ...]:
    """What was measured, how, and on what."""
    learner = describe_learners(experiment)
    where = f" {SCALES_ON[experiment.scale_on]}" if experiment.scale != "none" else ""
    texts = [
        f"CPU seconds of a whole selection over {describe_kernels(experiment)} and {describe_ridges(experiment)}: "
        f"{learner}, {SCALES[experiment.scale]}{where}, the training part of "
        f"split {experiment.splits[0]} (rows x features below the name).",
        "Each method alone, one process, one BLAS thread; wall seconds are in the CSV.",
        *describe_ways(experiment),
        f"A short selection is the fastest of up to {REPEATS}.",
        *describe_tuned(experiment),
        f"Machine: {'; '.join(machines)}.",
    ]
    if any(e.published is not None for e in found):
        texts.append(f"Published: {experiment.paper}, on its own machine.")
    budgets = {e.cell.budget for e in found if e.cell and is_rough(e)}
    if budgets:
        shown = " or ".join(f"{b:g}" for b in sorted(budgets))
        texts.append(
            f"{ROUGH}: extrapolated from the share of the grid in parentheses, which was measured in an "
            f"order that covers widths and ridges evenly until a budget of {shown} s was used up."
        )
    return tuple(texts)


def moving(experiment: Experiment) -> bool:
    """Whether every method moves through all values, none over a grid."""
    return bool(experiment.table) and all(m.search for m in experiment.table)


def describe_ridges(experiment: Experiment) -> str:
    """``31 ridges``, or all of them."""
    ridges = len(experiment.lam.values)
    return "of the ridge" if moving(experiment) else f"{ridges} ridge{'s' * (ridges != 1)}"


def describe_ways(experiment: Experiment) -> list[str]:
    """How the papers' seconds come about, and ours: over a grid, and by searches through all values."""
    texts = []
    if not moving(experiment):
        texts = [
            "Paper's: the papers' own algorithm, the kernel computed once for a width (k-CV: a Cholesky "
            "solution for every fold and grid point; BIF: one inverse for every grid point, then the recursion; "
            "FBIF: one training for every grid point; the smoothed hinge by Newton's method in the primal).",
            describe_ours(experiment),
        ]
    if any(m.search for m in experiment.table):
        texts.append(
            "FLKL, paper's: Nelder-Mead over its two hyper-parameters, the widths of every fold by gradient "
            "descent inside. Ours: searches through all values with analytic gradients (kselect list searches), "
            "each with its start, the RBF solution. Every search runs to its end, whatever the budget."
        )
    return texts


def describe_ours(experiment: Experiment) -> str:
    """How ours is computed."""
    closed = "Ours: kselect's, one factorisation of the kernel for all ridges"
    if experiment.search == "grid":
        return f"{closed}."
    return (
        f"{closed}; k-CV with the learner's own loss by bounds (search: pruned), which gives the minimum and "
        "not the whole surface."
    )


def describe_tuned(experiment: Experiment) -> list[str]:
    """What is not in the seconds of a method that tunes a parameter."""
    if not any(method.tuned for method in experiment.table):
        return []
    return [
        "A parameter that is tuned stands at its default: its inner cross-validation is not timed."
    ]


def is_rough(entry: Entry) -> bool:
    """Whether any of its seconds is extrapolated."""
    return any(n is not None and n.rough for n in (entry.paper, entry.ours))


def say(s: Summary, way: str) -> list[str]:
    """What the report states for one k, with its numbers."""
    count, name = sum(s.counts.values()), s.lowest.approximate.method
    words = ", ".join(
        f"{'about as much (up to ' + format(ABOUT, 'g') + ' times)' if p == 'about as much' else p} on {n}"
        for p, n in s.counts.items()
    )
    low, high = (show(d.price) for d in (s.lowest, s.highest))
    spread = (
        f"{show(Number(s.median))} times the seconds of {name} in the median of {count} data "
        f"sets, from {low} ({s.lowest.exact.dataset}) to {high} ({s.highest.exact.dataset})"
        if count > 1
        else f"{low} times the seconds of {name} on {s.lowest.exact.dataset}"
    )
    found = [f"{s.folds} folds: exact cross-validation {way} takes {spread}: {words}."]
    if s.measured is not None and s.published is not None:
        found.append(
            f"{s.folds} folds: k-CV takes {show(Number(s.measured))} times the seconds of {name} by the "
            f"paper's algorithms here, {show(Number(s.published))} times as published (medians of the data "
            "sets that have both)."
        )
    return found


def tell(found: SpeedVerdict) -> str:
    """A claim about seconds with its verdict."""
    return f"Claim: {found.claim.text}. {found.verdict.capitalize()}: {explain(found)} {RULE}"


def explain(found: SpeedVerdict) -> str:
    """The numbers behind a verdict."""
    low, middle, high = (show(Number(v)) for v in found.spread)
    sentence = (
        f"by the paper's algorithms here it is {middle} times as fast in the median of {found.measured} "
        f"data sets, from {low} to {high}, and reaches {found.claim.times:g} on {found.reached}."
    )
    if not found.printed:
        return sentence
    return f"{sentence} As published it reaches that on {found.published} of {found.printed}."


def agreement(found: Iterable[Entry], *, moving: bool) -> tuple[str, ...]:
    """By how much the scores of both ways differ: they are to be the same criterion."""
    gaps = [(e.cell.difference, e) for e in found if e.cell and e.cell.difference is not None]
    if not gaps:
        return ()
    largest, entry = max(gaps, key=lambda pair: pair[0])
    where = (
        "where their searches ended"
        if moving
        else "at every grid point that both computed and where both are finite"
    )
    return (
        f"The scores of the paper's algorithm and of ours, {where}, differ by at most {largest:.0e} of their size "
        f"({entry.dataset}, {entry.method}).",
    )


def failures(found: Iterable[Entry]) -> tuple[str, ...]:
    """A sentence for each cell without seconds."""
    return tuple(
        f"{e.dataset}, {e.method} failed: {e.cell.failure.rstrip('.')}."
        for e in found
        if e.cell and e.cell.failure
    )
