"""The paper's claims about test errors with their verdicts, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from kselect.core.table import Column, Group, Table
from kselect.papers.base import ClaimKind
from kselect.report.elements import CLAIMS_FILE, Details, Element, Heading, Paragraph, Passage
from kselect.report.sections import section
from kselect.report.sections.other_claims import verdicts_without_loss
from kselect.report.words import (
    dagger_notes,
    describe_coverage,
    describe_edges,
    describe_protocol,
    mark_label,
    show_counts,
    title_setting,
)
from kselect.stats.claims import RULES, Judgement, Verdict, judge, verdict_on
from kselect.stats.study import Study

COLUMNS = (
    Column("setting", align="left"),
    Column("methods", align="left"),
    Column("by mean"),
    Column("t-test"),
    Column("corrected t-test"),
    Column("verdict", align="verdict"),
)
CONCLUSIONS: dict[tuple[ClaimKind, Verdict], str] = {
    ("lower", "supported"): "In these runs {a} beats {b}.",
    ("lower", "mixed"): "In these runs neither {a} nor {b} is clearly better.",
    ("lower", "not supported"): "In these runs {a} does not beat {b}.",
    ("same", "supported"): "In these runs {a} and {b} give the same test error.",
    ("same", "mixed"): "In these runs {a} and {b} differ on some data sets.",
    ("same", "not supported"): "In these runs {a} and {b} do not give the same test error.",
}


@section("claims")
def show(study: Study) -> Iterator[Passage]:
    """Yield every claim under every loss, the experiment's own first; nothing without a paper and its claims."""
    experiment = study.experiment
    judged = {loss: study.once(judge, loss) for loss in experiment.losses}
    known = any(judged.values()) or bool(verdicts_without_loss(study))
    if not known and not experiment.paper:
        return
    title = Heading(f"Claims of {experiment.paper}".removesuffix(" of "), 1)
    yield Passage("", (title,), CLAIMS_FILE)
    if study.paper and study.paper.wording:
        yield Passage("claims", (Paragraph(study.paper.wording, soft=True),), CLAIMS_FILE)
    for loss, judgements in judged.items():
        if judgements:
            yield Passage("claims", (Heading(f"With the {loss} loss"),), CLAIMS_FILE)
            texts = (
                describe_protocol(experiment, loss),
                describe_coverage(study.comparison(loss).coverage()),
                *dagger_notes(study, loss),
            )
            yield Passage("", tuple(Paragraph(text) for text in texts if text), CLAIMS_FILE)
            for judgement in judgements:
                yield Passage("claims", tuple(show_claim(study, judgement)), CLAIMS_FILE)
    if not known:
        text = "No claim of this paper about these methods is recorded."
        yield Passage("claims", (Paragraph(text),), CLAIMS_FILE)


def show_claim(study: Study, judgement: Judgement) -> Iterator[Element]:
    """Yield one claim: its verdict, the numbers in sentences, a row per pair and setting, and the rule."""
    claim = judgement.claim
    rows = tuple(
        (
            title_setting(setting) or setting.text,
            " against ".join(mark_label(m, study.reconstructed) for m in (c.method, c.rival)),
            *(show_counts(c.by_mean), show_counts(c.by_ttest), show_counts(c.by_corrected)),
            verdict_on(c, claim.kind),
        )
        for setting, c in judgement.contests
    )
    yield Heading(claim.text, 3)
    yield Paragraph(describe(judgement), judgement.verdict)
    counts = "Counts are wins/ties/losses over data sets; a win is a lower test error."
    table = Table("", COLUMNS, (Group(rows),))
    rule = Paragraph(f"The rule. {RULES[claim.kind]}", soft=True)
    yield Details("Wins/ties/losses over data sets", (Paragraph(counts), table, rule))


def describe(judgement: Judgement) -> str:
    """Return what the numbers show, in sentences."""
    claim, total = judgement.claim, judgement.total
    a, b = claim.criterion, claim.rival
    if judgement.verdict == "no numbers":
        return f"There are no numbers yet that compare {a} with {b}."
    conclusion = CONCLUSIONS.get(
        (claim.kind, judgement.verdict), "There are too few runs to judge {a} against {b}."
    ).format(a=a, b=b)
    if judgement.verdict == "too few numbers":
        conclusion = (
            f"Only {total.pairs} of {total.planned} planned pairs of test errors exist, too few to judge "
            f"{a} against {b}."
        )
    mean, test, corrected = total.by_mean, total.by_ttest, total.by_corrected
    tests = (
        f"It is significantly lower in {test.wins} and higher in {test.losses} by the papers' paired one-sided "
        f"t-test at 5 %; corrected for overlapping splits, in {corrected.wins} and {corrected.losses}."
        if sum(test)
        else "No test was possible: every comparison has fewer than two shared splits."
    )
    sentences = (
        conclusion,
        f"Over {sum(mean)} comparison{'s' * (sum(mean) != 1)} the mean error of {a} is lower in {mean.wins}, "
        f"equal in {mean.ties} and higher in {mean.losses}.",
        tests,
        describe_edges(judgement.edges),
    )
    return " ".join(filter(None, sentences))
