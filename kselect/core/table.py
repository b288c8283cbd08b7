r"""The one table of the package: its columns, its rows of raw values, and what it says about itself.

A section of a report states the columns of its table once, and fills in numbers and texts::

    COLUMNS = (
        Column("method", "method", align="left"),
        Column("choices", "choices"),
        Column("any edge", "any", percent),  # percent(0.938) is "93.8 %"
        Column(csv="loss"),  # stands in the CSV only
    )
    rows = (("5-CV", 360, 0.938, "squared"), ("EP", 360, None, "squared"))
    table = Table("edges", COLUMNS, (Group(rows),), ("Share of the choices at an edge of the grid.",))
    yield from table_files(table, of="my")  # tables/edges.csv, tables/edges.md, tables/edges.tex
    yield Passage("edges", (table,))  # the chapter of the page that shows it

A column with a heading is printed (Markdown, LaTeX, page); a column with a CSV name is written to the CSV. Many
columns have both. If the printed table and the CSV have different rows, a section makes two tables of one name and
calls ``table_files(printed, tidy=table_for_csv)``. ``None`` and NaN are missing values: a dash in print, an empty
field in the CSV. Mean test errors are ``Measure`` values in columns with ``align="measure"``.

``kselect.report.writers`` writes CSV and Markdown, ``kselect.report.latex`` LaTeX; ``report.html.j2`` shows the
same table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Mark = Literal["best", "close", ""]
# "prose" lets a text break its lines. On the page, "verdict" colours the words of a verdict, "amount" shows an
# effect with its interval, and "code" shows a name that commands need.
Align = Literal["left", "right", "prose", "verdict", "measure", "amount", "code"]
DASH = "–"  # noqa: RUF001
LARGEST_FIXED = 1e5


@dataclass(frozen=True)
class Measure:
    """A mean with its deviation, both printed with ``digits`` decimals; NaN without a number.

    ``mark`` is the cell's mark within its row (``Table.best`` and ``Table.close`` say what the marks mean),
    ``failures`` the number of failed runs, and ``hint`` the text that the page shows under the mouse. The page
    also shows the ``published`` number and its distance ``apart`` in standard errors. If ``cell`` is the key of
    what is known of it, the page opens that instead of the hint.
    """

    mean: float
    sd: float = math.nan
    digits: int = 2
    mark: Mark = ""
    failures: int = 0
    hint: str = ""
    published: str = ""
    apart: str = ""
    cell: str = ""
    mean_text: str = field(init=False, repr=False, compare=False)
    """The mean as text, empty without a number."""
    sd_text: str = field(init=False, repr=False, compare=False)
    """The deviation as text, empty without a number."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean_text", show_fixed(self.mean, self.digits))
        object.__setattr__(self, "sd_text", show_fixed(self.sd, self.digits))


@dataclass(frozen=True)
class Noted:
    """A text with short notes; the page shows them below it, and other writers print the text only."""

    text: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the text without its notes."""
        return self.text


Value = str | float | int | bool | None | Measure | Noted
Values = tuple[Value, ...]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    ``heading`` is its name in print, ``csv`` its name in the CSV; a column without one of them does not appear
    there. ``format`` prints a number: a format specification such as ``".2f"``, or a function. ``csv_format``
    writes a number to the CSV: ten digits are enough for any use, and the same on every machine.
    """

    heading: str = ""
    csv: str = ""
    format: str | Callable[[Any], str] = ""
    align: Align = "right"
    csv_format: str = ".10g"

    def text(self, value: Value) -> str:
        """Return a value as it is printed."""
        if is_missing(value):
            return DASH
        if isinstance(value, (str, Noted)):
            return str(value)
        if not isinstance(self.format, str):
            return self.format(value)
        return without_exponent(format(value, self.format))

    def field(self, value: Value) -> str:
        """Return a value as it stands in the CSV."""
        if is_missing(value):
            return ""
        if isinstance(value, bool):
            return str(value).lower()
        return format(value, self.csv_format) if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Group:
    """Rows that belong together; ``foot`` holds their last rows, such as mean ranks, which no CSV contains."""

    rows: tuple[Values, ...]
    title: str = ""
    foot: tuple[Values, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table with its caption and with the notes below it.

    ``name`` is the stem of its files and the end of its label in LaTeX. ``best`` and ``close`` say what the marks
    of measured cells mean; the writers add how they print a mark. On the page, the first cell of a row leads to
    the place whose anchor is ``leads_to`` and the text of the cell, if there is a ``leads_to``.
    """

    name: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    caption: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    best: str = ""
    close: str = ""
    leads_to: str = ""
    printed: tuple[tuple[int, Column], ...] = field(init=False, repr=False, compare=False)
    """The columns that are printed, with their positions in a row."""
    titled: tuple[tuple[str, tuple[Group, ...]], ...] = field(init=False, repr=False, compare=False)
    """The groups of each title: groups of one title share a grid on the page and in Markdown."""
    rows: tuple[Values, ...] = field(init=False, repr=False, compare=False)
    """The rows of all groups, without the feet."""

    def __post_init__(self) -> None:
        printed = tuple((i, column) for i, column in enumerate(self.columns) if column.heading)
        object.__setattr__(self, "printed", printed)
        titles = dict.fromkeys(group.title for group in self.groups)
        titled = tuple((t, tuple(g for g in self.groups if g.title == t)) for t in titles)
        object.__setattr__(self, "titled", titled)
        rows = tuple(row for group in self.groups for row in group.rows)
        object.__setattr__(self, "rows", rows)

    def legend(self, best: str, close: str, failures: str) -> tuple[str, ...]:
        """Return a sentence for each mark that occurs; the arguments say how a writer prints the marks."""
        cells = [cell for row in self.rows for cell in row if isinstance(cell, Measure)]
        marks = {cell.mark for cell in cells}
        found = [f"{best}: {self.best}."] if self.best else []
        found += [f"{close}: {self.close}."] if self.close and "close" in marks else []
        if any(cell.failures for cell in cells):
            found.append(f"{failures} failed runs, which the mean leaves out.")
        return tuple(found)


def is_missing(value: Value) -> bool:
    """Return whether a value is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def show_fixed(value: float, decimals: int) -> str:
    """Return ``14.30``; very large values as ``1.2e+08``; an empty text for NaN."""
    if math.isnan(value):
        return ""
    return f"{value:.{decimals}f}" if abs(value) < LARGEST_FIXED else f"{value:.1e}"


def without_exponent(text: str) -> str:
    """Return ``4.8e+02`` as ``480``; very large numbers and other texts as they are."""
    few = "e+" in text and abs(float(text)) < LARGEST_FIXED
    return f"{float(text):.0f}" if few else text


def percent(share: float) -> str:
    """Return a proportion as ``93.8 %``."""
    return f"{100 * share:.1f} %"
