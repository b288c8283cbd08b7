"""A paper's numbers beside ours, as rows of text and as Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kselect.report import latex, markdown
from kselect.report.sheet import stem
from kselect.report.words import describe_protocol, mark_label, title_setting
from kselect.stats.published import Distance
from kselect.stats.results import LossResults, Results

HEAD = (
    *("data set", "setting", "method", "published", "ours"),
    *("difference", "std. errors", "verdict"),
)
ROWS_A_PAGE = 45


@dataclass(frozen=True)
class PublishedSheet:
    """The published cells as text: what they are, one sentence of totals, the rows."""

    name: str
    caption: str
    totals: str
    rows: tuple[tuple[str, ...], ...]


def make_published(
    results: Results, mine: LossResults, reconstructed: Mapping[str, str]
) -> PublishedSheet:
    """Every published cell of one loss."""
    experiment = results.experiment
    units = mine.comparison.units
    caption = (
        f"Test errors published in {experiment.paper} beside ours (mean ± spread), the difference "
        "(ours minus published) and that in standard errors of the two means. "
        f"Ours: {describe_protocol(experiment, mine.loss)}"
    )
    rows = tuple(show(d, units.get(d.dataset, ""), reconstructed) for d in mine.distances)
    return PublishedSheet(
        stem("published", results, mine.loss), caption, describe_totals(mine), rows
    )


def describe_totals(mine: LossResults) -> str:
    """``124 published cells: 80 within 2 standard errors, ...``."""
    words = {
        "within 2": "within 2 standard errors",
        "2 to 4": "between 2 and 4",
        "beyond 4": "beyond 4",
        "no spread": "without a spread of ours to judge by",
        "missing": "without a number of ours",
    }
    counts = [f"{n} {words[v]}" for v, n in mine.verdicts.items() if n]
    return f"{len(mine.distances)} published cells: {', '.join(counts)}."


def show(d: Distance, unit: str, reconstructed: Mapping[str, str]) -> tuple[str, ...]:
    """One row of text."""
    sd = f" ± {show_value(d.sd, unit)}" if not math.isnan(d.sd) else ""
    ours = f"{show_value(d.mean, unit)}{sd}" if d.runs else "--"
    return (
        d.dataset,
        title_setting(d.setting) or d.setting,
        mark_label(d.method, reconstructed),
        f"{d.published:g} ± {d.published_spread:g}{' (se)' if d.spread_kind == 'se' else ''}",
        ours,
        show_value(d.difference, unit, "+") if d.runs else "",
        "" if math.isnan(d.errors) else f"{d.errors:+.1f}",
        d.verdict,
    )


def show_value(value: float, unit: str, sign: str = "") -> str:
    """Two decimals of a percentage, three digits of a squared error."""
    return f"{value:{sign}.{'2f' if unit == '%' else '3g'}}"


def to_markdown(sheet: PublishedSheet, daggers: tuple[str, ...]) -> str:
    """The whole comparison as Markdown."""
    grid = markdown.write_grid(HEAD, [[markdown.escape(c) for c in row] for row in sheet.rows], 3)
    texts = [sheet.caption, *daggers, sheet.totals]
    return "\n\n".join([f"# {sheet.name}", *map(markdown.escape, texts), grid]) + "\n"


def to_latex(sheet: PublishedSheet, daggers: tuple[str, ...]) -> str:
    """Floats of a page each, the caption with the first."""
    starts = range(0, len(sheet.rows), ROWS_A_PAGE)
    comment = "\n".join(f"% {line}" for line in (sheet.caption, *daggers))
    floats = [to_float(sheet, daggers, start) for start in starts]
    return "\n".join([comment, *floats]) + "\n"


def to_float(sheet: PublishedSheet, daggers: tuple[str, ...], start: int) -> str:
    """The rows from ``start`` on that fit one page."""
    texts = (
        (sheet.caption, sheet.totals, *daggers) if start == 0 else (f"Continued: {sheet.name}.",)
    )
    rows = sheet.rows[start : start + ROWS_A_PAGE]
    grid = [
        r"\begin{tabular}{@{}lllrrrrl@{}}",
        r"\toprule",
        latex.line(*map(latex.escape, HEAD)),
        r"\midrule",
        *(latex.line(*map(latex.escape, row)) for row in rows),
        r"\bottomrule",
        r"\end{tabular}%",
    ]
    label = sheet.name if start == 0 else f"{sheet.name}-{start // ROWS_A_PAGE + 1}"
    return latex.write_float(" ".join(map(latex.escape, texts)), label, grid)
