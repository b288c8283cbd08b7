"""Criteria: one file each; the names here are the names in a config and in a table."""

from kselect.criteria.base import CRITERIA, PROBES, Criterion, find_criterion, find_probe

__all__ = ["CRITERIA", "PROBES", "Criterion", "find_criterion", "find_probe"]
