"""A fitted model as plain values: the fits whose mean predicts, and the predictions of a table's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kselect import __version__
from kselect.datasets.prepare import Preparation
from kselect.datasets.registry import Task
from kselect.datasets.table.column_inference import canonical
from kselect.datasets.table.raw_table import Frame, ReadingDecision
from kselect.datasets.table.target import Target
from kselect.datasets.table.written_values import MISSING, is_finite
from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.kernels.weighted import Weighted
from kselect.learners import Fit
from kselect.numerics.linalg import Array
from kselect.numerics.sigmoid import codes, probabilities
from kselect.selection.result import Selection, mean_values


@dataclass(frozen=True, eq=False)
class SavedFit:
    """One of the fits that are averaged: coefficients (q, m) and bias (q,) of each target, with kernel and lam."""

    kernel: Kernel
    lam: float
    alpha: Array
    bias: Array

    @property
    def fits(self) -> list[Fit]:
        """The fit of each target."""
        return [Fit(a[None], b[None]) for a, b in zip(self.alpha, self.bias, strict=True)]


@dataclass(frozen=True, eq=False)
class SavedModel:
    """Everything that a prediction needs, as plain values, but for a kernel of a plug-in: that file is needed too.

    ``fitted`` are the fits on the prepared rows ``support`` (m, d), the best one first; their mean predicts.
    ``slope`` turns decision values into probabilities. ``choice`` holds the facts of the selection as JSON values.
    """

    kselect_version: str
    task: Task
    classes: tuple[str, ...]
    learner: str
    learner_params: Mapping[str, Any]
    fitted: tuple[SavedFit, ...]
    choice: Mapping[str, Any]
    preparation: Preparation
    support: Array
    slope: float | None = None

    @property
    def kernel(self) -> Kernel:
        """The best candidate's kernel."""
        return self.fitted[0].kernel

    @property
    def lam(self) -> float:
        """The best candidate's lam."""
        return self.fitted[0].lam


def model_of(
    selection: Selection,
    X: Array,
    target: Target,
    preparation: Preparation,
    choice: Mapping[str, Any],
    slope: float | None = None,
) -> SavedModel:
    """Return the fits of a selection on the prepared rows X, without rows whose coefficients are all zero."""
    support = X if selection.support is None else selection.support
    used = np.zeros(len(support), dtype=bool)
    for member in selection.members:
        for fit in member.fits:
            used |= fit.alpha[0] != 0
    used[:1] |= not used.any()  # a kernel needs a row, even if the fit is only a bias
    fitted = tuple(
        SavedFit(
            member.point.kernel,
            member.point.lam,
            np.stack([fit.alpha[0][used] for fit in member.fits]),
            np.array([fit.bias[0] for fit in member.fits]),
        )
        for member in selection.members
    )
    return SavedModel(
        kselect_version=__version__,
        task=target.task,
        classes=target.classes,
        learner=selection.request.learner.name,
        learner_params=dict(selection.request.learner.params),
        fitted=fitted,
        choice=choice,
        preparation=preparation,
        support=support[used],
        slope=slope,
    )


def checked(model: SavedModel) -> SavedModel:
    """Return the model if its parts fit together."""
    q = len(model.classes) if len(model.classes) > 2 else 1
    if len(model.classes) == 1 or bool(model.classes) != (model.task == "classification"):
        raise ValueError(f"{len(model.classes)} classes in a {model.task}")
    m, d = model.support.shape
    if d != len(model.preparation.names):
        raise ValueError(
            f"rows of {d} features; the preparation makes {len(model.preparation.names)}"
        )
    if not model.fitted:
        raise ValueError("no fit")
    for one in model.fitted:
        if one.alpha.shape != (q, m) or one.bias.shape != (q,) or not m:
            raise ValueError(f"{one.alpha.shape} coefficients of {m} rows for {q} targets")
        if not 0 < one.lam < np.inf:
            raise ValueError(f"a regularisation parameter of {one.lam}")
        if not (np.isfinite(one.alpha).all() and np.isfinite(one.bias).all()):
            raise ValueError("a coefficient is not finite")
        if isinstance(one.kernel, Weighted) and len(one.kernel.scale) != d:
            raise ValueError(f"a scale of {len(one.kernel.scale)} features for {d}")
    if model.slope is not None and not (model.classes and 0 < model.slope < np.inf):
        raise ValueError(f"a slope of {model.slope} in a {model.task}")
    if not np.isfinite(model.support).all():
        raise ValueError("a number of a row is not finite")
    return model


# --- prediction -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prediction:
    """A class name or a number per row, the (rows, q) decision values, and notes on the columns of the file."""

    predictions: Sequence[str] | Sequence[float]
    values: Array
    probabilities: Array | None
    notes: tuple[ReadingDecision, ...]


def decision(model: SavedModel, X: Array) -> Array:
    """Return the (rows, q) decision values of prepared rows."""
    return mean_values([(one.kernel, one.fits) for one in model.fitted], model.support, X)


def predict(model: SavedModel, frame: Frame) -> Prediction:
    """Prepare every row as the training rows were prepared, and predict it."""
    X, notes = model.preparation.transform(frame)
    values = decision(model, X)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise frame.place.error("its prediction is not a finite number", row)
    if model.task == "regression":
        return Prediction(values[:, 0].tolist(), values, None, notes)
    likely = None if model.slope is None else probabilities(model.slope, values)
    return Prediction(predicted_classes(model, values), values, likely, notes)


def predicted_classes(model: SavedModel, decisions: Array) -> list[str]:
    """Return the class of the largest decision value; of two classes, the second if the value is positive."""
    return [model.classes[code] for code in codes(decisions.T)]


def agreement(model: SavedModel, frame: Frame, predicted: Prediction) -> str:
    """Return the accuracy, or R2 and the error, on rows whose target is known; empty without such rows."""
    truth: list[str] = []  # as classes are named; empty text if a target is missing
    if isinstance(frame.target, np.ndarray):
        truth = ["" if np.isnan(v) else show_number(v) for v in frame.target.tolist()]
    elif frame.target is not None:
        truth = ["" if field in MISSING else canonical(field) for field in frame.target]
    rows = [i for i, value in enumerate(truth) if value]
    if not rows:
        return ""
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'} with a target"
    if model.task == "classification":
        right = sum(truth[i] == predicted.predictions[i] for i in rows)
        return f"accuracy {right / len(rows):.4g} on {count}"
    if not all(is_finite(truth[i]) for i in rows):
        return ""
    y = np.array([float(truth[i]) for i in rows])
    errors = y - np.array([predicted.predictions[i] for i in rows], dtype=np.float64)
    rmse = float(np.sqrt(np.mean(np.square(errors))))
    spread = float(y.std())
    r2 = f"R2 {1 - (rmse / spread) ** 2:.4g}, " if spread > 0 else ""
    return f"{r2}root mean square error {rmse:.4g} on {count}"
