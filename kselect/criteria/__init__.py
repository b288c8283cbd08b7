"""Criteria: one file each; the names here are the names in a config and in a table."""

from kselect.criteria.base import CRITERIA, Criterion, find_criterion
from kselect.parts import load_parts

load_parts(__name__, list(__path__))

__all__ = ["CRITERIA", "Criterion", "find_criterion"]
