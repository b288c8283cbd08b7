"""What a saved model says of the rows of a frame, and how far that agrees with a target that is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kselect.datasets.frames import Frame
from kselect.datasets.tables.columns import canonical
from kselect.datasets.tables.decisions import Decision
from kselect.datasets.tables.written_numbers import MISSING, is_finite
from kselect.grids import show_number
from kselect.numerics.linalg import Array
from kselect.selection.model_file import (
    SavedModel,
    decision,
    predicted_classes,
    predicted_probabilities,
)


@dataclass(frozen=True, eq=False)
class Prediction:
    """A class's name or a number per row, the decision values (rows, q) behind it, and what did not fit."""

    predictions: Sequence[str] | Sequence[float]
    values: Array
    probabilities: Array | None
    said: tuple[Decision, ...]

    def values_of(self, row: int) -> list[float]:
        """A row's decision values, then its probabilities."""
        likely = [] if self.probabilities is None else self.probabilities[row].tolist()
        return [*self.values[row].tolist(), *likely]


def predict(model: SavedModel, frame: Frame) -> Prediction:
    """Every row prepared as the training rows were, and decided."""
    X, said = model.preparation.transform(frame)
    values = decision(model, X)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise frame.place.error("its prediction is not a finite number", row)
    if model.task == "regression":
        return Prediction(values[:, 0].tolist(), values, None, said)
    likely = predicted_probabilities(model, values)
    return Prediction(predicted_classes(model, values), values, likely, said)


def agreement(model: SavedModel, frame: Frame, found: Prediction) -> str:
    """The share of rows that have a target and are predicted so, or R2; empty where there is none."""
    truth = known_targets(frame)
    rows = [i for i, value in enumerate(truth) if value]
    if not rows:
        return ""
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'} with a target"
    if model.task == "classification":
        right = sum(truth[i] == found.predictions[i] for i in rows)
        return f"accuracy {right / len(rows):.4g} on {count}"
    if not all(is_finite(truth[i]) for i in rows):
        return ""
    y = np.array([float(truth[i]) for i in rows])
    errors = y - np.array([found.predictions[i] for i in rows], dtype=np.float64)
    rmse = float(np.sqrt(np.mean(np.square(errors))))
    spread = float(y.std())
    r2 = f"R2 {1 - (rmse / spread) ** 2:.4g}, " if spread > 0 else ""
    return f"{r2}root mean square error {rmse:.4g} on {count}"


def known_targets(frame: Frame) -> list[str]:
    """The target of each row as classes are named, empty where it is missing or there is none."""
    if frame.target is None:
        return []
    if isinstance(frame.target, np.ndarray):
        return ["" if np.isnan(v) else show_number(v) for v in frame.target.tolist()]
    return ["" if field in MISSING else canonical(field) for field in frame.target]
