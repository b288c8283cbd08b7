"""Jobs -> records.csv, seconds.csv, the manifest: numbers in one order, the clock in its own file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

from kselect.errors import StoreError
from kselect.grids import show_number
from kselect.model.experiment import Experiment
from kselect.model.job import RESULT_VERSION, Job, protocol_of
from kselect.model.records import COLUMNS, Record, cells_of
from kselect.store.environment import digest
from kselect.store.jobs import Store

SECONDS_COLUMNS = ("dataset", "split", "environment", "search", "test")
NOT_RUN = "not run yet"


def wanted_jobs(experiment: Experiment, jobs: Iterable[Job]) -> list[Job]:
    """The jobs of the experiment in its own order; those of another config are never mixed in."""
    order = {name: position for position, name in enumerate(experiment.datasets)}
    wanted = [j for j in jobs if j.dataset in order and j.split in experiment.splits_on(j.dataset)]
    for job in wanted:
        if job.protocol != protocol_of(experiment, job.dataset, job.data_sha256):
            raise StoreError(
                f"jobs/{job.dataset}/{job.split}.json was computed with another config"
            )
    return sorted(wanted, key=lambda j: (order[j.dataset], j.split))


def ordered_records(experiment: Experiment, jobs: Iterable[Job]) -> list[Record]:
    """Records by data set, split and method as the config lists them, whatever order they were made in."""
    rows: list[Record] = []
    for job in wanted_jobs(experiment, jobs):
        methods = experiment.methods_on(job.dataset)
        cells = [cell for method in methods for cell in cells_of(experiment, method)]
        order = {cell: position for position, cell in enumerate(cells)}
        mine = [r for r in job.records if r.cell in order]
        rows.extend(sorted(mine, key=lambda r: order[r.cell]))
    return rows


def as_text(value: object) -> object:
    """Numbers with twelve significant digits: more would be rounding that differs between machines."""
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else value


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A CSV with a header and Unix line ends."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([as_text(value) for value in row] for row in rows)
    return out.getvalue()


def records_text(records: Iterable[Record]) -> str:
    """records.csv."""
    return csv_text(COLUMNS, ([getattr(r, name) for name in COLUMNS] for r in records))


def seconds_text(jobs: Iterable[Job]) -> str:
    """seconds.csv: the only place that differs between two runs of the same config."""
    rows = (
        [
            j.dataset,
            j.split,
            j.environment,
            *(round(j.seconds.get(k, 0.0), 4) for k in ("search", "test")),
        ]
        for j in jobs
    )
    return csv_text(SECONDS_COLUMNS, rows)


def manifest(
    experiment: Experiment,
    jobs: Iterable[Job],
    sources: Mapping[str, str],
    missing: Mapping[str, str],
    environments: Mapping[str, Any],
) -> dict[str, Any]:
    """What the numbers rest on: environments, seed, checksums of the data and of every split."""
    jobs = list(jobs)
    used = sorted({j.environment for j in jobs})
    data: dict[str, Any] = {}
    for job in jobs:
        entry = data.setdefault(job.dataset, {"sha256": job.data_sha256, "splits": {}})
        if job.dataset in sources:
            entry["from"] = sources[job.dataset]
        entry["splits"][str(job.split)] = job.split_sha256
    return {
        "experiment": experiment.name,
        "result_version": RESULT_VERSION,
        "seed": experiment.seed,
        "blas_threads_per_worker": 1,
        "jobs": len(jobs),
        "failed_records": sum(r.status == "failed" for j in jobs for r in j.records),
        "lam": [show_number(v) for v in experiment.lam.values],
        "missing": dict(missing),
        "environments": {
            name: {**environments.get(name, {}), "jobs": sum(j.environment == name for j in jobs)}
            for name in used
        },
        "data": data,
    }


def read_manifest(store: Store) -> dict[str, Any]:
    """The manifest that is there, empty where there is none that can be read."""
    try:
        found = json.loads((store.folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_gathered(
    experiment: Experiment,
    store: Store,
    environment: Mapping[str, Any],
    sources: Mapping[str, str],
    missing: Mapping[str, str],
) -> list[Record]:
    """records.csv, seconds.csv and manifest.json from the jobs of a store."""
    jobs = wanted_jobs(experiment, store.jobs())
    old = read_manifest(store)
    environments = {**old.get("environments", {}), digest(dict(environment)): dict(environment)}
    known = {name: entry.get("from", "") for name, entry in old.get("data", {}).items()}
    facts = manifest(experiment, jobs, {**known, **sources}, missing, environments)
    records = ordered_records(experiment, jobs)
    store.write("records.csv", records_text(records))
    store.write("seconds.csv", seconds_text(jobs))
    store.write_json("manifest.json", facts)
    return records
