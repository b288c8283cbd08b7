"""The sections of a report: tables and texts of every experiment, registered by the modules of this folder."""

from kselect.report.figures.base import FIGURES
from kselect.report.sections.base import SECTIONS

__all__ = ["FIGURES", "SECTIONS"]
