"""Kinds of tables and figures: one file each, with what it needs, how it is shown, and its own caption."""

from kselect.report.figures.base import FIGURES
from kselect.report.sections.base import SECTIONS

__all__ = ["FIGURES", "SECTIONS"]
