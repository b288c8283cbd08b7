"""What each paper claims and printed: one file each; the names here are the names in a config."""

from kselect.papers.base import PAPERS, Paper

__all__ = ["PAPERS", "Paper"]
