"""What is stored of a trial: a job, and the identity of everything that its numbers rest on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kselect.core.experiment import Experiment
from kselect.core.method import Method
from kselect.core.record import Record, record_keys
from kselect.datasets.dataset import Source
from kselect.grids import show_number

# Raise it whenever a change makes the same config give other numbers: old results are then not mixed in.
RESULT_VERSION = 7
# The same for what rests on one learner alone.
LEARNER_VERSIONS = {"svm": 2}  # slacks that optimality makes 0 are 0: equal risks are ties


@dataclass(frozen=True)
class Trial:
    """Every pending method on one split of one data set."""

    dataset: str
    split: int
    methods: tuple[Method, ...]
    source: Source

    @property
    def name(self) -> str:
        """``heart, split 3``."""
        return f"{self.dataset}, split {self.split}"


@dataclass(frozen=True)
class Outcome:
    """What a trial gives back: its records, the split's checksum, and the seconds of each stage."""

    records: tuple[Record, ...]
    split_sha256: str
    seconds: dict[str, float]
    traceback: str = ""


@dataclass(frozen=True)
class Job:
    """What is known of one (data set, split); ``protocol`` identifies all that its numbers rest on."""

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
        """The methods with a cell that is empty, or failed where failures are to be tried again."""
        here = {r.key for r in self.records if not (retry_failed and r.status == "failed")}
        return tuple(m for m in methods if not here.issuperset(record_keys(experiment, m)))


class Jobs(Protocol):
    """Where jobs are kept, as planning and running see it."""

    folder: Path

    def job_path(self, dataset: str, split: int) -> Path:
        """The file of a job."""
        ...

    def read(self, dataset: str, split: int) -> Job | None:
        """A job, None where there is none."""
        ...

    def jobs(self) -> Iterator[Job]:
        """Every job that is there."""
        ...

    def add(
        self, trial: Trial, outcome: Outcome, protocol: str, environment: str, fresh: bool
    ) -> None:
        """Keep an outcome."""
        ...


def protocol_of(experiment: Experiment, dataset: str, data_sha256: str) -> str:
    """The identity of everything but the method that determines a job's numbers."""
    learner, lam = experiment.learner(experiment.task(dataset)), experiment.lam
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
    reading = experiment.info(dataset).reading
    if reading:
        facts["reading"] = reading
    if experiment.search != "grid":  # a minimum by bounds is the grid's up to rounding alone
        facts["search"] = experiment.search
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
