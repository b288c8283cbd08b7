"""A paper's claims about seconds, judged by its own algorithms on this machine."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kselect.core.experiment import Experiment
from kselect.papers import PAPERS
from kselect.papers.base import Faster
from kselect.timing.ratios import Duel

RULE = "(Supported: in the median of the data sets at least. Mixed: on some of them. Not supported: on none.)"
SpeedWord = Literal["supported", "mixed", "not supported"]


@dataclass(frozen=True)
class SpeedVerdict:
    """A claim, on how many data sets its ratio is reached, of how many; the same of the published seconds.

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
        """By ``RULE``."""
        if self.spread[1] >= self.claim.times:
            return "supported"
        return "mixed" if self.reached else "not supported"


def judge_speed(experiment: Experiment, pairs: Iterable[Duel]) -> list[SpeedVerdict]:
    """Every claim of the experiment's paper about seconds."""
    paper, known = PAPERS.get(experiment.paper), list(pairs)
    return [judge_claim(claim, known) for claim in paper.faster] if paper else []


def judge_claim(claim: Faster, pairs: Iterable[Duel]) -> SpeedVerdict:
    """On the data sets that it speaks of."""
    mine = [
        d
        for d in pairs
        if d.pair == claim.pair
        and d.folds == claim.folds
        and (not claim.datasets or d.exact.dataset in claim.datasets)
    ]
    here = sorted(d.measured.value for d in mine if d.measured)
    there = [d.published.value for d in mine if d.published]
    spread = (here[0], statistics.median(here), here[-1]) if here else (0.0, 0.0, 0.0)
    return SpeedVerdict(
        claim,
        sum(v >= claim.times for v in here),
        len(here),
        sum(v >= claim.times for v in there),
        len(there),
        spread,
    )
