"""The median of the absolute leave-one-out errors."""

import numpy as np

from kselect.criteria.base import criterion
from kselect.learners.base import LeaveOneOut
from kselect.numerics.linalg import Array


@criterion("median", paper="none")
def median(path: LeaveOneOut, *, power: float = 1.0) -> Array:
    """Median absolute leave-one-out error."""
    return np.median(np.abs(path.problem.y - path.loo()) ** power, axis=-1)


def oracle_median(path):
    n = path.problem.n
    found = []
    for ridge, lam in enumerate(path.problem.lams):
        one = type(path)(path.problem.changed(lams=np.array([lam])), bias=path.bias)
        held = [one.without(row)[0, row] for row in range(n)]
        found.append(np.median(np.abs(path.problem.y - held)))
    return found
