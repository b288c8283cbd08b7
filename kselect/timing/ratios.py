"""Ratios of seconds, which can be compared between machines, and the claims of papers about them.

The pairs come from all papers: exact cross-validation and an approximation of it.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kselect.errors import DataError
from kselect.papers import PAPERS
from kselect.papers.base import Faster, TimedPair
from kselect.timing.cells import Seconds, TimedMethod, Timings

# "About as much" means up to this many times the approximation's seconds.
ABOUT = 2.0
Price = Literal["no more", "about as much", "more"]
PRICES: tuple[Price, ...] = ("no more", "about as much", "more")
RULE = (
    "(Supported: the median of the data sets reaches the claimed ratio. Mixed: some data sets reach it. "
    "Not supported: none does.)"
)
SpeedWord = Literal["supported", "mixed", "not supported"]


@dataclass(frozen=True)
class Number:
    """Seconds or a ratio; ``rough`` if it rests on extrapolated seconds."""

    value: float
    rough: bool = False


@dataclass(frozen=True)
class TimingEntry:
    """One method on one data set: the measured cell, if any, and the published seconds."""

    dataset: str
    rows: int
    features: int
    method: str
    cell: TimedMethod | None
    printed: float | None

    @property
    def paper(self) -> Number | None:
        """Return the CPU seconds of the paper's algorithm."""
        return cpu(self.cell.paper) if self.cell else None

    @property
    def ours(self) -> Number | None:
        """Return the CPU seconds of our algorithm."""
        return cpu(self.cell.ours) if self.cell else None

    @property
    def published(self) -> Number | None:
        """Return the seconds that the paper printed."""
        return None if self.printed is None else Number(self.printed)


@dataclass(frozen=True)
class CostComparison:
    """Exact k-fold cross-validation and its approximation on one data set.

    Attributes
    ----------
    measured, published
        Exact / approximate, both with the paper's algorithms on this machine, and as published.
    shortcut
        Exact with the paper's algorithm / exact with ours: what the closed form saves.
    price, verdict
        Exact with our algorithm / approximate with the paper's, the cost of exactness; the same in words.
    """

    folds: int
    exact: TimingEntry
    approximate: TimingEntry
    pair: TimedPair
    measured: Number | None
    published: Number | None
    shortcut: Number | None
    price: Number | None
    verdict: Price | None


def judge(price: float) -> Price:
    """Say whether a ratio is at most 1, at most ``ABOUT``, or more."""
    return "no more" if price <= 1.0 else "about as much" if price <= ABOUT else "more"


def cpu(seconds: Seconds | None) -> Number | None:
    """Return the CPU seconds."""
    return Number(seconds.cpu, not seconds.whole) if seconds else None


def ratio(one: Number | None, other: Number | None) -> Number | None:
    """Return a ratio if both numbers exist."""
    if one is None or other is None or not other.value > 0:
        return None
    return Number(one.value / other.value, one.rough or other.rough)


def entries(
    timings: Iterable[Timings], methods: Iterable[str], published: Mapping[tuple[str, str], float]
) -> list[TimingEntry]:
    """Return every data set and method in the order of the config."""
    labels = list(methods)
    return [
        TimingEntry(t.dataset, t.rows, t.features, m, t.cell(m), published.get((t.dataset, m)))
        for t in timings
        for m in labels
    ]


def comparisons(found: Iterable[TimingEntry]) -> list[CostComparison]:
    """Pair exact and approximate cross-validation with the same k, sorted by k, data sets in their order."""
    by_name = {(e.dataset, e.cell.criterion, e.cell.folds): e for e in reversed([*found]) if e.cell}
    known = [pair for paper in PAPERS.values() for pair in paper.timed_pairs]
    pairs = []
    for pair in known:
        for (dataset, criterion, k), exact in reversed([*by_name.items()]):
            other = by_name.get((dataset, pair.approximate, k))
            if criterion != pair.exact or k is None or other is None:
                continue
            price = ratio(exact.ours, other.paper)
            ratios = (
                ratio(exact.paper, other.paper),
                ratio(exact.published, other.published),
                ratio(exact.paper, exact.ours),
            )
            verdict = judge(price.value) if price else None
            pairs.append(CostComparison(k, exact, other, pair, *ratios, price, verdict))
    return sorted(pairs, key=lambda one: one.folds)


@dataclass(frozen=True)
class CostSummary:
    """The price of exact cross-validation over all data sets, for one pair and one k."""

    folds: int
    median: float
    lowest: CostComparison
    highest: CostComparison
    counts: dict[Price, int]
    measured: float | None
    published: float | None


def summarise(pairs: Iterable[CostComparison]) -> list[CostSummary]:
    """Summarise each pair and k that has a price on some data set: median, extremes and verdicts."""
    priced: dict[tuple[TimedPair, int], list[tuple[float, CostComparison]]] = {}
    for one in pairs:
        if one.price:
            priced.setdefault((one.pair, one.folds), []).append((one.price.value, one))
    found = []
    for (_, folds), costs in priced.items():
        ordered = sorted(costs, key=lambda cost: cost[0])
        prices = [price for price, _ in ordered]
        verdicts = [judge(price) for price in prices]
        both = [(m.value, p.value) for _, d in ordered if (m := d.measured) and (p := d.published)]
        found.append(
            CostSummary(
                folds,
                statistics.median(prices),
                ordered[0][1],
                ordered[-1][1],
                {p: verdicts.count(p) for p in PRICES},
                statistics.median(m for m, _ in both) if both else None,
                statistics.median(p for _, p in both) if both else None,
            )
        )
    return found


@dataclass(frozen=True)
class SpeedVerdict:
    """A claim, and on how many data sets the measured and the published seconds reach its ratio.

    ``spread`` is the lowest, median and highest ratio measured.
    """

    claim: Faster
    reached: int
    measured: int
    published: int
    printed: int
    spread: tuple[float, float, float]

    @property
    def verdict(self) -> SpeedWord:
        """Apply ``RULE``."""
        if self.spread[1] >= self.claim.times:
            return "supported"
        return "mixed" if self.reached else "not supported"


def judge_speed(paper: str, pairs: Iterable[CostComparison]) -> list[SpeedVerdict]:
    """Judge every claim of a paper about seconds, on the data sets that the claim names."""
    known, found = list(pairs), []
    for claim in PAPERS[paper].faster if paper in PAPERS else ():
        mine = [
            one
            for one in known
            if (one.pair, one.folds) == (claim.pair, claim.folds)
            and (not claim.datasets or one.exact.dataset in claim.datasets)
        ]
        here = sorted(one.measured.value for one in mine if one.measured)
        there = [one.published.value for one in mine if one.published]
        spread = (here[0], statistics.median(here), here[-1]) if here else (0.0, 0.0, 0.0)
        reached, printed = (sum(v >= claim.times for v in values) for values in (here, there))
        found.append(SpeedVerdict(claim, reached, len(here), printed, len(there), spread))
    return found


def read_published(path: Path) -> dict[tuple[str, str], float]:
    """Return the seconds that a paper printed, by data set and method; empty if it has no such table."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    try:
        return {
            (row["dataset"], row["method"]): float(row["mean"])
            for row in rows
            if "seconds" in (row["spread_kind"], row["setting"]) and row["mean"]
        }
    except (KeyError, ValueError) as error:
        raise DataError(f"{path}: not a table of published numbers ({error})") from None
