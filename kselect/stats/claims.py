"""The papers' claims about test errors, each judged by a written rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from kselect.core.method import Setting
from kselect.papers.base import Claim, Kind
from kselect.stats.counts import NOTHING, Duel, WinTieLoss, among
from kselect.stats.edges import EdgeShares, leaning
from kselect.stats.pairs import claims_of, find_pairs
from kselect.stats.study import Study
from kselect.stats.verdicts import Verdict, too_few

CHANCE = 0.1
WITHHELD = (
    "Withheld: where less than half of the planned pairs of test errors are there, one per split and "
    "comparison."
)
RULES: dict[Kind, str] = {
    "lower": (
        "Supported: a lower mean in more than half of the comparisons, and more significant wins "
        "than significant losses by the papers' t-test. Not supported: no more wins than losses by "
        "mean, and no more significant wins than significant losses. Mixed: anything between. "
        f"{WITHHELD}"
    ),
    "same": (
        "Supported: a significant difference in either direction by the papers' t-test in at most "
        "10 % of the comparisons, which is what chance gives two one-sided tests at 5 %. Not "
        f"supported: in more than half of them. Mixed: anything between. {WITHHELD}"
    ),
}


@dataclass(frozen=True)
class Tally:
    """Duels added up: by mean, by the papers' test, by the corrected test; how many pairs of how many planned."""

    by_mean: WinTieLoss
    by_ttest: WinTieLoss
    by_corrected: WinTieLoss
    pairs: int
    planned: int

    def verdict(self, kind: Kind) -> Verdict:
        """By the rule of a kind (``RULES`` says it in words); means without any test decide nothing."""
        if not self.by_mean.total:
            return "no numbers"
        if too_few(self.pairs, self.planned):
            return "too few numbers"
        if not self.by_ttest.total:
            return "undecided"
        return judge_lower(self) if kind == "lower" else judge_same(self)


@dataclass(frozen=True)
class Line:
    """One pair of methods under one setting."""

    setting: Setting
    method: str
    rival: str
    tally: Tally
    verdict: Verdict


@dataclass(frozen=True)
class Judgement:
    """A claim with its verdict over all pairs and settings, and the lines that it adds up.

    ``edges`` are the columns that it leans on which choose mostly at an edge of the grid.
    """

    claim: Claim
    lines: tuple[Line, ...]
    tally: Tally
    verdict: Verdict
    edges: tuple[EdgeShares, ...]


def judge(study: Study, loss: str) -> tuple[Judgement, ...]:
    """Every claim of the experiment's paper, from the duels of one loss."""
    return tuple(judge_claim(study, loss, c) for c in claims_of(study.experiment))


def judge_claim(study: Study, loss: str, claim: Claim) -> Judgement:
    """One claim: one line per pair and setting, and all of them added up."""
    pairs = find_pairs(study.experiment, claim)
    comparison, task = study.comparison(loss), study.experiment.task
    mine = {d: s for d, s in comparison.splits.items() if claim.task in (None, task(d))}
    found = [
        (block.setting, among(d, mine))
        for block in comparison.blocks
        for d in block.duels
        if (d.method, d.rival) in pairs
    ]
    lines = tuple(make_line(setting, d, claim.kind) for setting, d in found)
    tally = add_up([d for _, d in found])
    columns = dict.fromkeys(label for pair in pairs for label in pair)
    return Judgement(claim, lines, tally, tally.verdict(claim.kind), leaning(study, loss, columns))


def make_line(setting: Setting, duel: Duel, kind: Kind) -> Line:
    """The verdict on one pair under one setting."""
    tally = add_up([duel])
    return Line(setting, duel.method, duel.rival, tally, tally.verdict(kind))


def add_up(duels: Sequence[Duel]) -> Tally:
    """The sums of the counts of some duels."""
    return Tally(
        total(d.by_mean for d in duels),
        total(d.by_ttest for d in duels),
        total(d.by_corrected for d in duels),
        sum(d.pairs for d in duels),
        sum(d.planned for d in duels),
    )


def total(counts: Iterable[WinTieLoss]) -> WinTieLoss:
    """The sum of some counts."""
    return reduce(add, counts, NOTHING)


def judge_lower(tally: Tally) -> Verdict:
    """``RULES["lower"]``."""
    mean, test = tally.by_mean, tally.by_ttest
    if 2 * mean.wins > mean.total and test.wins > test.losses:
        return "supported"
    if mean.wins <= mean.losses and test.wins <= test.losses:
        return "not supported"
    return "mixed"


def judge_same(tally: Tally) -> Verdict:
    """``RULES["same"]``."""
    test = tally.by_ttest
    different = test.wins + test.losses
    if different <= CHANCE * test.total:
        return "supported"
    return "not supported" if 2 * different > test.total else "mixed"
