"""What a plan will take: parts of its own jobs, timed before anything is run.

Of a job on each data set some kernels are tried, and one of those fixed places that a figure looks at; the time is
scaled to all of them. Many rows are not tried: their time follows from that of two samples, larger ones where there
are more rows, as in a small one what grows like the cube of the rows is hidden by what does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from math import log
from time import perf_counter

from kselect.errors import KselectError
from kselect.model.experiment import Experiment
from kselect.model.method import Method
from kselect.model.trial import Trial
from kselect.plan import Plan
from kselect.run.trial import run_trial

# So many kernels, evenly over the grid; of more rows than the second number, samples of that part and half of it.
KERNELS, FEW_ROWS, PART_OF_ROWS = 6, 700, 1 / 3
# How the time may grow with the rows beyond the samples, and by how much the power rises.
SLOWEST, FASTEST, STEEPER = 2.0, 3.2, 0.4
# Seconds after which the data sets that are left are priced by the others.
PATIENCE = 30.0

Key = tuple[str, tuple[Method, ...]]


@dataclass(frozen=True)
class Part:
    """Methods that are timed together, on some kernels, and by what that is to be multiplied."""

    methods: tuple[Method, ...]
    stride: int
    times: float


def estimate(experiment: Experiment, plan: Plan, n_jobs: int) -> float:
    """Seconds with so many workers: never less than the longest job takes."""
    prices = price(experiment, plan)
    jobs = [prices[key_of(trial)] for trial in plan.trials]
    return max(sum(jobs) / n_jobs, max(jobs, default=0.0))


def key_of(trial: Trial) -> Key:
    """The jobs of one data set with the same methods to run take the same time."""
    return trial.dataset, trial.methods


def price(experiment: Experiment, plan: Plan) -> Mapping[Key, float]:
    """Seconds per job; what costs most is timed first, and what patience leaves by its share of the work."""
    trials = {key_of(trial): trial for trial in plan.trials}
    costs = {key: plan.cost(experiment, trial) for key, trial in trials.items()}
    order = sorted(trials, key=lambda key: -costs[key])
    found: dict[Key, float] = {}
    if order:
        warm_up(experiment, trials[order[-1]])
    started = perf_counter()
    for key in order:
        if perf_counter() - started > PATIENCE:
            break
        seconds = time_job(experiment, trials[key])
        if seconds is not None:
            found[key] = seconds
    known = list(found)
    for key in order:
        if key not in found:
            nearest = min(known, key=lambda k: abs(log(costs[k] / costs[key])), default=None)
            found[key] = found[nearest] * costs[key] / costs[nearest] if nearest else 0.0
    return found


def warm_up(experiment: Experiment, trial: Trial) -> None:
    """What a worker does once: imports, and the loops that are compiled."""
    for part in parts_of(experiment, trial):
        few = Part(part.methods, max(1, len(experiment.kernels)), 1.0)
        time_part(experiment, trial, few, FEW_ROWS // 2)


def time_job(experiment: Experiment, trial: Trial) -> float | None:
    """Seconds of a job, None where its data cannot be read."""
    rows = experiment.train_rows(trial.dataset)
    many = max(FEW_ROWS, round(PART_OF_ROWS * rows))
    few, seconds = many // 2, 0.0
    for part in parts_of(experiment, trial):
        if experiment.train is None or rows <= many:
            found = time_part(experiment, trial, part, rows)
            if found is None:
                return None
            seconds += part.times * found
            continue
        small, large = (time_part(experiment, trial, part, n) for n in (few, many))
        if small is None or large is None:
            return None
        seconds += part.times * large * growth(large / small, many / few, rows / many)
    return seconds


def growth(grown: float, by: float, further: float) -> float:
    """How time goes on when so many times the rows have taken so many times as long.

    The power rises with the rows: kernels cost n^2, factors n^3, and large matrices leave the processor's cache. On
    abalone it is 1.9 from 487 to 975 rows, 2.2 from there to 1462 and 2.8 to 2924.
    """
    power = log(grown) / log(by) + STEEPER
    return float(further ** min(max(power, SLOWEST), FASTEST))


def parts_of(experiment: Experiment, trial: Trial) -> Iterable[Part]:
    """The grid; each search of its own; and of each kind of fixed place the one in the middle."""
    moved = {m.label for m in trial.methods if m.search}
    fixed = [m for m in trial.methods if m.fixed]
    searched = tuple(m for m in trial.methods if m.search or m.at in moved)
    grid = tuple(m for m in trial.methods if m not in fixed and m not in searched)
    if grid:
        stride = max(1, len(experiment.kernels) // KERNELS)
        count = len(experiment.kernels[stride // 2 :: stride])
        yield Part(grid, stride, len(experiment.kernels) / count)
    if searched:
        yield Part(searched, 1, 1.0)
    ordered = sorted(fixed, key=lambda m: (m.part, m.label))
    for _, group in groupby(ordered, key=lambda m: (m.part, m.label)):
        alike = list(group)
        yield Part((alike[len(alike) // 2],), len(experiment.kernels) or 1, float(len(alike)))


def time_part(experiment: Experiment, trial: Trial, part: Part, rows: int) -> float | None:
    """Seconds of some methods on some kernels and training rows."""
    from threadpoolctl import threadpool_limits

    some = replace(experiment, kernels=experiment.kernels[part.stride // 2 :: part.stride])
    if experiment.train is not None:
        whole = experiment.info(trial.dataset).rows
        some = replace(some, train=min(experiment.train, rows / whole))
    try:
        with threadpool_limits(1):
            started = perf_counter()
            run_trial(some, replace(trial, methods=part.methods))
    except KselectError:
        return None
    return perf_counter() - started
