"""The run time that a dry run predicts, with a clock that fake trials advance."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from math import log2
from pathlib import Path
from time import monotonic

import pytest
from experiments import kselect_in, write_config
from synthetic import experiment, method

from kselect.core.experiment import Experiment
from kselect.core.job import Trial
from kselect.core.method import Choice, Method
from kselect.datasets.dataset import Source
from kselect.errors import DataError
from kselect.kernels.gaussian import Gaussian
from kselect.plan import Plan
from kselect.run import estimate as module
from kselect.run.estimate import ALLOWANCE, PATIENCE, RunTime, estimate, growth

KERNELS = tuple(Gaussian(2.0**p) for p in range(-12, 12))
CV = method("5-CV", "k-CV", 5, loss="squared")
PLACES = tuple(
    replace(CV, label="beta", criterion="beta", folds=None, part="f", lam=0.001, fixed=k)
    for k in KERNELS[:7]
)
MOVED = replace(CV, label="moved", search=Choice("quasi-newton"), kernel="ard")
PER_KERNEL, PER_PLACE, PER_SEARCH = 1e-7, 0.25, 2.0


class Clock:
    """A clock that advances in fake trials only."""

    def __init__(self, power: float = 2.0, slow: float = 1.0) -> None:
        self.now, self.power, self.slow, self.per_pair = 0.0, power, slow, 0.0
        self.seen: list[str] = []
        self.sizes: list[tuple[int, int]] = []
        self.longest = 0.0

    def __call__(self) -> float:
        return self.now

    def run(self, spec: Experiment, trial: Trial) -> None:
        """Advance the clock by the time of a trial."""
        self.seen.append(trial.dataset)
        before = self.now
        grid = any(not (m.fixed or m.search) for m in trial.methods)
        rows = spec.train_rows(trial.dataset)
        self.sizes.append((rows, len(spec.kernels)))
        self.now += self.slow * grid * PER_KERNEL * len(spec.kernels) * rows**self.power
        self.now += self.per_pair * grid * PER_KERNEL * len(spec.kernels) * rows**2
        self.now += PER_PLACE * sum(m.fixed is not None for m in trial.methods)
        self.now += PER_SEARCH * sum(m.search is not None for m in trial.methods)
        self.longest = max(self.longest, self.now - before)


def planned(spec: Experiment, *names: str, splits: int = 10) -> Plan:
    """Return a plan of all methods on some data sets."""
    source = Source(Path("none"), "test", "0" * 64)
    trials = [Trial(n, s, spec.methods_on(n), source) for n in names for s in range(splits)]
    return Plan(tuple(trials), 0, {}, {})


def truth(clock: Clock, spec: Experiment, plan: Plan) -> float:
    """Return the time that the whole plan takes."""
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
def test_the_estimate_is_the_time_of_the_jobs(clock: Clock, methods: tuple[Method, ...]) -> None:
    """Kernels, fixed grid points and searches are each scaled by their number."""
    spec = experiment(kernels=KERNELS, methods=methods, datasets=("heart", "sonar"))
    plan = planned(spec, "heart", "sonar")
    assert estimate(spec, plan, 1).seconds == pytest.approx(truth(clock, spec, plan), rel=0.01)
    assert estimate(spec, plan, 2).seconds == pytest.approx(truth(clock, spec, plan) / 2, rel=0.01)


ROWS = 5734  # the rows of cpusmall's training part


@pytest.mark.parametrize("power", [2.0, 2.5, 3.0])
@pytest.mark.parametrize("per_pair", [0.0, 1.0])
def test_times_of_many_rows_are_extrapolated(clock: Clock, power: float, per_pair: float) -> None:
    """The time is extrapolated with a power that keeps rising with the rows."""
    clock.power, clock.slow, clock.per_pair = power, 6.0 * 1000.0 ** (2 - power), 6.0 * per_pair
    spec = experiment(kernels=KERNELS, methods=(CV,), datasets=("cpusmall",), train=0.7)
    plan = planned(spec, "cpusmall", splits=1)
    found, spent = estimate(spec, plan, 1).seconds, clock.now
    longest, largest = clock.longest, max(rows for rows, _ in clock.sizes)
    whole = truth(clock, spec, plan)
    assert found == pytest.approx(whole, rel=0.1 if per_pair else 0.01)
    assert spent < 0.1 * whole
    assert longest < 1.5 * ALLOWANCE
    assert largest < ROWS


def test_extrapolation_on_abalone() -> None:
    """The seconds of 2924 rows follow from those of 366, 731 and 1462."""
    measured = (0.23, 0.77, 3.9, 26.7)
    first, second, third = (log2(b / a) for a, b in pairwise(measured))
    assert measured[2] * growth((first, second), 2.0) == pytest.approx(measured[3], rel=0.1)
    assert third > second


@pytest.mark.parametrize("power", [2.0, 2.5, 3.0])
def test_affordable_samples_are_not_extrapolated(clock: Clock, power: float) -> None:
    """If samples reach all rows, on fewer kernels once they are slow, nothing is extrapolated."""
    clock.power, clock.slow = power, 1.8 * ROWS ** (2 - power)
    spec = experiment(kernels=KERNELS, methods=(CV,), datasets=("cpusmall",), train=0.7)
    plan = planned(spec, "cpusmall", splits=1)
    found, (_, first, *_, last), longest = (
        estimate(spec, plan, 1).seconds,
        clock.sizes,
        clock.longest,
    )
    assert found == pytest.approx(truth(clock, spec, plan), rel=0.01)
    assert first == (359, 12)
    assert last in {(ROWS, 2), (ROWS, 3)}
    assert longest < 1.5 * ALLOWANCE


def test_each_learner_is_warmed_up(clock: Clock) -> None:
    """The first trial compiles loops, so the cheapest trial of each task runs before timing starts."""
    names = ("heart", "sonar", "housing", "pyrim")
    spec = experiment(kernels=KERNELS, methods=(CV,), datasets=names)
    estimate(spec, planned(spec, *names), 1)
    assert sorted(clock.seen[:2]) == ["pyrim", "sonar"]
    assert sorted(clock.seen[2:]) == sorted(names)


def test_no_less_than_the_longest_job(clock: Clock) -> None:
    """More workers than jobs do not reduce the estimate."""
    spec = experiment(kernels=KERNELS, methods=(CV, MOVED), datasets=("heart",))
    plan = planned(spec, "heart", splits=2)
    assert estimate(spec, plan, 8).seconds == pytest.approx(truth(clock, spec, plan) / 2, rel=0.01)


def test_patience(clock: Clock) -> None:
    """After PATIENCE the remaining jobs are estimated from the timed ones; the most expensive are timed first."""
    clock.slow = PATIENCE / (2 * PER_KERNEL * 189**2)
    spec = experiment(kernels=KERNELS, methods=(CV,), datasets=("sonar", "heart"))
    found = estimate(spec, planned(spec, "sonar", "heart", splits=1), 1).seconds
    assert clock.seen[1:] == ["heart"]
    heart = estimate(spec, planned(spec, "heart", splits=1), 1).seconds
    assert found == pytest.approx(heart * (1 + (146 / 189) ** 3), rel=0.01)


def test_data_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unreadable data sets are not estimated, and an empty plan takes no time."""

    def fail(spec: Experiment, trial: Trial) -> None:
        raise DataError("no such file")

    monkeypatch.setattr(module, "run_trial", fail)
    spec = experiment(kernels=KERNELS, methods=(CV,), datasets=("heart",))
    assert estimate(spec, planned(spec, "heart"), 1) == RunTime(0.0)
    assert estimate(spec, planned(spec), 1) == RunTime(0.0)


SLOW_SEARCH = """
import time
import kselect.run.estimate as module
module.PATIENCE, module.SEARCH_SECONDS = {patience}, 0.3
def run_trial(experiment, trial):
    if trial.dataset in {slow}:
        time.sleep(200)
module.run_trial = run_trial
"""
SEARCHES = """\
name: searches
learner: lssvm
splits: 2
lam: {fixed: [0.1]}
criteria: [{ELOO: {search: {quasi-newton: {steps: 2}}, kernel: ard}}]
datasets: [heart, sonar, liver-disorders]
"""


@pytest.mark.parametrize(
    ("slow", "patience", "unknown"),
    [
        (["sonar"], 20.0, "; unknown: sonar"),
        (["heart", "sonar", "liver-disorders"], 0.5, "; unknown: liver-disorders, heart, sonar"),
        (["nothing"], 20.0, ""),
    ],
)
def test_slow_searches_are_stopped(
    tmp_path: Path, slow: list[str], patience: float, unknown: str
) -> None:
    """A search that would take minutes makes the estimate a lower bound, which names the data sets."""
    write_config(tmp_path, SEARCHES)
    hook = SLOW_SEARCH.format(slow=slow, patience=patience)
    started = monotonic()
    run = kselect_in(tmp_path, "run", "small.yaml", "--dry-run", hook=hook)
    assert monotonic() - started < 100
    assert run.returncode == 0, run.stderr
    bound = "at least" if unknown else "about"
    assert re.fullmatch(rf"{bound} (a second|\d+:\d\d) with -j 1{unknown}\n", run.stdout)
