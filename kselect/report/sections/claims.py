"""The paper's claims about test errors with their verdicts, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterable

from kselect.papers.base import Kind
from kselect.report.blocks import Block, Element, Fold, Grid, Heading, Shown, Text
from kselect.report.sections.base import section
from kselect.report.sheet import dagger_notes, show_counts
from kselect.report.words import (
    describe_coverage,
    describe_edges,
    describe_protocol,
    mark_label,
    name_setting,
)
from kselect.stats.claims import RULES, Judgement, Line, Tally, judge
from kselect.stats.claims_without_loss import verdicts_without_loss
from kselect.stats.study import Study
from kselect.stats.verdicts import Verdict

# All verdicts stand in this one file, those of other sections too.
FILE = "tables/claims.md"
HEAD = ("setting", "methods", "by mean", "t-test", "corrected t-test", "verdict")
CONCLUSIONS: dict[tuple[Kind, Verdict], str] = {
    ("lower", "supported"): "In these runs {a} beats {b}.",
    ("lower", "mixed"): "In these runs neither {a} nor {b} is clearly better.",
    ("lower", "not supported"): "In these runs {a} does not beat {b}.",
    ("same", "supported"): "In these runs {a} and {b} give the same test error.",
    ("same", "mixed"): "In these runs {a} and {b} differ on some data sets.",
    ("same", "not supported"): "In these runs {a} and {b} do not give the same test error.",
}
COUNTS = "Counts are wins/ties/losses over data sets; a win is a lower test error."
NONE = "No claim about these methods is written down for this paper."


@section("claims")
def show(study: Study) -> Shown:
    """Every claim under every loss, the experiment's own first; nothing where neither a paper nor a claim is."""
    title = Heading(f"Claims of {study.experiment.paper}".removesuffix(" of "), 1)
    wording = study.paper.wording if study.paper else ""
    blocks = [Block("", (title,), FILE)]
    if wording:
        blocks.append(Block("claims", (Text(wording, soft=True),), FILE))
    found = 0
    for loss in study.experiment.losses:
        judgements = judge(study, loss)
        if judgements:
            heading = Heading(f"With the {loss} loss")
            blocks.append(Block("claims", (heading,), FILE))
            blocks.append(Block("", tuple(introduce(study, loss)), FILE))
            blocks += [Block("claims", tuple(show_claim(study, j)), FILE) for j in judgements]
        found += len(judgements)
    if not found and not verdicts_without_loss(study):
        if not study.experiment.paper:
            return Shown()
        blocks.append(Block("claims", (Text(NONE),), FILE))
    return Shown(blocks=blocks)


def introduce(study: Study, loss: str) -> Iterable[Text]:
    """What the verdicts rest on; the page says it elsewhere."""
    texts = (
        describe_protocol(study.experiment, loss),
        describe_coverage(study.coverage(loss)),
        *dagger_notes(study, loss),
    )
    return (Text(text) for text in texts if text)


def show_claim(study: Study, judgement: Judgement) -> Iterable[Element]:
    """One claim: verdict, numbers in a sentence, one row per pair and setting, and the rule."""
    claim, rows = judgement.claim, tuple(to_row(study, line) for line in judgement.lines)
    yield Heading(claim.text, 3)
    yield Text(describe(judgement), judgement.verdict)
    rule = Text(f"The rule. {RULES[claim.kind]}", soft=True)
    yield Fold("Wins/ties/losses over data sets", (Text(COUNTS), Grid(HEAD, rows, 2), rule))


def describe(judgement: Judgement) -> str:
    """What the numbers say, in sentences; without comparisons it says that."""
    claim, tally = judgement.claim, judgement.tally
    if judgement.verdict == "no numbers":
        return f"There are no numbers yet that compare {claim.criterion} with {claim.rival}."
    mean = tally.by_mean
    sentences = (
        conclude(judgement),
        f"Over {mean.total} comparison{'s' * (mean.total != 1)} the mean error of "
        f"{claim.criterion} is lower in {mean.wins}, equal in {mean.ties} and higher in {mean.losses}.",
        describe_tests(tally),
        describe_edges(judgement.edges),
    )
    return " ".join(filter(None, sentences))


def conclude(judgement: Judgement) -> str:
    """The verdict in words, or why there is none."""
    claim, tally = judgement.claim, judgement.tally
    names = {"a": claim.criterion, "b": claim.rival}
    if judgement.verdict == "too few numbers":
        return (
            f"{tally.pairs} of {tally.planned} planned pairs of test errors are there, which is too "
            f"few to judge {claim.criterion} against {claim.rival}."
        )
    few = "There are too few runs to judge {a} against {b}."
    return CONCLUSIONS.get((claim.kind, judgement.verdict), few).format(**names)


def describe_tests(tally: Tally) -> str:
    """The significant differences by both tests."""
    test, corrected = tally.by_ttest, tally.by_corrected
    if not test.total:
        return "No test was possible: every comparison has fewer than two shared splits."
    return (
        f"It is significantly lower in {test.wins} and higher in {test.losses} by the "
        f"papers' paired one-sided t-test at 5 %; corrected for overlapping splits, in "
        f"{corrected.wins} and {corrected.losses}."
    )


def to_row(study: Study, line: Line) -> tuple[str, ...]:
    """Wins/ties/losses of one pair under one setting."""
    methods = (mark_label(m, study.reconstructed) for m in (line.method, line.rival))
    tally = line.tally
    return (
        name_setting(line.setting),
        " against ".join(methods),
        show_counts(tally.by_mean),
        show_counts(tally.by_ttest),
        show_counts(tally.by_corrected),
        line.verdict,
    )
