"""What a section shows before it has a format: the elements of a page, which Markdown can write too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kselect.report.cells import Row
from kselect.report.elements import File as File
from kselect.report.elements import Heading as Heading
from kselect.report.elements import Notes as Notes
from kselect.report.elements import Picture as Picture


@dataclass(frozen=True)
class Text:
    """A paragraph; ``verdict`` leads it in its colour, ``soft`` is for what explains the rest."""

    kind: ClassVar[str] = "text"
    text: str
    verdict: str = ""
    soft: bool = False


@dataclass(frozen=True)
class Grid:
    """A table of words; the first ``left`` columns are text, and ``prose`` lets the last one break its lines.

    The last column is coloured where it is a verdict.
    """

    kind: ClassVar[str] = "grid"
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    prose: bool = False


@dataclass(frozen=True)
class Measures:
    """A table of means with their deviations and marks; ``foot`` is its last row, of words."""

    kind: ClassVar[str] = "measures"
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    foot: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fold:
    """Elements behind a line that opens them; Markdown shows them as they are."""

    kind: ClassVar[str] = "fold"
    summary: str
    elements: tuple[Element, ...]


Element = Heading | Text | Notes | Grid | Measures | Picture | Fold


@dataclass(frozen=True)
class Block:
    """A part of the page: the chapter that it stands in, and the Markdown file that holds it as well.

    Either may be empty: what stands in a file alone, or on the page alone.
    """

    chapter: str
    elements: tuple[Element, ...]
    also_in: str = ""


@dataclass(frozen=True)
class Shown:
    """All that a section makes."""

    files: Sequence[File] = ()
    blocks: Sequence[Block] = ()
