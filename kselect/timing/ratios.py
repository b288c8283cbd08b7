"""Seconds -> ratios: what can be compared between machines, and what exact cross-validation costs beside BIF.

The pairs are those of all papers: exact cross-validation and an approximation of it.
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
from kselect.papers.base import TimedPair
from kselect.timing.cells import Cell, Timings
from kselect.timing.measure import Seconds

# "About as much" is up to this many times the approximation's seconds.
ABOUT = 2.0
Price = Literal["no more", "about as much", "more"]
PRICES: tuple[Price, ...] = ("no more", "about as much", "more")


@dataclass(frozen=True)
class Number:
    """A number of seconds or a ratio, and whether anything in it is extrapolated."""

    value: float
    rough: bool = False


@dataclass(frozen=True)
class Entry:
    """One method on one data set: what was measured, if it was, and what the paper printed."""

    dataset: str
    rows: int
    features: int
    method: str
    cell: Cell | None
    published: float | None

    @property
    def paper(self) -> Number | None:
        """CPU seconds of the paper's algorithm."""
        return cpu(self.cell.paper) if self.cell else None

    @property
    def ours(self) -> Number | None:
        """CPU seconds of ours."""
        return cpu(self.cell.ours) if self.cell else None

    @property
    def theirs(self) -> Number | None:
        """The paper's own seconds."""
        return None if self.published is None else Number(self.published)


@dataclass(frozen=True)
class Duel:
    """Exact k-fold cross-validation beside its approximation, on one data set with one k."""

    folds: int
    exact: Entry
    approximate: Entry
    pair: TimedPair

    @property
    def measured(self) -> Number | None:
        """k-CV / BIF-k-CV, or whatever approximates it, both by the paper's algorithms, here."""
        return ratio(self.exact.paper, self.approximate.paper)

    @property
    def published(self) -> Number | None:
        """k-CV / BIF-k-CV as published."""
        return ratio(self.exact.theirs, self.approximate.theirs)

    @property
    def shortcut(self) -> Number | None:
        """k-CV by the paper's algorithm / exact k-CV, ours: what the shortcut saves."""
        return ratio(self.exact.paper, self.exact.ours)

    @property
    def price(self) -> Number | None:
        """Exact k-CV, ours / BIF-k-CV by the paper's algorithm: what exactness costs."""
        return ratio(self.exact.ours, self.approximate.paper)

    @property
    def verdict(self) -> Price | None:
        """In words."""
        return judge(self.price.value) if self.price else None


def judge(price: float) -> Price:
    """At most 1, at most ``ABOUT``, or more."""
    return "no more" if price <= 1.0 else "about as much" if price <= ABOUT else "more"


def cpu(seconds: Seconds | None) -> Number | None:
    """The CPU seconds, rough where a part of them is extrapolated."""
    return Number(seconds.cpu, not seconds.whole) if seconds else None


def ratio(one: Number | None, other: Number | None) -> Number | None:
    """Their ratio, where both are there."""
    if one is None or other is None or not other.value > 0:
        return None
    return Number(one.value / other.value, one.rough or other.rough)


def entries(
    timings: Iterable[Timings], methods: Iterable[str], published: Mapping[tuple[str, str], float]
) -> list[Entry]:
    """Every data set and method in the order of the config."""
    labels = list(methods)
    return [
        Entry(t.dataset, t.rows, t.features, m, t.cell(m), published.get((t.dataset, m)))
        for t in timings
        for m in labels
    ]


def duels(found: Iterable[Entry]) -> list[Duel]:
    """The pairs of k-CV and an approximation with the same k, k by k, data sets in their order."""
    by_name = {(e.dataset, e.cell.criterion, e.cell.folds): e for e in reversed([*found]) if e.cell}
    known = [pair for paper in PAPERS.values() for pair in paper.timed_pairs]
    pairs = [
        Duel(k, entry, by_name[dataset, pair.approximate, k], pair)
        for pair in known
        for (dataset, criterion, k), entry in reversed([*by_name.items()])
        if criterion == pair.exact and k is not None and (dataset, pair.approximate, k) in by_name
    ]
    return sorted(pairs, key=lambda duel: duel.folds)


@dataclass(frozen=True)
class Summary:
    """One k over data sets: how exact cross-validation's seconds stand to the approximation's."""

    folds: int
    median: float
    lowest: Duel
    highest: Duel
    counts: dict[Price, int]
    measured: float | None
    published: float | None


def summarise(pairs: Iterable[Duel]) -> list[Summary]:
    """A summary for each pair and k that has a price on some data set."""
    priced: dict[tuple[TimedPair, int], list[tuple[float, Duel]]] = {}
    for duel in pairs:
        if duel.price:
            priced.setdefault((duel.pair, duel.folds), []).append((duel.price.value, duel))
    return [summary(folds, found) for (_, folds), found in priced.items()]


def summary(folds: int, priced: list[tuple[float, Duel]]) -> Summary:
    """Median, extremes, and how many data sets have each verdict."""
    ordered = sorted(priced, key=lambda pair: pair[0])
    prices = [price for price, _ in ordered]
    verdicts = [judge(price) for price in prices]
    both = [(d.measured, d.published) for _, d in ordered]
    pairs = [(m.value, p.value) for m, p in both if m and p]
    return Summary(
        folds,
        statistics.median(prices),
        ordered[0][1],
        ordered[-1][1],
        {p: verdicts.count(p) for p in PRICES},
        statistics.median(m for m, _ in pairs) if pairs else None,
        statistics.median(p for _, p in pairs) if pairs else None,
    )


def read_published(path: Path) -> dict[tuple[str, str], float]:
    """(data set, method) -> the seconds that a paper printed; none where it has no such table."""
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
