r"""Several numeric targets on a common scale, on which each has the standard deviation 1 over the training rows.

The targets share one kernel and one ridge, and a criterion is the mean of their scores. Without a common scale, the
target with the largest unit would choose. The score of k-CV with the squared loss becomes

    mean over targets of  (mean squared held-out error of t) / var(y_t)  =  mean over targets of  1 - R2_t

A target is not centred: two equal targets give the choice of one. The fits of a selection and its predictions are
in the targets' own units again. A single target, and the targets -1 and +1 of classes, stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kselect.learners import Fit
from kselect.numerics.linalg import Array
from kselect.numerics.weights import mean_loss
from kselect.selection.request import Request
from kselect.selection.result import Selection


def units_of(targets: Array, request: Request) -> Array | None:
    """Return the standard deviation of each target (q,), weighted as the rows are; None if nothing is divided.

    A constant target, which a part of the rows may have, keeps its unit.
    """
    if request.task != "regression" or len(targets) == 1:
        return None
    largest = np.abs(targets).max(axis=1)
    scaled = targets / np.where(largest > 0, largest, 1.0)[:, None]  # so that no square overflows
    centred = scaled - mean_loss(scaled, request.weights)[:, None]
    spread = np.sqrt(mean_loss(np.square(centred), request.weights)) * largest
    constant = (targets == targets[:, :1]).all(axis=1)
    return np.where(constant | (spread == 0.0), 1.0, spread)


def in_units(found: Selection, units: Array | None) -> Selection:
    """Return the selection with the fits and held-out predictions of each target in its own unit."""
    if units is None:
        return found
    others = tuple(
        replace(one, fits=scaled_fits(one.fits, units), held_out=scaled_rows(one.held_out, units))
        for one in found.others
    )
    best = replace(found.best, fits=scaled_fits(found.best.fits, units))
    return replace(found, best=best, others=others, held_out=scaled_rows(found.held_out, units))


def scaled_fits(fits: tuple[Fit, ...], units: Array | None) -> tuple[Fit, ...]:
    """Return the fit of each target times its unit."""
    if units is None:
        return fits
    return tuple(
        Fit(fit.alpha * unit, fit.bias * unit) for fit, unit in zip(fits, units, strict=True)
    )


def scaled_rows(values: Array | None, units: Array | None) -> Array | None:
    """Return predictions (q, rows) times the unit of each target."""
    return values if values is None or units is None else values * units[:, None]
