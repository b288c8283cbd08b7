"""The output of a report's sections: files, and passages of the page made of simple elements."""

from __future__ import annotations

from dataclasses import dataclass

from kselect.core.table import Table

# The Markdown file with all verdicts, to which several sections contribute.
CLAIMS_FILE = "tables/claims.md"


@dataclass(frozen=True)
class Heading:
    """A heading with its level in Markdown; the page shows it one level lower, below the chapter's heading."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; it starts with a ``verdict`` in its colour if there is one, and ``soft`` prints it in grey."""

    text: str
    verdict: str = ""
    soft: bool = False


@dataclass(frozen=True)
class Notes:
    """A list of sentences."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """A figure with its caption, as SVG for a wide and for a narrow screen.

    ``alt`` is the text for readers who cannot see it. ``name`` is the stem of its files, and ``numbers`` the CSV
    with its numbers; the page links to those that exist.
    """

    wide: bytes
    narrow: bytes
    alt: str
    caption: str
    name: str = ""
    numbers: str = ""


@dataclass(frozen=True)
class Details:
    """Elements that the page shows after a click on their summary; Markdown shows them at once.

    The summary starts with a ``verdict`` if there is one; ``anchor`` is the place that a link leads to.
    """

    summary: str
    elements: tuple[Element, ...]
    verdict: str = ""
    anchor: str = ""


Element = Heading | Paragraph | Notes | Table | Picture | Details


@dataclass(frozen=True)
class File:
    """A file of the report: its name below the folder of the results, and its content."""

    name: str
    content: str | bytes


@dataclass(frozen=True)
class Passage:
    """Elements of one chapter of the page, and the Markdown file that contains them as well.

    Without a chapter they stand in the file only; without a file, on the page only.
    """

    chapter: str
    elements: tuple[Element, ...]
    file: str = ""


# Yielded before something that another process is doing: come back when there is nothing else to do.
LATER = Passage("", ())
