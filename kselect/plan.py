"""Plan an experiment: which trials are to run, which are done, and which data sets are left out and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kselect.core.experiment import Experiment
from kselect.core.job import Jobs, Trial, fact_hashes, identities, missing_methods, own_cells
from kselect.core.method import Method
from kselect.datasets.dataset import Source
from kselect.datasets.fetch import Places, resolve
from kselect.errors import ConfigError, DamagedJob, DataError, StoreError

# The number of eigendecompositions that take as long as one continuous search: 5 to 8 on the sets of flkl2014.
SEARCH_COST = 6
# The same for one fit of an estimator; an SVM takes less, many trees more.
FIT_COST = 0.1


@dataclass(frozen=True)
class Plan:
    """The trials to run, the number of those done, and the data sets that are left out, each with the reason.

    A cell is one column, of the table or of a figure, on one split of a data set. ``cells`` of them are to be
    computed, and ``stored`` are there. ``replaced`` of the former are stored as well, but were computed with
    another config, data file or plug-in.
    """

    trials: tuple[Trial, ...]
    done: int
    sources: Mapping[str, Source]
    missing: Mapping[str, str]
    cells: int = 0
    stored: int = 0
    replaced: int = 0

    def cost(self, experiment: Experiment, trial: Trial) -> float:
        """Return the work of a trial in cubed rows: an eigendecomposition per kernel, and searches and fits."""
        moved = sum(m.search is not None for m in trial.methods)
        others = [(m.estimator, m.folds) for m in trial.methods if m.estimator]
        fits = sum(1 + len(estimator.points) * (folds or 0) for estimator, folds in others)
        kernels = len(experiment.kernels) if moved + len(others) < len(trial.methods) else 0
        return float(
            (kernels + SEARCH_COST * moved + FIT_COST * fits)
            * experiment.train_rows(trial.dataset) ** 3
        )


def find_sources(
    experiment: Experiment, places: Places
) -> tuple[dict[str, Source], dict[str, str]]:
    """Return the file of each data set, and the reason for those without one."""
    sources, missing = {}, {}
    for name in experiment.datasets:
        try:
            sources[name] = resolve(experiment.info(name), places)
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
    """Return every (data set, split) with methods that are still to run, the largest data sets first.

    ``shard`` (I, N) keeps every N-th pair from the I-th on, before finished pairs are dropped, so that N machines
    can share a run without communication.
    """
    check_folds(experiment, sources)
    trials: list[Trial] = []
    done, cells, stored, replaced = 0, 0, 0, 0
    # Count missing data sets too: the machines of a run may have different files.
    pairs = [(name, split) for name in experiment.datasets for split in experiment.splits_on(name)]
    for name, split in pairs[shard[0] - 1 :: shard[1]]:
        if name not in sources:
            continue
        methods = experiment.methods_on(name, split)
        trial = Trial(name, split, methods, sources[name])
        every = columns_of(methods)
        if not force:
            trial = still_pending(experiment, trial, store, retry_failed)
            replaced += len(replaced_columns(experiment, trial, store))
        cells += len(columns_of(trial.methods))
        stored += len(every - columns_of(trial.methods))
        if trial.methods:
            trials.append(trial)
        else:
            done += 1
    # The longest first, so that no single worker is left with a large job at the end.
    trials.sort(key=lambda t: -experiment.info(t.dataset).rows)
    counts = (cells, stored, replaced)
    return Plan(tuple(trials), done, dict(sources), dict(missing), *counts)


def still_pending(experiment: Experiment, trial: Trial, store: Jobs, retry_failed: bool) -> Trial:
    """Return the trial with only those methods that are not stored."""
    cells = store.cells(trial.dataset, trial.split)
    methods = missing_methods(experiment, trial, cells, retry_failed) if cells else trial.methods
    return replace(trial, methods=methods)


def replaced_columns(experiment: Experiment, trial: Trial, store: Jobs) -> set[tuple[str, str]]:
    """Return the columns to compute of which another config, data file or plug-in has stored cells."""
    cells = store.cells(trial.dataset, trial.split)
    if not (cells and trial.methods):
        return set()
    hashes = fact_hashes(experiment, trial.dataset, trial.source.sha256)
    now = identities(experiment, trial.dataset, hashes)
    old = {c.record.key[:2] for c in cells if now.get(c.record.key[:3], c.identity) != c.identity}
    # Class, parameters and grid of an estimator stand in its key: all cells of a changed one have another.
    labels = {m.label for m in trial.methods if m.estimator}
    valid = {c.record.key[:2] for c in own_cells(now, cells)}
    old |= {c.record.key[:2] for c in cells if c.record.key[1] in labels} - valid
    return old & columns_of(trial.methods)


def columns_of(methods: Iterable[Method]) -> set[tuple[str, str]]:
    """Return the columns of the table and of figures that some methods belong to; a plan counts these as cells."""
    return {(method.part, method.label) for method in methods}


def damaged(store: Jobs, trials: Iterable[Trial]) -> Iterator[str]:
    """Yield one line per damaged job of some trials."""
    for trial in trials:
        try:
            store.read(trial.dataset, trial.split)
        except DamagedJob as error:
            yield str(error).replace("kselect run computes it again", "it is run again")
        except StoreError:
            continue


def check_folds(experiment: Experiment, sources: Mapping[str, Source]) -> None:
    """Refuse a criterion with more folds than there are training rows."""
    for name in sources:
        rows = experiment.train_rows(name)
        for method in experiment.methods:
            if method.folds is not None and method.folds > rows:
                raise ConfigError(
                    f"{experiment.name}: {method.label} needs {method.folds} training rows, {name} has {rows}"
                )
