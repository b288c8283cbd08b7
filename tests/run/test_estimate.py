"""What a dry run says a plan will take, by a clock that made-up trials move."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import experiment, method

from kselect.datasets.dataset import Source
from kselect.errors import DataError
from kselect.kernels.gaussian import Gaussian
from kselect.model.experiment import Experiment
from kselect.model.method import Choice, Method
from kselect.model.trial import Outcome, Trial
from kselect.plan import Plan
from kselect.run import estimate as module
from kselect.run.estimate import PATIENCE, estimate, growth

KERNELS = tuple(Gaussian(2.0**p) for p in range(-12, 12))
CV = method("5-CV", "k-CV", 5, loss="squared")
PLACES = tuple(
    replace(CV, label="beta", criterion="beta", folds=None, part="f", lam=0.001, fixed=k)
    for k in KERNELS[:7]
)
MOVED = replace(CV, label="moved", search=Choice("quasi-newton"), kernel="ard")
PER_KERNEL, PER_PLACE, PER_SEARCH = 1e-7, 0.25, 2.0


class Clock:
    """Time that passes in made-up trials alone."""

    def __init__(self, power: float = 2.0, slow: float = 1.0) -> None:
        self.now, self.power, self.slow, self.per_pair = 0.0, power, slow, 0.0
        self.seen: list[str] = []

    def __call__(self) -> float:
        return self.now

    def run(self, spec: Experiment, trial: Trial) -> Outcome:
        """A trial whose work is known."""
        self.seen.append(trial.dataset)
        grid = any(not (m.fixed or m.search) for m in trial.methods)
        rows = spec.train_rows(trial.dataset)
        self.now += self.slow * grid * PER_KERNEL * len(spec.kernels) * rows**self.power
        self.now += self.per_pair * grid * PER_KERNEL * len(spec.kernels) * rows**2
        self.now += PER_PLACE * sum(m.fixed is not None for m in trial.methods)
        self.now += PER_SEARCH * sum(m.search is not None for m in trial.methods)
        return Outcome((), "", {})


def planned(spec: Experiment, *names: str, splits: int = 10) -> Plan:
    """All methods on some data sets."""
    source = Source(Path("none"), "test", "0" * 64)
    trials = [Trial(n, s, spec.methods_on(n), source) for n in names for s in range(splits)]
    return Plan(tuple(trials), 0, {}, {})


def truth(clock: Clock, spec: Experiment, plan: Plan) -> float:
    """What running all of it takes."""
    before = clock.now
    for trial in plan.trials:
        clock.run(spec, trial)
    return clock.now - before


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "run_trial", found.run)
    monkeypatch.setattr(module, "perf_counter", found)
    return found


@pytest.mark.parametrize("methods", [(CV,), (CV, *PLACES), (CV, MOVED), (CV, MOVED, *PLACES)])
def test_it_is_the_time_that_the_jobs_take(clock: Clock, methods: tuple[Method, ...]) -> None:
    """Kernels, fixed places and searches are each scaled by their number."""
    spec = experiment(kernels=KERNELS, methods=methods, datasets=("heart", "sonar"))
    plan = planned(spec, "heart", "sonar")
    assert estimate(spec, plan, 1) == pytest.approx(truth(clock, spec, plan), rel=0.01)
    assert estimate(spec, plan, 2) == pytest.approx(truth(clock, spec, plan) / 2, rel=0.01)


@pytest.mark.parametrize(("power", "per_pair"), [(3.0, 0.0), (3.0, 1.0)])
def test_many_rows_are_not_tried(clock: Clock, power: float, per_pair: float) -> None:
    """Their time goes on from two samples, within the factor that is promised; cpusmall trains on 5734 rows."""
    clock.power, clock.slow, clock.per_pair = power, 10.0 ** (6 - 3 * power), per_pair
    spec = experiment(kernels=KERNELS, methods=(CV,), datasets=("cpusmall",), train=0.7)
    plan = planned(spec, "cpusmall", splits=1)
    found, spent = estimate(spec, plan, 1), clock.now
    whole = truth(clock, spec, plan)
    assert whole / 1.5 < found < 1.5 * whole
    assert spent < 0.5 * whole


def test_what_was_measured_on_abalone() -> None:
    """Seconds of seven kernels: those of 2924 rows from those of 487 and 975."""
    assert 26.2 / 1.5 < 1.5 * growth(1.5 / 0.41, 975 / 487, 2924 / 975) < 26.2 * 1.5


def test_no_less_than_the_longest_job(clock: Clock) -> None:
    """More workers than jobs are of no use."""
    spec = experiment(kernels=KERNELS, methods=(CV, MOVED), datasets=("heart",))
    plan = planned(spec, "heart", splits=2)
    assert estimate(spec, plan, 8) == pytest.approx(truth(clock, spec, plan) / 2, rel=0.01)


def test_patience(clock: Clock) -> None:
    """What is left after so many seconds is priced by the rest, the most expensive being timed first."""
    clock.slow = PATIENCE / (PER_KERNEL * 189**2)
    spec = experiment(kernels=KERNELS, methods=(CV,), datasets=("sonar", "heart"))
    found = estimate(spec, planned(spec, "sonar", "heart", splits=1), 1)
    assert clock.seen[1:] == ["heart"]
    heart = estimate(spec, planned(spec, "heart", splits=1), 1)
    assert found == pytest.approx(heart * (1 + (146 / 189) ** 3), rel=0.01)


def test_data_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run says so; there is nothing to estimate, and an empty plan takes no time."""

    def fail(spec: Experiment, trial: Trial) -> Outcome:
        raise DataError("no such file")

    monkeypatch.setattr(module, "run_trial", fail)
    spec = experiment(kernels=KERNELS, methods=(CV,), datasets=("heart",))
    assert estimate(spec, planned(spec, "heart"), 1) == 0.0
    assert estimate(spec, planned(spec), 1) == 0.0
