"""The algorithms that the papers describe; a criterion without one here is timed with our algorithm only."""

from kselect.timing.paper.base import ALGORITHMS, TimedProblem

__all__ = ["ALGORITHMS", "TimedProblem"]
