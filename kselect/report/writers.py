r"""The three writers of tables: CSV for programs, Markdown for GitHub, LaTeX for papers.

Each takes a ``Table`` and knows nothing of what its numbers mean. Markdown also writes the other elements of a
report. The LaTeX can be included with ``\input`` as it is; the document needs nothing but booktabs.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kselect.core.table import DASH, Column, Group, Measure, Table, Value
from kselect.report.elements import Details, Element, File, Heading, Notes, Paragraph

LINE_END = r" \\"
# Rows that fit on a page of A4 below a caption.
PAGE = 44
MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>|])")
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
LATEX_SPECIAL = {
    **{c: f"\\{c}" for c in "{}$&#_%"},
    "\\": r"\textbackslash{}",
    "~": r"$\sim$",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "±": r"$\pm$",
    "×": r"$\times$",  # noqa: RUF001
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "λ": r"$\lambda$",
    DASH: "--",
}


def table_files(
    table: Table, *more: Table, tidy: Table | None = None, before: Iterable[Element] = ()
) -> list[File]:
    """Return the CSV, Markdown and LaTeX files of a table.

    ``more`` tables follow in the Markdown and LaTeX files. ``tidy`` is what the CSV contains if it is not
    ``table`` itself. ``before`` are elements that precede the tables in the Markdown file.
    """
    stem = f"tables/{table.name}"
    elements = (Heading(table.name, 1), *before, table, *more)
    return [
        File(f"{stem}.csv", write_csv(tidy or table)),
        File(f"{stem}.md", write_markdown(elements) + "\n"),
        File(f"{stem}.tex", write_latex(table, *more)),
    ]


def write_csv(table: Table) -> str:
    """Return the columns with a CSV name as CSV, with full precision and Unix line ends."""
    columns = [(i, column) for i, column in enumerate(table.columns) if column.csv]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(column.csv for _, column in columns)
    writer.writerows([column.field(row[i]) for i, column in columns] for row in table.rows)
    return text.getvalue()


def write_markdown(elements: Iterable[Element]) -> str:
    """Return elements as Markdown, one below the other; pictures have files of their own."""
    texts: list[str] = []
    for element in elements:
        match element:
            case Heading():
                texts.append(f"{'#' * element.level} {escape_markdown(element.text)}")
            case Paragraph():
                lead = f"**{element.verdict.capitalize()}.** " if element.verdict else ""
                texts.append(lead + escape_markdown(element.text))
            case Notes():
                texts.append("\n".join(f"* {escape_markdown(line)}" for line in element.lines))
            case Details():
                texts.append(write_markdown(element.elements))
            case Table():
                legend = element.legend("Bold", "Italic", "In parentheses: the number of")
                texts.append(" ".join(map(escape_markdown, (*element.caption, *legend))))
                for title, groups in element.titled:
                    texts.append(f"## {escape_markdown(title)}" if title else "")
                    texts.append(markdown_grid(element, groups))
                texts.append(write_markdown([Notes(element.notes)]))
            case _:
                raise TypeError(f"{type(element).__name__} has no form in Markdown")
    return "\n\n".join(filter(None, texts))


def markdown_grid(table: Table, groups: Sequence[Group]) -> str:
    """Return the rows of some groups as one table, aligned in the source too.

    A measured cell looks like ``**14.3 ± 2.6** (1)``.
    """
    lines = [[escape_markdown(column.heading) for _, column in table.printed]]
    for row in (row for group in groups for row in (*group.rows, *group.foot)):
        lines.append([])
        for i, column in table.printed:
            value = row[i]
            if not isinstance(value, Measure):
                lines[-1].append(escape_markdown(column.text(value)))
                continue
            text = value.mean_text + (f" ± {value.sd_text}" if value.sd_text else "")
            stars = {"best": "**", "close": "*", "": ""}[value.mark] if text else ""
            failures = f" ({value.failures})" if value.failures else ""
            lines[-1].append(f"{stars}{text or DASH}{stars}{failures}")
    widths = [max(3, *map(len, cells)) for cells in zip(*lines, strict=True)]
    left = [column.align not in ("right", "measure") for _, column in table.printed]
    ruler = ["-" * w if text else "-" * (w - 1) + ":" for w, text in zip(widths, left, strict=True)]
    padded = [
        [
            cell.ljust(w) if text else cell.rjust(w)
            for cell, w, text in zip(line, widths, left, strict=True)
        ]
        for line in lines
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in (padded[0], ruler, *padded[1:]))


def escape_markdown(text: str) -> str:
    """Return plain text as Markdown, on one line."""
    return MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(text.split()))


def write_latex(*tables: Table) -> str:
    """Return floats of at most a page each: the caption with the first of a table, the notes with the last.

    The captions of the first table also stand as comments at the top.
    """
    lines = [f"% {text}" for text in tables[0].caption]
    for table in tables:
        pages = list(paginate(table.groups))
        legend = table.legend("Bold", "Underlined", "A superscript counts")
        for number, page in enumerate(pages, start=1):
            texts = (*table.caption, *legend) if number == 1 else (f"Continued: {table.name}.",)
            label = table.name if number == 1 else f"{table.name}-{number}"
            notes = r"\par ".join(map(escape_latex, table.notes)) if number == len(pages) else ""
            # A tabular that is wider than the text extends into both margins alike.
            lines += [
                r"\begin{table}[tbp]",
                r"\centering",
                rf"\caption{{\footnotesize {' '.join(map(escape_latex, texts))}}}",
                rf"\label{{tab:{label}}}",
                r"\footnotesize\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{0.94}%",
                r"\makebox[\textwidth][c]{%",
                *latex_tabular(table, page),
                "}",
            ]
            if notes:
                lines += [r"\par\smallskip", r"\parbox{\textwidth}{\scriptsize\raggedright"]
                lines.append(f"{notes}}}")
            lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def paginate(groups: Sequence[Group]) -> Iterator[list[Group]]:
    """Yield the groups that fit on one page each; a group that is longer than a page is cut."""
    page: list[Group] = []
    used = 0
    for group in groups:
        for start in range(0, max(1, len(group.rows)), PAGE):
            last = start + PAGE >= len(group.rows)
            piece = replace(
                group,
                rows=group.rows[start : start + PAGE],
                title=group.title if start == 0 else "",
                foot=group.foot if last else (),
            )
            length = len(piece.rows) + 2 * bool(group.title)
            if page and used + length > PAGE:
                yield page
                page, used = [], 0
            page.append(piece)
            used += length
    if page:
        yield page


def latex_tabular(table: Table, groups: Sequence[Group]) -> Iterator[str]:
    """Yield the lines of a tabular; a measured column is two, so that means and deviations align."""
    columns = [column for _, column in table.printed]
    shapes = {"right": "r", "measure": "r@{}l"}
    width = sum(2 if column.align == "measure" else 1 for column in columns)
    yield rf"\begin{{tabular}}{{@{{}}{''.join(shapes.get(c.align, 'l') for c in columns)}@{{}}}}"
    yield r"\toprule"
    yield " & ".join(latex_cell(c, c.heading) for c in columns) + LINE_END
    for number, group in enumerate(groups):
        yield r"\midrule" if number == 0 or group.title else r"\addlinespace[2pt]"
        if group.title:
            title = escape_latex(group.title)
            yield rf"\multicolumn{{{width}}}{{@{{}}l@{{}}}}{{{title}}}" + LINE_END
        space = [r"\addlinespace[1pt]"] if group.foot else []
        rows, foot = (
            [" & ".join(latex_cell(c, row[i]) for i, c in table.printed) + LINE_END for row in part]
            for part in (group.rows, group.foot)
        )
        yield from (*rows, *space, *foot)
    yield r"\bottomrule"
    yield r"\end{tabular}%"


def latex_cell(column: Column, value: Value) -> str:
    """Return one cell; a mean and its deviation take two columns, everything else is centred across both."""
    if not isinstance(value, Measure):
        text = escape_latex(column.text(value))
        return rf"\multicolumn{{2}}{{c}}{{{text}}}" if column.align == "measure" else text
    failures = rf"\smash{{$^{{{value.failures}}}$}}" if value.failures else ""
    mean, sd = value.mean_text, value.sd_text
    if not mean:
        return rf"\multicolumn{{2}}{{c}}{{--{failures}}}"
    command = {"best": r"\textbf", "close": r"\underline", "": ""}[value.mark]
    spread = rf"{{\scriptsize\,$\pm$\,{sd}}}" if sd else ""
    return f"{f'{command}{{{mean}}}' if command else mean} & {spread}{failures}"


def escape_latex(text: str) -> str:
    """Return plain text as LaTeX, on one line; accents are dropped, unknown scripts become question marks."""
    flat = re.sub(
        "[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+",
        lambda found: f"\0{found[0].translate(SUPERSCRIPTS)}\1",
        " ".join(text.split()),
    )
    special = LATEX_SPECIAL | {"\0": "$^{", "\1": "}$"}
    plain = (unicodedata.normalize("NFKD", c).encode("ascii", "ignore").decode() for c in flat)
    return "".join(special.get(c) or p or "?" for c, p in zip(flat, plain, strict=True))
