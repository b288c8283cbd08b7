"""The papers' headline claims about test errors, each judged by a written rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Literal

from kselect.model.experiment import TABLE, Experiment
from kselect.stats.comparison import Comparison
from kselect.stats.counts import NOTHING, Duel, WinTieLoss

Kind = Literal["lower", "same"]
Verdict = Literal["supported", "mixed", "not supported", "undecided", "no numbers"]
CHANCE = 0.1


@dataclass(frozen=True)
class Claim:
    """``criterion`` has a lower (or the same) test error than ``rival`` with the same folds."""

    paper: str
    text: str
    criterion: str
    rival: str
    kind: Kind


CLAIMS = (
    Claim(
        "ecml2014",
        "k-KS gives a lower test error than k-CV with the same k",
        "k-KS",
        "k-CV",
        "lower",
    ),
    Claim("ecml2014", "k-KS gives a lower test error than BR", "k-KS", "BR", "lower"),
    Claim(
        "icml2014",
        "BIF-k-CV gives the same test error as k-CV with the same k",
        "BIF-k-CV",
        "k-CV",
        "same",
    ),
    Claim(
        "icml2014",
        "BIF-k-CV gives a lower test error than EP (in the paper on 16 of 20 data sets)",
        "BIF-k-CV",
        "EP",
        "lower",
    ),
)


@dataclass(frozen=True)
class Tally:
    """Duels added up: by mean, by the papers' test, by the corrected test."""

    by_mean: WinTieLoss
    by_ttest: WinTieLoss
    by_corrected: WinTieLoss

    def verdict(self, kind: Kind) -> Verdict:
        """By the rule of a kind (``RULES`` says it in words); means without any test decide nothing."""
        if not self.by_mean.total:
            return "no numbers"
        if not self.by_ttest.total:
            return "undecided"
        return judge_lower(self) if kind == "lower" else judge_same(self)


RULES: dict[Kind, str] = {
    "lower": (
        "Supported: a lower mean in more than half of the comparisons, and more significant wins "
        "than significant losses by the papers' t-test. Not supported: no more wins than losses by "
        "mean, and no more significant wins than significant losses. Mixed: anything between."
    ),
    "same": (
        "Supported: a significant difference in either direction by the papers' t-test in at most "
        "10 % of the comparisons, which is what chance gives two one-sided tests at 5 %. Not "
        "supported: in more than half of them. Mixed: anything between."
    ),
}


@dataclass(frozen=True)
class Line:
    """One pair of methods under one setting."""

    setting: str
    method: str
    rival: str
    tally: Tally
    verdict: Verdict


@dataclass(frozen=True)
class Judgement:
    """A claim with its verdict over all pairs and settings, and the lines that it adds up."""

    claim: Claim
    lines: tuple[Line, ...]
    tally: Tally
    verdict: Verdict


def find_pairs(experiment: Experiment, claim: Claim) -> tuple[tuple[str, str], ...]:
    """The labels that a claim sets against each other, in the order of the table."""
    table = [m for m in experiment.methods if m.part == TABLE]
    found = (
        (a.label, b.label)
        for a in table
        for b in table
        if a.criterion == claim.criterion
        and b.criterion == claim.rival
        and (a.folds == b.folds or b.folds is None)
    )
    return tuple(dict.fromkeys(found))


def claims_of(experiment: Experiment) -> tuple[Claim, ...]:
    """The claims of the experiment's paper for which it has the methods."""
    mine = (c for c in CLAIMS if c.paper == experiment.paper)
    return tuple(c for c in mine if find_pairs(experiment, c))


def all_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """Every pair of any paper's claim whose methods the experiment has: what tables count."""
    return tuple(dict.fromkeys(p for c in CLAIMS for p in find_pairs(experiment, c)))


def judge(experiment: Experiment, comparison: Comparison) -> tuple[Judgement, ...]:
    """Every claim of the experiment's paper, from the duels of one loss."""
    return tuple(judge_claim(experiment, comparison, c) for c in claims_of(experiment))


def judge_claim(experiment: Experiment, comparison: Comparison, claim: Claim) -> Judgement:
    """One claim: a line for each pair and setting, and all of them added up."""
    pairs = find_pairs(experiment, claim)
    found = [
        (block.setting, d)
        for block in comparison.blocks
        for d in block.duels
        if (d.method, d.rival) in pairs
    ]
    lines = tuple(make_line(setting, d, claim.kind) for setting, d in found)
    tally = add_up([d for _, d in found])
    return Judgement(claim, lines, tally, tally.verdict(claim.kind))


def make_line(setting: str, duel: Duel, kind: Kind) -> Line:
    """The verdict on one pair under one setting."""
    tally = add_up([duel])
    return Line(setting, duel.method, duel.rival, tally, tally.verdict(kind))


def add_up(duels: Sequence[Duel]) -> Tally:
    """The sums of the counts of some duels."""
    return Tally(
        total(d.by_mean for d in duels),
        total(d.by_ttest for d in duels),
        total(d.by_corrected for d in duels),
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
