"""Records <-> results/<experiment>/: one file per job, written whole; a job is one (data set, split)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from kselect.core.job import RESULT_VERSION, Job, Outcome, Trial
from kselect.core.record import Record, RecordKey
from kselect.errors import DamagedJob, StoreError
from kselect.files import locked, write_whole

TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float | None": (float, int, type(None)),
}


# Versions whose files had no checksum.
EARLIER_VERSIONS = (1, 2)


class OtherVersion(Exception):
    """A job that was written before or after this version."""


def checksum(content: bytes) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


class Store:
    """The folder of one experiment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def job_path(self, dataset: str, split: int) -> Path:
        """``jobs/<data set>/<split>.json``."""
        return self.folder / "jobs" / dataset / f"{split}.json"

    def read(self, dataset: str, split: int) -> Job | None:
        """A job, None where there is none; a file that is no job is a StoreError."""
        path = self.job_path(dataset, split)
        try:
            job = parse_job(path.read_bytes())
        except FileNotFoundError:
            return None
        except OtherVersion:
            raise StoreError(
                f"{path}: written by another version; delete it, or use --force"
            ) from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            why = " ".join(str(error).split())[:80]
            raise DamagedJob(f"{path}: damaged ({why}); kselect run computes it again") from None
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from None
        if (job.dataset, job.split) != (dataset, split):
            raise DamagedJob(
                f"{path}: damaged (it holds {job.dataset}, split {job.split}); "
                "kselect run computes it again"
            )
        return job

    def jobs(self) -> Iterator[Job]:
        """Every job that is there, by data set and split."""
        for dataset, split in self.stored():
            if job := self.read(dataset, split):
                yield job

    def stored(self) -> list[tuple[str, int]]:
        """The data set and split of every job file, whatever is in it; a folder that cannot be read is an error."""
        jobs = self.folder / "jobs"
        folders = [p for p in listed(jobs) if p.is_dir()]
        paths = sorted(p for folder in folders for p in listed(folder) if p.suffix == ".json")
        return [(p.parent.name, int(p.stem)) for p in paths if p.stem.isdigit()]

    def add(
        self, trial: Trial, outcome: Outcome, protocol: str, environment: str, fresh: bool
    ) -> None:
        """Write an outcome beside what the job holds of other methods.

        What rests on another protocol is dropped; ``fresh`` also drops what cannot be read.
        """
        try:
            # Another run may add other methods to the same job.
            with locked(self.job_path(trial.dataset, trial.split).parent):
                old = self.kept(trial, protocol, fresh)
                self.add_to(old, trial, outcome, protocol, environment)
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot write: {error.strerror}") from None

    def kept(self, trial: Trial, protocol: str, fresh: bool) -> Job | None:
        """What a trial's outcome is written beside, if anything."""
        try:
            old = self.read(trial.dataset, trial.split)
        except DamagedJob:
            return None
        except StoreError:
            if not fresh:
                raise
            return None
        return old if old and old.protocol == protocol else None

    def add_to(
        self, old: Job | None, trial: Trial, outcome: Outcome, protocol: str, environment: str
    ) -> None:
        """Write the job that holds both."""
        job = Job(
            trial.dataset,
            trial.split,
            protocol,
            trial.source.sha256,
            outcome.split_sha256 or (old.split_sha256 if old else ""),
            environment,
            merged(old.records if old else (), outcome.records),
            outcome.seconds,
            outcome.traceback,
        )
        self.write(f"jobs/{job.dataset}/{job.split}.json", job_text(job))

    def write(self, name: str, content: str) -> Path:
        """A file below the folder, whole or not at all; a disk that refuses is a StoreError."""
        path = self.folder / name
        try:
            write_whole(path, content)
        except OSError as error:
            raise StoreError(f"{path}: cannot write: {error.strerror}") from None
        return path

    def write_json(self, name: str, facts: Mapping[str, Any]) -> Path:
        """A mapping as indented JSON."""
        return self.write(name, json.dumps(facts, indent=1) + "\n")


def listed(folder: Path) -> list[Path]:
    """What is in a folder, nothing where there is none; glob would take what is unreadable for empty."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from None


def merged(old: Iterable[Record], new: Iterable[Record]) -> tuple[Record, ...]:
    """Old records, replaced where a new one fills the same cell."""
    cells: dict[RecordKey, Record] = {r.key: r for r in old}
    cells.update({r.key: r for r in new})
    return tuple(cells.values())


def job_text(job: Job) -> str:
    """A job as JSON, one record per line: readable by eye and by diff; a checksum over all of it ends it."""
    head = {k: v for k, v in asdict(replace(job, records=())).items() if k != "records"}
    lines = ",\n  ".join(json.dumps(asdict(r), allow_nan=False) for r in job.records)
    facts = json.dumps({"version": RESULT_VERSION, **head}, allow_nan=False)
    body = f'{facts[:-1]},\n"records": [\n  {lines}\n],\n'
    return f'{body}"checksum": "{checksum(body.encode())}"}}\n'


def parse_job(content: bytes) -> Job:
    """The inverse of ``job_text``; another version's file is OtherVersion, one that was changed a ValueError."""
    data = json.loads(content)
    body, mark, _ = content.rpartition(b'"checksum": ')
    if not mark or data.pop("checksum") != checksum(body):
        if data.get("version", RESULT_VERSION) in EARLIER_VERSIONS:
            raise OtherVersion
        raise ValueError("its checksum is wrong")
    if data.pop("version") != RESULT_VERSION:
        raise OtherVersion
    records = tuple(Record(**r) for r in data.pop("records"))
    for record in records:
        check_types(record)
    return Job(records=records, **data)


def check_types(record: Record) -> None:
    """Every field is of its type: a text in the place of a number would surface much later."""
    for field in fields(record):
        wanted = TYPES.get(str(field.type), (str,))
        value = getattr(record, field.name)
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(f"{field.name} is {value!r}")
