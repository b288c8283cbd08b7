r"""The smoothed hinge loss as a function of the margin ``z = y f`` (Chapelle 2007; ijcai2018, section 3.3).

    V = 0                       for z > 1 + h
        (1 + h - z)^2 / (4 h)   for |1 - z| <= h
        1 - z                   for z < 1 - h

``pull = -dV/dz = clip((1 + h - z) / (2 h), 0, 1)``, and ``dV/df = -y pull``, ``d^2 V/df^2 = curvature``.
V is at most ``h / 4`` above the hinge, at z = 1, and never below it.
"""

from __future__ import annotations

import numpy as np

from kselect.numerics.linalg import Array


def value(z: Array, h: float) -> Array:
    """V: with ``p = pull``, ``p (1 + h - z) - h p^2`` in all three zones."""
    p = pull(z, h)
    return np.asarray(p * (1.0 + h - z) - h * p * p)


def pull(z: Array, h: float) -> Array:
    """``-dV/dz``, from 0 to 1."""
    # np.clip takes three times as long, and this runs for every fit.
    return np.minimum(np.maximum((1.0 + h - z) / (2.0 * h), 0.0), 1.0)


def curvature(z: Array, h: float) -> Array:
    """``1 / (2 h)`` where ``|1 - z| <= h``, else 0."""
    return np.where(np.abs(1.0 - z) <= h, 0.5 / h, 0.0)
