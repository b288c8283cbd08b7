"""The papers, one file each, under the names that configs use."""

from kselect.papers.base import PAPERS, Paper

__all__ = ["PAPERS", "Paper"]
