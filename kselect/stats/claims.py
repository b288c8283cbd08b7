"""The papers' claims about test errors, each judged by a written rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kselect.core.method import Setting
from kselect.papers.base import Claim, ClaimKind
from kselect.stats.comparison import Contest, add_up, find_pairs
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
    """Judge every claim of the experiment's paper for which it has the methods and the data sets.

    Each claim is judged on its pairs of methods, under each setting and in total.
    """
    experiment, comparison = study.experiment, study.comparison(loss)
    tasks = {name: experiment.info(name).task for name in experiment.datasets}
    found = []
    for claim in study.paper.claims if study.paper else ():
        pairs = find_pairs(experiment, claim)
        if not pairs or claim.task not in (None, *tasks.values()):
            continue
        splits = {d: n for d, n in comparison.splits.items() if claim.task in (None, tasks[d])}
        planned = sum(splits.values())
        contests = [
            (
                setting,
                add_up(c.method, c.rival, (o for o in c.outcomes if o.dataset in splits), planned),
            )
            for setting, every in comparison.contests.items()
            for c in every
            if (c.method, c.rival) in pairs
        ]
        outcomes = (o for _, contest in contests for o in contest.outcomes)
        total = add_up(claim.criterion, claim.rival, outcomes, planned * len(contests))
        edges = leaning(study, loss, {label for pair in pairs for label in pair})
        verdict = verdict_on(total, claim.kind)
        found.append(Judgement(claim, tuple(contests), total, verdict, edges))
    return tuple(found)


def verdict_on(contest: Contest, kind: ClaimKind) -> Verdict:
    """Return the verdict by ``RULES``; means without any test decide nothing."""
    mean, test = contest.by_mean, contest.by_ttest
    if not sum(mean):
        return "no numbers"
    if too_few(contest.pairs, contest.planned):
        return "too few numbers"
    if not sum(test):
        return "undecided"
    if kind == "lower":
        if 2 * mean.wins > sum(mean) and test.wins > test.losses:
            return "supported"
        worse = mean.wins <= mean.losses and test.wins <= test.losses
        return "not supported" if worse else "mixed"
    different = test.wins + test.losses
    if different <= CHANCE * sum(test):
        return "supported"
    return "not supported" if 2 * different > sum(test) else "mixed"


def too_few(found: int, planned: int) -> bool:
    """Return whether a verdict is withheld: fewer than half of the planned numbers exist."""
    return found < ENOUGH * planned
