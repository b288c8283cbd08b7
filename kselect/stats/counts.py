"""Wins, ties and losses of one method against another over data sets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kselect.stats.samples import Pairs, Sample, match
from kselect.stats.ttest import TTest, corrected, paired

EQUAL = 1e-12


@dataclass(frozen=True)
class WinTieLoss:
    """How often the method had the lower, the same, or the higher error."""

    wins: int
    ties: int
    losses: int

    def __add__(self, other: WinTieLoss) -> WinTieLoss:
        return WinTieLoss(
            self.wins + other.wins, self.ties + other.ties, self.losses + other.losses
        )

    @property
    def total(self) -> int:
        """How many comparisons there were."""
        return self.wins + self.ties + self.losses


NOTHING = WinTieLoss(0, 0, 0)


@dataclass(frozen=True)
class Outcome:
    """Against a rival on one data set: 1 lower, 0 the same, -1 higher; None without a test.

    ``pairs`` counts the splits on which both have a number.
    """

    dataset: str
    pairs: int
    by_mean: int
    by_ttest: int | None
    by_corrected: int | None


@dataclass(frozen=True)
class Duel:
    """A method against a rival over the data sets on which both have a number.

    ``planned`` counts the splits of all data sets: what ``pairs`` would be if nothing were missing.
    """

    method: str
    rival: str
    outcomes: tuple[Outcome, ...]
    planned: int

    @property
    def pairs(self) -> int:
        """On how many splits both have a number."""
        return sum(o.pairs for o in self.outcomes)

    @property
    def by_mean(self) -> WinTieLoss:
        """By the means of the shared splits; equal means are ties."""
        return count(o.by_mean for o in self.outcomes)

    @property
    def by_ttest(self) -> WinTieLoss:
        """By the papers' paired t-test at 5 %; a tie is no significant difference."""
        return count(o.by_ttest for o in self.outcomes if o.by_ttest is not None)

    @property
    def by_corrected(self) -> WinTieLoss:
        """By the corrected resampled t-test at 5 %."""
        return count(o.by_corrected for o in self.outcomes if o.by_corrected is not None)


def among(found: Duel, splits: Mapping[str, int]) -> Duel:
    """The same over some data sets alone: those that ``splits`` names, with how many each has."""
    kept = tuple(o for o in found.outcomes if o.dataset in splits)
    return Duel(found.method, found.rival, kept, sum(splits.values()))


def count(signs: Iterable[int | None]) -> WinTieLoss:
    """1, 0 and -1 -> wins, ties, losses."""
    found = list(signs)
    return WinTieLoss(found.count(1), found.count(0), found.count(-1))


def duel(
    method: str,
    rival: str,
    samples: Mapping[tuple[str, str], Sample],
    splits: Mapping[str, int],
) -> Duel:
    """One method against another, from samples by (data set, method); ``splits``: those of each data set."""
    matched = {
        d: match(samples.get((d, method), Sample()), samples.get((d, rival), Sample()))
        for d in splits
    }
    outcomes = tuple(outcome(d, pairs) for d, pairs in matched.items() if pairs.a.runs)
    return Duel(method, rival, outcomes, sum(splits.values()))


def outcome(dataset: str, pairs: Pairs) -> Outcome:
    """Signs by mean and by both tests, each test tried in both directions."""
    d, ratio = pairs.difference, pairs.test_over_train
    return Outcome(
        dataset,
        pairs.a.runs,
        compare_means(pairs.a.mean, pairs.b.mean),
        direction(paired(-d), paired(d)),
        direction(corrected(-d, ratio), corrected(d, ratio)),
    )


def compare_means(mine: float, other: float) -> int:
    """1 where mine is lower; a difference in the last digit is one of rounding, hence a tie."""
    if math.isclose(mine, other, rel_tol=EQUAL, abs_tol=0.0):
        return 0
    return 1 if mine < other else -1


def direction(lower: TTest, higher: TTest) -> int | None:
    """The sign of a significant difference, 0 without one, None without a test."""
    return int(lower.significant) - int(higher.significant) if lower.possible else None
