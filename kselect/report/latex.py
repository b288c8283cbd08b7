r"""The writer of LaTeX: tables as floats that fit on the page of a one-column and of a two-column document.

The files can be included with ``\input`` as they are; the document needs booktabs and graphicx. A float is as wide
as the text of the page, in a document with two columns as both. Texts break their lines, a table that is too long
or too wide continues in further floats of the same number, and one that is still too wide is shrunk. All lengths
are in points, for the narrowest page: the article class with one column and letters of 10 points.
"""

from __future__ import annotations

import math
import re
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kselect.core.table import DASH, Column, Group, Measure, Table, Value, Values

# The text of a page; a table may be as wide as a page of two columns, and shrinks to a page of one.
WIDTH, BROADEST, HEIGHT = 345.0, 470.0, 540.0
# A letter and a line of a cell or a caption, of a deviation or a note.
LETTER, SMALL, LINE, SMALL_LINE = 4.3, 3.8, 9.5, 8.0
GAP, RULES, BELOW_CAPTION = 6.0, 12.0, 12.0
# A text of more letters breaks its lines; its column is never narrower than this.
LONGEST_TEXT, NARROWEST = 32, 48.0
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
POWER = re.compile(r"\^(-?\d+|[a-z]\b)")
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


@dataclass(frozen=True)
class Arrangement:
    """Some columns of a table: their positions in a row, and the widths of those that break their lines."""

    columns: tuple[tuple[int, Column], ...]
    broken: dict[int, float]

    def height(self, row: Values) -> float:
        """Return the height of a row."""
        lines = [
            len(textwrap.wrap(column.text(row[i]), max(1, int(self.broken[i] / LETTER))))
            for i, column in self.columns
            if i in self.broken
        ]
        return LINE * max([1, *lines])

    def height_of(self, group: Group) -> float:
        """Return the height of a group with its title and its foot."""
        title = (LINE + GAP) * bool(group.title)
        return title + 4.0 + sum(map(self.height, (*group.rows, *group.foot)))


def write_latex(*tables: Table, of: str) -> str:
    """Return the floats of some tables: the caption with the first of a table, the notes with the last.

    ``of`` is the experiment, which the labels begin with. The captions of the first table also stand as comments
    at the top.
    """
    lines = [
        r"% Needs \usepackage{booktabs,graphicx}.",
        *(f"% {text}" for text in tables[0].caption),
    ]
    for table in tables:
        lines += latex_floats(table, re.sub(r"[^A-Za-z0-9.-]+", "-", f"{of}-{table.name}"))
    return "\n".join(lines) + "\n"


def latex_floats(table: Table, label: str) -> Iterator[str]:
    """Yield the lines of the floats of a table; they share one number and one label."""
    legend = table.legend("Bold", "Underlined", "A superscript counts")
    caption = " ".join((*table.caption, *legend))
    below = sum(len(wrap_small(note)) for note in table.notes) * SMALL_LINE
    parts: list[tuple[Arrangement, list[Group]]] = []
    for columns in cut_columns(table):
        layout = lay_out(table, columns)
        head = RULES + layout.height(tuple(c.heading for c in table.columns)) + BELOW_CAPTION
        room = HEIGHT - head - LINE * (2 if parts else len(wrap_caption(caption)))
        pages = list(paginate(table.groups, layout, room, HEIGHT - head - 2 * LINE))
        parts += [(layout, page) for page in pages]
    layout, page = parts[-1]
    room = HEIGHT - RULES - BELOW_CAPTION - LINE * (len(wrap_caption(caption)) + 2) - below
    if sum(map(layout.height_of, page)) > room:
        parts[-1:] = [(layout, part) for part in paginate(page, layout, room, room)]
    for number, (layout, page) in enumerate(parts):
        first, last = number == 0, number == len(parts) - 1
        yield r"\begin{table*}[tbp]"
        yield r"\centering\setlength{\emergencystretch}{3em}"
        if first:
            yield rf"\caption{{\footnotesize {escape_latex(caption)}}}"
            yield rf"\label{{tab:{label}}}"
        else:
            yield r"\addtocounter{table}{-1}"
            yield r"\caption[]{\footnotesize (continued)}"
        yield r"\footnotesize\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{0.94}%"
        yield r"\sbox0{%"
        yield from latex_tabular(layout, page)
        yield r"}\ifdim\wd0>\textwidth\resizebox{\textwidth}{!}{\usebox0}\else\usebox0\fi"
        if last and table.notes:
            yield r"\par\smallskip"
            notes = r"\par ".join(map(escape_latex, table.notes))
            yield rf"\parbox{{\textwidth}}{{\scriptsize\raggedright {notes}}}"
        yield r"\end{table*}"


def wrap_caption(text: str) -> list[str]:
    """Return the lines of a caption; the number of the table precedes it."""
    return textwrap.wrap(f"Table 99: {text}", int(WIDTH / LETTER))


def wrap_small(text: str) -> list[str]:
    """Return the lines of a note."""
    return textwrap.wrap(text, int(WIDTH / SMALL))


def text_width(table: Table, i: int, column: Column) -> float:
    """Return the width of a column that does not break its lines, with the gap to the next."""
    widths = [LETTER * len(column.heading)]
    for group in table.groups:
        for row in (*group.rows, *group.foot):
            value = row[i]
            if isinstance(value, Measure):
                spread = (len(value.sd_text) + 3) * SMALL if value.sd_text else 0.0
                widths.append(LETTER * (len(value.mean_text) + bool(value.failures)) + spread)
            else:
                widths.append(LETTER * len(column.text(value)))
    return max(widths) + GAP


def texts_of(table: Table, i: int, column: Column) -> list[str]:
    """Return the heading and the cells of a column of texts; none if it has measures."""
    rows = [row for group in table.groups for row in (*group.rows, *group.foot)]
    return [column.heading, *(column.text(row[i]) for row in rows)]


def is_broken(table: Table, i: int, column: Column) -> bool:
    """Return whether the texts of a column break their lines."""
    if column.align == "measure":
        return False
    return max(map(len, texts_of(table, i, column))) > LONGEST_TEXT


def least_width(table: Table, i: int, column: Column) -> float:
    """Return the width that a column needs: its longest word if it breaks its lines."""
    if not is_broken(table, i, column):
        return text_width(table, i, column)
    words = (word for text in texts_of(table, i, column) for word in text.split())
    return max(NARROWEST, LETTER * 1.2 * max(map(len, words), default=0)) + GAP


def cut_columns(table: Table) -> list[tuple[tuple[int, Column], ...]]:
    """Return the columns in blocks that are narrow enough, of about the same width, each with the first column."""
    (i, lead), *rest = table.printed
    room = BROADEST - least_width(table, i, lead)
    widths = [least_width(table, j, column) for j, column in rest]
    count = max(1, math.ceil(sum(widths) / room))
    blocks: list[list[tuple[int, Column]]] = [[]]
    used = 0.0
    for width, column in zip(widths, rest, strict=True):
        if blocks[-1] and used + width > min(room, sum(widths) / count + max(widths) / 2):
            blocks.append([])
            used = 0.0
        blocks[-1].append(column)
        used += width
    return [((i, lead), *block) for block in blocks]


def lay_out(table: Table, columns: tuple[tuple[int, Column], ...]) -> Arrangement:
    """Return the widths of the columns that break their lines; long texts get more of what is left."""
    broken = {i: column for i, column in columns if is_broken(table, i, column)}
    least = {i: least_width(table, i, column) - GAP for i, column in broken.items()}
    fixed = sum(text_width(table, i, c) for i, c in columns if i not in broken)
    spare = max(0.0, WIDTH - fixed - sum(least.values()) - GAP * len(broken))
    lengths = {i: sum(map(len, texts_of(table, i, column))) for i, column in broken.items()}
    share = {i: length / sum(lengths.values()) for i, length in lengths.items()}
    return Arrangement(columns, {i: least[i] + spare * share[i] for i in broken})


def paginate(
    groups: Sequence[Group], layout: Arrangement, first: float, room: float
) -> Iterator[list[Group]]:
    """Yield the groups that fit on a page each; ``first`` is the room on the first page, ``room`` on the others.

    A group stays whole if it fits on a page of its own; a longer one is cut after the row that still fits.
    """
    page: list[Group] = []
    left = first
    for group in groups:
        rest = group
        while (height := layout.height_of(rest)) > left:
            if page and height <= room:
                yield page
                page, left = [], room
                continue
            fits, used = 0, (LINE + GAP) * bool(rest.title) + 4.0
            for row in rest.rows:
                used += layout.height(row)
                if used > left:
                    break
                fits += 1
            # A row that is higher than a page has one of its own.
            fits = max(fits, 0 if page else 1)
            if fits >= len(rest.rows):
                break
            if fits:
                page.append(replace(rest, rows=rest.rows[:fits], foot=()))
                rest = replace(rest, rows=rest.rows[fits:])
            yield page
            page, left = [], room
        page.append(rest)
        left -= layout.height_of(rest)
    yield page


def latex_tabular(layout: Arrangement, groups: Sequence[Group]) -> Iterator[str]:
    r"""Yield the lines of a tabular; a measured column is two, so that means and deviations align.

    ``\tabularnewline`` ends a row also where ``\raggedright`` has redefined ``\\``.
    """
    end = r" \tabularnewline" if layout.broken else r" \\"
    shapes = {"right": "r", "measure": "r@{}l"}
    shape = "".join(
        rf"p{{{layout.broken[i] / WIDTH:.3f}\textwidth}}"
        if i in layout.broken
        else shapes.get(column.align, "l")
        for i, column in layout.columns
    )
    width = sum(2 if column.align == "measure" else 1 for _, column in layout.columns)

    def line(values: Sequence[Value]) -> str:
        cells = (
            (rf"\raggedright\hspace{{0pt}}{cell}" if i in layout.broken else cell)
            for i, cell in ((i, latex_cell(c, values[i])) for i, c in layout.columns)
        )
        return " & ".join(cells) + end

    yield rf"\begin{{tabular}}{{@{{}}{shape}@{{}}}}"
    yield r"\toprule"
    headings = {i: column.heading for i, column in layout.columns}
    yield line([headings.get(i, "") for i in range(max(headings) + 1)])
    title = None
    for number, group in enumerate(groups):
        yield r"\midrule" if number == 0 or group.title != title else r"\addlinespace[2pt]"
        if group.title and group.title != title:
            text = escape_latex(group.title)
            yield rf"\multicolumn{{{width}}}{{@{{}}l@{{}}}}{{{text}}} \\"
        title = group.title
        yield from map(line, group.rows)
        if group.foot:
            yield r"\addlinespace[1pt]"
            yield from map(line, group.foot)
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
    """Return plain text as LaTeX, on one line.

    Powers are raised, whether written as ``2⁻³`` or ``2^-3``. Accents are dropped, unknown scripts become question
    marks.
    """
    flat = re.sub(
        "[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+",
        lambda found: f"\0{found[0].translate(SUPERSCRIPTS)}\1",
        " ".join(text.split()),
    )
    flat = POWER.sub("\0\\1\1", flat)
    special = LATEX_SPECIAL | {"\0": "$^{", "\1": "}$"}
    plain = (unicodedata.normalize("NFKD", c).encode("ascii", "ignore").decode() for c in flat)
    return "".join(special.get(c) or p or "?" for c, p in zip(flat, plain, strict=True))
