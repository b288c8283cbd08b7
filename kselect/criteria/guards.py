r"""Guards: where a criterion says infinity, by name, so that an excluded candidate has a reason.

A criterion that has some gives ``@criterion(..., guards=...)`` a function of its own arguments that returns, for
each guard's name, at which ridges it acts; the search asks it for the reasons of infinite scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from kselect.learners.base import Path
from kselect.learners.problem import Problem

Mask = NDArray[np.bool_]
Guarded = Mapping[str, Mask]
GuardFunction = Callable[..., Guarded]
NEAR_IDENTITY = "the kernel matrix is near the identity"
RATE = "the series' rate reaches the cap"


def distance_to_identity(problem: Problem) -> float:
    r"""``||R - I||_F / n`` with ``R_ij = K_ij / sqrt(K_ii K_jj)`` (icml2014, footnote 2), for ``problem.once``."""
    return float(np.sqrt(problem.matrix.off_diagonal_squares())) / problem.n


def near_identity(path: Path, limit: float) -> Mask:
    """(n_ridges,): everywhere or nowhere, as K alone decides; a limit of 0 lifts the guard."""
    acts = limit > 0 and path.problem.once(distance_to_identity) <= limit
    return np.full(len(path.problem.lams), acts)
