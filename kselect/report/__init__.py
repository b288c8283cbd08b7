"""Stage 6, Comparison -> files: CSV, LaTeX, Markdown, figures, HTML. Formats, computes nothing."""

from kselect.report.index import IndexEntry, write_index
from kselect.report.writer import write_report

__all__ = ["IndexEntry", "write_index", "write_report"]
