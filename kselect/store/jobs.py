"""The jobs of an experiment in results/<experiment>/jobs/: one checksummed file per split of a data set.

A clone of the repository has records.csv but no jobs; its rows count as stored cells too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from kselect import __version__
from kselect.core.job import Cell, Job
from kselect.core.record import Record, check_values
from kselect.datasets.content import sha256_of
from kselect.errors import DamagedJob, StoreError, WriteError
from kselect.files import locked, write_changed
from kselect.formats import JOB

ENVIRONMENT = "environment-"  # a file next to the folders of the data sets
TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float | None": (float, int, type(None)),
}


@dataclass
class Store:
    """The results folder of one experiment; ``rows`` are the cells of records.csv by data set and split."""

    folder: Path
    rows: Mapping[tuple[str, int], tuple[Cell, ...]] = field(default_factory=dict)

    def job_path(self, dataset: str, split: int) -> Path:
        """Return ``jobs/<data set>/<split>.json``."""
        return self.folder / "jobs" / dataset / f"{split}.json"

    def read(self, dataset: str, split: int) -> Job | None:
        """Return a job, or None if it is not stored; raise StoreError if its file is not valid."""
        path = self.job_path(dataset, split)
        try:
            job = parse_job(path.read_bytes(), path)
            if (job.dataset, job.split) != (dataset, split):
                raise ValueError(f"it holds {job.dataset}, split {job.split}")
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            why = " ".join(str(error).split())[:80]
            raise DamagedJob(f"{path}: damaged ({why}); kselect run computes it again") from None
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from None
        return job

    def cells(self, dataset: str, split: int) -> tuple[Cell, ...]:
        """Return the stored cells of one split, from its job and, if the job lacks them, from records.csv.

        A damaged job has none: it is computed again.
        """
        try:
            job = self.read(dataset, split)
        except DamagedJob:
            return ()
        rows = self.rows.get((dataset, split), ())
        if job is None:
            return rows
        return tuple({cell.record.key: cell for cell in (*rows, *job.cells)}.values())

    def stored(self) -> list[tuple[str, int]]:
        """Return data set and split of every job file without reading it; an unreadable folder is a StoreError."""
        folders = [p for p in listed(self.folder / "jobs") if p.is_dir()]
        paths = sorted(p for folder in folders for p in listed(folder) if p.suffix == ".json")
        return [(p.parent.name, int(p.stem)) for p in paths if p.stem.isdigit()]

    def add(self, job: Job, fresh: bool) -> None:
        """Write a job, and keep the stored cells that it does not replace.

        A damaged file is replaced; with ``fresh``, so is one that cannot be read for another reason.
        """
        try:
            # Another run may be adding other methods to the same job.
            with locked(self.job_path(job.dataset, job.split).parent):
                try:
                    old = self.read(job.dataset, job.split)
                except StoreError as error:
                    if not (fresh or isinstance(error, DamagedJob)):
                        raise
                    old = None
                if old and old.data_sha256 == job.data_sha256:
                    cells = {cell.record.key: cell for cell in (*old.cells, *job.cells)}
                    sha256 = job.split_sha256 or old.split_sha256
                    seconds = {**old.seconds, **job.seconds}
                    job = replace(
                        job, split_sha256=sha256, cells=tuple(cells.values()), seconds=seconds
                    )
                self.write(f"jobs/{job.dataset}/{job.split}.json", job_text(job))
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot write: {error.strerror}") from None

    def keep_environment(self, name: str, facts: Mapping[str, Any]) -> None:
        """Write the facts of an environment that jobs name, before its first job: the run may be killed."""
        file = f"jobs/{ENVIRONMENT}{name}.json"
        if not (self.folder / file).is_file():
            self.write(file, facts)

    def environments(self) -> dict[str, Any]:
        """Return name -> facts of the environments; a file that cannot be read counts as absent."""
        found = {}
        for path in (self.folder / "jobs").glob(f"{ENVIRONMENT}*.json"):
            with suppress(OSError, ValueError):
                name = path.stem.removeprefix(ENVIRONMENT)
                found[name] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def write(self, name: str, content: str | Mapping[str, Any]) -> Path:
        """Write a text, or a mapping as JSON, to a file below the folder; raise StoreError if the disk refuses."""
        path = self.folder / name
        text = content if isinstance(content, str) else json.dumps(content, indent=1) + "\n"
        try:
            write_changed(path, text)
        except OSError as error:
            raise WriteError(f"{path}: cannot write: {error.strerror}") from None
        return path


def listed(folder: Path) -> list[Path]:
    """Return the sorted content of a folder, empty if it is absent; unlike glob, raise if it is unreadable."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from None


def job_text(job: Job) -> str:
    """Return a job as JSON with one record per line, easy to read and to diff, and a checksum at its end."""
    head = {k: v for k, v in asdict(replace(job, cells=())).items() if k != "cells"}
    every = ({**asdict(cell.record), "identity": cell.identity} for cell in job.cells)
    lines = ",\n  ".join(json.dumps(one, allow_nan=False) for one in every)
    facts = json.dumps({"version": JOB.newest, "kselect": __version__, **head}, allow_nan=False)
    body = f'{facts[:-1]},\n"records": [\n  {lines}\n],\n'
    return f'{body}"checksum": "{sha256_of(body.encode())}"}}\n'


def parse_job(content: bytes, path: Path) -> Job:
    """Return the job that ``job_text`` wrote; raise OtherFormat, or ValueError if the file was changed."""
    data = json.loads(content)
    body, mark, _ = content.rpartition(b'"checksum": ')
    if not mark or data.pop("checksum") != sha256_of(body):
        raise ValueError("its checksum is wrong")
    JOB.check(path, data.pop("version"), data.pop("kselect", None))
    written = data.pop("records")
    identities = [str(one.pop("identity")) for one in written]
    records = [Record(**one) for one in written]
    for record in records:
        for column in fields(record):  # text in place of a number would surface much later
            value = getattr(record, column.name)
            types = TYPES.get(str(column.type), (str,))
            if not isinstance(value, types) or isinstance(value, bool):
                raise ValueError(f"{column.name} is {value!r}")
        check_values(record)
    return Job(cells=tuple(map(Cell, records, identities)), **data)
