"""Experiments whose loss is one of scikit-learn's scorers: the choice, and the error on the test rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from oracles_tables import slope_by_search
from problems import learners
from sklearn.metrics import log_loss, mean_absolute_error, roc_auc_score
from synthetic import embedded, experiment

from kselect.core.experiment import Experiment
from kselect.core.job import Trial, fact_hashes
from kselect.core.method import LamGrid, Method
from kselect.core.record import Record, check_values
from kselect.datasets.dataset import DataSet, Source
from kselect.datasets.splits import draw_split
from kselect.kernels.gaussian import Gaussian
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array, Index
from kselect.numerics.scorers import find_scorer
from kselect.numerics.sigmoid import probabilities
from kselect.run.trial import run_trial

LAMS = (1e-3, 1e-1)
TAUS = (4.0, 16.0)
NOWHERE = Source(Path("none"), "test", "0" * 64)


def scored(loss: str, dataset: str = "heart", **changes: Any) -> Experiment:
    """Return an experiment with the error of a scorer, in which 4-CV chooses by it."""
    params = (("average", "folds"), ("loss", loss))
    method = Method("4-CV", "k-CV", 4, params, scorer=find_scorer(loss))
    facts: dict[str, Any] = {
        "paper": "",
        "learners": learners("krr"),
        "splits": (0,),
        "seed": 5,
        "kernels": tuple(Gaussian(tau) for tau in TAUS),
        "lam": LamGrid(LAMS, "select"),
        "methods": (method,),
        "datasets": (dataset,),
        "loss": loss,
    }
    return experiment(**{**facts, **changes})


def record_of(
    monkeypatch: pytest.MonkeyPatch, spec: Experiment, data: DataSet, position: int = 0
) -> Record:
    """Return the record of one method."""
    monkeypatch.setattr("kselect.run.trial.load", lambda name, source: data)
    found = run_trial(spec, Trial(data.name, 0, spec.methods, NOWHERE)).records[position]
    check_values(found)
    return found


@dataclass
class Parts:
    """The parts of a split, with scaled rows."""

    X: Array
    y: Array
    Z: Array
    truth: Array
    name: str

    @classmethod
    def of(cls, spec: Experiment, data: DataSet) -> Parts:
        """Draw the split of the experiment."""
        rng = stream(spec.seed, data.name, 0, "split")
        split = draw_split(data.y, spec.train, spec.stratify, rng)
        rows = data.X if spec.scale_on == "all" else data.X[split.train]
        spread = rows.std(axis=0)
        X = (data.X - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        train, test = split.train, split.test
        return cls(X[train], data.y[train], X[test], data.y[test], data.name)

    def folds(self, k: int) -> tuple[Index, ...]:
        """Return the folds of the training rows."""
        return draw_folds(len(self.y), k, stream(5, self.name, 0, f"{k} folds")).members

    def held_out(self, tau: float, lam: float, k: int) -> Array:
        """Return the held-out predictions by retraining."""
        K = oracles.gram(oracles.gaussian(tau), self.X, self.X)
        return oracles.held_out(K, self.y, self.folds(k), lam, False, False)

    def decision(self, tau: float, lam: float) -> Array:
        """Return the decision values on the test rows."""
        k = oracles.gaussian(tau)
        K, W = oracles.gram(k, self.X, self.X), oracles.gram(k, self.Z, self.X)
        return oracles.predict(W, *oracles.fit(K, self.y, len(self.y) * lam, False))


def chosen_point(record: Record) -> tuple[float, float]:
    """Return tau and lam of a record."""
    assert record.lam is not None
    return float(record.chosen.removeprefix("tau=")), record.lam


def test_choice_and_test_error_are_those_of_the_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are 1 minus the area under the curve; the score is the mean over folds."""
    data, spec = embedded("heart", 100), scored("roc_auc")
    record, parts = record_of(monkeypatch, spec, data), Parts.of(spec, data)
    scores = {}
    for tau in TAUS:
        for lam in LAMS:
            held = parts.held_out(tau, lam, 4)
            each = [roc_auc_score(parts.y[F], held[F]) for F in parts.folds(4)]
            scores[tau, lam] = 1 - np.mean(each)
    best = min(scores, key=scores.__getitem__)
    assert chosen_point(record) == best
    assert record.score == pytest.approx(scores[best], rel=1e-9)
    wanted = 1 - roc_auc_score(parts.truth, parts.decision(*best))
    assert record.error == pytest.approx(wanted, rel=1e-9)
    assert (record.metric, record.loss, record.status) == ("1 - roc_auc", "roc_auc", "ok")


def test_every_method_is_tested_by_the_loss_of_the_experiment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A criterion that chooses by squared errors has the same metric."""
    plain = Method("plain", "k-CV", 4, (("average", "points"), ("loss", "squared")))
    spec = replace(scored("roc_auc"), methods=(plain,))
    data = embedded("heart", 100)
    record, parts = record_of(monkeypatch, spec, data), Parts.of(spec, data)
    wanted = 1 - roc_auc_score(parts.truth, parts.decision(*chosen_point(record)))
    assert record.error == pytest.approx(wanted, rel=1e-9)
    assert record.metric == "1 - roc_auc"


def test_probabilities_are_calibrated_on_training_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slope comes from five folds of the training rows at the choice."""
    data, spec = embedded("heart", 100), scored("neg_log_loss")
    record, parts = record_of(monkeypatch, spec, data), Parts.of(spec, data)
    point = chosen_point(record)
    slope = slope_by_search(parts.held_out(*point, 5)[None], parts.y[None])
    likely = probabilities(slope, parts.decision(*point)[:, None])
    assert record.error == pytest.approx(log_loss(parts.truth > 0, likely), rel=1e-6)
    assert record.metric == "log_loss"


def test_errors_of_scaled_targets_are_in_the_unit_of_the_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mean absolute error is that of the data, not of the scaled targets."""
    data = embedded("mpg", 100)
    spec = scored("neg_mean_absolute_error", "mpg", scale_target="zscore")
    record, parts = record_of(monkeypatch, spec, data), Parts.of(spec, data)
    centre, spread = parts.y.mean(), parts.y.std(ddof=1)
    parts.y = (parts.y - centre) / spread
    found = centre + spread * parts.decision(*chosen_point(record))
    assert record.error == pytest.approx(mean_absolute_error(parts.truth, found), rel=1e-9)


def test_a_test_part_without_a_score_is_a_failed_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions of a logarithmic error must not be negative."""
    data = embedded("mpg", 60)
    spec = scored(
        "neg_mean_squared_log_error",
        "mpg",
        kernels=(Gaussian(0.01),),
        lam=LamGrid((1e-3,), "select"),
    )
    plain = Method("plain", "k-CV", 4, (("average", "points"), ("loss", "squared")))
    monkeypatch.setattr(
        "kselect.learners.Fit.decision", lambda fit, ridge, K: np.full(len(K), -1.0)
    )
    record = record_of(monkeypatch, replace(spec, methods=(plain,)), data)
    assert record.status == "failed"
    assert "neg_mean_squared_log_error cannot be computed" in record.reason


def test_the_metric_is_part_of_the_identity() -> None:
    """Cells of another test error are not reused; those of today keep their identity."""
    spec = scored("roc_auc")
    assert "metric" in fact_hashes(spec, "heart", "0")
    assert "metric" not in fact_hashes(replace(spec, loss="squared", methods=()), "heart", "0")
