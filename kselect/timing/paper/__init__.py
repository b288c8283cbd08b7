"""The papers' own algorithms, one file each; a criterion without a file here is timed by ours alone."""

from kselect.timing.paper.base import ALGORITHMS, Task

__all__ = ["ALGORITHMS", "Task"]
