"""The defaults of a selection, which the command line, the estimators and ``init`` share."""

from __future__ import annotations

from kselect.datasets.registry import Task
from kselect.kernels import default_families

AUTO = default_families.AUTO
LEARNER = "lssvm"
CRITERION = "5-CV"
KERNEL = AUTO
# A classification starts at larger ridges: smaller ones would take half of the time and are hardly ever chosen.
# Where they are, the grid is extended (tests/bench/README.md).
LAM, CLASS_LAM = "10^-7:10^1", "10^-4:10^1"
ENSEMBLE = AUTO
# The fits that ``auto`` averages at most, and how far above the best their scores may lie.
MOST_MEMBERS = 10
NEAR = 0.05


def default_lam(task: Task) -> str:
    """Return the grid of lam that ``auto`` stands for, before it is extended."""
    return CLASS_LAM if task == "classification" else LAM
