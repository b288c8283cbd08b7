"""What a plan will take: parts of its own jobs, timed before anything is run.

Of a job on each data set some kernels are tried, and one of those fixed places that a figure looks at; the time is
scaled to all of them. Where there are many rows the samples double, of fewer kernels when they become slow, as far
as ALLOWANCE lets them; what is left follows from how the time has grown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

# So many kernels, evenly over the grid: an SVM takes ten times as long with some as with others. Where samples are
# slow, fewer.
KERNELS, FEWEST = 14, 2
# More rows than these are halved for the first sample; the next takes the kernels that fit into so many seconds.
MANY_ROWS, ALLOWANCE = 700, 12.0
# Between these powers of the rows any time grows: every entry of K, and a factor of K. The power rises with the
# rows, as large matrices leave the processor's cache; beyond the samples as it did last, by so much at most.
SQUARE, CUBE, STEEPER = 2.0, 3.0, 0.4
# Seconds after which the data sets that are left are priced by the others.
PATIENCE = 90.0

Key = tuple[str, tuple[Method, ...]]


@dataclass(frozen=True)
class Part:
    """Methods that are timed together on some kernels, and by what that is to be multiplied."""

    methods: tuple[Method, ...]
    kernels: tuple[Kernel, ...]
    times: float

    def on(self, count: int) -> Part:
        """On fewer kernels."""
        return replace(self, kernels=evenly(self.kernels, count))


def evenly(kernels: tuple[Kernel, ...], count: int) -> tuple[Kernel, ...]:
    """At most so many."""
    stride = max(1, ceil(len(kernels) / count))
    return kernels[stride // 2 :: stride]


def estimate(experiment: Experiment, plan: Plan, n_jobs: int) -> float:
    """Seconds with so many workers: never less than the longest job takes."""
    prices = price(experiment, plan)
    jobs = [prices[key_of(trial)] for trial in plan.trials]
    return max(sum(jobs) / n_jobs, max(jobs, default=0.0))


def key_of(trial: Trial) -> Key:
    """The jobs of one data set with the same methods to run take the same time."""
    return trial.dataset, trial.methods


def price(experiment: Experiment, plan: Plan) -> Mapping[Key, float]:
    """Seconds per job; what costs most is timed first, and what patience leaves by its share of the work.

    Before all else the cheapest job of each task is tried, as tasks have learners of their own.
    """
    trials = {key_of(trial): trial for trial in plan.trials}
    costs = {key: plan.cost(experiment, trial) for key, trial in trials.items()}
    order = sorted(trials, key=lambda key: -costs[key])
    found: dict[Key, float] = {}
    for trial in {experiment.task(key[0]): trials[key] for key in order}.values():
        warm_up(experiment, trial)
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
    with suppress(KselectError):
        for part in parts_of(experiment, trial):
            once = replace(part, kernels=evenly(experiment.kernels, 1))
            time_part(experiment, trial, once, MANY_ROWS // 2)


def time_job(experiment: Experiment, trial: Trial) -> float | None:
    """Seconds of a job, None where its data cannot be read."""
    try:
        return sum(climb(experiment, trial, part) for part in parts_of(experiment, trial))
    except KselectError:
        return None


def climb(experiment: Experiment, trial: Trial, part: Part) -> float:
    """Seconds of a part on all training rows, by samples that double until they are slow."""
    seconds = partial(time_part, experiment, trial)
    sizes = samples(experiment, trial)
    here, times = seconds(part, sizes[0]), part.times
    powers = (CUBE, CUBE)
    for few, many in pairwise(sizes):
        longer = growth(powers, many / few)
        fitting = int(len(part.kernels) * ALLOWANCE / (here * longer))
        if fitting < min(FEWEST, len(part.kernels)):
            return times * here * growth(powers, sizes[-1] / few)
        if fitting < len(part.kernels):
            part, of_more = part.on(fitting), here
            here = seconds(part, few)
            times *= of_more / here
        before, here = here, seconds(part, many)
        powers = (powers[-1], log(here / before) / log(many / few))
    return times * here


def samples(experiment: Experiment, trial: Trial) -> Sequence[int]:
    """Numbers of training rows: all, half of them and so on down to MANY_ROWS, the least first."""
    rows = experiment.train_rows(trial.dataset)
    if experiment.train is None:
        return (rows,)
    halvings = max(0, ceil(log2(rows / MANY_ROWS)))
    return tuple(ceil(rows / 2**k) for k in range(halvings, -1, -1))


def growth(powers: tuple[float, float], further: float) -> float:
    """How many times as long so many times the rows take, after the powers of the last two doublings."""
    before, last = powers
    rise = min(max(last - before, 0.0), STEEPER)
    return float(further ** min(max(last + rise, SQUARE), CUBE))


def parts_of(experiment: Experiment, trial: Trial) -> Iterable[Part]:
    """The grid; each search of its own; and of each kind of fixed place the one in the middle."""
    moved = {m.label for m in trial.methods if m.search}
    fixed = [m for m in trial.methods if m.fixed]
    searched = tuple(m for m in trial.methods if m.search or m.at in moved)
    grid = tuple(m for m in trial.methods if m not in fixed and m not in searched)
    if grid:
        some = evenly(experiment.kernels, KERNELS)
        yield Part(grid, some, len(experiment.kernels) / len(some))
    if searched:
        yield Part(searched, experiment.kernels, 1.0)
    ordered = sorted(fixed, key=lambda m: (m.part, m.label))
    for _, group in groupby(ordered, key=lambda m: (m.part, m.label)):
        alike = list(group)
        yield Part((alike[len(alike) // 2],), evenly(experiment.kernels, 1), float(len(alike)))


def time_part(experiment: Experiment, trial: Trial, part: Part, rows: int) -> float:
    """Seconds of some methods on some kernels and training rows."""
    from threadpoolctl import threadpool_limits

    some = replace(experiment, kernels=part.kernels)
    if experiment.train is not None:
        whole = experiment.info(trial.dataset).rows
        some = replace(some, train=min(experiment.train, rows / whole))
    with threadpool_limits(1):
        started = perf_counter()
        run_trial(some, replace(trial, methods=part.methods))
    return perf_counter() - started
