"""What the continuous searches share: the unit of the features, where they may go, and how they end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kselect.errors import TrialError
from kselect.kernels.widths import KernelWidths, OneWidth, WidthPerFeature
from kselect.numerics.linalg import Array

State = Literal["converged", "iteration limit", "no further descent", "branch change"]

# Thetas and ridges of the unit's features that a search starts from (protocols, flkl2014): times 1/d, as they are.
START_THETAS = (0.01, 0.1, 1.0, 10.0)
START_LAMS = (0.01, 0.1, 1.0)
# The size of features whose fourth power, which scales mu, is still a number.
SMALLEST, LARGEST = 1e-70, 1e70


@dataclass(frozen=True, eq=False)
class Unit:
    """The varying features, centred and divided by one number, so that their variance is one on average.

    On z-scored features that number is 1 and nothing changes. It makes the starts and bounds of a search mean
    the same for features of any scale; the problem itself is the same in every unit (theta times ``square``,
    mu over ``square^2``). Constant features are left out: no width of theirs changes anything.
    """

    X: Array
    square: float
    varying: NDArray[np.bool_]

    @classmethod
    def of(cls, X: Array) -> Unit:
        """The unit of a training set; a TrialError where there is none."""
        if not np.isfinite(X).all():
            raise TrialError("a feature is not a finite number")
        varying = np.ptp(X, axis=0) > 0.0
        if not varying.any():
            raise TrialError("all rows are equal: no width changes anything")
        kept = X[:, varying]
        largest = float(np.abs(kept).max())
        centred = kept / largest  # so that no square overflows
        centred = centred - centred.mean(axis=0)
        scale = float(np.sqrt(centred.var(axis=0, ddof=1).mean()))
        size = scale * largest
        if not SMALLEST < size < LARGEST:
            raise TrialError(
                f"features of size {size:.3g}: a width for them is no number; scale them"
            )
        return cls(centred / scale, size**2, varying)

    @property
    def features(self) -> int:
        """The number of varying features."""
        return int(self.X.shape[1])

    def widths(self, *, ard: bool) -> KernelWidths:
        """The derivatives' sums for one width, or for one per varying feature."""
        return WidthPerFeature(self.X) if ard else OneWidth.of(self.X)

    def inside(self, theta: Array, size: int) -> Array:
        """A user's theta as ``size`` widths in this unit: one for all, or one per feature."""
        return (
            np.broadcast_to(theta if len(theta) == 1 else theta[self.varying], size) * self.square
        )

    def outside(self, theta: Array, *, ard: bool) -> Array:
        """KernelWidths of this unit as a user's theta, zero for constant features."""
        if not ard:
            return theta / self.square
        found = np.zeros(len(self.varying))
        found[self.varying] = theta / self.square
        return found


@dataclass(frozen=True)
class SecondLevel:
    """Where a criterion of the second level is smallest: one theta (RBF) or one per feature (ARD).

    ``lam`` is the ridge of ``sum 0.5 (y - f)^2 + (lam / 2) ||w||^2``, n times that of the grid searches. ``held``
    counts the variables, widths and ridge, that a limit keeps from going farther.
    """

    theta: Array
    lam: float
    value: float
    evaluations: int
    state: State
    held: int = 0


@dataclass(frozen=True)
class FirstLevel:
    """A kernel learned at the first level, its widths those of all rows.

    ``objective`` is the mean squared k-fold error; ``evaluations`` counts Cholesky factors, ``steps`` the outer
    steps, ``jumps`` the folds whose minimum was lost on the way, at points taken or refused.
    ``lam`` is scaled as SecondLevel's.
    """

    theta: Array
    lam: float
    mu: float
    objective: float
    state: State
    evaluations: int
    steps: int
    jumps: int


def require_targets(X: Array, y: Array) -> None:
    """Two different targets at least, one for each row."""
    if len(X) != len(y):
        raise TrialError(f"{len(X)} rows, {len(y)} targets")
    if not np.isfinite(y).all() or np.ptp(y) == 0.0:
        raise TrialError("the targets are all equal, or not finite")
