"""The unit of work: a trial, the job that stores its results, and the protocol that identifies its numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kselect.core.experiment import Experiment
from kselect.core.method import Method
from kselect.core.record import Record, record_keys
from kselect.datasets.content import sha256_of
from kselect.datasets.dataset import Source
from kselect.grids import show_number

# Raise it whenever a change makes the same config give other numbers: old results are then not mixed in.
RESULT_VERSION = 7
# The same for the numbers of one learner only.
LEARNER_VERSIONS = {
    "svm": 2
}  # slacks that are 0 at the optimum are exactly 0: equal scores are ties
# The same for the numbers of one continuous search only.
SEARCH_VERSIONS = {"flkl": 2, "nelder-mead": 2}  # ARD starts from RBF-FLKL


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
class Job:
    """The results of one split of one data set; ``protocol`` identifies everything that determines its numbers."""

    dataset: str
    split: int
    protocol: str
    data_sha256: str
    split_sha256: str
    environment: str
    records: tuple[Record, ...]
    seconds: dict[str, float]
    traceback: str = ""

    def pending(
        self, experiment: Experiment, methods: Iterable[Method], retry_failed: bool
    ) -> tuple[Method, ...]:
        """Return the methods that lack a record; with ``retry_failed``, a failed record does not count."""
        here = {r.key for r in self.records if not (retry_failed and r.status == "failed")}
        return tuple(m for m in methods if not here.issuperset(record_keys(experiment, m)))


class Jobs(Protocol):
    """The stored jobs of an experiment, as planning and running see them."""

    folder: Path

    @property
    def other(self) -> str:
        """Return the words of a message for jobs that do not belong to the config."""

    def job_path(self, dataset: str, split: int) -> Path:
        """Return the file of a job."""

    def read(self, dataset: str, split: int) -> Job | None:
        """Return a job, or None if it is not stored."""

    def add(self, job: Job, fresh: bool) -> None:
        """Store a job, and keep the stored records of other methods."""


def protocol_of(experiment: Experiment, dataset: str, data_sha256: str) -> str:
    """Return a hash of everything except the methods that determines the numbers of a job."""
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
    if experiment.search != "grid":  # the pruned search equals the grid up to rounding only
        facts["search"] = experiment.search
    return sha256_of(json.dumps(facts, sort_keys=True).encode())
