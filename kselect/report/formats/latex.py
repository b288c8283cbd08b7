r"""Tables as LaTeX that ``\input`` takes as it is; the document needs nothing but booktabs."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from kselect.report.blocks import Grid
from kselect.report.cells import Row, Shown
from kselect.report.sheet import Contest, Part, Sheet

# Lines that a page of A4 holds below a caption.
LARGEST_FLOAT = 44
ROWS_PER_PAGE = 45
SPECIAL = {
    **{c: f"\\{c}" for c in "{}$&#_%"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "±": r"$\pm$",
    "†": r"$^{\dagger}$",
    "λ": r"$\lambda$",
    "–": "--",  # noqa: RUF001
}


def write_sheet(sheet: Sheet) -> str:
    """A float for as many settings as a page holds, then one for the win/tie/loss counts."""
    head = [f"% {line}" for line in (sheet.caption, *sheet.daggers)]
    pages = list(paginate(sheet.parts))
    floats = [write_page(sheet, page, i, len(pages)) for i, page in enumerate(pages)]
    return "\n".join([*head, *floats, *write_contests(sheet)]) + "\n"


def paginate(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Parts in groups that fit a page of A4 each."""
    page: list[Part] = []
    for part in parts:
        if page and sum(len(p.rows) + 2 for p in [*page, part]) > LARGEST_FLOAT:
            yield page
            page = []
        page.append(part)
    if page:
        yield page


def write_page(sheet: Sheet, parts: Sequence[Part], number: int, count: int) -> str:
    """One float: the first has the whole caption, the last the notes."""
    caption = " ".join(escape(t) for t in (sheet.caption, *explain(sheet), *sheet.daggers))
    caption = caption if number == 0 else f"Continued: {escape(sheet.name)}."
    label = sheet.name if number == 0 else f"{sheet.name}-{number + 1}"
    notes = sheet.notes if number == count - 1 else ()
    return write_float(caption, label, [*write_grid(sheet, parts)], notes)


def write_float(caption: str, label: str, grid: Sequence[str], notes: Sequence[str] = ()) -> str:
    """A table environment; a grid that is wider than the text hangs over on both sides alike."""
    below = [r"\par\smallskip", r"\parbox{\textwidth}{\scriptsize\raggedright"]
    below += [r"\par ".join(escape(n) for n in notes) + "}"]
    return "\n".join(
        [
            r"\begin{table}[tbp]",
            r"\centering",
            rf"\caption{{\footnotesize {caption}}}",
            rf"\label{{tab:{label}}}",
            r"\footnotesize\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{0.94}%",
            r"\makebox[\textwidth][c]{%",
            *grid,
            "}",
            *(below if notes else []),
            r"\end{table}",
        ]
    )


def explain(sheet: Sheet) -> list[str]:
    """What the marks of the cells mean."""
    marks = ["Bold: the lowest mean of its row."]
    if sheet.tested:
        marks.append("Underlined: not significantly worse (paired one-sided t-test at 5 %).")
    if sheet.failures:
        marks.append("A superscript counts failed runs, which the mean leaves out.")
    return marks


def write_grid(sheet: Sheet, parts: Iterable[Part]) -> Iterator[str]:
    """The tabular: two columns per method, so that all means and all deviations align."""
    methods = len(sheet.heads)
    yield rf"\begin{{tabular}}{{@{{}}l*{{{methods}}}{{r@{{}}l}}@{{}}}}"
    yield r"\toprule"
    yield line("", *(rf"\multicolumn{{2}}{{c}}{{{escape(h)}}}" for h in sheet.heads))
    for part in parts:
        yield r"\midrule"
        if part.title:
            yield line(rf"\multicolumn{{{2 * methods + 1}}}{{@{{}}l@{{}}}}{{{escape(part.title)}}}")
        yield from (line(show_name(row), *map(show, row.cells)) for row in part.rows)
        if any(part.ranks):
            yield r"\addlinespace[1pt]"
            ranks = (rf"\multicolumn{{2}}{{c}}{{{rank}}}" for rank in part.ranks)
            yield line(r"\emph{mean rank}", *ranks)
    yield r"\bottomrule"
    yield r"\end{tabular}%"


def line(*cells: str) -> str:
    """One line of a tabular."""
    return " & ".join(cells) + r" \\"


def show_name(row: Row) -> str:
    """A data set, with the power of ten that its numbers share."""
    power = rf" ($\times 10^{{{row.exponent}}}$)" if row.exponent else ""
    return escape(row.name) + power


def show(cell: Shown) -> str:
    """Mean and deviation in two columns, or a dash across both."""
    failures = rf"\smash{{$^{{{cell.failures}}}$}}" if cell.failures else ""
    if not cell.mean:
        return rf"\multicolumn{{2}}{{c}}{{--{failures}}}"
    command = {"best": r"\textbf", "close": r"\underline", "": ""}[cell.mark]
    mean = f"{command}{{{cell.mean}}}" if command else cell.mean
    spread = rf"{{\scriptsize\,$\pm$\,{cell.sd}}}" if cell.sd else ""
    return f"{mean} & {spread}{failures}"


def write_grid_pages(name: str, texts: Sequence[str], grid: Grid, comments: Sequence[str]) -> str:
    """A table of words as floats of a page each, the texts as the caption of the first."""
    comment = "\n".join(f"% {text}" for text in comments)
    starts = range(0, max(1, len(grid.rows)), ROWS_PER_PAGE)
    return "\n".join([comment, *(write_rows(name, texts, grid, s) for s in starts)]) + "\n"


def write_rows(name: str, texts: Sequence[str], grid: Grid, start: int) -> str:
    """The rows from ``start`` on that fit one page."""
    first = start == 0
    caption = " ".join(map(escape, texts if first else (f"Continued: {name}.",)))
    align = "l" * grid.left + "r" * (len(grid.head) - grid.left)
    if grid.head[-1] == "verdict":
        align = f"{align[:-1]}l"
    lines = [
        rf"\begin{{tabular}}{{@{{}}{align}@{{}}}}",
        r"\toprule",
        line(*map(escape, grid.head)),
        r"\midrule",
        *(line(*map(escape, row)) for row in grid.rows[start : start + ROWS_PER_PAGE]),
        r"\bottomrule",
        r"\end{tabular}%",
    ]
    label = name if first else f"{name}-{start // ROWS_PER_PAGE + 1}"
    return write_float(caption, label, lines)


def write_contests(sheet: Sheet) -> list[str]:
    """A second float for the win/tie/loss counts."""
    if not sheet.contests:
        return []
    caption = (
        "Wins/ties/losses over data sets: by mean, by the paired one-sided t-test at 5 %, and by "
        f"the same test corrected for overlapping splits. {sheet.caption}"
    )
    columns = "r" * len(sheet.settings)
    grid = [
        rf"\begin{{tabular}}{{@{{}}ll{columns}@{{}}}}",
        r"\toprule",
        line("", "", *(escape(s or "all") for s in sheet.settings)),
        *(text for contest in sheet.contests for text in contest_lines(contest)),
        r"\bottomrule",
        r"\end{tabular}%",
    ]
    texts = " ".join(escape(t) for t in (caption, *sheet.daggers))
    return [write_float(texts, f"{sheet.name}-counts", grid)]


def contest_lines(contest: Contest) -> Iterator[str]:
    """The lines of one pair, its name on the first."""
    yield r"\midrule"
    name = escape(f"{contest.method} against {contest.rival}")
    for test, counts in contest.lines:
        yield line(name, test, *map(escape, counts))
        name = ""


def escape(text: str) -> str:
    """Plain text -> LaTeX, on one line; what the default fonts lack is replaced."""
    return "".join(escape_letter(c) for c in " ".join(text.split()))


def escape_letter(letter: str) -> str:
    """One letter; accents are dropped, other scripts become question marks."""
    if letter in SPECIAL:
        return SPECIAL[letter]
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return plain or "?"
