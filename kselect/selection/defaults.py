"""The defaults of a selection, which the command line, the estimators and ``init`` share."""

from __future__ import annotations

from kselect.kernels import default_families

AUTO = default_families.AUTO
LEARNER = "lssvm"
CRITERION = "5-CV"
KERNEL = AUTO
LAM = "10^-7:10^1"
ENSEMBLE = AUTO
# The fits that ``auto`` averages at most, and how far above the best their scores may lie.
MOST_MEMBERS = 10
NEAR = 0.05
