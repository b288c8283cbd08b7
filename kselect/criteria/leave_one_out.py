"""Exact leave-one-out (ELOO, Cawley 2006), and its Bayesian regularisation (BR, Cawley and Talbot 2007).

Both ask a path for its closed form of leave-one-out: one fit per ridge gives all held-out predictions.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from kselect.criteria.base import criterion
from kselect.errors import TrialError
from kselect.learners.base import LeaveOneOut
from kselect.numerics.linalg import Array
from kselect.numerics.weights import mean_loss

LeaveOneOutForm = Literal["press", "error", "smoothed"]
DEGREE = "for a polynomial kernel Omega is degree^2 / 2, which is reconstructed"


@criterion(
    "BR",
    paper="ecml2014, tcyb2018, flkl2014; Cawley and Talbot 2007",
    remarks=(("polynomial", DEGREE),),
)
def bayesian_regularisation(path: LeaveOneOut) -> Array:
    r"""(n/2) log Q + (d/2) log Omega with Q = PRESS/2 and Omega = (1/2) sum_j eta_j^2.

    The eta_j are the d raw kernel parameters. Both regularisation parameters are integrated out under a Jeffreys
    prior; the ridge is not regularised. The parameter of a polynomial kernel is its degree (reconstructed).
    A linear kernel has no parameter, so that only the first term remains.
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


@criterion("ELOO", paper="ecml2014, tcyb2018, icml2014; Cawley 2006", weighted=True)
def exact_leave_one_out(
    path: LeaveOneOut, *, form: LeaveOneOutForm = "press", slope: float = 10.0
) -> Array:
    r"""Exact leave-one-out: the mean of squared residuals e_i, of wrong signs, or of a smoothed sign.

    ``press``: (1/n) sum e_i^2; ``error``: (1/n) sum 1[y_i f_{-i} <= 0]; ``smoothed``: the error with its step
    replaced with the logistic function 1 / (1 + exp(slope y_i f_{-i})).
    """
    y, held, weights = path.problem.y, path.loo(), path.problem.weights
    if form == "press":
        return mean_loss(np.square(y - held), weights)
    if not np.isin(y, (-1.0, 1.0)).all():
        raise TrialError(f"ELOO form {form!r} needs labels -1 and +1")
    margin = y * held
    if form == "error":
        return mean_loss((margin <= 0).astype(np.float64), weights)
    # The logistic function written as a hyperbolic tangent cannot overflow.
    return mean_loss(0.5 - 0.5 * np.tanh(0.5 * slope * margin), weights)
