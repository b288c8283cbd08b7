"""Synthetic records that resemble the experiments, without running them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import kselect
from kselect.config.load import load_config
from kselect.core.claim import Paper
from kselect.core.experiment import Experiment
from kselect.core.method import Choice, LamGrid, Method
from kselect.core.record import METRICS, Record
from kselect.datasets.dataset import DataSet, Source, read_dataset
from kselect.datasets.registry import find_dataset
from kselect.kernels.gaussian import Gaussian
from kselect.packaged import packaged
from kselect.report.figures.sweep import Sweep
from kselect.report.sections import FIGURES
from kselect.stats.sources import Manifest
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(kselect.__file__).resolve().parents[1]
ERRORS = {
    "australian": 0.145,
    "heart": 0.175,
    "ionosphere": 0.046,
    "breast-cancer": 0.035,
    "diabetes": 0.232,
    "german.numer": 0.245,
    "liver-disorders": 0.31,
    "sonar": 0.12,
    "a2a": 0.182,
}
SQUARED = {"bodyfat": 4.5e-5, "mg": 0.015, "triazines": 0.023, "mpg": 8.7, "eunite2001": 593.1}
TAUS = tuple(Gaussian(2.0**e) for e in range(-10, 11))
LAMS = (0.0001, 0.001, 0.01, 0.1)
LSSVM = (("classification", Choice("lssvm")), ("regression", Choice("lssvm")))


@cache
def known_paper(name: str) -> Paper | None:
    """Return a paper as its own config reads it."""
    path = ROOT / "configs" / f"{name}.yaml"
    return load_config(path, FIGURES).source if path.is_file() else None


def method(label: str, criterion: str, folds: int | None, **params: Any) -> Method:
    """Return a method of the table."""
    return Method(label, criterion, folds, tuple(sorted(params.items())))


def experiment(**changes: Any) -> Experiment:
    """Return a small experiment in the form of ecml2014: two methods, one ridge."""
    facts: dict[str, Any] = {
        "name": "ecml2014",
        "paper": "ecml2014",
        "title": "Kernel selection by kernel stability",
        "learners": LSSVM,
        "scale": "zscore",
        "scale_on": "all",
        "train": 0.7,
        "stratify": False,
        "splits": tuple(range(10)),
        "seed": 1,
        "kernels": TAUS,
        "lam": LamGrid((0.001,), "fixed"),
        "ridge": "fixed",
        "loss": "squared",
        "methods": (
            method("5-CV", "k-CV", 5, loss="squared"),
            method("5-KS", "k-KS", 5, eta=1.0, loss="squared"),
        ),
        "datasets": ("heart", "sonar"),
    }
    facts |= changes
    source = facts.setdefault("source", known_paper(facts["paper"]))
    facts.setdefault("claims", source.claims if source else ())
    return Experiment(**facts)


def record(dataset: str, split: int, label: str, error: float | None, **changes: Any) -> Record:
    """Return one record; an error of None is a failure."""
    fields: dict[str, Any] = {
        "dataset": dataset,
        "split": split,
        "part": "table",
        "method": label,
        "criterion": "k-CV",
        "params": "",
        "loss": "squared",
        "setting": "lam=0.001",
        "kernel": "gaussian",
        "chosen": "tau=4",
        "lam": 0.001,
        "score": 0.1,
        "error": error,
        "excluded": 0,
        "metric": "zero-one",
        "n_train": 70,
        "n_test": 30,
        "status": "ok",
        "reason": "",
    }
    if error is None:
        fields |= {"status": "failed", "reason": "singular", "kernel": "", "chosen": ""}
        fields |= {"lam": None, "score": None}
    return Record(**(fields | changes))


def sample_records(
    errors: dict[tuple[str, str], Sequence[float | None]], **changes: Any
) -> list[Record]:
    """Return records from (data set, label) -> errors by split."""
    return [
        record(dataset, split, label, error, **changes)
        for (dataset, label), values in errors.items()
        for split, error in enumerate(values)
    ]


def study(spec: Experiment, records: Sequence[Record], **more: Any) -> Study:
    """Return the study of some records; ``missing`` is the manifest's note on data sets without records."""
    if "missing" in more:
        more["facts"] = Manifest(missing=more.pop("missing"))
    return Study(spec, records, **more)


def embedded(name: str, n: int) -> DataSet:
    """Return the first rows of an embedded data set."""
    info = find_dataset(name)
    assert info.embedded
    assert info.embedded_sha256
    source = Source(packaged("embedded") / info.embedded, "embedded", info.embedded_sha256)
    data = read_dataset(info, source)
    return replace(data, X=data.X[:n], y=data.y[:n])


def full_experiment(**changes: Any) -> Experiment:
    """Return the whole of ecml2014: nine data sets, seven methods, two losses, four ridges, a sweep."""
    methods = []
    for loss in ("squared", "zero-one"):
        for k in (5, 10):
            methods.append(method(f"{k}-CV", "k-CV", k, average="folds", loss=loss))
            methods.append(method(f"{k}-KS", "k-KS", k, average="folds", eta=1.0, loss=loss))
    methods += [method(name, name, None) for name in ("ELOO", "BR", "EP")]
    values = tuple(2.0**e for e in range(-10, 11))
    for k in (5, 10):
        for eta in values:
            params = (("average", "folds"), ("eta", eta), ("loss", "squared"))
            methods.append(Method(f"{k}-KS", "k-KS", k, params, "eta-sweep", 0.001))
    return experiment(
        **{
            "methods": tuple(methods),
            "datasets": tuple(ERRORS),
            "lam": LamGrid(LAMS, "fixed"),
            "figures": (Sweep("eta-sweep", ("5-KS", "10-KS"), "eta", values, 0.001),),
            **changes,
        }
    )


def full_records(spec: Experiment, absent: Sequence[str] = ("sonar",)) -> list[Record]:
    """Return random errors for every cell: one data set absent, BR failing on three splits of a2a."""
    rng = np.random.default_rng(7)
    levels = ERRORS | SQUARED
    found = []
    for dataset in (d for d in spec.datasets if d not in absent):
        metric = METRICS[spec.info(dataset).task]
        for split in spec.splits_on(dataset):
            base = levels[dataset] * (1 + 0.12 * rng.standard_normal())
            for m in spec.methods_on(dataset):
                for setting in spec.settings_of(m):
                    worse = 1.1 if m.label == "EP" else 1
                    error = base * (1 + 0.02 * rng.standard_normal()) * worse
                    lost = m.label == "BR" and dataset == "a2a" and split < 3
                    change = {"part": m.part, "criterion": m.criterion, "params": m.text}
                    change |= {"loss": m.loss, "setting": setting.text, "metric": metric}
                    value = None if lost else float(error)
                    found.append(record(dataset, split, m.label, value, **change))
    return found


def regression_experiment(**changes: Any) -> Experiment:
    """Return icml2014: classification and regression in one table, eight methods, the ridge selected."""
    methods = [method("EP", "EP", None), method("ELOO", "ELOO", None)]
    for k in (5, 10, 20):
        methods.append(method(f"{k}-CV", "k-CV", k, loss="squared"))
        methods.append(method(f"BIF-{k}-CV", "BIF-k-CV", k, loss="squared"))
    return experiment(
        **{
            "name": "icml2014",
            "paper": "icml2014",
            "methods": tuple(methods),
            "title": "Efficient approximation of cross-validation",
            "scale": "minmax",
            "datasets": (*list(ERRORS)[:4], *SQUARED),
            "lam": LamGrid(LAMS, "select"),
            **changes,
        }
    )


def texts(canvas: Figure) -> list[str]:
    """Return every text in the panels."""
    return [t.get_text() for ax in canvas.axes for t in (ax.title, *ax.texts)]
