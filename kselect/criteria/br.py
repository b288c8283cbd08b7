"""Bayesian regularisation of the leave-one-out criterion (Cawley and Talbot 2007)."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import criterion
from kselect.errors import TrialError
from kselect.learners.base import LeaveOneOut
from kselect.numerics.linalg import Array

DEGREE = "for a polynomial kernel Omega is degree^2 / 2, which is reconstructed"


@criterion(
    "BR",
    paper="ecml2014, tcyb2018, flkl2014; Cawley and Talbot 2007",
    remarks=(("polynomial", DEGREE),),
)
def bayesian_regularisation(path: LeaveOneOut) -> Array:
    r"""(n/2) log Q + (d/2) log Omega with Q = PRESS/2 and Omega = (1/2) sum_j eta_j^2.

    The eta_j are the d raw kernel parameters; both regularisation parameters are integrated out
    under a Jeffreys prior, and the ridge is not regularised. A polynomial kernel's is its degree (reconstructed).
    A linear kernel has none: then the first term stands alone.
    """
    y, n = path.problem.y, path.problem.n
    press = np.square(y - path.loo()).sum(axis=-1)
    if not press.min() > 0:
        raise TrialError("BR takes the logarithm of a PRESS of zero")
    score: Array = 0.5 * n * np.log(0.5 * press)
    eta = np.array(path.problem.kernel.regularised())
    if eta.size:
        score = score + 0.5 * eta.size * np.log(0.5 * np.sum(eta**2))
    return score
