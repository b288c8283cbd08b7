"""Kinds of tables and figures: one file each, with what it needs, how it is shown, and its own caption."""

from kselect.report.sections.base import FIGURES, SECTIONS

__all__ = ["FIGURES", "SECTIONS"]
