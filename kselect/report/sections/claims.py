"""Every claim of the paper and of the config: its verdict, its effect, what was counted, and its rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kselect.core.claim import Claim
from kselect.core.table import Column, Group, Noted, Table, Values
from kselect.report.claims.judge import Judged, judge_claims, judge_others
from kselect.report.claims.rules import RULES, WITHHELD
from kselect.report.claims.scope import Finding
from kselect.report.elements import (
    CLAIMS_FILE,
    Details,
    Element,
    File,
    Heading,
    Paragraph,
    Passage,
)
from kselect.report.latex import write_latex
from kselect.report.sections import section
from kselect.report.words import AS_CONFIGURED, dagger_notes, describe_coverage, describe_protocol
from kselect.report.writers import write_csv
from kselect.stats.study import Study

NAME = "claims"
# The place of a claim on the page: this and its id.
ANCHOR = "claim-"
TIDY = (
    *(Column(csv=name) for name in ("id", "of", "claim", "kind", "verdict")),
    *(Column(csv=name, csv_format=".6g") for name in ("effect", "low", "high")),
    *(Column(csv=name) for name in ("unit", "counts", "paper_counts", "variant", "loss", "reason")),
    Column(csv="notes"),
)
JUDGED = (
    Column("verdict", align="verdict"),
    Column("effect"),
    Column("95 % interval"),
    Column("counts", align="prose"),
)
COLUMNS = (
    Column("id", align="left"),
    Column("claim", align="prose"),
    *JUDGED,
    Column("the paper counts", align="prose"),
)
# On the page the interval stands below the effect, so that the table fits a screen of 1200 pixels.
ON_PAGE = (
    *COLUMNS[:3],
    Column("effect (95\N{NO-BREAK SPACE}% interval)", align="amount"),
    *COLUMNS[-2:],
)
OTHERS = (
    Column("reading", align="left"),
    Column("loss", align="left"),
    *JUDGED,
)
INTRODUCTION = (
    "Each claim is judged by the rule of its kind, which is the same for all claims of that kind. An effect is a "
    "median over data sets (of times, a geometric mean), with a 95 % bootstrap interval over data sets; for one "
    "data set it is the mean over splits with the t interval corrected for overlapping splits. A data set with "
    "several comparisons counts with their mean. Points are percentage points of test error; differences of mean "
    "squared errors are in % of the second method's. The rule decides, not the interval: most rules "
    "count comparisons."
)


@section(NAME)
def show(study: Study) -> Iterator[File | Passage]:
    """Yield an overview and every claim; nothing for an experiment without a paper and without claims."""
    experiment = study.experiment
    main, others = study.once(judge_claims), study.once(judge_others)
    if not experiment.claims and not experiment.paper:
        return
    title = f"Claims of {experiment.paper}" if experiment.paper else "Claims"
    yield Passage("", (Heading(title, 1),), CLAIMS_FILE)
    if not main:
        text = "No claim of this paper is recorded."
        yield Passage(NAME, (Paragraph(text),), CLAIMS_FILE)
        return
    tidy = Table(NAME, TIDY, (Group(tuple(map(tidy_row, (*main, *others)))),))
    loss = experiment.loss
    caption = (INTRODUCTION, describe_protocol(experiment, loss), *dagger_notes(study, loss))
    theirs = None if experiment.paper else -1  # claims of one's own have no paper that counts
    noted, plain = (
        Table(
            NAME,
            columns[:theirs],
            (Group(tuple(r[:theirs] for r in map(row, main))),),
            caption,
            leads_to=ANCHOR,
        )
        for columns, row in ((ON_PAGE, noted_row), (COLUMNS, printed_row))
    )
    yield File(f"tables/{NAME}.csv", write_csv(tidy))
    yield File(f"tables/{NAME}.tex", write_latex(plain, of=experiment.name))
    coverage = describe_coverage(study.comparison(loss).coverage())
    lines = tuple(Paragraph(text) for text in (coverage,) if text)
    yield Passage(NAME, (*lines, noted))
    yield Passage("", (*lines, plain), CLAIMS_FILE)
    yield Passage(NAME, (Heading("How each claim was judged"),))
    for one in main:
        rest = [other for other in others if other.claim.id == one.claim.id]
        heading, *shown = show_claim(one, rest, loss)
        yield Passage("", (heading, *shown), CLAIMS_FILE)
        sentence = Paragraph(f"{one.claim.id}: {one.claim.text.rstrip('.')}.")
        inside = (sentence, *shown)
        folded = Details(one.claim.id, inside, one.finding.verdict, f"{ANCHOR}{one.claim.id}")
        yield Passage(NAME, (folded,))


def tidy_row(one: Judged) -> Values:
    """Return a row of the CSV."""
    claim, found = one.claim, one.finding
    return (
        *(claim.id, claim.of or claim.id, claim.text, claim.kind, found.verdict),
        *(found.effect.value, found.effect.low, found.effect.high, found.effect.unit),
        *(found.counts, claim.paper_counts, one.variant, one.loss, found.reason),
        "; ".join(found.notes),
    )


def noted_row(one: Judged) -> Values:
    """Return a row of the overview on the page: the notes of a verdict and the interval stand below them."""
    claim, found = one.claim, one.finding
    text, interval = found.effect.text, found.effect.interval
    return (
        *(claim.id, claim.text, Noted(found.verdict, found.notes)),
        Noted(text, (interval,) if interval else ()) if text else None,
        *(found.counts or found.reason, claim.paper_counts or None),
    )


def printed_row(one: Judged) -> Values:
    """Return a row of the overview in a file, which has the notes of a verdict after the counts."""
    claim, found = one.claim, one.finding
    counts = "; ".join((found.counts or found.reason, *found.notes))
    return (
        claim.id,
        claim.text,
        found.verdict,
        *show_effect(found),
        counts,
        claim.paper_counts or None,
    )


def show_effect(found: Finding) -> Values:
    """Return the effect and its interval as texts, or None."""
    return (found.effect.text or None, found.effect.interval or None)


def show_claim(one: Judged, others: Sequence[Judged], loss: str) -> Iterator[Element]:
    """Yield one claim: the sentence, the verdict with effect and counts, what the paper counts, and the rule.

    ``loss`` is the loss of the variants.
    """
    claim, found = one.claim, one.finding
    yield Heading(f"{claim.id}: {claim.text}", 3)
    yield Paragraph(" ".join(sentences(one)), found.verdict)
    if claim.paper_counts:
        yield Paragraph(f"The paper: {claim.paper_counts.rstrip('.')}.", soft=True)
    if claim.untested:
        return
    rule = Paragraph(f"The rule. {RULES[claim.kind].text} {WITHHELD}", soft=True)
    tables = [found.table] if found.table else []
    if others:
        rows = tuple(
            (
                *(o.reading or AS_CONFIGURED, o.loss or loss, o.finding.verdict),
                *(*show_effect(o.finding), o.finding.counts),
            )
            for o in others
        )
        caption = ("The same claim under other readings of the protocol and with other losses.",)
        tables.append(Table("", OTHERS, (Group(rows),), caption))
    yield Details("The rule and the numbers", (rule, *tables))


def sentences(one: Judged) -> Iterator[str]:
    """Yield the reason for a missing verdict, then effect, counts and remarks."""
    found = one.finding
    if found.reason:
        yield f"{found.reason.rstrip('.')}."
    effect = found.effect
    if effect.text:
        interval = f" (95 % interval {effect.interval})" if effect.interval else ""
        yield f"{describe_effect(one.claim)}: {effect.text}{interval}."
    if found.counts:
        yield f"{found.counts[0].upper()}{found.counts[1:]}."
    if found.text:
        yield found.text


def describe_effect(claim: Claim) -> str:
    """Return what the effect of a claim measures, with the names of its methods."""
    left, right = (" and ".join(names) for names in (claim.left, claim.right))
    return RULES[claim.kind].effect.format(left=left, right=right)
