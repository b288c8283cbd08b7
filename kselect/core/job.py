"""The unit of work: a trial, the job that stores its cells, and the identity of what determines their numbers.

A cell is a method under a setting on one split of a data set: one record. Its identity is a hash of the facts on
which its numbers depend, and of nothing else: the ridge grid does not identify a cell at a fixed ridge, nor the
kernel grid a cell at a fixed kernel. A stored cell is reused if its identity is the one that the config gives it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kselect.core.experiment import Experiment
from kselect.core.method import Method
from kselect.core.record import Record, record_keys
from kselect.datasets.content import sha256_of
from kselect.datasets.dataset import Source
from kselect.grids import show_number
from kselect.kernels.sums import families_of, is_sum
from kselect.registry import REGISTRIES

# Raise it whenever a change makes the same config give other numbers: old results are then not mixed in.
RESULT_VERSION = 7
# The same for the numbers of one learner only.
LEARNER_VERSIONS = {
    "svm": 2
}  # slacks that are 0 at the optimum are exactly 0: equal scores are ties
# The same for the numbers of one continuous search only.
SEARCH_VERSIONS = {"flkl": 2, "nelder-mead": 2}  # ARD starts from RBF-FLKL
VERSIONS: Mapping[str, Mapping[str, int]] = {"learner": LEARNER_VERSIONS, "search": SEARCH_VERSIONS}
# The facts on which only some methods depend; all others are the same for every method of a data set.
OF_SOME = frozenset(
    {"kernels", "lam", "tune-folds", "search", "learner-version", "search-versions"}
)
MethodKey = tuple[str, str, str]


@dataclass(frozen=True)
class Trial:
    """The methods that are still to be computed on one split of one data set."""

    dataset: str
    split: int
    methods: tuple[Method, ...]
    source: Source

    @property
    def name(self) -> str:
        """Return the name in messages, as in ``heart, split 3``."""
        return f"{self.dataset}, split {self.split}"


@dataclass(frozen=True)
class Cell:
    """A record with the identity of what determines its numbers."""

    record: Record
    identity: str


@dataclass(frozen=True)
class Job:
    """The cells of one split of one data set."""

    dataset: str
    split: int
    data_sha256: str
    split_sha256: str
    environment: str
    cells: tuple[Cell, ...]
    seconds: dict[str, float]
    traceback: str = ""

    @property
    def records(self) -> tuple[Record, ...]:
        """The records of the cells."""
        return tuple(cell.record for cell in self.cells)


class Jobs(Protocol):
    """The stored jobs of an experiment, as planning and running see them."""

    folder: Path

    def read(self, dataset: str, split: int) -> Job | None:
        """Return a job, or None if it is not stored."""

    def cells(self, dataset: str, split: int) -> tuple[Cell, ...]:
        """Return the stored cells of one split, from its job and, if the job lacks them, from records.csv."""

    def add(self, job: Job, fresh: bool) -> None:
        """Store a job, and keep the stored cells of other methods."""


def protocol_of(experiment: Experiment, dataset: str, data_sha256: str) -> str:
    """Return a hash of everything except the methods that determines the numbers of a data set."""
    return digest(protocol_facts(experiment, dataset, data_sha256))


def digest(facts: Any) -> str:
    """Return the hash of facts."""
    return sha256_of(json.dumps(facts, sort_keys=True).encode())


def protocol_facts(experiment: Experiment, dataset: str, data_sha256: str) -> dict[str, Any]:
    """Return name -> value of everything except the methods that determines the numbers of a data set."""
    info, lam = experiment.info(dataset), experiment.lam
    learner = dict(experiment.learners)[info.task]
    facts: dict[str, Any] = {
        "version": RESULT_VERSION,
        "data": data_sha256,
        "learner": [learner.name, *map(list, learner.params)],
        "scale": experiment.scale,
        "scale-on": experiment.scale_on,
        "train": "given" if experiment.train is None else show_number(experiment.train),
        "stratify": experiment.stratify,
        "seed": experiment.seed,
        "ridge": experiment.ridge,
        "kernels": [f"{k.name}({k.text})" for k in experiment.kernels],
        "lam": [lam.mode, lam.unit, *map(show_number, lam.values)],
        "tune-folds": experiment.tune_folds,
    }
    if learner.name in LEARNER_VERSIONS:
        facts["learner-version"] = LEARNER_VERSIONS[learner.name]
    searches = {m.search.name for m in experiment.methods if m.search}
    if versions := {name: SEARCH_VERSIONS[name] for name in searches & SEARCH_VERSIONS.keys()}:
        facts["search-versions"] = versions
    if info.reading:
        facts["reading"] = info.reading
    if experiment.scale_target != "none" and info.task == "regression":
        facts["scale-target"] = experiment.scale_target
    if experiment.scorer:
        facts["metric"] = experiment.scorer.error_name
    if experiment.search != "grid":  # the pruned search equals the grid up to rounding only
        facts["search"] = experiment.search
    return facts


# --- identity ---------------------------------------------------------------------------------------


def fact_hashes(experiment: Experiment, dataset: str, data_sha256: str) -> dict[str, str]:
    """Return a short hash of each fact that determines numbers of a data set.

    Besides the facts of the protocol, these are the versions of learners and searches and the checksums of the
    plug-ins that provide parts, as in ``criterion LOO-median``.
    """
    facts = protocol_facts(experiment, dataset, data_sha256)
    for method in experiment.methods_on(dataset):
        for kind, name in parts_of(experiment, dataset, method):
            version: list[object] = [VERSIONS.get(kind, {}).get(name)]
            plugin = REGISTRIES[kind].plugins.get(name) if kind in REGISTRIES else None
            version += [plugin.sha256] if plugin else []
            if version != [None]:
                facts[f"{kind} {name}"] = version
    facts = {k: v for k, v in facts.items() if k not in ("learner-version", "search-versions")}
    return {name: digest(value)[:12] for name, value in facts.items()}


def with_stored_versions(hashes: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """Return hashes of facts with the versions that stored numbers have, in place of the present versions.

    A later kselect may correct the numbers of a learner or a search. Its reports still show the stored ones.
    """
    if not stored:
        return dict(hashes)
    versions = {name: value for name, value in stored.items() if is_version(name)}
    kept = {k: v for k, v in hashes.items() if k in versions or not is_version(k)}
    return kept | versions


def is_version(fact: str) -> bool:
    """Return whether a fact is a version: of all numbers, or of a part of kselect."""
    kind, _, name = fact.partition(" ")
    return fact == "version" or (kind in VERSIONS and name not in REGISTRIES[kind].plugins)


def parts_of(experiment: Experiment, dataset: str, method: Method) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each part that computes a number of a method."""
    task = experiment.info(dataset).task
    for one in chain_of(experiment, dataset, method):
        if one.estimator:
            continue
        yield from (("criterion", one.criterion), ("probe", one.criterion))
        yield "learner", dict(one.scored_by).get(task, dict(experiment.learners)[task]).name
        yield "learner", dict(experiment.learners)[task].name
        if one.search:
            yield "search", one.search.name
            yield from (("kernel", name) for name in families_of(one.kernel))
        elif one.fixed:
            yield "kernel", one.fixed.name
        else:
            yield from (("kernel", name) for name in experiment.families)


def chain_of(experiment: Experiment, dataset: str, method: Method) -> tuple[Method, ...]:
    """Return a method and, for a probe, the column at whose choice it is evaluated."""
    task = experiment.info(dataset).task
    return (method, experiment.column(task, method.at)) if method.at else (method,)


def needed_facts(experiment: Experiment, dataset: str, method: Method) -> frozenset[str]:
    """Return the names of the facts of ``OF_SOME``, and of versions, on which a method depends."""
    found = {f"{kind} {name}" for kind, name in parts_of(experiment, dataset, method)}
    for one in chain_of(experiment, dataset, method):
        if one.estimator:
            continue
        moves = one.search is not None
        if is_sum(one.kernel):  # its families, and its starts
            found |= {"kernels"} | ({"lam"} if experiment.lam.mode == "select" else set())
        if not (moves or one.at or one.everywhere or one.fixed):
            found |= {"kernels", "search"}
        # At a fixed lam the setting says all; the other values of the grid change nothing.
        if experiment.lam.mode == "select" and not (moves or one.at or one.everywhere):
            found.add("lam")
        if one.tuned:
            found.add("tune-folds")
    return frozenset(found)


def identities(
    experiment: Experiment,
    dataset: str,
    hashes: Mapping[str, str],
    methods: Iterable[Method] | None = None,
) -> dict[MethodKey, str]:
    """Return the identity of each method of a data set, by the part, label and parameters in its records.

    The default is all methods of the experiment.
    """
    known: dict[frozenset[str], str] = {}
    found: dict[MethodKey, str] = {}
    for method in experiment.methods_on(dataset) if methods is None else methods:
        needed = needed_facts(experiment, dataset, method)
        if needed not in known:
            # A fact that names a part is of some methods only, like those that are listed.
            mine = {
                k: v for k, v in hashes.items() if k in needed or not (k in OF_SOME or " " in k)
            }
            known[needed] = digest(mine)[:16]
        found[method.part, method.label, method.text] = known[needed]
    return found


def missing_methods(
    experiment: Experiment, trial: Trial, cells: Iterable[Cell], retry_failed: bool
) -> tuple[Method, ...]:
    """Return the methods of a trial that lack a cell; with ``retry_failed``, a failed one does not count."""
    hashes = fact_hashes(experiment, trial.dataset, trial.source.sha256)
    now = identities(experiment, trial.dataset, hashes)
    here = {
        cell.record.key
        for cell in own_cells(now, cells)
        if not (retry_failed and cell.record.status == "failed")
    }
    return tuple(m for m in trial.methods if not here.issuperset(record_keys(experiment, m)))


def own_cells(now: Mapping[MethodKey, str], cells: Iterable[Cell]) -> Iterator[Cell]:
    """Yield the cells whose method has the same identity now."""
    return (cell for cell in cells if now.get(cell.record.key[:3]) == cell.identity)


def as_cells(experiment: Experiment, trial: Trial, records: Iterable[Record]) -> tuple[Cell, ...]:
    """Return the records of a trial with their identities."""
    hashes = fact_hashes(experiment, trial.dataset, trial.source.sha256)
    now = identities(experiment, trial.dataset, hashes, trial.methods)
    return tuple(Cell(record, now[record.key[:3]]) for record in records)
