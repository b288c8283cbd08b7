"""The verdicts that belong to no loss: on exactness, ranks and widths."""

from __future__ import annotations

from kselect.stats.exactness import judge_exactness
from kselect.stats.rank_claims import judge_ranks, judge_spreads
from kselect.stats.study import Study
from kselect.stats.verdicts import Verdict


def verdicts_without_loss(study: Study) -> tuple[tuple[str, Verdict], ...]:
    """The text of every such claim, and what the experiment says of it."""
    exact = [(found.claim, found.verdict) for found in study.once(judge_exactness)]
    ranks = [(found.claim.text, found.verdict) for found in study.once(judge_ranks)]
    spreads = [(found.claim.text, found.verdict) for found in study.once(judge_spreads)]
    return (*exact, *ranks, *spreads)
