"""The manifest of a results folder: what its numbers depend on, and a checksum of itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kselect import __version__
from kselect.core.experiment import Experiment
from kselect.core.job import (
    RESULT_VERSION,
    Job,
    fact_hashes,
    protocol_of,
    with_stored_versions,
)
from kselect.core.record import Record
from kselect.datasets.content import sha256_of
from kselect.formats import RESULTS
from kselect.grids import show_number
from kselect.store.jobs import Store

NO_DAYS: Mapping[str, Collection[str]] = {}


def make_manifest(
    experiment: Experiment,
    jobs: Sequence[Job],
    records: Sequence[Record],
    stored: Mapping[str, Any],
    sources: Mapping[str, str],
    missing: Mapping[str, str],
    environments: Mapping[str, Any],
    text: str,
    days: Mapping[str, Collection[str]] = NO_DAYS,
    as_stored: bool = False,
) -> dict[str, Any]:
    """Return what the numbers depend on: environments, seed, checksums of the data and of every split.

    ``text`` is the content of records.csv, ``days`` has the days on which the jobs of an environment were written.
    With ``as_stored``, the versions of learners and searches come from the ``stored`` manifest.
    """
    names = {r.dataset for r in records}
    data: dict[str, Any] = {
        name: {**entry, "splits": dict(entry.get("splits", {}))}
        for name, entry in stored.get("data", {}).items()
        if name in names
    }
    for job in jobs:
        entry = data.setdefault(job.dataset, {"splits": {}})
        entry["sha256"] = job.data_sha256
        entry["from"] = sources.get(job.dataset, entry.get("from", ""))
        entry["splits"][str(job.split)] = job.split_sha256
    for name, entry in data.items():
        entry["protocol"] = protocol_of(experiment, name, entry["sha256"])
        hashes = fact_hashes(experiment, name, entry["sha256"])
        entry["facts"] = with_stored_versions(hashes, entry.get("facts", {}) if as_stored else {})
    total = len({(r.dataset, r.split) for r in records})
    here = Counter(j.environment for j in jobs)
    before = stored.get("environments", {})
    # Jobs that are not in this folder were computed where the manifest says, as far as it has more than are here.
    absent, machines = total - len(jobs), {}
    for name in (*(name for name in before if name not in here), *sorted(here)):
        gone = max(0, min(absent, before.get(name, {}).get("jobs", 0) - here[name]))
        absent -= gone
        if count := here[name] + gone:
            known = environments.get(name, {}) if name in here else before[name]
            every = sorted({*before.get(name, {}).get("days", ()), *days.get(name, ())})
            machines[name] = {**known, "jobs": count}
            if every:
                machines[name]["days"] = [every[0], every[-1]]
    facts = {
        "format": RESULTS.newest,
        "kselect": writer_of(stored),
        "experiment": experiment.name,
        "result_version": RESULT_VERSION,
        "seed": experiment.seed,
        "blas_threads_per_worker": 1,
        "jobs": total,
        "failed_records": sum(r.status == "failed" for r in records),
        "lam": [show_number(v) for v in experiment.lam.values],
        "missing": dict(missing),
        "environments": machines,
        "data": {name: data[name] for name in experiment.datasets if name in data},
        "records_sha256": sha256_of(text.encode()),
    }
    return {**facts, "checksum": sha256_of(json.dumps(facts, sort_keys=True).encode())}


def writer_of(stored: Mapping[str, Any]) -> str:
    """Return the first kselect that wrote a manifest in its present format."""
    same = stored.get("format") == RESULTS.newest
    return str(stored.get("kselect", __version__)) if same else __version__


def days_of(jobs: Iterable[Job], store: Store) -> dict[str, set[str]]:
    """Return the days (UTC, as 2026-01-31) on which the jobs of each environment were written."""
    found: dict[str, set[str]] = {}
    for job in jobs:
        with suppress(OSError):  # the job was removed meanwhile
            written = store.job_path(job.dataset, job.split).stat().st_mtime
            day = datetime.fromtimestamp(written, UTC).date().isoformat()
            found.setdefault(job.environment, set()).add(day)
    return found


def read_manifest(store: Store) -> dict[str, Any]:
    """Return the stored manifest, empty if it is absent, damaged or changed; raise OtherFormat for a later one."""
    path = store.folder / "manifest.json"
    try:
        return parse_manifest(path.read_bytes(), path)
    except OSError:
        return {}


def parse_manifest(content: bytes, path: Path) -> dict[str, Any]:
    """Return the facts of a manifest.json, empty if it is damaged or changed; ``path`` names it in errors."""
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    facts = {k: v for k, v in found.items() if k != "checksum"}
    if found.get("checksum") != sha256_of(json.dumps(facts, sort_keys=True).encode()):
        return {}
    RESULTS.check(path, facts.get("format", 1), facts.get("kselect"))
    return facts
