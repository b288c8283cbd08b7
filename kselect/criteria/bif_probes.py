"""Probes: how far the Taylor series of cross-validation is from cross-validation, and why (icml2014, figure 1)."""

from __future__ import annotations

import numpy as np

from kselect.criteria.base import probe
from kselect.learners.base import Series
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array


@probe("bif-discrepancy", paper="icml2014, figure 1")
def discrepancy(path: Series, folds: Folds, *, order: int = 3) -> Array:
    r"""Mean square difference of the held-out predictions: order-t series against exact k-fold retraining."""
    return np.asarray(np.square(path.bif(folds, order) - path.held_out(folds)).mean(axis=-1))


@probe("bif-rate", paper="its theory; none of the papers shows it")
def rate(path: Series, folds: Folds) -> Array:
    r"""The series' rate, for the square loss max_F lambda_max(S_FF): each order gains that factor."""
    return path.rates(folds)
