"""The measures of predictions on rows with known targets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics

from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.raw_table import Frame
from kselect.errors import DataError
from kselect.selection.evaluation import Predicted, evaluate

CLASSES = ("2", "10", "x")
SAID = np.array(["2", "10", "x", "2", "10", "x", "2", "2"], dtype=object)
TRUTH = ["2", "10", "x", "10", "10", "2", "2", "x"]


def frame_of(tmp_path: Path, targets: list[str]) -> Frame:
    """Return a table with these targets."""
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "".join(f"{i},{one}\n" for i, one in enumerate(targets, 1)))
    return read_frame(path, None)


def likely_of(count: int) -> np.ndarray:
    """Return random probabilities."""
    found = np.random.default_rng(0).uniform(0.1, 1.0, (len(SAID), count))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_of_classes_are_those_of_scikit_learn(tmp_path: Path, weighted: bool) -> None:
    weights = np.array([1.0, 2, 3, 1, 0, 2, 1, 5]) if weighted else None
    counted = np.ones(8) if weights is None else weights
    likely = likely_of(3)
    predicted = Predicted("classification", CLASSES, SAID, likely, likely)
    frame = frame_of(tmp_path, TRUTH)
    found = evaluate(frame, predicted, weights)
    assert found.rows == 8 - (weights is not None)
    own = {"sample_weight": counted}
    truth, codes = np.array(TRUTH, dtype=object), [CLASSES.index(one) for one in TRUTH]
    frequent = max(counted[truth == one].sum() for one in CLASSES) / counted.sum()
    wanted = {
        "accuracy": metrics.accuracy_score(truth, SAID, **own),
        "accuracy of the most frequent class": frequent,
        "balanced accuracy": metrics.balanced_accuracy_score(truth, SAID, **own),
        "F1, mean over classes": metrics.f1_score(truth, SAID, average="macro", **own),
        "ROC AUC": metrics.roc_auc_score(codes, likely, multi_class="ovr", **own),
        "log loss": metrics.log_loss(codes, likely, **own),
    }
    assert dict(found.measures) == pytest.approx(wanted)


def test_two_classes_have_one_area(tmp_path: Path) -> None:
    truth = ["a", "b", "b", "a", "b", "a", "a", "b"]
    likely = likely_of(2)
    said = np.array(truth[::-1], dtype=object)
    predicted = Predicted("classification", ("a", "b"), said, likely[:, :1], likely)
    found = dict(evaluate(frame_of(tmp_path, truth), predicted).measures)
    wanted = metrics.roc_auc_score([one == "b" for one in truth], likely[:, 1])
    assert found["ROC AUC"] == pytest.approx(wanted)


def test_an_unknown_class_counts_as_wrong(tmp_path: Path) -> None:
    predicted = Predicted("classification", CLASSES[:2], SAID, np.zeros((8, 1)), likely_of(2))
    found = evaluate(frame_of(tmp_path, TRUTH), predicted)
    assert found.unknown == 2
    assert dict(found.measures)["accuracy"] == pytest.approx(np.mean(np.array(TRUTH) == SAID))
    assert "log loss" not in dict(found.measures)
    assert "2 of them have a class that the model does not know: counted as wrong" in found.lines


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_of_numbers(tmp_path: Path, weighted: bool) -> None:
    y = np.array([1.5, 2.5, -3.0, 4.25, 0.5, 9.0])
    f = y + np.array([0.1, -0.2, 0.3, 0.0, -1.0, 0.4])
    weights = np.array([1.0, 2, 3, 1, 0.5, 2]) if weighted else None
    predicted = Predicted("regression", (), f, f[:, None])
    found = dict(evaluate(frame_of(tmp_path, [f"{v}" for v in y]), predicted, weights).measures)
    own = {"sample_weight": weights}
    assert found == pytest.approx(
        {
            "R2": metrics.r2_score(y, f, **own),
            "root mean square error": metrics.root_mean_squared_error(y, f, **own),
            "mean absolute error": metrics.mean_absolute_error(y, f, **own),
            "largest absolute error": 1.0,
        }
    )


def test_rows_without_a_target_are_not_counted_and_a_table_without_any_is_refused(
    tmp_path: Path,
) -> None:
    frame = frame_of(tmp_path, ["1", "2", "4"])
    blank = np.array([np.nan, 2.0, 4.0])
    values = np.array([9.0, 2.0, 5.0])
    predicted = Predicted("regression", (), values, values[:, None])
    found = evaluate(replace(frame, targets=(blank,)), predicted)
    assert (found.rows, dict(found.measures)["largest absolute error"]) == (2, 1.0)
    with pytest.raises(DataError, match=r"rows\.csv: no row has a target to compare"):
        evaluate(replace(frame, targets=()), predicted)
    with pytest.raises(DataError, match=r"rows\.csv:2: the target 'a' is not a number"):
        evaluate(replace(frame, targets=(["a", "b", "c"],)), predicted)
