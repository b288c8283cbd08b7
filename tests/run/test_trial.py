"""A trial's records equal a direct computation by the protocol, without use of test rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from problems import learners, scale_rows
from synthetic import embedded, experiment

from kselect.core.experiment import Experiment
from kselect.core.job import Job, Trial
from kselect.core.method import Choice, LamGrid, Method
from kselect.core.record import Record, significant
from kselect.datasets.dataset import DataSet, Source
from kselect.datasets.splits import Split, draw_split
from kselect.kernels import Kernel
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.run.trial import failed_job, run_trial
from kselect.run.workers import run_safely

CV = Method("4-CV", "k-CV", 4, (("average", "folds"), ("loss", "squared")))
ELOO = Method("ELOO", "ELOO", None, (("form", "press"), ("slope", 10.0)))
EP = Method("EP", "EP", None, (("eta", 1.0), ("loss", "squared")))
LAMS = (1e-3, 1e-2, 1e-1)
NOWHERE = Source(Path("none"), "test", "0" * 64)

BASE = experiment(
    paper="",
    learners=learners("lssvm"),
    splits=(0, 1),
    seed=5,
    kernels=tuple(Gaussian(2.0**p) for p in (-2, 0, 2, 4)),
    lam=LamGrid(LAMS, "fixed"),
    methods=(CV, ELOO),
    datasets=("heart",),
)
SELECT = replace(BASE, lam=LamGrid(LAMS, "select"))


@functools.cache
def heart() -> DataSet:
    """Return 120 rows of the embedded copy."""
    return embedded("heart", 120)


Serve = Callable[[DataSet], None]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Replace the data set that would be read."""

    def put(data: DataSet) -> None:
        monkeypatch.setattr("kselect.run.trial.load", lambda name, source: data)

    return put


def run(experiment: Experiment, split: int = 0, dataset: str = "heart") -> Job:
    """Run one trial of all methods."""
    return run_trial(experiment, Trial(dataset, split, experiment.methods, NOWHERE))


def train_rows(experiment: Experiment, data: DataSet, split: int = 0) -> tuple[Any, Any]:
    """Return the rows of the two parts."""
    rng = stream(experiment.seed, data.name, split, "split")
    found = draw_split(data.y, experiment.train, experiment.stratify, rng)
    return found.train, found.test


def from_scratch(experiment: Experiment, data: DataSet, record: Record, split: int = 0) -> Array:
    """Return decisions on the test rows from scaled rows, kernel entries and a linear solve."""
    train, test = train_rows(experiment, data, split)
    fitted_on = data.X if experiment.scale_on == "all" else data.X[train]
    centre, spread = fitted_on.mean(axis=0), fitted_on.std(axis=0)
    X = (data.X - centre) / np.where(spread > 0, spread, 1.0)
    k = oracles.gaussian(float(record.chosen.removeprefix("tau=")))
    K = oracles.gram(k, X[train], X[train])
    assert record.lam is not None
    gamma = len(train) * record.lam
    alpha, b = oracles.fit(
        K, data.y[train], gamma, dict(experiment.learners)[data.task].name == "lssvm"
    )
    return oracles.predict(oracles.gram(k, X[test], X[train]), alpha, b)


def test_scores_of_all_grid_points_are_kept(serve: Serve) -> None:
    """Every grid point has its score, and an infinite score has its reason."""
    serve(heart())
    params = {"identity": 0.1, "cap": float("inf"), "order": 3}
    bif = Method("BIF-4-CV", "BIF-k-CV", 4, tuple(sorted((dict(CV.params) | params).items())))
    kept = [replace(m, part="map", everywhere=True) for m in (CV, bif)]
    experiment = replace(SELECT, methods=(CV, *kept), kernels=(Gaussian(2.0**-9), *BASE.kernels))
    records = run(experiment).records
    (chosen,) = (r for r in records if r.part == "table")
    by_label = {
        m.label: [r for r in records if (r.part, r.method) == ("map", m.label)] for m in kept
    }
    exact = by_label["4-CV"]
    assert [r.setting for r in exact] == [
        f"{k.text};lam={lam:g}" for k in experiment.kernels for lam in LAMS
    ]
    assert min(r.score for r in exact if r.score) == chosen.score
    assert all((r.status, r.error) == ("ok", None) for r in exact)
    near = [r for r in by_label["BIF-4-CV"] if r.score is None]
    chosen_near = {r.chosen for r in near}
    assert experiment.kernels[0].text in chosen_near
    assert experiment.kernels[-1].text not in chosen_near
    assert {r.reason for r in near} == {"the kernel matrix is near the identity"}
    again = run(replace(experiment, methods=tuple(kept))).records
    assert [r.score for r in again if r.method == "4-CV"] == [r.score for r in exact]


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
@pytest.mark.parametrize("scale_on", ["all", "train"])
def test_error_is_that_of_a_model_trained_from_scratch(
    serve: Serve, learner: str, scale_on: Any
) -> None:
    """Zero-one errors are equal, since no decision is near 0 (cond < 1e4)."""
    data = heart()
    serve(data)
    experiment = replace(
        BASE, learners=learners(learner), scale_on=scale_on, kernels=BASE.kernels[1:3]
    )
    records = run(experiment).records
    _, test = train_rows(experiment, data)
    assert len(records) == len(experiment.methods) * len(LAMS)
    for record in records:
        decision = from_scratch(experiment, data, record)
        assert np.abs(decision).min() > 1e-6
        assert record.error == significant(
            oracles.losses("zero-one", data.y[test], decision).mean()
        )
        assert (record.status, record.metric, record.reason) == ("ok", "zero-one", "")
        assert (record.n_train, record.n_test) == (84, 36)
        assert record.kernel == "gaussian"


def test_choice_and_score_are_those_of_retraining(serve: Serve) -> None:
    """Each fixed lam has the tau with the lowest retrained score; select has the lowest of all."""
    data = heart()
    serve(data)
    fixed = replace(BASE, kernels=BASE.kernels[1:])
    train, _ = train_rows(BASE, data)
    X, y = scale_rows(data.X, "zscore", data.X)[train], data.y[train]
    members = draw_folds(len(y), 4, stream(5, "heart", 0, "4 folds")).members
    scores = np.empty((2, 3, 3))
    for at, kernel in enumerate(fixed.kernels):
        assert isinstance(kernel, Gaussian)
        K = oracles.gram(oracles.gaussian(kernel.tau), X, X)
        for ridge, lam in enumerate(LAMS):
            held = oracles.held_out(K, y, members, lam, True, False)
            scores[0, at, ridge] = oracles.mean_of_folds((y - held) ** 2, members)
            scores[1, at, ridge] = np.mean((y - oracles.leave_one_out(K, y, lam, True)) ** 2)
    for method, values in zip((CV, ELOO), scores, strict=True):
        rows = [r for r in run(fixed).records if r.method == method.label]
        assert [r.lam for r in rows] == list(LAMS)
        assert [r.setting for r in rows] == ["lam=0.001", "lam=0.01", "lam=0.1"]
        for ridge, record in enumerate(rows):
            best = int(np.argmin(values[:, ridge]))
            assert record.chosen == fixed.kernels[best].text
            assert record.score == pytest.approx(values[best, ridge], rel=1e-9)
        (chosen,) = [
            r for r in run(replace(fixed, lam=SELECT.lam)).records if r.method == method.label
        ]
        kernel, ridge = np.unravel_index(np.argmin(values), values.shape)
        assert (chosen.setting, chosen.lam) == ("selected", LAMS[ridge])
        assert chosen.chosen == fixed.kernels[kernel].text
        assert chosen.score == pytest.approx(values.min(), rel=1e-9)


def choices(job: Job) -> list[tuple[Any, ...]]:
    """Return everything in the records except the test error."""
    return [(r.key, r.chosen, r.lam, r.score) for r in job.records]


@pytest.mark.parametrize("experiment", [BASE, SELECT], ids=["fixed", "select"])
def test_test_labels_do_not_change_the_choice(serve: Serve, experiment: Experiment) -> None:
    """Flipped test labels give the same choices and scores, and the complement of every error."""
    data = heart()
    _, test = train_rows(experiment, data)
    flipped = data.y.copy()
    flipped[test] *= -1
    serve(data)
    before = run(experiment)
    serve(replace(data, y=flipped))
    after = run(experiment)
    assert choices(after) == choices(before)
    for a, b in zip(after.records, before.records, strict=True):
        assert a.error is not None
        assert b.error is not None
        assert a.error == pytest.approx(1 - b.error, abs=1e-12)


def test_test_features_change_the_choice_only_by_scaling(serve: Serve) -> None:
    """With scale-on: train, test rows do not change the search; with scale-on: all they do."""
    data = heart()
    _, test = train_rows(BASE, data)
    X = data.X.copy()
    X[test] = X[test] * 3.0 + 1.0
    same = []
    for scale_on in ("train", "all"):
        experiment = replace(BASE, scale_on=scale_on)  # type: ignore[arg-type]
        serve(data)
        before = choices(run(experiment))
        serve(replace(data, X=X))
        same.append(choices(run(experiment)) == before)
    assert same == [True, False]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 6},
        {"learners": learners("krr")},
        {"scale": "minmax"},
        {"scale": "none"},
        {"train": 0.5},
        {"stratify": True},
        {"ridge": "per-fold"},
        {"lam": LamGrid((2e-3, 2e-2, 2e-1), "fixed")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_no_key_of_the_experiment_is_ignored(serve: Serve, change: dict[str, Any]) -> None:
    """Changing any key of the experiment changes the records."""
    serve(heart())
    before = [(r.score, r.error) for r in run(BASE).records]
    assert [(r.score, r.error) for r in run(replace(BASE, **change)).records] != before


def test_trials_are_repeatable_and_splits_differ(serve: Serve) -> None:
    """The same trial gives the same records and checksum, another split others."""
    serve(heart())
    one, two, other = run(BASE), run(BASE), run(BASE, split=1)
    assert one.records == two.records
    assert one.split_sha256 == two.split_sha256 != other.split_sha256
    assert [r.error for r in one.records] != [r.error for r in other.records]


def test_methods_do_not_influence_each_other(serve: Serve) -> None:
    """The records of a method do not depend on the other methods or their order."""
    serve(heart())
    together = {r.key: r for r in run(replace(BASE, methods=(ELOO, EP, CV))).records}
    for method in (CV, ELOO, EP):
        for record in run(replace(BASE, methods=(method,))).records:
            assert record == together[record.key]


def test_split_checksum(serve: Serve) -> None:
    """The checksum is that of the row numbers of both parts."""
    serve(heart())
    first, again, other = (run(BASE, split).split_sha256 for split in (0, 0, 1))
    assert first == again != other


def test_one_class_in_training_is_a_failed_record(serve: Serve) -> None:
    """Every cell has a record with the reason and without a number."""
    data = heart()
    train, _ = train_rows(BASE, data)
    y = np.ones_like(data.y)
    y[train] = -1.0
    serve(replace(data, y=y))
    job = run(BASE)
    assert [r.key for r in job.records] == [r.key for r in failed_job_of(BASE).records]
    assert len(job.records) == 6
    for record in job.records:
        assert record.status == "failed"
        assert record.reason.startswith("the training part holds one class only (-1, 84 rows)")
        assert (record.error, record.score, record.lam) == (None, None, None)
        assert (record.kernel, record.chosen) == ("", "")


def failed_job_of(experiment: Experiment) -> Job:
    """Return the job of a trial whose worker died."""
    return failed_job(experiment, Trial("heart", 0, experiment.methods, NOWHERE), "died", "Trace")


def test_failed_job_fills_the_cells_of_a_good_one(serve: Serve) -> None:
    """A failed job has the same record keys in the same order, so that nothing is run by mistake."""
    serve(heart())
    for spec in (BASE, SELECT):
        failed = failed_job_of(spec)
        assert [r.key for r in failed.records] == [r.key for r in run(spec).records]
        assert {r.reason for r in failed.records} == {"died"}
        assert failed.traceback == "Trace"


def test_too_little_memory_fails_a_job_with_advice(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no defect, so that the job has no traceback."""

    def fails(*_: object) -> None:
        raise MemoryError("Unable to allocate 9 GiB")

    serve(heart())
    monkeypatch.setattr("kselect.run.workers.run_trial", fails)
    job = run_safely(BASE, Trial("heart", 0, BASE.methods, NOWHERE))
    assert {(r.status, r.reason) for r in job.records} == {
        (
            "failed",
            "not enough memory (Unable to allocate 9 GiB): run fewer workers (-j), "
            "and repeat with --retry-failed",
        )
    }
    assert job.traceback == ""


def test_kernels_that_a_criterion_does_not_support_are_excluded(serve: Serve) -> None:
    """EP chooses among Gaussians, and its records name the other kernels."""
    serve(heart())
    both, one = (Gaussian(4.0), Polynomial(2)), (Gaussian(4.0),)
    records = run(replace(BASE, kernels=both, methods=(CV, EP))).records
    alone = {r.key: r for r in run(replace(BASE, kernels=one, methods=(EP,))).records}
    for record in records:
        assert record.status == "ok"
        if record.method == "EP":
            assert (record.excluded, alone[record.key].excluded) == (1, 0)
            assert record.exclusions.startswith("1: EP knows the integral operator")
            assert f"(degree=2;lam={record.lam:g})" in record.exclusions
            assert record.score == alone[record.key].score


def test_the_failure_of_a_method_does_not_affect_others(serve: Serve) -> None:
    """EP without a Gaussian fails with a reason; the other methods have numbers."""
    serve(heart())
    for record in run(replace(BASE, kernels=(Polynomial(2),), methods=(CV, EP))).records:
        if record.method == "EP":
            assert record.status == "failed"
            assert record.reason.startswith("no kernel and ridge has a finite score; at degree=2;")
            assert "EP knows the integral operator" in record.reason
        else:
            assert record.status == "ok"


def test_degrees_1_2_300_as_in_select(serve: Serve) -> None:
    """A kernel that overflows is excluded and counted; the method chooses from the others."""
    serve(heart())
    kernels = (Polynomial(1), Polynomial(2), Polynomial(300))
    for record in run(replace(SELECT, scale="none", kernels=kernels)).records:
        assert record.status == "ok"
        assert record.chosen in ("degree=1", "degree=2")
        assert record.excluded == 3
        assert "overflow" in record.exclusions


def test_regression_is_measured_by_mean_squares(serve: Serve) -> None:
    """The error is a mean square; decisions are known to cond eps, about 1e-11."""
    data = embedded("housing", 100)
    serve(data)
    experiment = replace(BASE, kernels=BASE.kernels[2:], datasets=("housing",))
    records = run(experiment, dataset="housing").records
    _, test = train_rows(experiment, data)
    assert data.task == "regression"
    for record in records:
        decision = from_scratch(experiment, data, record)
        assert record.metric == "mse"
        assert record.error == pytest.approx(np.mean((data.y[test] - decision) ** 2), rel=1e-9)


def test_sweep_fills_its_own_lam_only(serve: Serve) -> None:
    """A figure's method has one record, at the figure's lam, with the score of that grid point."""
    serve(heart())
    swept = replace(CV, part="figure", lam=1e-2)
    records = run(replace(BASE, methods=(CV, swept))).records
    assert [r.setting for r in records if r.part == "table"] == ["lam=0.001", "lam=0.01", "lam=0.1"]
    (alone,) = [r for r in records if r.part == "figure"]
    assert (alone.setting, alone.lam) == ("lam=0.01", 1e-2)
    (beside,) = [r for r in records if r.part == "table" and r.setting == "lam=0.01"]
    assert (alone.chosen, alone.score, alone.error) == (beside.chosen, beside.score, beside.error)


@pytest.mark.parametrize(
    ("dataset", "value", "kernel"),
    [("heart", 1e300, Polynomial(3)), ("housing", 1e200, Linear())],
    ids=["kernel", "squared error"],
)
def test_overflow_on_a_test_row_is_a_failed_record(
    serve: Serve, dataset: str, value: float, kernel: Kernel
) -> None:
    """If a huge test row overflows, the record has a reason, and there is no infinity or warning."""
    data = embedded(dataset, 100)
    _, test = train_rows(BASE, data)
    X = data.X.copy()
    X[test[0]] = value
    serve(replace(data, X=X))
    experiment = replace(BASE, scale_on="train", kernels=(kernel,))
    records = run(experiment, dataset=dataset).records
    assert len(records) == 6
    for record in records:
        assert record.status == "failed"
        assert "FloatingPointError: overflow" in record.reason
        assert record.reason.startswith("at " + ";".join(filter(None, (kernel.text, "lam="))))
        assert (record.error, record.lam, record.chosen) == (None, None, "")


PROBES = (
    Method("4-CV", "bif-discrepancy", 4, (("order", 1),), "figure", None, "4-CV"),
    Method("4-CV", "bif-discrepancy", 4, (("order", 30),), "figure", None, "4-CV"),
    Method("4-CV", "bif-rate", 4, (), "figure", None, "4-CV"),
)


def test_an_error_too_large_to_be_squared_is_a_failed_record(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report squares errors for deviations and t-tests."""
    serve(heart())
    monkeypatch.setattr("kselect.run.trial.LARGEST_ERROR", 0.0)
    for record in run(BASE).records:
        assert (record.status, record.error) == ("failed", None)
        assert "is too large to be squared" in record.reason


@pytest.mark.parametrize("experiment", [BASE, SELECT], ids=["fixed", "select"])
def test_probes_are_evaluated_at_the_choice_of_their_column(
    serve: Serve, experiment: Experiment
) -> None:
    """A high order of the series is closer than the first."""
    serve(heart())
    probing = replace(experiment, ridge="per-fold", methods=(CV, *PROBES))
    records = run(probing).records
    columns = {r.setting: r for r in records if r.part == "table"}
    for setting, column in columns.items():
        seen = [r for r in records if r.part == "figure" and r.setting == setting]
        assert [(r.chosen, r.lam, r.error) for r in seen] == [(column.chosen, column.lam, None)] * 3
        first, thirtieth, rate = [r.score for r in seen]
        assert first is not None
        assert thirtieth is not None
        assert rate is not None
        assert 0 < rate < 1
        assert thirtieth < 1e-3 * first
    alone = run_trial(probing, Trial("heart", 0, PROBES, NOWHERE)).records
    assert [r.key for r in alone] == [r.key for r in records if r.part == "figure"]
    assert {r.key: r.score for r in alone} == {r.key: r.score for r in records if r.part != "table"}


def test_a_probe_of_a_failed_column_fails_with_its_reason(serve: Serve) -> None:
    """A column without a best point makes its probes fail."""
    serve(heart())
    bad = replace(BASE, kernels=(Polynomial(5000),), methods=(CV, *PROBES))
    for record in run(bad).records:
        assert record.status == "failed"
        assert "overflow" in record.reason


def test_ridges_in_units_of_n_lam(serve: Serve) -> None:
    """n lam gives the fits of lam / n, and the setting keeps the config's text."""
    serve(heart())
    ridges = LamGrid((0.1, 1.0), "fixed", "n lam")
    found = run(replace(BASE, lam=ridges)).records
    same = run(replace(BASE, lam=LamGrid((0.1 / 84, 1.0 / 84), "fixed"))).records
    assert [r.setting for r in found] == ["n lam=0.1", "n lam=1"] * 2
    assert [(r.lam, r.score, r.error) for r in found] == [(r.lam, r.score, r.error) for r in same]


def test_splits_that_come_with_the_data(serve: Serve) -> None:
    """train: given reads the index matrices; a split beyond them is a failed record."""
    data = heart()
    own = tuple(Split(np.arange(i, 60 + i), np.arange(60 + i, 120)) for i in range(2))
    serve(replace(data, splits=own))
    given = replace(BASE, train=None)
    for split in range(2):
        for record in run(given, split).records:
            assert (record.n_train, record.n_test) == (60, 60 - split)
    assert {r.reason for r in run(given, 2).records} == {
        "heart comes with 2 splits; there is none 2"
    }


def test_another_learner_may_score(serve: Serve) -> None:
    """KRR's leave-one-out makes the choice, and the LSSVM is trained there."""
    serve(heart())
    scored = replace(ELOO, scored_by=(("classification", Choice("krr")),))
    records = run(replace(SELECT, methods=(scored,))).records
    krr = run(replace(SELECT, learners=learners("krr"), methods=(ELOO,))).records
    plain = run(replace(SELECT, methods=(ELOO,))).records
    assert [(r.chosen, r.lam, r.score) for r in records] == [
        (r.chosen, r.lam, r.score) for r in krr
    ]
    assert records[0].score != plain[0].score
    (record,) = records
    _, test = train_rows(BASE, heart())
    decision = from_scratch(SELECT, heart(), record)
    assert record.error == significant(oracles.losses("zero-one", heart().y[test], decision).mean())


def test_best_on_test_is_the_lowest_error_of_the_grid(serve: Serve) -> None:
    """The probe has the lowest test error of all grid points, per ridge and with a selected ridge."""
    data = heart()
    serve(data)
    look = Method("best on test", "test-error", None, (), part="best", on_test=True)
    for spec in (replace(BASE, methods=(CV, look)), replace(SELECT, methods=(CV, look))):
        records = run(spec).records
        found = {r.setting: r for r in records if r.part == "best"}
        assert set(found) == {s.text for s in spec.settings_of(look)}
        one = next(r for r in records if r.part == "table")
        _, test = train_rows(spec, data)
        errors = {}
        for kernel in spec.kernels:
            for lam in LAMS:
                at = replace(one, chosen=kernel.text, lam=lam)
                wrong = from_scratch(spec, data, at) * data.y[test] <= 0
                errors[kernel.text, lam] = significant(float(wrong.mean()))
        for text, r in found.items():
            assert r.lam is not None
            assert r.error == errors[r.chosen, r.lam]
            mine = [e for (_, lam), e in errors.items() if text in ("selected", f"lam={lam:g}")]
            assert r.error == min(mine)


def test_errors_with_scaled_targets_are_in_the_unit_of_the_data(serve: Serve) -> None:
    """The targets are z-scored on the training rows; the test error is that of the data."""
    data = embedded("mpg", 100)
    serve(data)
    spec = replace(SELECT, learners=learners("krr"), methods=(CV,), datasets=("mpg",))
    scaled = replace(spec, scale_target="zscore")
    train, test = train_rows(spec, data)
    (record,) = run(scaled, dataset="mpg").records
    centre, spread = data.y[train].mean(), data.y[train].std(ddof=1)
    twin = replace(data, y=(data.y - centre) / spread)
    found = centre + spread * from_scratch(spec, twin, record)
    assert record.error == pytest.approx(float(np.mean((found - data.y[test]) ** 2)), rel=1e-9)
    (plain,) = run(spec, dataset="mpg").records
    assert plain.score is not None
    assert record.score is not None
    assert record.score * spread**2 != pytest.approx(plain.score)
    serve(replace(data, y=np.ones_like(data.y)))
    (failed,) = run(scaled, dataset="mpg").records
    assert "all targets of the training part are 1" in failed.reason


def test_a_criterion_at_a_fixed_kernel_has_its_test_error(serve: Serve) -> None:
    """Probes have none."""
    data = heart()
    serve(data)
    fixed = replace(CV, part="theory", fixed=Gaussian(4.0), lam=LAMS[1])
    beta = replace(fixed, label="beta", criterion="beta", folds=None, params=(("share", 1.0),))
    probe, score = run(replace(BASE, methods=(fixed, beta))).records
    _, test = train_rows(BASE, data)
    wrong = from_scratch(BASE, data, score) * data.y[test] <= 0
    assert score.error == significant(float(wrong.mean()))
    assert (probe.method, probe.error) == ("beta", None)
