"""A paper's own numbers next to ours, for the config and for other readings of the protocol (variants)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kselect.core.claim import Claim
from kselect.core.table import DASH, Column, Group, Table, Values
from kselect.report.claims.judge import judge_claims, judge_others
from kselect.report.claims.scope import Finding
from kselect.report.elements import Details, Element, File, Heading, Notes, Paragraph, Passage
from kselect.report.sections import section
from kselect.report.words import (
    dagger_notes,
    describe_fewer,
    describe_protocol,
    mark_label,
    show_apart,
    stem,
    title_setting,
)
from kselect.report.writers import table_files
from kselect.stats.distances import (
    Agreement,
    Distance,
    count_agreements,
    distances,
    off_everywhere,
    whole_counts,
)
from kselect.stats.sensitivity import Sensitivity, sensitivities
from kselect.stats.sources import Published
from kselect.stats.study import Study

COLUMNS = (
    Column(csv="table"),
    Column("data set", align="left"),
    Column(csv="dataset"),
    Column("setting", align="left"),
    Column(csv="setting"),
    Column("method", align="left"),
    Column(csv="method"),
    Column("published"),
    *(Column(csv=name) for name in ("published", "published_spread", "spread_kind")),
    Column("ours"),
    *(Column(csv=name) for name in ("mean", "sd", "runs")),
    Column("difference"),
    Column(csv="difference"),
    Column("std. errors", "standard_errors", show_apart),
    Column("verdict", "verdict", align="verdict"),
    Column(csv="split_deviations"),
)
COUNTS = (
    Column("method", align="left"),
    Column("cells"),
    Column("within 2 std. errors"),
    *(Column(name) for name in ("2 to 4", "beyond 4", "no spread", "missing")),
    Column("within 1 sd of a single split"),
)
WORDS: dict[Agreement, str] = {
    "within 2": "within 2 standard errors",
    "2 to 4": "between 2 and 4",
    "beyond 4": "beyond 4",
    "no spread": "without a spread of ours to judge by",
    "missing": "without a number of ours",
}
# The share of whole counts from which they deserve a remark; of means of ten splits, a tenth are whole counts.
MANY = 0.25
SENSITIVITY = "sensitivity"
SENSITIVITY_TIDY = tuple(
    Column(csv=name)
    for name in (
        *("variant", "changes", "datasets", "planned", "cells", "mean_abs_z", "as_configured"),
        *("claim", "verdict", "effect", "low", "high", "unit", "counts"),
    )
)
READINGS = (
    Column("reading", align="prose"),
    Column("variant", align="code"),
    Column("changes", align="prose"),
    Column("data sets"),
    Column("mean abs z", format=".2f"),
    Column("same, as configured", format=".2f"),
)
VERDICTS_CAPTION = (
    "The verdict on each claim under each reading; a dash: the reading has no numbers for it. Readings have the "
    "splits and data sets of the table above."
)


@section("published")
def show_published(study: Study) -> Iterator[File | Passage]:
    """Yield one table per loss if the paper's numbers are known; nothing for an experiment without a paper."""
    experiment = study.experiment
    known = study.paper.remarks if study.paper else ()
    for loss in experiment.losses:
        found = study.once(distances, loss)
        if not found:
            continue
        caption = (
            f"Test errors published in {experiment.paper} next to ours (mean ± spread), the difference (ours minus "
            "published), and the difference in standard errors of the two means. "
            f"Ours: {describe_protocol(experiment, loss)}"
        )
        totals, notes = describe_totals(found), dagger_notes(study, loss)
        rows = tuple(to_row(study, d, loss) for d in found)
        name = stem("published", study, loss)
        table = Table(name, COLUMNS, (Group(rows),), (caption, totals, *notes))
        counts: tuple[Values, ...] = tuple(
            (mark_label(c.method, study.reconstructed), c.cells, *c.verdicts.values(), c.near)
            for c in count_agreements(found)
        )
        lines = tuple(remarks(study, found))
        overview: tuple[Element, ...] = (Table("", COUNTS, (Group(counts),)),)
        before = (*overview, Notes((*lines, *known))) if lines or known else overview
        yield from table_files(table, of=study.experiment.name, before=before)
        # The page has what is known of the paper once, with the first loss.
        lines += known if loss == experiment.losses[0] else ()
        overview += (Notes(lines),) if lines else ()
        title = [Heading(f"With the {loss} loss")] if len(experiment.losses) > 1 else []
        cells = Details(f"All {len(rows)} cells", (table,))
        yield Passage("published", (*title, Paragraph(totals), *overview, cells))
    if experiment.paper and not study.once(distances, experiment.loss):
        none = Paragraph("There are no published numbers to compare with.")
        yield Passage("published", (none, Notes(known)) if known else (none,))


def describe_totals(found: Sequence[Distance]) -> str:
    """Return ``124 published cells: 80 within 2 standard errors, ...``."""
    verdicts = count_agreements(found)[-1].verdicts
    counts = [f"{n} {WORDS[v]}" for v, n in verdicts.items() if n]
    return f"{len(found)} published cells: {', '.join(counts)}."


def remarks(study: Study, found: Sequence[Distance]) -> Iterator[str]:
    """Yield what the printed numbers themselves show."""
    if names := off_everywhere(found):
        yield f"Beyond 4 standard errors for every method: {', '.join(names)}."
    whole = whole_counts(study.experiment, found)
    if whole.whole >= MANY * max(1, whole.cells):
        sets = (
            f"{dataset} {', '.join(f'{k} ({method})' for method, k in counts)} of {rows}"
            for dataset, rows, counts in whole.sets
        )
        yield (
            f"{whole.whole} of {whole.cells} printed error rates are, to two decimals, a whole number of test "
            f"rows of a single split; {whole.expected:.1f} would be expected by chance: {'; '.join(sets)}."
        )


def to_row(study: Study, d: Distance, loss: str) -> Values:
    """Return one published cell next to ours: percentages with two decimals, squared errors with three digits."""
    printed = d.published
    fewer = describe_fewer([d.runs] if d.runs else [], len(study.experiment.splits))
    twin = f", ours {d.stand_in}" if d.stand_in else ""
    return (
        *(printed.table, printed.dataset + twin + fewer, printed.dataset),
        *(title_setting(d.setting) or d.setting.text, d.setting.text),
        *(mark_label(d.method, study.reconstructed), d.method),
        show_printed(study, printed),
        *(printed.mean, printed.spread, printed.kind),
        show_ours(study, d, loss),
        *(d.mean, d.sd, d.runs),
        f"{d.difference:+{digits_of(study, d, loss)}}" if d.runs else DASH,
        *(d.difference, d.errors, d.verdict, d.deviations),
    )


def digits_of(study: Study, d: Distance, loss: str) -> str:
    """Return the format of a number of ours: percentages have two decimals, squared errors three digits."""
    return ".2f" if study.comparison(loss).units.get(d.published.dataset, "") == "%" else ".3g"


def show_printed(study: Study, printed: Published) -> str:
    """Return a published number with its spread, ``10.60 ± 0.05 (se)`` if that is a standard error."""
    percentage = is_percentage(study, printed)
    form = f".{study.once(printed_decimals)}f" if percentage else "g"
    error = " (se)" if printed.kind == "se" else ""
    return f"{printed.mean:{form}} ± {printed.spread:{form}}{error}"


def is_percentage(study: Study, printed: Published) -> bool:
    """Return whether a published number is an error rate in %, and no squared error."""
    return study.comparison(study.experiment.loss).units.get(printed.dataset, "%") == "%"


def printed_decimals(study: Study) -> int:
    """Return the decimals with which a paper prints error rates, at least two; none of its numbers is rounded."""
    rates = (row for row in study.published if is_percentage(study, row))
    texts = (f"{value:.10g}" for row in rates for value in (row.mean, row.spread))
    return max([2, *(len(text.partition(".")[2]) for text in texts)])


def show_ours(study: Study, d: Distance, loss: str) -> str:
    """Return our number next to a published one with its standard deviation; a dash if we have none."""
    digits = digits_of(study, d, loss)
    sd = f" ± {d.sd:{digits}}" if d.runs > 1 else ""
    return f"{d.mean:{digits}}{sd}" if d.runs else DASH


@section(SENSITIVITY)
def show_sensitivity(study: Study) -> Iterator[File | Passage]:
    """Yield nothing if the config names no variants; how to run those that were not run."""
    found = sensitivities(study)
    if found:
        judged = (*study.once(judge_claims), *study.once(judge_others))
        verdicts = {(j.variant, j.claim.id): j.finding for j in judged if not j.loss}
        claims = [j.claim for j in study.once(judge_claims) if not j.claim.untested]
        tables = [readings_table(study, found)]
        if claims:
            tables.append(verdicts_table(found, claims, verdicts))
        lines: list[Values] = []
        for row in found:
            facts = (row.name, row.changes, row.datasets, row.planned, row.cells)
            mine = [(c.id, f) for c in claims if (f := verdicts.get((row.name, c.id)))]
            lines += [
                (
                    *(*facts, row.distance, row.usual, name, f.verdict),
                    *(f.effect.value, f.effect.low, f.effect.high, f.effect.unit, f.counts),
                )
                for name, f in mine
            ] or [(*facts, row.distance, row.usual, *[None] * 7)]
        tidy = Table(SENSITIVITY, SENSITIVITY_TIDY, (Group(tuple(lines)),))
        yield from table_files(*tables, of=study.experiment.name, tidy=tidy)
        yield Passage(SENSITIVITY, tuple(tables))
    readings = [v.name for v in study.experiment.variants if v.reading]
    left = [name for name in readings if name not in study.variants]
    if left:
        text = f"Not run: {', '.join(left)} (kselect run CONFIG --variant NAME)."
        yield Passage(SENSITIVITY, (Paragraph(text),))


def readings_table(study: Study, found: Sequence[Sensitivity]) -> Table:
    """Return a row per reading: what it changes, and its distance from the paper."""
    plain = " and ".join(study.paper.plain) if study.paper else "no"
    caption = (
        "Other readings of the protocol. Some have fewer splits than the experiment as configured, so that fewer "
        f"of their differences are significant. Mean abs z: the mean distance of the methods {plain}, which have "
        "no free parameters, from the published values, in standard "
        "errors of the two means; next to it, the same cells as configured. The command kselect run CONFIG "
        "--variant NAME computes a variant.",
        describe_protocol(study.experiment, study.experiment.loss),
    )
    rows = tuple(
        (
            *(row.title, row.name or None, row.changes if row.name else None),
            f"{row.datasets}{'' if row.datasets == row.planned else f' of {row.planned}'}",
            *(row.distance, row.usual),
        )
        for row in found
    )
    return Table(SENSITIVITY, READINGS, (Group(rows),), caption)


def verdicts_table(
    found: Sequence[Sensitivity],
    claims: Sequence[Claim],
    verdicts: Mapping[tuple[str, str], Finding],
) -> Table:
    """Return a row per claim, with its verdict under each reading."""
    columns = (
        Column("claim", align="left"),
        *(Column(row.title, align="verdict") for row in found),
    )
    rows = tuple(
        (c.id, *(f.verdict if (f := verdicts.get((row.name, c.id))) else None for row in found))
        for c in claims
    )
    return Table(f"{SENSITIVITY}-verdicts", columns, (Group(rows),), (VERDICTS_CAPTION,))
