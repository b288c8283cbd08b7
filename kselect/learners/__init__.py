"""Learners: one file each; the names here are the names in a config."""

from kselect.learners.base import (
    LEARNERS,
    Dual,
    Learner,
    Path,
    Problem,
    find_learner,
)
from kselect.parts import load_parts

load_parts(__name__, list(__path__))

__all__ = ["LEARNERS", "Dual", "Learner", "Path", "Problem", "find_learner"]
