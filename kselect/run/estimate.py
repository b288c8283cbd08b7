"""Estimate the run time of a plan by timing samples of its own jobs.

For each data set, some kernels are tried, and one of the fixed grid points of a figure; the time is scaled to all.
If there are many rows, the samples double from a small number of rows, with fewer kernels once they become slow, as
far as ALLOWANCE permits. The rest is extrapolated from the growth of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from math import ceil, log, log2
from time import perf_counter

from kselect.core.experiment import Experiment
from kselect.core.job import Trial
from kselect.core.method import Method
from kselect.errors import KselectError
from kselect.kernels import Kernel
from kselect.plan import Plan
from kselect.run.trial import run_trial

# The number of kernels in a sample, evenly spaced on the grid: with some kernels an SVM takes ten times as long as
# with others. Slow samples have fewer.
KERNELS, FEWEST = 14, 2
# Larger numbers of rows are halved for the first sample; the next takes the kernels that fit into the allowance in
# seconds.
MANY_ROWS, ALLOWANCE = 700, 12.0
# Any time grows between these powers of the number of rows: that of computing K, and that of factorising it. The
# power rises with the rows, because large matrices exceed the processor's cache. Beyond the samples it rises as it
# did last, but at most by STEEPER.
SQUARE, CUBE, STEEPER = 2.0, 3.0, 0.4
# After this many seconds, the remaining data sets are estimated from the others.
PATIENCE = 90.0

JobKind = tuple[str, tuple[Method, ...]]


@dataclass(frozen=True)
class TimingSample:
    """Methods that are timed together on some kernels, and the factor that scales their time to the whole job."""

    methods: tuple[Method, ...]
    kernels: tuple[Kernel, ...]
    times: float


def evenly(kernels: tuple[Kernel, ...], count: int) -> tuple[Kernel, ...]:
    """Return at most ``count`` kernels, evenly spaced."""
    stride = max(1, ceil(len(kernels) / count))
    return kernels[stride // 2 :: stride]


def estimate(experiment: Experiment, plan: Plan, n_jobs: int) -> float:
    """Return the seconds that a plan takes with ``n_jobs`` workers, at least the seconds of its longest job."""
    known = job_seconds(experiment, plan)
    jobs = [known[trial.dataset, trial.methods] for trial in plan.trials]
    return max(sum(jobs) / n_jobs, max(jobs, default=0.0))


def job_seconds(experiment: Experiment, plan: Plan) -> Mapping[JobKind, float]:
    """Return the seconds per job, which are the same for all splits with the same methods to run.

    The most expensive jobs are timed first. Those that PATIENCE leaves out are estimated from their share of the
    work. Before that, the cheapest job of each task is tried, because each task has a learner of its own.
    """
    trials = {(trial.dataset, trial.methods): trial for trial in plan.trials}
    costs = {kind: plan.cost(experiment, trial) for kind, trial in trials.items()}
    order = sorted(trials, key=lambda kind: -costs[kind])
    found: dict[JobKind, float] = {}
    for trial in {experiment.info(kind[0]).task: trials[kind] for kind in order}.values():
        # Do what a worker does only once: imports, and the compilation of loops.
        with suppress(KselectError):
            for sample in samples_of(experiment, trial):
                once = replace(sample, kernels=evenly(experiment.kernels, 1))
                time_sample(experiment, trial, once, MANY_ROWS // 2)
    started = perf_counter()
    for kind in order:
        if perf_counter() - started > PATIENCE:
            break
        with suppress(KselectError):  # data that cannot be read
            samples = samples_of(experiment, trials[kind])
            found[kind] = sum(climb(experiment, trials[kind], sample) for sample in samples)
    known = list(found)
    for kind in order:
        if kind not in found:
            nearest = min(known, key=lambda k: abs(log(costs[k] / costs[kind])), default=None)
            found[kind] = found[nearest] * costs[kind] / costs[nearest] if nearest else 0.0
    return found


def climb(experiment: Experiment, trial: Trial, sample: TimingSample) -> float:
    """Return the seconds of a sample on all training rows, from numbers of rows that double until they are slow."""
    seconds = partial(time_sample, experiment, trial)
    rows = experiment.train_rows(trial.dataset)
    halvings = 0 if experiment.train is None else max(0, ceil(log2(rows / MANY_ROWS)))
    sizes = [ceil(rows / 2**k) for k in range(halvings, -1, -1)]
    here, times = seconds(sample, sizes[0]), sample.times
    powers = (CUBE, CUBE)
    for few, many in pairwise(sizes):
        longer = growth(powers, many / few)
        fitting = int(len(sample.kernels) * ALLOWANCE / (here * longer))
        if fitting < min(FEWEST, len(sample.kernels)):
            return times * here * growth(powers, sizes[-1] / few)
        if fitting < len(sample.kernels):
            sample, of_more = replace(sample, kernels=evenly(sample.kernels, fitting)), here
            here = seconds(sample, few)
            times *= of_more / here
        before, here = here, seconds(sample, many)
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
        yield TimingSample(searched, experiment.kernels, 1.0)
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
