"""Claims about ranks over data sets and about learned widths, in the chapter and the file of all claims."""

from __future__ import annotations

from collections.abc import Iterable

from kselect.report.blocks import Block, Element, Heading, Shown, Text
from kselect.report.sections.base import section
from kselect.report.sections.claims import FILE
from kselect.stats.rank_claims import (
    RULES,
    SPREAD_RULES,
    RankVerdict,
    SpreadVerdict,
    judge_ranks,
    judge_spreads,
)
from kselect.stats.study import Study

MEASURES = {"variation": "coefficient of variation", "suppression": "share of the weaker half"}


@section("rank-claims")
def show(study: Study) -> Shown:
    """One verdict per claim."""
    ranks = [tuple(show_ranks(v)) for v in study.once(judge_ranks)]
    spreads = [tuple(show_spread(v)) for v in study.once(judge_spreads)]
    return Shown(blocks=[Block("claims", elements, FILE) for elements in (*ranks, *spreads)])


def show_ranks(found: RankVerdict) -> Iterable[Element]:
    """The claim, the verdict in a sentence, the rule."""
    claim = found.claim
    yield Heading(claim.text, 3)
    yield Text(describe_ranks(found), found.verdict)
    yield Text(f"The rule. {RULES[claim.kind].format(level=f'{100 * claim.level:g}')}", soft=True)


def describe_ranks(found: RankVerdict) -> str:
    """The mean ranks and how far apart they are."""
    ranks, labels = found.ranked.ranks, found.ranked.labels
    if not ranks.datasets:
        return "There are no numbers yet that rank these columns."
    shown = ", ".join(f"{m} {r:.2f}" for m, r in zip(labels, ranks.mean, strict=True))
    apart = ", ".join(
        f"{d:+.2f} to {rival}" for d, rival in zip(found.differences, labels[1:], strict=True)
    )
    where = f"over {len(ranks.datasets)} data sets"
    few = (
        "Less than half of the planned runs are there, which is too few to judge. "
        if found.verdict == "too few numbers"
        else ""
    )
    return (
        f"{few}Mean ranks {where}: {shown}. {labels[0]} lies {apart} (negative: before it), "
        f"where Nemenyi's critical difference is {found.limit:.2f}."
    )


def show_spread(found: SpreadVerdict) -> Iterable[Element]:
    """The claim, the numbers, the rule."""
    yield Heading(found.claim.text, 3)
    yield Text(describe_spread(found), found.verdict)
    yield Text(f"The rule. {SPREAD_RULES[found.claim.kind]}", soft=True)


def describe_spread(found: SpreadVerdict) -> str:
    """Both numbers on each data set."""
    claim = found.claim
    if not found.numbers:
        return "There are no numbers yet: two splits are needed."
    each = "; ".join(
        f"{dataset} {mine:.3g} against {other:.3g} ({runs} splits)"
        for dataset, mine, other, runs in found.numbers
    )
    few = "Less than half of the planned runs are there, which is too few to judge. "
    lead = few if found.verdict == "too few numbers" else ""
    return f"{lead}The {MEASURES[claim.kind]} of {claim.method} against {claim.rival}: {each}."
