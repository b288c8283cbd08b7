"""The timing table as CSV, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kselect.report.formats import latex, markdown, tidy
from kselect.timing.measure import Seconds
from kselect.timing.ratios import Duel, Entry, Number, duels, ratio
from kselect.timing.table import Grid, Line, TimingSheet

LINES_A_PAGE = 36
HEAD = (
    *("dataset", "rows", "features", "method"),
    *("paper_cpu", "paper_wall", "paper_share", "ours_cpu", "ours_wall", "ours_share"),
    *("published", "paper_over_ours"),
    *("cv_over_bif", "published_cv_over_bif", "exact_ours_over_bif", "exact_costs"),
    *("score_difference", "budget", "environment", "failure"),
)


def to_csv(found: Sequence[Entry]) -> str:
    """A line for each data set and method, the ratios to BIF on the lines of k-CV."""
    pairs = {(d.exact.dataset, d.exact.method): d for d in duels(found)}
    return tidy.write_lines(HEAD, (fields(e, pairs.get((e.dataset, e.method))) for e in found))


def fields(entry: Entry, duel: Duel | None) -> list[object]:
    """One line; what does not exist is an empty field."""
    cell = entry.cell
    return [
        *(entry.dataset, entry.rows, entry.features, entry.method),
        *(seconds(cell.paper if cell else None)),
        *(seconds(cell.ours if cell else None)),
        *(number(entry.theirs), number(ratio(entry.paper, entry.ours))),
        *(number(n) for n in ((duel.measured, duel.published, duel.price) if duel else [None] * 3)),
        (duel.verdict if duel else None) or "",
        "" if cell is None or cell.difference is None else f"{cell.difference:.1e}",
        *((cell.budget, cell.environment, cell.failure) if cell else ("", "", "")),
    ]


def seconds(found: Seconds | None) -> list[str]:
    """CPU, wall, and the share of the grid that was measured."""
    return [f"{v:.4g}" for v in (found.cpu, found.wall, found.share)] if found else ["", "", ""]


def number(found: Number | None) -> str:
    """Four digits: seconds have no more."""
    return f"{found.value:.4g}" if found else ""


def to_markdown(sheet: TimingSheet) -> str:
    """Both tables with their captions, then what they show."""
    parts: list[str] = []
    for grid in sheet.grids:
        parts += [f"# {grid.name}", " ".join(map(markdown.escape, grid.caption))]
        lines = [[markdown.escape(c) for c in line] for group in grid.groups for line in group]
        parts.append(markdown.write_grid(grid.head, lines, grid.left))
    parts.append(markdown.bullets(sheet.sentences))
    return "\n\n".join(p for p in parts if p) + "\n"


def to_latex(sheet: TimingSheet) -> str:
    """Floats of a page each; the findings and notes stand below the last."""
    floats: list[str] = []
    for position, grid in enumerate(sheet.grids):
        last = position == len(sheet.grids) - 1
        floats += to_floats(grid, sheet.sentences if last else ())
    return "\n".join(floats) + "\n"


def to_floats(grid: Grid, notes: Sequence[str]) -> Iterator[str]:
    """The pages of one table: the caption with the first, the notes with the last."""
    pages = list(paginate(grid.groups))
    for number, page in enumerate(pages):
        texts = grid.caption if number == 0 else (f"Continued: {grid.name}.",)
        label = grid.name if number == 0 else f"{grid.name}-{number + 1}"
        below = notes if number == len(pages) - 1 else ()
        yield latex.write_float(
            " ".join(map(escape, texts)), label, [*write_grid(grid, page)], below
        )


def paginate(groups: Iterable[tuple[Line, ...]]) -> Iterator[list[tuple[Line, ...]]]:
    """Groups in pages; one that is longer than a page is cut."""
    page: list[tuple[Line, ...]] = []
    for group in groups:
        for start in range(0, len(group), LINES_A_PAGE):
            piece = group[start : start + LINES_A_PAGE]
            if page and sum(map(len, page)) + len(piece) > LINES_A_PAGE:
                yield page
                page = []
            page.append(piece)
    if page:
        yield page


def write_grid(grid: Grid, groups: Sequence[tuple[Line, ...]]) -> Iterator[str]:
    """A tabular with a little room between groups."""
    columns = "l" * grid.left + "r" * (len(grid.head) - grid.left)
    yield rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}"
    yield r"\toprule"
    yield latex.line(*map(latex.escape, grid.head))
    yield r"\midrule"
    for position, group in enumerate(groups):
        if position:
            yield r"\addlinespace[2pt]"
        yield from (latex.line(*map(escape, line)) for line in group)
    yield r"\bottomrule"
    yield r"\end{tabular}%"


def escape(text: str) -> str:
    """Plain text, with the sign for 'about' in the place of the tilde."""
    return latex.escape(text).replace(r"\textasciitilde{}", r"$\sim$")
