"""What an estimator warns of: a choice on the edge of its grid, and features of very different scales."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from kselect.numerics.linalg import Array
from kselect.selection.engine import Selection
from kselect.selection.habits import PRECOMPUTED

# Times the median feature's, both in standard deviation and in range: z-scored features have one deviation, those
# scaled to an interval one range, and principal components of scaled ones stay below.
FAR = 30.0


class EdgeWarning(UserWarning):
    """The choice lies on an edge of its grid: a better one may lie beyond."""


class ScaleWarning(UserWarning):
    """One feature spreads so much further than most that the kernel sees little else: scale the features."""


def caution(found: Selection, X: Array, names: Sequence[str] | None, stacklevel: int) -> None:
    """Warn of what the choice may suffer from; a kernel that is given, or learned, has its own scales."""
    for text in found.edges:
        warnings.warn(text, EdgeWarning, stacklevel=stacklevel + 1)
    if found.kernel.name != PRECOMPUTED and not found.kernel.learned:
        wide = widest_feature(X, names)
        if wide is not None:
            warnings.warn(wide, ScaleWarning, stacklevel=stacklevel + 1)


def widest_feature(X: Array, names: Sequence[str] | None = None) -> str | None:
    """What there is to say of the widest feature; None where it is no wider than it may be.

    Constant features do not count; of an even number the lower one in the middle is the median.
    """
    with np.errstate(over="ignore"):
        ranges = np.ptp(X, axis=0)
    varied = np.flatnonzero(np.isfinite(ranges) & (ranges > 0))
    if len(varied) < 2:
        return None
    ranges = ranges[varied]
    # Over the range first: squares neither overflow nor vanish.
    spreads = (X[:, varied] / ranges).std(axis=0) * ranges
    times = np.minimum(over_median(spreads), over_median(ranges))
    widest = int(times.argmax())
    if not times[widest] > FAR:
        return None
    name = f"feature {varied[widest]}" if names is None else str(names[varied[widest]])
    return (
        f"{name} spreads {times[widest]:.3g} times as far as the median feature, so that the kernel sees little "
        "else: scale the features, as by StandardScaler"
    )


def over_median(spreads: Array) -> Array:
    """Each over the lower median."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.asarray(spreads / np.sort(spreads)[(len(spreads) - 1) // 2])
