"""Which columns of a table the papers' claims set against each other."""

from __future__ import annotations

from kselect.core.experiment import Experiment
from kselect.papers import PAPERS
from kselect.papers.base import Claim


def find_pairs(experiment: Experiment, claim: Claim) -> tuple[tuple[str, str], ...]:
    """The labels that a claim sets against each other, in the order of the table."""
    found = (
        (a.label, b.label)
        for a in experiment.table
        for b in experiment.table
        if a.criterion == claim.criterion
        and b.criterion == claim.rival
        and (a.folds == b.folds or None in (a.folds, b.folds))
    )
    return tuple(dict.fromkeys(found))


def claims_of(experiment: Experiment) -> tuple[Claim, ...]:
    """The claims of the experiment's paper for which it has the methods and the data sets."""
    paper = PAPERS.get(experiment.paper)
    tasks = {None, *map(experiment.task, experiment.datasets)}
    return tuple(
        c for c in (paper.claims if paper else ()) if c.task in tasks and find_pairs(experiment, c)
    )


def all_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """Every pair of any paper's claim whose methods the experiment has: what tables count."""
    claims = (c for paper in PAPERS.values() for c in paper.claims)
    return tuple(dict.fromkeys(p for c in claims for p in find_pairs(experiment, c)))
