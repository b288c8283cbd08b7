"""Kinds of tables and figures: one file each, with the methods that it needs and its own caption."""

from kselect.report.sections.base import FIGURES

__all__ = ["FIGURES"]
