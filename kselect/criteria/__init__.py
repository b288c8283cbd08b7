"""Criteria and probes, registered under the names that configs and tables use."""

from kselect.criteria.base import CRITERIA, PROBES, Criterion, find_criterion

__all__ = ["CRITERIA", "PROBES", "Criterion", "find_criterion"]
