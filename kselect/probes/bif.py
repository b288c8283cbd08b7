"""How far the Taylor series of cross-validation is from cross-validation, and why (icml2014, figure 1)."""

from __future__ import annotations

import numpy as np

from kselect.learners.base import Path
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.probes.base import probe


@probe("bif-discrepancy", paper="icml2014, figure 1")
def discrepancy(path: Path, folds: Folds, *, order: int = 3) -> Array:
    r"""Mean square difference of the held-out predictions: order-t series against exact k-fold retraining."""
    return np.asarray(np.square(path.bif(folds, order) - path.held_out(folds)).mean(axis=-1))


@probe("bif-rate", paper="its theory; none of the papers shows it", rate=True)
def rate(path: Path, folds: Folds) -> Array:
    r"""The series' rate, for the square loss max_F lambda_max(S_FF): each order gains that factor."""
    return path.rates(folds)
