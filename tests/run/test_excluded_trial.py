"""Kernels without a fit are excluded by name and counted; a method fails if none is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic import experiment

from kselect.core.job import Trial
from kselect.core.method import Choice, LamGrid, Method
from kselect.core.record import Record, count_exclusions
from kselect.datasets.dataset import DataSet, Source
from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Polynomial
from kselect.learners.svm import ladder, smo_fallback
from kselect.learners.svm.quadratic import BoxQP
from kselect.learners.svm.stride import Space
from kselect.numerics.linalg import Array
from kselect.run import trial as trial_module
from kselect.run.trial import run_trial

METHODS = (
    Method("3-CV", "k-CV", 3, (("average", "folds"), ("loss", "hinge"))),
    Method("RKS", "RKS", None, (("eta", 1.0), ("loss", "hinge"))),
    Method("SPS", "SPS", None, (("delta", 1.0), ("loss", "hinge"))),
)
LEARNERS = (("classification", Choice("svm", (("bias", True),))), ("regression", Choice("krr")))
EXPERIMENT = experiment(
    paper="",
    learners=LEARNERS,
    scale="none",
    scale_on="train",
    stratify=True,
    splits=(0,),
    seed=5,
    kernels=(Gaussian(1.0), Polynomial(1), Polynomial(10)),
    lam=LamGrid((1.0,), "fixed"),
    loss="hinge",
    methods=METHODS,
    datasets=("heart", "mpg"),
)
Run = Callable[[str, Array, Array, tuple[Kernel, ...], LamGrid], tuple[Record, ...]]
SMALL = LamGrid((0.1, 10.0), "fixed", "n lam")
LARGE = LamGrid((1e-4, 1e-3), "fixed", "n lam")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a trial on given rows, named as a data set of that task."""

    def once(
        name: str, X: Array, y: Array, kernels: tuple[Kernel, ...], lam: LamGrid
    ) -> tuple[Record, ...]:
        spec = replace(EXPERIMENT, kernels=kernels, lam=lam, stratify=name == "heart")
        data = DataSet(name, spec.info(name).task, X, y, "0" * 64)
        monkeypatch.setattr(trial_module, "load", lambda info, source: data)
        source = Source(Path("none"), "test", "0" * 64)
        return run_trial(spec, Trial(name, 0, spec.methods_on(name), source)).records

    return once


def unlike() -> tuple[Array, Array]:
    """Return equal rows with different labels, which are large under a polynomial."""
    rng = np.random.default_rng(0)
    return np.repeat(20 * rng.normal(size=(15, 3)), 4, axis=0), np.tile([1.0, -1.0, 1.0, -1.0], 15)


def noise() -> tuple[Array, Array]:
    """Return random labels."""
    rng = np.random.default_rng(1)
    return rng.uniform(-1, 1, size=(60, 3)), rng.choice([-1.0, 1.0], size=60)


def stopped(q: BoxQP, space: Space, Cs: Array, at: int, *places: Array) -> int:
    """Replace the compiled path by one that finds nothing, so that the fallback solves each C."""
    return at


def test_margins_lost_in_rounding_are_counted_by_name(run: Run) -> None:
    """Every criterion that trains excludes such kernels at each ridge and chooses another."""
    for record in run("heart", *unlike(), EXPERIMENT.kernels, SMALL):
        assert record.status == "ok"
        assert (record.kernel, record.chosen) != ("polynomial", "degree=10")
        assert record.excluded == 1
        ((why, count),) = count_exclusions(record.exclusions).items()
        assert "margins are lost in the rounding of K beta" in why
        assert count == 1


def test_an_iteration_limit_everywhere_is_a_failure(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure names the kernel and C."""
    monkeypatch.setattr(ladder, "stride", stopped)
    monkeypatch.setattr(smo_fallback, "search_down", lambda *_: np.nan)
    records = run("heart", *noise(), (Gaussian(1.0),), LARGE)
    assert {r.status for r in records} == {"failed"}
    assert all("iteration limit: gaussian tau=1 C=" in r.reason for r in records)


def test_an_iteration_limit_excludes_its_kernel(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is excluded by name, and another is chosen."""
    solve_by_smo = ladder.solve_by_smo

    def limited(
        q: BoxQP, space: Space, C: float, start: Array, name: str
    ) -> tuple[Array, float, Array]:
        if "tau=1" in name:
            raise TrialError(f"the SVM's solver reached its iteration limit: {name}")
        return solve_by_smo(q, space, C, start, name)

    monkeypatch.setattr(ladder, "stride", stopped)
    monkeypatch.setattr(ladder, "solve_by_smo", limited)
    for record in run("heart", *noise(), (Gaussian(1.0), Gaussian(4.0)), SMALL):
        assert (record.status, record.chosen, record.excluded) == ("ok", "tau=4", 1)
        ((why, count),) = count_exclusions(record.exclusions).items()
        assert "iteration limit: gaussian tau=1" in why
        assert count == 1


def test_a_polynomial_without_a_factor_is_counted_by_name(run: Run) -> None:
    """In a regression, entries of 1e308 and more exclude the kernel."""
    rng = np.random.default_rng(2)
    X, y = 1e16 * rng.normal(size=(40, 2)), rng.normal(size=40)
    for record in run("mpg", X, y, EXPERIMENT.kernels, SMALL):
        assert record.status == "ok"
        assert record.chosen != "degree=10"
        assert record.excluded >= 1
        assert "degree=10" in record.exclusions
