"""Exact leave-one-out (Cawley 2006)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kselect.criteria.base import criterion
from kselect.errors import TrialError
from kselect.learners.base import LeaveOneOut
from kselect.numerics.linalg import Array

Form = Literal["press", "error", "smoothed"]


@criterion("ELOO", paper="ecml2014, tcyb2018, icml2014; Cawley 2006")
def exact_leave_one_out(path: LeaveOneOut, *, form: Form = "press", slope: float = 10.0) -> Array:
    r"""Exact leave-one-out: the mean of squared residuals e_i, of wrong signs, or of a smoothed sign.

    ``press``: (1/n) sum e_i^2; ``error``: (1/n) sum 1[y_i f_{-i} <= 0]; ``smoothed``: the error with its step
    replaced by the logistic function 1 / (1 + exp(slope y_i f_{-i})).
    """
    y, held = path.problem.y, path.loo()
    if form == "press":
        press: Array = np.square(y - held).mean(axis=-1)
        return press
    if not np.isin(y, (-1.0, 1.0)).all():
        raise TrialError(f"ELOO form {form!r} needs labels -1 and +1")
    margin = y * held
    if form == "error":
        return np.asarray((margin <= 0).mean(axis=-1))
    # The logistic function as a hyperbolic tangent: it cannot overflow.
    return np.asarray((0.5 - 0.5 * np.tanh(0.5 * slope * margin)).mean(axis=-1))
