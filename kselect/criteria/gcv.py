"""Generalised cross-validation (Craven and Wahba 1979)."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import criterion
from kselect.errors import TrialError
from kselect.learners.base import HatMatrix
from kselect.numerics.linalg import Array


@criterion("GCV", paper="Craven and Wahba 1979; in none of the five papers")
def generalised_cross_validation(path: HatMatrix) -> Array:
    r"""Generalised cross-validation: (1/n) ||y - S y||^2 / (1 - tr(S) / n)^2 with the hat matrix S.

    Leave-one-out with every leverage S_ii replaced by their mean. Costs the leverages alone, O(n^2) per ridge.
    """
    residual = path.problem.y - path.decision()
    freedom = 1.0 - path.leverages().mean(axis=-1)
    if not freedom.min() > 0:
        raise TrialError("GCV divides by 1 - tr(S)/n, which is zero to rounding")
    return np.asarray(np.square(residual).mean(axis=-1) / np.square(freedom))
