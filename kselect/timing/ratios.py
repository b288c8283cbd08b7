"""Ratios of seconds, which can be compared between machines: exact cross-validation and its approximations."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from kselect.store.timings import Seconds, TimedMethod, Timings

# "About as much" means up to this many times the approximation's seconds.
ABOUT = 2.0
Price = Literal["no more", "about as much", "more"]
PRICES: tuple[Price, ...] = ("no more", "about as much", "more")


@dataclass(frozen=True)
class TimedPair:
    """Exact cross-validation and an approximation of it; a ``k`` in a name stands for the folds.

    ``short`` names the approximation in a table heading. Counting operations, it takes ``factors`` Cholesky factors
    of n rows, described in ``words``; the exact one takes k of n - n/k rows.
    """

    exact: str
    approximate: str
    short: str
    factors: float
    words: str


PAIRS = (
    TimedPair("k-CV", "BIF-k-CV", "BIF", 3.0, "one inverse of n"),
    TimedPair(
        *("k-CV", "k-FBIF", "FBIF", 1.0),
        "one of n for KRR, which is trained for each grid point",
    ),
)


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
    def without_fits(self) -> Number | None:
        """Return the CPU seconds of the paper's algorithm without the trainings, if they were told apart."""
        seconds = self.cell.paper if self.cell else None
        if seconds is None or seconds.without_fits is None:
            return None
        return Number(seconds.without_fits, not seconds.whole)

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
    bare
        ``measured`` without the trainings of the approximation, as ijcai2018 counts its cost.
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
    bare: Number | None = None


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
    pairs = []
    for pair in PAIRS:
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
            bare = ratio(exact.paper, other.without_fits)
            pairs.append(CostComparison(k, exact, other, pair, *ratios, price, verdict, bare))
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
