"""The claim that a truncated series is exact from some order on, judged by the discrepancy figures."""

from __future__ import annotations

from collections.abc import Iterable

from kselect.report.blocks import Block, Element, Heading, Shown, Text
from kselect.report.sections.base import section
from kselect.report.sections.claims import FILE
from kselect.report.words import describe_edges
from kselect.stats.edges import leaning
from kselect.stats.exactness import RULE, Exactness, judge_exactness
from kselect.stats.study import Study


@section("exactness")
def show(study: Study) -> Shown:
    """One verdict per figure that can tell."""
    found = study.once(judge_exactness)
    return Shown(blocks=[Block("claims", tuple(show_verdict(study, e)), FILE) for e in found])


def show_verdict(study: Study, found: Exactness) -> Iterable[Element]:
    """The claim, the verdict in a sentence, the rule."""
    yield Heading(found.claim, 3)
    edges = describe_edges(leaning(study, study.experiment.loss, found.figure.at))
    yield Text(" ".join(filter(None, (describe(found), edges))), found.verdict)
    yield Text(f"The rule. {RULE.format(order=found.order)}", soft=True)


def describe(found: Exactness) -> str:
    """On how many of the curves, and where it is furthest off."""
    worst = found.worst
    few = (
        f"{found.numbers} of {found.planned} planned numbers are there, which is too few to judge. "
        if found.verdict == "too few numbers"
        else ""
    )
    return (
        f"{few}At order {found.order} the approximated held-out predictions are within one percent of the "
        f"target's scale on {found.exact} of {found.total} curves. Furthest off is {worst.dataset} with "
        f"{worst.method}: {100 * worst.relative:.3g} %, where the rate of the series is {worst.rate:.2f}."
    )
