"""A fitted model as plain values: the fits whose mean predicts, and the predictions of a table's rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kselect import __version__
from kselect.datasets.prepare import Preparation
from kselect.datasets.registry import Task
from kselect.datasets.table.column_inference import canonical
from kselect.datasets.table.raw_table import Fields, Frame, ReadingDecision
from kselect.datasets.table.target import Target
from kselect.datasets.table.written_values import MISSING, is_finite
from kselect.errors import ConfigError, brief
from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.kernels.weighted import Weighted
from kselect.learners import Fit
from kselect.numerics.linalg import Array
from kselect.numerics.sigmoid import codes, probabilities
from kselect.selection.intervals import NO_WEIGHTS, IntervalModel
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
    ``slope`` turns decision values into probabilities. ``intervals`` has the fits of a regression without each
    fold, None if its learner has none. ``choice`` holds the facts of the selection as JSON values.
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
    intervals: IntervalModel | None = None

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
    intervals: IntervalModel | None = None,
) -> SavedModel:
    """Return the fits of a selection on the prepared rows X, without rows whose coefficients are all zero."""
    support = X if selection.support is None else selection.support
    used = np.zeros(len(support), dtype=bool)
    for fit in all_fits(selection, intervals):
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
        intervals=None if intervals is None else intervals.at(used),
    )


def all_fits(selection: Selection, intervals: IntervalModel | None) -> Iterator[Fit]:
    """Yield the fits on all rows and those without each fold."""
    for member in selection.members:
        yield from member.fits
    for _, fits in intervals.members if intervals else ():
        for own in fits:
            yield from own


def checked(model: SavedModel) -> SavedModel:
    """Return the model if its parts fit together."""
    names = model.preparation.schema.targets
    q = len(model.classes) if len(model.classes) > 2 else max(1, len(names))
    if len(names) > 1 and model.classes:
        raise ValueError(f"classes of {len(names)} targets")
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
    if model.intervals is not None:
        if model.task != "regression":
            raise ValueError("fits without a fold in a classification")
        check_intervals(model.intervals, q, m)
    return model


def check_intervals(found: IntervalModel, q: int, m: int) -> None:
    """Raise a ValueError if the fits without each fold do not fit to q targets and m rows."""
    errors = found.errors
    if errors.sizes.shape != (q, len(errors.numbers)) or not len(errors.numbers):
        raise ValueError(f"held-out errors of shape {errors.sizes.shape} for {q} targets")
    if sorted(set(errors.numbers.tolist())) != list(range(found.folds)):
        raise ValueError(f"fold numbers that are not those of {found.folds} folds")
    if not (np.isfinite(errors.sizes).all() and (errors.sizes >= 0).all()):
        raise ValueError("a held-out error is negative or not finite")
    for _, fits in found.members:
        for own in fits:
            for fit in own:
                if fit.alpha.shape != (1, m) or not np.isfinite(fit.alpha).all():
                    raise ValueError(f"{fit.alpha.shape} coefficients of {m} rows without a fold")
                if not np.isfinite(fit.bias).all():
                    raise ValueError("a bias without a fold is not finite")


# --- prediction -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prediction:
    """The predictions, the (rows, q) decision values, and notes on the columns of the file.

    ``predictions`` has a class name or a number per row; of several targets, a row of numbers. ``bounds`` are the
    prediction intervals (rows, q, 2), if they are asked for.
    """

    predictions: Sequence[str] | Sequence[float] | Sequence[Sequence[float]]
    values: Array
    probabilities: Array | None
    notes: tuple[ReadingDecision, ...]
    bounds: Array | None = None


def decision(model: SavedModel, X: Array) -> Array:
    """Return the (rows, q) decision values of prepared rows."""
    return mean_values([(one.kernel, one.fits) for one in model.fitted], model.support, X)


def predict(model: SavedModel, frame: Frame, interval: float | None = None) -> Prediction:
    """Prepare every row as the training rows were prepared, and predict it; ``interval`` is a level such as 0.9."""
    if interval is not None:
        require_intervals(model)
    X, notes = model.preparation.transform(frame)
    values = decision(model, X)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise frame.place.error("its prediction is not a finite number", row)
    if model.task == "regression":
        bounds = bounds_of(model, X, interval)
        predictions = (values if values.shape[1] > 1 else values[:, 0]).tolist()
        return Prediction(predictions, values, None, notes, bounds)
    likely = None if model.slope is None else probabilities(model.slope, values)
    return Prediction(predicted_classes(model, values), values, likely, notes)


def require_intervals(model: SavedModel) -> None:
    """Refuse intervals of a model that has no fits without a fold."""
    if model.task == "classification":
        raise ConfigError(
            "an interval is for a regression; this model predicts classes, with probabilities"
        )
    if model.intervals is None and "weights" in model.choice.get("rows", {}):
        raise ConfigError(NO_WEIGHTS)
    if model.intervals is None:
        raise ConfigError(
            "this model has no fits without a fold, which intervals need: fit it again with krr, lssvm or "
            "quadratic-svr, with folds that hold every row out once, and without weights"
        )


def bounds_of(model: SavedModel, X: Array, interval: float | None) -> Array | None:
    """Return the intervals (rows, q, 2) of prepared rows; None without a level."""
    if interval is None or model.intervals is None:
        return None
    return model.intervals.bounds(model.support, X, interval)


def predicted_classes(model: SavedModel, decisions: Array) -> list[str]:
    """Return the class of the largest decision value; of two classes, the second if the value is positive."""
    return [model.classes[code] for code in codes(decisions.T)]


def known_values(fields: Fields) -> list[str]:
    """Return a target as classes are named, a missing value as empty text."""
    if isinstance(fields, np.ndarray):
        return ["" if np.isnan(value) else show_number(value) for value in fields.tolist()]
    return ["" if field in MISSING else canonical(field) for field in fields]


def agreement(model: SavedModel, frame: Frame, predicted: Prediction) -> list[str]:
    """Return the accuracy, or R2 and the error of each target, on rows whose target is known, if there are any."""
    several, found = len(frame.targets) > 1, []
    for t, fields in enumerate(frame.targets):
        truth = known_values(fields)
        rows = [i for i, value in enumerate(truth) if value]
        if not rows:
            continue
        count = f"{len(rows)} row{'' if len(rows) == 1 else 's'} with a target"
        if model.task == "classification":
            right = sum(truth[i] == predicted.predictions[i] for i in rows)
            found.append(f"accuracy {right / len(rows):.4g} on {count}")
        elif odd := next((truth[i] for i in rows if not is_finite(truth[i])), ""):
            name = brief(frame.schema.targets[t])
            found.append(f"not compared with the target {name}: {odd!r} is not a number")
        else:
            y, bounds = np.array([float(truth[i]) for i in rows]), predicted.bounds
            own = None if bounds is None else bounds[rows, t]
            whose = f"{brief(frame.schema.targets[t])}: " if several else ""
            found.append(whose + number_agreement(y, predicted.values[rows, t], own, count))
    return found


def number_agreement(y: Array, values: Array, bounds: Array | None, count: str) -> str:
    """Return R2, the root mean square error, and the share of the numbers in their interval."""
    rmse, spread = float(np.sqrt(np.mean(np.square(y - values)))), float(y.std())
    r2 = f"R2 {1 - (rmse / spread) ** 2:.4g}, " if spread > 0 else ""
    inside = ""
    if bounds is not None:
        low, high = bounds.T
        inside = f"; {100 * float(((low <= y) & (y <= high)).mean()):.4g} % are in their interval"
    return f"{r2}root mean square error {rmse:.4g} on {count}{inside}"
