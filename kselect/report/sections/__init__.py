"""The sections of a report: tables and texts of every experiment, registered by the modules of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from kselect.registry import Registry
from kselect.report.elements import File, Passage
from kselect.report.figures.base import FIGURES
from kselect.stats.study import Study

__all__ = ["FIGURES", "SECTIONS", "section"]

# The output of a section or a figure.
Output = Iterable[File | Passage]
Section = Callable[[Study], Output]
SECTIONS: Registry[Section] = Registry(
    "section", "kselect.report.sections", also="kselect.report.figures"
)
S = TypeVar("S", bound=Section)


def section(name: str) -> Callable[[S], S]:
    """Register a function of a study as a section of every report."""

    def register(show: S) -> S:
        SECTIONS[name] = show
        return show

    return register
