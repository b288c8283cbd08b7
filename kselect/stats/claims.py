"""The papers' claims about test errors, each judged by a written rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kselect.core.method import Setting
from kselect.papers import PAPERS
from kselect.papers.base import Claim, ClaimKind
from kselect.stats.comparison import Contest, find_pairs
from kselect.stats.diagnostics import EdgeShares, leaning
from kselect.stats.study import Study

Verdict = Literal[
    "supported", "mixed", "not supported", "undecided", "too few numbers", "no numbers"
]
ENOUGH = 0.5
CHANCE = 0.1
WITHHELD = "Withheld if fewer than half of the planned pairs of test errors (one per split and comparison) exist."
RULES: dict[ClaimKind, str] = {
    "lower": (
        "Supported: a lower mean in more than half of the comparisons, and more significant wins "
        "than significant losses by the papers' t-test. Not supported: no more wins than losses by "
        f"mean, and no more significant wins than significant losses. Mixed: anything between. {WITHHELD}"
    ),
    "same": (
        "Supported: a significant difference in either direction by the papers' t-test in at most "
        "10 % of the comparisons, which is what chance gives two one-sided tests at 5 %. Not "
        f"supported: in more than half of them. Mixed: anything between. {WITHHELD}"
    ),
}


@dataclass(frozen=True)
class Judgement:
    """A claim with its verdict, the contest of each pair and setting, and their sum.

    ``edges`` are the compared methods that mostly select the edge of the grid.
    """

    claim: Claim
    contests: tuple[tuple[Setting, Contest], ...]
    total: Contest
    verdict: Verdict
    edges: tuple[EdgeShares, ...]


def judge(study: Study, loss: str) -> tuple[Judgement, ...]:
    """Judge every claim of the experiment's paper for which it has the methods and the data sets."""
    paper = PAPERS.get(study.experiment.paper)
    tasks = {None, *map(study.experiment.task, study.experiment.datasets)}
    judged = (
        judge_claim(study, loss, c) for c in (paper.claims if paper else ()) if c.task in tasks
    )
    return tuple(found for found in judged if found is not None)


def judge_claim(study: Study, loss: str, claim: Claim) -> Judgement | None:
    """Judge one claim on its pairs of methods, under each setting and in total; None without a pair."""
    pairs = find_pairs(study.experiment, claim)
    if not pairs:
        return None
    comparison, task = study.comparison(loss), study.experiment.task
    splits = {d: n for d, n in comparison.splits.items() if claim.task in (None, task(d))}
    contests = tuple(
        (setting, contest.among(splits))
        for setting, contests in comparison.contests.items()
        for contest in contests
        if (contest.method, contest.rival) in pairs
    )
    total = Contest(
        claim.criterion,
        claim.rival,
        tuple(outcome for _, contest in contests for outcome in contest.outcomes),
        sum(contest.planned for _, contest in contests),
    )
    methods = dict.fromkeys(label for pair in pairs for label in pair)
    edges = leaning(study, loss, methods)
    return Judgement(claim, contests, total, verdict_on(total, claim.kind), edges)


def verdict_on(contest: Contest, kind: ClaimKind) -> Verdict:
    """Return the verdict by ``RULES``; means without any test decide nothing."""
    mean, test = contest.by_mean, contest.by_ttest
    if not mean.total:
        return "no numbers"
    if too_few(contest.pairs, contest.planned):
        return "too few numbers"
    if not test.total:
        return "undecided"
    if kind == "lower":
        if 2 * mean.wins > mean.total and test.wins > test.losses:
            return "supported"
        worse = mean.wins <= mean.losses and test.wins <= test.losses
        return "not supported" if worse else "mixed"
    different = test.wins + test.losses
    if different <= CHANCE * test.total:
        return "supported"
    return "not supported" if 2 * different > test.total else "mixed"


def too_few(found: int, planned: int) -> bool:
    """Return whether a verdict is withheld: fewer than half of the planned numbers exist."""
    return found < ENOUGH * planned
