"""Learners, registered under their names in a config."""

from kselect.learners.base import LEARNERS, Fit, Learner, Path, Problem

__all__ = ["LEARNERS", "Fit", "Learner", "Path", "Problem"]
