"""What criteria could not choose: candidates without a factor or a finite score, counted and named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kselect.report.blocks import Block, Element, Fold, Grid, Heading, Notes, Shown, Text
from kselect.report.sections.base import section
from kselect.report.sections.claims import FILE
from kselect.stats.exclusions import Excluded, candidates, count_excluded
from kselect.stats.study import Study


@section("exclusions")
def show(study: Study) -> Shown:
    """Under the experiment's own loss."""
    found = count_excluded(study, study.experiment.loss)
    elements = tuple(describe(study, found))
    return Shown(blocks=[Block("failures", elements, FILE)])


def describe(study: Study, found: Sequence[Excluded]) -> Iterable[Element]:
    """One row per data set and one column per criterion, of those where anything was excluded."""
    yield Heading("What was taken out of the grid")
    if not found:
        yield Text(
            "No candidate was excluded: every kernel and ridge had a fit and a finite score."
        )
        return
    yield Text(
        "Candidates that a criterion could not choose (no fit, a guard, an overflow), in the mean over "
        f"splits, of {candidates(study)}:"
    )
    columns = tuple(dict.fromkeys(e.method for e in found))
    means = {(e.dataset, e.method): f"{e.mean:.1f}" for e in found}
    names = dict.fromkeys(e.dataset for e in found)
    rows = tuple((name, *(means.get((name, m), "0") for m in columns)) for name in names)
    yield Grid(("data set", *columns), rows)
    yield Text("The same by reason, added up over data sets and splits:")
    yield by_reason(found, columns)
    reasons = tuple(f"{e.dataset}, {e.method}: {e.reasons}" for e in found if e.reasons)
    if reasons:
        yield Fold("Why, on the first split of each", (Notes(reasons),))


def by_reason(found: Iterable[Excluded], columns: Sequence[str]) -> Grid:
    """One row per reason, the most frequent first: a guard's count is seen by its name."""
    totals = {method: Counter[str]() for method in columns}
    for one in found:
        totals[one.method] += one.totals
    reasons = [reason for reason, _ in sum(totals.values(), Counter[str]()).most_common()]
    rows = tuple((reason, *(f"{totals[m][reason]:,}" for m in columns)) for reason in reasons)
    return Grid(("reason", *columns), rows)
