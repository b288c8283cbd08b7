"""The papers' own algorithms, one file each; a criterion without a file here is timed by ours alone."""

from kselect.parts import load_parts
from kselect.timing.paper.base import ALGORITHMS, Task

load_parts(__name__, list(__path__))

__all__ = ["ALGORITHMS", "Task"]
