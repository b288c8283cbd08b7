"""How well a model predicts rows with known targets: accuracy and more for classes, R2 and errors for numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.registry import Task
from kselect.datasets.table.raw_table import Frame, decision_lines
from kselect.datasets.table.written_values import is_finite
from kselect.errors import brief
from kselect.numerics.linalg import Array
from kselect.selection.saved_model import SavedModel, known_values, predict

Measures = tuple[tuple[str, float], ...]
R2 = "R2"
NO_TARGET = "no row has a target to compare the predictions with"


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions of rows: class names or numbers, with decision values (n, q) and probabilities for classes."""

    task: Task
    classes: tuple[str, ...]
    predictions: NDArray[np.object_] | Array
    values: Array
    probabilities: Array | None = None

    def take(self, rows: NDArray[np.intp]) -> Predicted:
        """Return the predictions of some rows."""
        likely = None if self.probabilities is None else self.probabilities[rows]
        given = self.predictions[rows], self.values[rows], likely
        return Predicted(self.task, self.classes, *given)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The measures on the rows with a target; ``unknown`` of these have a class that the model does not know.

    ``each`` has the name and the measures of each of several targets, and ``measures`` then has their mean R2.
    """

    rows: int
    measures: Measures
    unknown: int = 0
    each: tuple[tuple[str, Evaluation], ...] = ()

    @property
    def lines(self) -> Iterator[str]:
        """One line per measure, the number of rows first."""
        yield f"{self.rows} row{'' if self.rows == 1 else 's'} with a target"
        if self.unknown:
            what = "have a class that the model does not know: counted as wrong"
            yield f"{self.unknown} of them {what}"
        width = max((len(name) for name, _ in self.measures), default=0)
        for name, value in self.measures:
            yield f"{name:<{width}}  {value:.4g}"
        for target, one in self.each:
            yield f"target {brief(target)}"
            yield from (f"  {line}" for line in one.lines)

    @property
    def text(self) -> str:
        """All measures in one line; of several targets the means and each R2."""
        explained = [
            (f"{R2} of {brief(name)}", dict(one.measures).get(R2)) for name, one in self.each
        ]
        shown = [*self.measures, *((name, value) for name, value in explained if value is not None)]
        values = ", ".join(f"{name} {value:.4g}" for name, value in shown)
        return f"{values} ({self.rows} rows)"

    @property
    def facts(self) -> dict[str, Any]:
        """The measures as JSON values, by names such as ``root_mean_square_error``, also of each target."""
        names = (name.lower().replace(",", "").replace(" ", "_") for name, _ in self.measures)
        values = (value for _, value in self.measures)
        found = {"rows": self.rows, "unknown_classes": self.unknown}
        each = {"targets": {name: one.facts for name, one in self.each}} if self.each else {}
        return {**found, **dict(zip(names, values, strict=True)), **each}


def evaluate(frame: Frame, predicted: Predicted, weights: Array | None = None) -> Evaluation:
    """Return the measures of predictions on the rows of a table whose target is known.

    With weights, all measures are weighted; rows of weight 0 do not count. Each of several targets is compared on
    the rows that have it.
    """
    if len(frame.targets) > 1:
        return evaluate_several(frame, predicted, weights)
    truth = [] if frame.target is None else known_values(frame.target)
    counted = np.ones(frame.n) if weights is None else weights
    rows = np.array([i for i, one in enumerate(truth) if one and counted[i] > 0], dtype=np.intp)
    if not len(rows):
        raise frame.place.error(f"{NO_TARGET}{frame.no_target}")
    known, own = [truth[i] for i in rows], counted[rows]
    if predicted.task == "regression":
        for i, text in zip(rows.tolist(), known, strict=True):
            if not is_finite(text):
                raise frame.place.error(f"the target {text!r} is not a number", i)
        y = np.array([float(text) for text in known])
        return Evaluation(len(rows), of_numbers(y, predicted.take(rows), own))
    unknown = sum(one not in predicted.classes for one in known)
    classes = np.array(known, dtype=object)
    return Evaluation(len(rows), of_classes(classes, predicted.take(rows), own), unknown)


def evaluate_several(frame: Frame, predicted: Predicted, weights: Array | None) -> Evaluation:
    """Return the measures of each target that some rows have, and the mean of their R2."""
    each = []
    for t, (name, fields) in enumerate(zip(frame.schema.targets, frame.targets, strict=True)):
        if any(known_values(fields)):
            own = Predicted(predicted.task, (), predicted.values[:, t], predicted.values[:, [t]])
            each.append((name, evaluate(replace(frame, targets=(fields,)), own, weights)))
    if not each:
        raise frame.place.error(f"{NO_TARGET}{frame.no_target}")
    explained = [dict(one.measures).get(R2, np.nan) for _, one in each]
    mean = ((f"{R2}, mean over targets", float(np.mean(explained))),)
    rows = max(one.rows for _, one in each)
    return Evaluation(rows, mean if np.isfinite(explained).all() else (), each=tuple(each))


def of_numbers(y: Array, predicted: Predicted, w: Array) -> Measures:
    """Return R2, the root mean square error, the mean and the largest absolute error."""
    errors = y - np.asarray(predicted.predictions, dtype=np.float64)
    square = float(np.average(np.square(errors), weights=w))
    spread = float(np.average(np.square(y - np.average(y, weights=w)), weights=w))
    found = [(R2, 1.0 - square / spread)] if spread > 0 else []
    found += [
        ("root mean square error", float(np.sqrt(square))),
        ("mean absolute error", float(np.average(np.abs(errors), weights=w))),
        ("largest absolute error", float(np.abs(errors).max())),
    ]
    return tuple(found)


def of_classes(truth: NDArray[np.object_], predicted: Predicted, w: Array) -> Measures:
    """Return the accuracy, its mean over classes, F1, and where probabilities are known ROC AUC and log loss."""
    from sklearn.metrics import accuracy_score, f1_score, log_loss, recall_score, roc_auc_score

    said = predicted.predictions
    present = sorted(set(truth.tolist()))
    mean = {"average": "macro", "labels": present, "zero_division": 0.0, "sample_weight": w}
    frequent = max(float(w[truth == one].sum()) for one in present) / float(w.sum())
    found = [
        ("accuracy", float(accuracy_score(truth, said, sample_weight=w))),
        ("accuracy of the most frequent class", frequent),
        ("balanced accuracy", float(recall_score(truth, said, **mean))),
        ("F1, mean over classes", float(f1_score(truth, said, **mean))),
    ]
    likely, classes = predicted.probabilities, predicted.classes
    if likely is None or not set(present) <= set(classes) or len(present) < len(classes):
        return tuple(found)
    codes = np.array([classes.index(one) for one in truth])
    two = len(classes) == 2
    scores, more = (likely[:, 1], {}) if two else (likely, {"multi_class": "ovr"})
    found.append(("ROC AUC", float(roc_auc_score(codes, scores, sample_weight=w, **more))))
    every = list(range(len(classes)))
    found.append(("log loss", float(log_loss(codes, likely, labels=every, sample_weight=w))))
    return tuple(found)


def evaluated(
    saved: SavedModel, frame: Frame, weights: Array | None = None
) -> tuple[Evaluation, list[str]]:
    """Return the measures of a model on a table, and notes on the columns of the table."""
    said = predict(saved, frame)
    form = object if saved.classes else np.float64
    given = np.array(said.predictions, dtype=form), said.values, said.probabilities
    found = evaluate(frame, Predicted(saved.task, tuple(saved.classes), *given), weights)
    return found, decision_lines((*frame.decisions, *said.notes))
