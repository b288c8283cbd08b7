"""Jobs -> records.csv, seconds.csv, the manifest: numbers in one order, the clock in its own file.

records.csv is kept where jobs are not (a clone has none): rows that no job replaces stay as they are.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kselect.core.experiment import Experiment
from kselect.core.job import RESULT_VERSION, Job, protocol_of
from kselect.core.record import Record, RecordKey, record_keys
from kselect.errors import StoreError
from kselect.files import locked
from kselect.grids import show_number
from kselect.store.environment import digest
from kselect.store.jobs import Store, checksum
from kselect.store.table import csv_text, read_records, records_text

SECONDS_COLUMNS = ("dataset", "split", "environment", "search", "test")
NOT_RUN = "not run yet"
Split = tuple[str, int]  # of a data set
Row = Sequence[object]
NO_FACTS: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Gathered:
    """All that a folder holds of an experiment."""

    jobs: tuple[Job, ...]
    records: tuple[Record, ...]
    manifest: Mapping[str, Any]


def wanted_jobs(experiment: Experiment, jobs: Iterable[Job]) -> list[Job]:
    """The jobs of the experiment in its own order; those of another config are never mixed in."""
    order = {name: position for position, name in enumerate(experiment.datasets)}
    wanted = [j for j in jobs if j.dataset in order and j.split in experiment.splits]
    for job in wanted:
        if job.protocol != protocol_of(experiment, job.dataset, job.data_sha256):
            raise StoreError(
                f"jobs/{job.dataset}/{job.split}.json was computed with another config"
            )
    return sorted(wanted, key=lambda j: (order[j.dataset], j.split))


def ordered_records(experiment: Experiment, records: Iterable[Record]) -> list[Record]:
    """Records by data set, split and method as the config lists them, whatever order they were made in."""
    positions = {name: position for position, name in enumerate(experiment.datasets)}
    cells = {
        name: {
            cell: position
            for position, cell in enumerate(
                cell for m in experiment.methods_on(name) for cell in record_keys(experiment, m)
            )
        }
        for name in experiment.datasets
    }
    mine = [r for r in records if r.key in cells.get(r.dataset, {})]
    return sorted(mine, key=lambda r: (positions[r.dataset], r.split, cells[r.dataset][r.key]))


def gather(experiment: Experiment, store: Store) -> Gathered:
    """What the jobs hold, and beside it the rows of records.csv that no job replaces."""
    jobs = wanted_jobs(experiment, store.jobs())
    held = read_manifest(store)
    fresh = {(r.dataset, r.split, r.key): r for job in jobs for r in job.records}
    kept = {
        (r.dataset, r.split, r.key): r
        for r in ordered_records(experiment, held_records(store, held))
        if r.split in experiment.splits
    }
    left = [r for key, r in kept.items() if key not in fresh]
    check_kept_rows(experiment, left, held)
    records = ordered_records(experiment, [*fresh.values(), *left])
    return Gathered(tuple(jobs), tuple(records), held)


def check_leftover(
    experiment: Experiment, store: Store, planned: Iterable[tuple[str, int, RecordKey]]
) -> None:
    """Before any work: rows of records.csv that the plan does not compute anew must rest on this config."""
    held = read_manifest(store)
    again = set(planned)
    trials = {(dataset, split) for dataset, split, _ in again}
    for dataset, split in store.stored():
        if (dataset, split) not in trials and (job := store.read(dataset, split)):
            again |= {(dataset, split, r.key) for r in job.records}
    rows = ordered_records(experiment, held_records(store, held))
    left = [r for r in rows if (r.dataset, r.split, r.key) not in again]
    check_kept_rows(experiment, left, held)


def gathered_records(experiment: Experiment, store: Store) -> list[Record]:
    """The records alone."""
    return list(gather(experiment, store).records)


def held_records(store: Store, held: Mapping[str, Any]) -> list[Record]:
    """The rows of records.csv, which must be those that the manifest speaks of."""
    path = store.folder / "records.csv"
    known = held.get("records_sha256")
    if known is None or not path.is_file():
        return []
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from None
    if checksum(content) != known:
        raise StoreError(f"{path}: changed since it was written; delete it, or bring it back")
    return read_records(path)


def check_kept_rows(
    experiment: Experiment, left: Iterable[Record], held: Mapping[str, Any]
) -> None:
    """Rows that would stay beside new ones must rest on the same config."""
    for name in dict.fromkeys(r.dataset for r in left):
        entry = held.get("data", {}).get(name, {})
        if entry.get("protocol") != protocol_of(experiment, name, entry.get("sha256", "")):
            raise StoreError(
                f"records.csv holds rows of {name} that were computed with another config; "
                "choose another --output, or --force to compute all of it again"
            )


def seconds_text(experiment: Experiment, found: Gathered, held: Mapping[Split, Row]) -> str:
    """seconds.csv: what differs between two runs of the same config stands here and in the manifest alone.

    Rows of jobs that are not here stay as long as their records do.
    """
    here = {(r.dataset, r.split) for r in found.records}
    rows = {key: row for key, row in held.items() if key in here}
    for j in found.jobs:
        spent = (round(j.seconds.get(k, 0.0), 4) for k in ("search", "test"))
        rows[j.dataset, j.split] = [j.dataset, j.split, j.environment, *spent]
    order = {name: position for position, name in enumerate(experiment.datasets)}
    ordered = sorted(rows, key=lambda key: (order[key[0]], key[1]))
    return csv_text(SECONDS_COLUMNS, (rows[key] for key in ordered))


def held_seconds(store: Store) -> dict[Split, Row]:
    """The rows of seconds.csv; none where it is not there or not as it is written here."""
    try:
        with (store.folder / "seconds.csv").open(encoding="utf-8", newline="") as file:
            columns, *rows = csv.reader(file)
        if tuple(columns) != SECONDS_COLUMNS:
            return {}
        return {(row[0], int(row[1])): row for row in rows if len(row) == len(columns)}
    except (OSError, ValueError, csv.Error):
        return {}


def manifest(
    experiment: Experiment,
    found: Gathered,
    sources: Mapping[str, str],
    missing: Mapping[str, str],
    environments: Mapping[str, Any],
) -> dict[str, Any]:
    """What the numbers rest on: environments, seed, checksums of the data and of every split."""
    held, names = found.manifest, {r.dataset for r in found.records}
    data: dict[str, Any] = {
        name: {**entry, "splits": dict(entry.get("splits", {}))}
        for name, entry in held.get("data", {}).items()
        if name in names
    }
    for job in found.jobs:
        entry = data.setdefault(job.dataset, {"splits": {}})
        entry |= {"sha256": job.data_sha256, "protocol": job.protocol}
        entry["from"] = sources.get(job.dataset, entry.get("from", ""))
        entry["splits"][str(job.split)] = job.split_sha256
    facts = {
        "experiment": experiment.name,
        "result_version": RESULT_VERSION,
        "seed": experiment.seed,
        "blas_threads_per_worker": 1,
        "jobs": len({(r.dataset, r.split) for r in found.records}),
        "failed_records": sum(r.status == "failed" for r in found.records),
        "lam": [show_number(v) for v in experiment.lam.values],
        "missing": dict(missing),
        "environments": environments_of(found, environments),
        "data": {name: data[name] for name in experiment.datasets if name in data},
        "records_sha256": checksum(records_text(found.records).encode()),
    }
    return {**facts, "checksum": checksum(json.dumps(facts, sort_keys=True).encode())}


def environments_of(found: Gathered, known: Mapping[str, Any]) -> dict[str, Any]:
    """The machines, each with its number of jobs; those whose jobs are not here keep the number that they had."""
    used = {j.environment for j in found.jobs}
    old = {
        name: entry
        for name, entry in found.manifest.get("environments", {}).items()
        if name not in used and len(found.jobs) < len({(r.dataset, r.split) for r in found.records})
    }
    mine = {
        name: {**known.get(name, {}), "jobs": sum(j.environment == name for j in found.jobs)}
        for name in sorted(used)
    }
    return {**old, **mine}


def read_manifest(store: Store) -> dict[str, Any]:
    """The manifest that is there, empty where there is none that can be trusted."""
    try:
        found = json.loads((store.folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    facts = {k: v for k, v in found.items() if k != "checksum"}
    good = found.get("checksum") == checksum(json.dumps(facts, sort_keys=True).encode())
    return facts if good else {}


def write_gathered(
    experiment: Experiment,
    store: Store,
    environment: Mapping[str, Any] = NO_FACTS,
    sources: Mapping[str, str] = NO_FACTS,
    missing: Mapping[str, str] = NO_FACTS,
) -> Gathered:
    """records.csv, seconds.csv and manifest.json of a folder, one process at a time."""
    with locked(store.folder):
        found = gather(experiment, store)
        held = found.manifest
        known = dict(held.get("environments", {}))
        if environment:
            known[digest(dict(environment))] = dict(environment)
        gone = {name: why for name, why in held.get("missing", {}).items() if name not in sources}
        here = {r.dataset for r in found.records}
        absent = {n: w for n, w in {**gone, **missing}.items() if n not in here}
        facts = manifest(experiment, found, sources, absent, known)
        if found.records:
            store.write("records.csv", records_text(found.records))
        if found.jobs:
            store.write("seconds.csv", seconds_text(experiment, found, held_seconds(store)))
        if found.records:
            store.write_json("manifest.json", facts)
    return Gathered(found.jobs, found.records, facts)
