"""The paper's claims with their verdicts, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kselect.report import markdown
from kselect.report.sheet import show_counts
from kselect.report.words import (
    describe_coverage,
    describe_protocol,
    describe_reconstructed,
    mark_label,
    title_setting,
)
from kselect.stats.claims import RULES, Judgement, Kind, Line, Tally, Verdict
from kselect.stats.probes import Exactness, judge_exactness
from kselect.stats.results import LossResults, Results

HEAD = ("setting", "methods", "by mean", "t-test", "corrected t-test", "verdict")
CONCLUSIONS: dict[tuple[Kind, Verdict], str] = {
    ("lower", "supported"): "In these runs {a} beats {b}.",
    ("lower", "mixed"): "In these runs neither {a} nor {b} is clearly better.",
    ("lower", "not supported"): "In these runs {a} does not beat {b}.",
    ("same", "supported"): "In these runs {a} and {b} give the same test error.",
    ("same", "mixed"): "In these runs {a} and {b} differ on some data sets.",
    ("same", "not supported"): "In these runs {a} and {b} do not give the same test error.",
}
EXACT_ORDER = 3
TOO_FEW = "There are too few runs to judge {a} against {b}."


@dataclass(frozen=True)
class ClaimText:
    """One claim: verdict, numbers in a sentence, rule, and a row for each pair and setting."""

    claim: str
    loss: str
    verdict: Verdict
    sentence: str
    rule: str
    rows: tuple[tuple[str, ...], ...]


def make_claims(mine: LossResults, reconstructed: Mapping[str, str]) -> tuple[ClaimText, ...]:
    """The claims of a paper under one loss."""
    return tuple(make_claim(j, mine.loss, reconstructed) for j in mine.judgements)


def make_claim(judgement: Judgement, loss: str, reconstructed: Mapping[str, str]) -> ClaimText:
    """One claim as text."""
    claim = judgement.claim
    rows = tuple(show_line(line, reconstructed) for line in judgement.lines)
    return ClaimText(
        claim.text, loss, judgement.verdict, describe(judgement), RULES[claim.kind], rows
    )


def describe(judgement: Judgement) -> str:
    """What the numbers say, in sentences; without comparisons it says that."""
    claim, tally = judgement.claim, judgement.tally
    if judgement.verdict == "no numbers":
        return f"There are no numbers yet that compare {claim.criterion} with {claim.rival}."
    conclusion = CONCLUSIONS.get((claim.kind, judgement.verdict), TOO_FEW)
    mean = tally.by_mean
    return (
        f"{conclusion.format(a=claim.criterion, b=claim.rival)} Over {mean.total} comparisons "
        f"the mean error of {claim.criterion} is lower in {mean.wins}, equal in {mean.ties} and "
        f"higher in {mean.losses}. "
        f"{describe_tests(tally)}"
    )


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


def show_line(line: Line, reconstructed: Mapping[str, str]) -> tuple[str, ...]:
    """Wins/ties/losses of one pair under one setting."""
    methods = (mark_label(m, reconstructed) for m in (line.method, line.rival))
    tally = line.tally
    return (
        title_setting(line.setting) or line.setting,
        " against ".join(methods),
        show_counts(tally.by_mean),
        show_counts(tally.by_ttest),
        show_counts(tally.by_corrected),
        line.verdict,
    )


EXACT_RULE = (
    "Supported: the root mean square difference at order 3 is below one percent of the target's scale (1 for "
    "labels, the root of the cross-validation error in a regression) on every data set and number of folds. "
    "Not supported: on no more than half of them. Mixed: anything between."
)


@dataclass(frozen=True)
class ExactText:
    """Whether a truncated series is exact, in words."""

    claim: str
    verdict: str
    sentence: str
    rule: str = EXACT_RULE


def make_exact(results: Results) -> tuple[ExactText, ...]:
    """The claim that order 3 is exact, for each figure that can tell."""
    found = (judge_exactness(graph, EXACT_ORDER) for graph in results.graphs)
    return tuple(describe_exact(e) for e in found if e is not None)


def describe_exact(found: Exactness) -> ExactText:
    """On how many of the curves, and where it is furthest off."""
    dataset, method, relative, rate = found.worst
    sentence = (
        f"At order {found.order} the approximated held-out predictions are within one percent of the "
        f"target's scale on {found.exact} of {found.total} curves. Furthest off is {dataset} with {method}: "
        f"{100 * relative:.3g} %, where the rate of the series is {rate:.2f}."
    )
    return ExactText(f"The series is exact for orders t >= {found.order}", found.verdict, sentence)


def write_exact(text: ExactText) -> str:
    """The claim in Markdown."""
    claim, sentence, rule = map(markdown.escape, (text.claim, text.sentence, text.rule))
    return f"### {claim}\n\n**{text.verdict.capitalize()}.** {sentence}\n\nThe rule. {rule}"


@dataclass(frozen=True)
class GuardText:
    """How many candidates criteria took out of the grid, on the mean over splits."""

    text: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def make_guard(mine: LossResults) -> GuardText:
    """A row a data set and a column a criterion, of those where anything was taken out."""
    if not mine.guarded:
        return GuardText("No criterion had an infinite score: no guard took anything out.", (), ())
    columns = tuple(dict.fromkeys(g.method for g in mine.guarded))
    names = tuple(dict.fromkeys(g.dataset for g in mine.guarded))
    counts = {(g.dataset, g.method): f"{g.excluded:.1f}" for g in mine.guarded}
    text = (
        "Candidates with an infinite score, which a criterion refuses to choose (a guard, or an overflow), "
        f"on the mean over splits, of {mine.guarded[0].candidates}:"
    )
    rows = tuple((name, *(counts.get((name, m), "0") for m in columns)) for name in names)
    return GuardText(text, ("data set", *columns), rows)


def write_guard(guard: GuardText) -> str:
    """The same in Markdown."""
    grid = markdown.write_grid(guard.head, guard.rows, 1) if guard.rows else ""
    return f"## What was taken out of the grid\n\n{guard.text}\n\n{grid}".rstrip()


def write_claims(results: Results, reconstructed: Mapping[str, str]) -> str:
    """``claims.md``: every claim under every loss, the experiment's own first."""
    head = [f"# Claims of {results.experiment.paper}"]
    body = [part for mine in results.losses for part in write_loss(results, mine, reconstructed)]
    body += [write_exact(text) for text in make_exact(results)]
    if not body:
        body = ["No claim about these methods is written down for this paper."]
    return "\n\n".join([*head, *body, write_guard(make_guard(results.main))]) + "\n"


def write_loss(results: Results, mine: LossResults, reconstructed: Mapping[str, str]) -> list[str]:
    """The claims under one loss."""
    if not mine.judgements:
        return []
    intro = (
        describe_protocol(results.experiment, mine.loss),
        describe_coverage(mine.coverage),
        *describe_reconstructed(mine.comparison.methods, reconstructed),
    )
    texts = [write_text(text) for text in make_claims(mine, reconstructed)]
    return [f"## With the {mine.loss} loss", *(markdown.escape(t) for t in intro if t), *texts]


def write_text(text: ClaimText) -> str:
    """One claim with its table and its rule."""
    verdict = text.verdict.capitalize()
    grid = markdown.write_grid(HEAD, [[markdown.escape(c) for c in row] for row in text.rows], 2)
    counts = "Counts are wins/ties/losses over data sets; a win is a lower test error."
    sentence = markdown.escape(text.sentence)
    return (
        f"### {markdown.escape(text.claim)}\n\n**{verdict}.** {sentence}\n\n"
        f"{counts}\n\n{grid}\n\nThe rule. {markdown.escape(text.rule)}"
    )
