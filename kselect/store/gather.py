"""Gather the jobs of an experiment in records.csv, seconds.csv and manifest.json.

records.csv holds the numbers, in the order of the config; times are in seconds.csv only. A clone of the repository
has records.csv but no jobs. Its rows stay as they are until a job replaces them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kselect.core.experiment import Experiment
from kselect.core.job import (
    Cell,
    Job,
    MethodKey,
    fact_hashes,
    identities,
    own_cells,
    protocol_of,
    with_stored_versions,
)
from kselect.core.record import COLUMNS, DIGITS, Record, RecordKey, record_keys
from kselect.datasets.content import sha256_of
from kselect.errors import StoreError, printable
from kselect.files import locked
from kselect.store.environment import digest
from kselect.store.jobs import Store, listed
from kselect.store.manifest import days_of, make_manifest, read_manifest

SECONDS_COLUMNS = ("dataset", "split", "environment", "search", "test")
READERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float | None": lambda text: float(text) if text else None,
}
FIRST_COLUMNS = 22  # of 1.0; later columns follow them, with defaults
# The files that stand for all results of a folder, each with a text at its beginning that only kselect writes.
MARKS = {
    "records.csv": ",".join(COLUMNS[:FIRST_COLUMNS]),
    "seconds.csv": ",".join(SECONDS_COLUMNS),
    "report.html": '<meta name="generator" content="kselect">',
    "manifest.json": "",
}
NO_FACTS: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Gathered:
    """All results of an experiment in one folder."""

    jobs: tuple[Job, ...]
    records: tuple[Record, ...]
    manifest: Mapping[str, Any]


def write_gathered(
    experiment: Experiment,
    store: Store,
    environment: Mapping[str, Any] = NO_FACTS,
    sources: Mapping[str, str] = NO_FACTS,
    missing: Mapping[str, str] = NO_FACTS,
    files: Mapping[str, str] = NO_FACTS,
    as_stored: bool = False,
) -> Gathered:
    """Write records.csv, seconds.csv and manifest.json of a folder, one process at a time.

    With ``as_stored``, numbers of earlier versions of learners and searches stay.
    """
    with locked(store.folder):
        found = gather(experiment, store, files, as_stored)
        stored = found.manifest
        known = {**stored.get("environments", {}), **store.environments()}
        if environment:
            known[digest(dict(environment))] = dict(environment)
        gone = {name: why for name, why in stored.get("missing", {}).items() if name not in sources}
        here = {r.dataset for r in found.records}
        absent = {n: w for n, w in {**gone, **missing}.items() if n not in here}
        text = csv_text(COLUMNS, ([getattr(r, name) for name in COLUMNS] for r in found.records))
        parts = found.jobs, found.records, stored
        days = days_of(found.jobs, store)
        facts = make_manifest(experiment, *parts, sources, absent, known, text, days, as_stored)
        if found.records:
            store.write("records.csv", text)
        if found.jobs:
            store.write("seconds.csv", seconds_text(experiment, found, store))
        if found.records:
            store.write("manifest.json", facts)
    return Gathered(found.jobs, found.records, facts)


def gather(
    experiment: Experiment,
    store: Store,
    files: Mapping[str, str] = NO_FACTS,
    as_stored: bool = False,
) -> Gathered:
    """Return the records that belong to the experiment: of all jobs, and of records.csv if no job replaces them.

    Cells that another config, data file or plug-in has computed are left out; their jobs stay as they are.
    ``files`` has the checksums of the data files; for other data sets, the one in the manifest counts.
    """
    order = {name: position for position, name in enumerate(experiment.datasets)}
    every = [job for pair in store.stored() if (job := store.read(*pair))]
    every = [j for j in every if j.dataset in order and j.split in experiment.splits]
    every.sort(key=lambda j: (order[j.dataset], j.split))
    stored = read_manifest(store)
    data = {j.dataset: j.data_sha256 for j in reversed(every)}
    data |= {name: entry.get("sha256", "") for name, entry in stored.get("data", {}).items()}
    data |= files
    rows = store.rows or read_rows(experiment, store)
    jobs: list[Job] = []
    known: dict[tuple[str, int, RecordKey], Record] = {}
    for name in (name for name in experiment.datasets if name in data):
        hashes = hashes_of(experiment, name, data[name], stored, as_stored)
        now = identities(experiment, name, hashes)
        old = [c for key, some in rows.items() if key[0] == name for c in some]
        for cell in own_cells(now, (c for c in old if c.record.split in experiment.splits)):
            known[name, cell.record.split, cell.record.key] = cell.record
        for job in (job for job in every if job.dataset == name):
            mine = {c.record.key: c.record for c in own_cells(now, job.cells)}
            known |= {(name, job.split, key): record for key, record in mine.items()}
            jobs += [job] if mine else []
    return Gathered(tuple(jobs), tuple(ordered_records(experiment, known.values())), stored)


def hashes_of(
    experiment: Experiment, name: str, sha256: str, stored: Mapping[str, Any], as_stored: bool
) -> dict[str, str]:
    """Return the hashes of the facts of a data set, with the versions in a manifest or the present ones."""
    hashes = fact_hashes(experiment, name, sha256)
    if not as_stored:
        return hashes
    return with_stored_versions(hashes, stored.get("data", {}).get(name, {}).get("facts", {}))


def read_rows(
    experiment: Experiment, store: Store, before: Experiment | None = None
) -> dict[tuple[str, int], tuple[Cell, ...]]:
    """Return the rows of records.csv as cells of an experiment, by data set and split."""
    stored = read_manifest(store)
    found: dict[tuple[str, int], list[Cell]] = {}
    for cell in identified(experiment, stored_records(store, stored), stored, before):
        found.setdefault((cell.record.dataset, cell.record.split), []).append(cell)
    return {key: tuple(cells) for key, cells in found.items()}


def identified(
    experiment: Experiment,
    records: Iterable[Record],
    stored: Mapping[str, Any],
    before: Experiment | None = None,
) -> list[Cell]:
    """Return the records of an experiment's methods as cells, with the identities that a manifest gives them.

    They follow from the facts in the manifest. A manifest without facts has only the hash of
    the protocol. The experiment may have the same hash, or ``before``, the config that the folder keeps; otherwise
    its rows get no identity.
    """
    now: dict[str, dict[MethodKey, str]] = {}
    for name, entry in stored.get("data", {}).items():
        if name in experiment.datasets:
            hashes = entry.get("facts")
            for one in (experiment, before) if hashes is None else ():
                sha256 = entry.get("sha256", "")
                if one is None or name not in one.datasets:
                    continue
                if entry.get("protocol") == protocol_of(one, name, sha256):
                    hashes = fact_hashes(one, name, sha256)
                    break
            keys = identities(experiment, name, hashes or {})
            now[name] = keys if hashes else dict.fromkeys(keys, "")
    return [
        Cell(record, identity)
        for record in records
        if (identity := now.get(record.dataset, {}).get(record.key[:3])) is not None
    ]


def check_leftover(
    experiment: Experiment,
    store: Store,
    files: Mapping[str, str] = NO_FACTS,
    planned: Iterable[tuple[str, int, RecordKey]] = (),
    differences: str = "",
    as_stored: bool = False,
) -> None:
    """Before any work, refuse a stored job that cannot be read, and refuse to lose rows of records.csv.

    Rows of another config are lost if they have no job and the plan does not replace them.
    """
    again = set(planned)
    trials = {(dataset, split) for dataset, split, _ in again}
    jobs = {pair: store.read(*pair) for pair in store.stored() if pair not in trials}
    stored = read_manifest(store)
    known = stored.get("data", {})
    for name in experiment.datasets:
        sha256 = files.get(name, known.get(name, {}).get("sha256", ""))
        hashes = hashes_of(experiment, name, sha256, stored, as_stored)
        now = identities(experiment, name, hashes)
        lost = 0
        for (_, split), cells in ((k, v) for k, v in store.rows.items() if k[0] == name):
            job = jobs.get((name, split))
            kept = {c.record.key for c in own_cells(now, cells)}
            kept |= {r.key for r in job.records} if job else set()
            left = {c.record.key for c in cells if split in experiment.splits} - kept
            lost += sum((name, split, key) not in again for key in left)
        if lost:
            raise other_config(store, f"{lost} rows of {name} in records.csv", differences)


def other_config(store: Store, what: str, differences: str = "") -> StoreError:
    """Return the error for results that do not belong to the config, with the remedy."""
    why = f" ({differences})" if differences else ""
    return StoreError(
        f"{what} were computed with another config{why}; choose another --output, or compute all of it "
        f"again: kselect run CONFIG --output {printable(store.folder)}"
    )


def check_foreign(store: Store, kept: bool) -> None:
    """Refuse a folder whose files have our names but come from elsewhere: they would be overwritten.

    A valid manifest shows that the folder is ours. If it is absent or damaged, a folder that has ``kept`` a config
    may hold files of an interrupted run; any other folder may hold the tables of ``kselect time`` only.
    """
    if store.folder.exists() and not store.folder.is_dir():
        raise StoreError(
            f"{printable(store.folder)}: a file, not a folder; choose another --output"
        )
    if read_manifest(store):
        return
    for name, mark in MARKS.items():
        path = store.folder / name
        if path.exists() and not (kept and begins_with(path, mark)):
            raise foreign(store, name)
    for part in () if kept else ("tables", "figures"):
        for path in listed(store.folder / part):
            if path.stem != "seconds":
                raise foreign(store, f"{part}/{path.name}")


def begins_with(path: Path, mark: str) -> bool:
    """Return whether a regular file has a text in its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return mark.encode() in stream.read(1000)


def foreign(store: Store, name: str) -> StoreError:
    """Return the error for a file that kselect has not written."""
    return StoreError(
        f"{printable(store.folder / name)}: not written by kselect, or its manifest.json is lost; "
        "choose another --output, or move the file away"
    )


def ordered_records(experiment: Experiment, records: Iterable[Record]) -> list[Record]:
    """Return the records of the experiment by data set, split and method, in the order of its config."""
    datasets = {name: position for position, name in enumerate(experiment.datasets)}
    keys: dict[str, dict[RecordKey, int]] = {}
    for name in experiment.datasets:
        every = (key for m in experiment.methods_on(name) for key in record_keys(experiment, m))
        keys[name] = {key: position for position, key in enumerate(every)}
    mine = [r for r in records if r.key in keys.get(r.dataset, {})]
    return sorted(mine, key=lambda r: (datasets[r.dataset], r.split, keys[r.dataset][r.key]))


def stored_records(store: Store, stored: Mapping[str, Any]) -> list[Record]:
    """Return the rows of records.csv if the manifest knows the file; refuse a file that was changed."""
    path = store.folder / "records.csv"
    known = stored.get("records_sha256")
    if known is None or not path.is_file():
        return []
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from None
    if sha256_of(content) != known:
        raise StoreError(
            f"{path}: changed since kselect wrote it; delete it, or restore its content"
        )
    return parse_records(content, path)


def parse_records(content: bytes, path: Path) -> list[Record]:
    """Return the rows of a records.csv; ``path`` names the file in errors.

    A file of an earlier 1.x has the first columns only; the others have their defaults.
    """
    rows = csv.reader(io.StringIO(content.decode(), newline=""))
    header = tuple(next(rows, ()))
    if header != COLUMNS[: len(header)] or len(header) < FIRST_COLUMNS:
        raise StoreError(f"{path}: not the columns of this version; kselect run again")
    readers = [READERS.get(str(f.type), str) for f in fields(Record)[: len(header)]]
    found = []
    try:
        for row in rows:
            found.append(Record(*(read(v) for read, v in zip(readers, row, strict=True))))
    except ValueError as error:
        raise StoreError(f"{path}:{rows.line_num}: not a record: {error}") from None
    return found


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a CSV with Unix line ends; floats have the digits that records keep, and None is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([f"{v:.{DIGITS}g}" if isinstance(v, float) else v for v in row])
    return out.getvalue()


def seconds_text(experiment: Experiment, found: Gathered, store: Store) -> str:
    """Return the content of seconds.csv; rows of absent jobs stay as long as their records do.

    The seconds of estimators stand in columns of their own. Two runs of the same config differ in this file and
    in the manifest only.
    """
    own = tuple(label for label in experiment.labels if label in experiment.estimators)
    rows: dict[tuple[str, int], Mapping[str, object]] = {}
    try:
        with (store.folder / "seconds.csv").open(encoding="utf-8", newline="") as file:
            columns, *old = csv.reader(file)
        if tuple(columns[: len(SECONDS_COLUMNS)]) == SECONDS_COLUMNS:
            known = (
                dict(zip(columns, row, strict=True)) for row in old if len(row) == len(columns)
            )
            rows = {(row["dataset"], int(row["split"])): row for row in known}
    except (OSError, ValueError, csv.Error):
        pass  # no such file, or not one that kselect wrote
    for j in found.jobs:
        # A job of estimators only keeps what is known of the columns that were there before it.
        before = rows.get((j.dataset, j.split), {}) if j.seconds else {}
        facts = {"dataset": j.dataset, "split": j.split, "environment": j.environment}
        spent = {k: round(v, 4) for k, v in j.seconds.items() if k in ("search", "test", *own)}
        rows[j.dataset, j.split] = {"search": 0.0, "test": 0.0, **before, **facts, **spent}
    order = {name: position for position, name in enumerate(experiment.datasets)}
    here = {(r.dataset, r.split) for r in found.records} | {
        (j.dataset, j.split) for j in found.jobs
    }
    ordered = sorted(here & rows.keys(), key=lambda key: (order[key[0]], key[1]))
    names = (*SECONDS_COLUMNS, *own)
    return csv_text(names, ([rows[key].get(name, "") for name in names] for key in ordered))
