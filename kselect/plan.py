"""Experiment -> Trials: what runs, what is skipped and why, what is already there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kselect.core.experiment import Experiment
from kselect.core.job import Job, Jobs, Trial, protocol_of
from kselect.datasets.dataset import Source
from kselect.datasets.fetch import Places
from kselect.datasets.own import source_of
from kselect.errors import ConfigError, DamagedJob, DataError, StoreError

# Eigendecompositions that take as long as one continuous search: 5 to 8 on the sets of flkl2014.
SEARCH_COST = 6


@dataclass(frozen=True)
class Plan:
    """The trials that are to run, how many are done already, and which data sets are left out and why."""

    trials: tuple[Trial, ...]
    done: int
    sources: Mapping[str, Source]
    missing: Mapping[str, str]

    def cost(self, experiment: Experiment, trial: Trial) -> float:
        """A trial's work in cubed rows: an eigendecomposition for each kernel, or what a search costs."""
        moved = sum(m.search is not None for m in trial.methods)
        kernels = len(experiment.kernels) if moved < len(trial.methods) else 0
        return float((kernels + SEARCH_COST * moved) * experiment.train_rows(trial.dataset) ** 3)


def find_sources(
    experiment: Experiment, places: Places
) -> tuple[dict[str, Source], dict[str, str]]:
    """Each data set's file, and for those without one the reason."""
    sources, missing = {}, {}
    for name in experiment.datasets:
        try:
            sources[name] = source_of(experiment.info(name), places)
        except DataError as error:
            missing[name] = str(error)
    return sources, missing


def make_plan(
    experiment: Experiment,
    sources: Mapping[str, Source],
    missing: Mapping[str, str],
    store: Jobs,
    *,
    retry_failed: bool = False,
    force: bool = False,
    shard: tuple[int, int] = (1, 1),
) -> Plan:
    """Every (data set, split) with methods that are still to run, the largest data sets first.

    ``shard`` (I, N) keeps every N-th pair from the I-th on, counted before looking at what is done: N
    machines share a run without talking.
    """
    check_folds(experiment, sources)
    trials: list[Trial] = []
    done = 0
    # Over missing data sets too: the machines of a run may differ in what they have.
    pairs = [(name, split) for name in experiment.datasets for split in experiment.splits_on(name)]
    for name, split in pairs[shard[0] - 1 :: shard[1]]:
        if name not in sources:
            continue
        methods = experiment.methods_on(name, split)
        trial = Trial(name, split, methods, sources[name])
        if not force:
            trial = still_pending(experiment, trial, store, retry_failed)
        if trial.methods:
            trials.append(trial)
        else:
            done += 1
    # The longest first: no worker is left alone with a large job at the end.
    trials.sort(key=lambda t: -experiment.info(t.dataset).rows)
    return Plan(tuple(trials), done, dict(sources), dict(missing))


def still_pending(experiment: Experiment, trial: Trial, store: Jobs, retry_failed: bool) -> Trial:
    """The trial with those methods alone that the store does not have."""
    job = readable(store, trial.dataset, trial.split)
    if job is None:
        return trial
    check_same_protocol(experiment, trial.source, job, store)
    methods = job.pending(experiment, trial.methods, retry_failed)
    return Trial(trial.dataset, trial.split, methods, trial.source)


def readable(store: Jobs, dataset: str, split: int) -> Job | None:
    """A job that can be built upon: one that is damaged counts as not there, and is run again."""
    try:
        return store.read(dataset, split)
    except DamagedJob:
        return None


def damaged(store: Jobs, trials: Iterable[Trial]) -> Iterator[str]:
    """The jobs of some trials that are damaged, each in one line."""
    for trial in trials:
        try:
            store.read(trial.dataset, trial.split)
        except DamagedJob as error:
            yield str(error).replace("kselect run computes it again", "it is run again")
        except StoreError:
            continue


def check_kept(whole: Experiment, plan: Plan, store: Jobs, *, force: bool = False) -> None:
    """Nor may any job that is gathered beside the plan's own: those of other data sets and splits."""
    again = {(t.dataset, t.split) for t in plan.trials} if force else set()
    for name in whole.datasets:
        for split in whole.splits_on(name):
            if (name, split) not in again and (job := readable(store, name, split)):
                check_same_protocol(whole, plan.sources.get(name), job, store)


def check_same_protocol(
    experiment: Experiment, source: Source | None, job: Job, store: Jobs
) -> None:
    """Results of another config, data file or version are not mixed in."""
    if source and job.data_sha256 != source.sha256:
        what = (
            f"rests on another file of {job.dataset} (sha256 {job.data_sha256[:12]}..., "
            f"now {source.sha256[:12]}... from {source.kind})"
        )
    elif job.protocol != protocol_of(experiment, job.dataset, job.data_sha256):
        what = "was computed with another config (kselect keeps it in config.resolved.yaml)"
    else:
        return
    path = store.job_path(job.dataset, job.split)
    raise ConfigError(f"{path}: {what}; choose another --output, or --force to compute it again")


def check_folds(experiment: Experiment, sources: Mapping[str, Source]) -> None:
    """No criterion may ask for more folds than the smallest training part has rows."""
    for name in sources:
        rows = experiment.train_rows(name)
        for method in experiment.methods:
            if method.folds is not None and method.folds > rows:
                raise ConfigError(
                    f"{experiment.name}: {method.label} needs {method.folds} training rows, {name} has {rows}"
                )
