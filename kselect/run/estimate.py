"""Estimate the run time of a plan by timing samples of its own jobs.

For each data set, some kernels are tried, and one of the fixed grid points of a figure; the time is scaled to all.
If there are many rows, the samples double from a small number of rows, with fewer kernels once they become slow, as
far as ALLOWANCE permits. The rest is extrapolated from the growth of the time.

A sample that takes longer than its limit is stopped, since one split of a slow search may take an hour. The
estimate is then a lower bound, and names the data sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import ceil, log, log2
from time import perf_counter

from kselect.core.experiment import Experiment
from kselect.core.job import Trial
from kselect.core.method import Method
from kselect.errors import KselectError
from kselect.kernels import Kernel
from kselect.learners import LEARNERS
from kselect.plan import Plan
from kselect.run.scheduler import learners_of
from kselect.run.signals import OutOfTime, at_most
from kselect.run.trial import run_trial

# The number of kernels in a sample, evenly spaced on the grid: with some kernels an SVM takes ten times as long as
# with others. Slow samples have fewer.
KERNELS, FEWEST = 14, 2
# Larger numbers of rows are halved for the first sample; the next takes the kernels that fit into the allowance in
# seconds.
MANY_ROWS, ALLOWANCE = 700, 12.0
LONGER = 1.5  # a sample that takes so many times its allowance is stopped
# Any time grows between these powers of the number of rows: that of computing K, and that of factorising it. The
# power rises with the rows, because large matrices exceed the processor's cache. Beyond the samples it rises as it
# did last, but at most by STEEPER.
SQUARE, CUBE, STEEPER = 2.0, 3.0, 0.4
# All samples end within this many seconds; the remaining data sets are estimated from the others. Searches, whose
# time nobody can foretell, have a limit of their own.
PATIENCE, SEARCH_SECONDS = 20.0, 5.0

JobKind = tuple[str, tuple[Method, ...]]


@dataclass(frozen=True)
class RunTime:
    """The seconds that a plan takes; a lower bound if the times of some data sets are ``unknown``."""

    seconds: float
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Patience:
    """The time at which all samples end."""

    ends: float

    @property
    def left(self) -> float:
        """The seconds until then."""
        return self.ends - perf_counter()


@dataclass(frozen=True)
class TimingSample:
    """Methods that are timed together on some kernels, and the factor that scales their time to the whole job.

    A sample that takes longer than ``limit`` seconds is stopped.
    """

    methods: tuple[Method, ...]
    kernels: tuple[Kernel, ...]
    times: float
    limit: float = LONGER * ALLOWANCE


def evenly(kernels: tuple[Kernel, ...], count: int) -> tuple[Kernel, ...]:
    """Return at most ``count`` kernels, evenly spaced."""
    stride = max(1, ceil(len(kernels) / count))
    return kernels[stride // 2 :: stride]


def estimate(experiment: Experiment, plan: Plan, n_jobs: int) -> RunTime:
    """Return the seconds that a plan takes with ``n_jobs`` workers, at least the seconds of its longest job."""
    known, unknown = job_seconds(experiment, plan)
    jobs = [known[trial.dataset, trial.methods] for trial in plan.trials]
    seconds = max(sum(jobs) / n_jobs, max(jobs, default=0.0))
    return RunTime(seconds, tuple(dict.fromkeys(name for name, _ in unknown)))


def job_seconds(
    experiment: Experiment, plan: Plan
) -> tuple[Mapping[JobKind, float], list[JobKind]]:
    """Return the seconds per job, which are the same for all splits with the same methods to run.

    The most expensive jobs are timed first. Those that PATIENCE leaves out are estimated from their share of the
    work. Before that, the cheapest job of each task is tried, because each task has a learner of its own.
    Return also the jobs of which a lower bound is known only: a sample was stopped, or every job tried had one.
    """
    trials = {(trial.dataset, trial.methods): trial for trial in plan.trials}
    costs = {kind: plan.cost(experiment, trial) for kind, trial in trials.items()}
    order = sorted(trials, key=lambda kind: -costs[kind])
    for name in learners_of(experiment, plan):
        LEARNERS.find(name).prepare()
    found: dict[JobKind, float] = {}
    stopped: list[JobKind] = []
    patience = Patience(perf_counter() + PATIENCE)
    for trial in {experiment.info(kind[0]).task: trials[kind] for kind in order}.values():
        # Do what a worker does only once, such as imports.
        with suppress(KselectError):
            for sample in samples_of(experiment, trial):
                once = replace(sample, kernels=evenly(experiment.kernels, 1))
                with suppress(OutOfTime), at_most(min(SEARCH_SECONDS, patience.left)):
                    time_sample(experiment, trial, once, MANY_ROWS // 2)
    for kind in order:
        if patience.left < 0:
            break
        with suppress(KselectError):  # data that cannot be read
            found[kind], whole = timed(experiment, trials[kind], patience)
            stopped += [] if whole else [kind]
    known = [kind for kind in found if kind not in stopped]
    for kind in order:
        if kind not in found:
            nearest = min(known, key=lambda k: abs(log(costs[k] / costs[kind])), default=None)
            found[kind] = found[nearest] * costs[kind] / costs[nearest] if nearest else 0.0
            stopped += [kind] if stopped and not nearest else []
    return found, [kind for kind in order if kind in stopped]


def timed(experiment: Experiment, trial: Trial, patience: Patience) -> tuple[float, bool]:
    """Return the seconds of a job, and whether none of its samples was stopped."""
    seconds, whole = 0.0, True
    for sample in samples_of(experiment, trial):
        started = perf_counter()
        try:
            seconds += climb(experiment, trial, sample, patience)
        except OutOfTime:
            seconds += perf_counter() - started
            whole = False
    return seconds, whole


def climb(experiment: Experiment, trial: Trial, sample: TimingSample, patience: Patience) -> float:
    """Return the seconds of a sample on all training rows, from numbers of rows that double until they are slow.

    Raise OutOfTime if the smallest number of rows is too slow.
    """

    def seconds(sample: TimingSample, rows: int) -> float:
        with at_most(min(sample.limit, patience.left)):
            return time_sample(experiment, trial, sample, rows)

    rows = experiment.train_rows(trial.dataset)
    halvings = 0 if experiment.train is None else max(0, ceil(log2(rows / MANY_ROWS)))
    sizes = [ceil(rows / 2**k) for k in range(halvings, -1, -1)]
    here, times = seconds(sample, sizes[0]), sample.times
    powers = (CUBE, CUBE)
    for few, many in pairwise(sizes):
        longer = growth(powers, many / few)
        fitting = int(len(sample.kernels) * ALLOWANCE / (here * longer))
        extrapolated = times * here * growth(powers, sizes[-1] / few)
        if fitting < min(FEWEST, len(sample.kernels)):
            return extrapolated
        try:
            if fitting < len(sample.kernels):
                sample, of_more = replace(sample, kernels=evenly(sample.kernels, fitting)), here
                here = seconds(sample, few)
                times *= of_more / here
            before, here = here, seconds(sample, many)
        except OutOfTime:
            return extrapolated
        powers = (powers[-1], log(here / before) / log(many / few))
    return times * here


def growth(powers: tuple[float, float], further: float) -> float:
    """Return the factor in time for a factor in rows, given the powers of the last two doublings."""
    before, last = powers
    rise = min(max(last - before, 0.0), STEEPER)
    return float(further ** min(max(last + rise, SQUARE), CUBE))


def samples_of(experiment: Experiment, trial: Trial) -> Iterable[TimingSample]:
    """Yield the samples of a job: each estimator at one point of its grid, our grid, the searches, fixed points.

    Of each kind of fixed grid point, the middle one is timed.
    """
    for method in trial.methods:
        if method.estimator:
            middle = tuple((name, (vs[len(vs) // 2],)) for name, vs in method.estimator.grid)
            folds, points = method.folds or 0, len(method.estimator.points)
            one = replace(method, estimator=replace(method.estimator, grid=middle))
            times = (1 + folds * points) / (1 + folds)
            yield TimingSample((one,), evenly(experiment.kernels, 1), times)
    moved = {m.label for m in trial.methods if m.search}
    fixed = [m for m in trial.methods if m.fixed]
    searched = tuple(m for m in trial.methods if m.search or m.at in moved)
    apart = {*fixed, *searched, *(m for m in trial.methods if m.estimator)}
    grid = tuple(m for m in trial.methods if m not in apart)
    if grid:
        some = evenly(experiment.kernels, KERNELS)
        yield TimingSample(grid, some, len(experiment.kernels) / len(some))
    if searched:
        yield TimingSample(searched, experiment.kernels, 1.0, SEARCH_SECONDS)
    ordered = sorted(fixed, key=lambda m: (m.part, m.label))
    for _, group in groupby(ordered, key=lambda m: (m.part, m.label)):
        alike = list(group)
        yield TimingSample(
            (alike[len(alike) // 2],), evenly(experiment.kernels, 1), float(len(alike))
        )


def time_sample(experiment: Experiment, trial: Trial, sample: TimingSample, rows: int) -> float:
    """Return the seconds that a sample takes on some training rows."""
    from threadpoolctl import threadpool_limits

    some = replace(experiment, kernels=sample.kernels)
    if experiment.train is not None:
        whole = experiment.info(trial.dataset).rows
        some = replace(some, train=min(experiment.train, rows / whole))
    with threadpool_limits(1):
        started = perf_counter()
        run_trial(some, replace(trial, methods=sample.methods))
    return perf_counter() - started
