"""One module per kind of figure: its numbers, its words and its drawing."""

from kselect.report.figures.base import FIGURES

__all__ = ["FIGURES"]
