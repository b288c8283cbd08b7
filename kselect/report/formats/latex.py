r"""Tables as LaTeX that ``\input`` takes as it is; the document needs nothing but booktabs."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from kselect.report.blocks import Grid

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


def line(*cells: str) -> str:
    """One line of a tabular."""
    return " & ".join(cells) + r" \\"


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


def escape(text: str) -> str:
    """Plain text -> LaTeX, on one line; what the default fonts lack is replaced."""
    return "".join(escape_letter(c) for c in " ".join(text.split()))


def escape_letter(letter: str) -> str:
    """One letter; accents are dropped, other scripts become question marks."""
    if letter in SPECIAL:
        return SPECIAL[letter]
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return plain or "?"
