"""The committed results of the experiments that come with kselect, and a sample of their records.

``kselect verify`` recomputes the sample. A sample is spread over data sets and methods, but it takes only a few
splits of each data set: most of the time of a split is the same for one method as for all.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest
from math import ceil
from pathlib import Path
from typing import Any

from kselect.core.experiment import Experiment
from kselect.core.job import Cell, fact_hashes, identities, own_cells
from kselect.core.record import Record
from kselect.datasets.content import sha256_of
from kselect.errors import ConfigError, StoreError, nearest
from kselect.numerics.folds import stream
from kselect.packaged import experiments, packaged, read_packed
from kselect.store.gather import (
    SECONDS_COLUMNS,
    identified,
    ordered_records,
    parse_records,
)
from kselect.store.manifest import parse_manifest

CELLS_PER_SPLIT = 10  # fewer splits take less time; more splits are a better sample
PURPOSE = "verify"
OTHER_CONFIG = "the config has changed since its records were committed"


@dataclass(frozen=True)
class Committed:
    """The results of an experiment as they were committed.

    Parameters
    ----------
    records : the rows of records.csv.
    files : data set -> SHA-256 of its file.
    seconds : (data set, split) -> the time of the job in one process.
    cpus : the processors that computed them.
    """

    records: tuple[Record, ...]
    files: Mapping[str, str]
    seconds: Mapping[tuple[str, int], float]
    cpus: tuple[str, ...]


def read_committed(experiment: Experiment) -> Committed:
    """Return the committed results of an experiment, in the order of its config.

    Raise a StoreError if a file is damaged, and a ConfigError if the experiment has no committed results or if they
    belong to another config.
    """
    folder = folder_of(experiment)
    content, manifest = read_files(folder, "records.csv", "seconds.csv")
    if sha256_of(content["records.csv"]) != manifest["records_sha256"]:
        raise StoreError(
            f"{folder / 'records.csv'}: damaged: its SHA-256 is not the one in manifest.json"
        )
    found = parse_records(content["records.csv"], folder / "records.csv")
    records = ordered_records(experiment, found)
    files = {name: entry["sha256"] for name, entry in manifest["data"].items()}
    of_data: dict[str, list[Cell]] = {name: [] for name in files}
    for cell in identified(experiment, records, manifest):
        of_data[cell.record.dataset].append(cell)
    for name, sha256 in files.items():
        now = identities(experiment, name, fact_hashes(experiment, name, sha256))
        cells = of_data[name]
        if len(cells) > len(list(own_cells(now, cells))):
            raise ConfigError(f"{experiment.name}: {name}: {OTHER_CONFIG}")
    seconds = read_job_seconds(content["seconds.csv"])
    return Committed(tuple(records), files, seconds, cpus_of(manifest))


def read_times(experiment: Experiment) -> tuple[float, tuple[str, ...]]:
    """Return the seconds of all jobs in one process, and the processors, without reading the records."""
    content, manifest = read_files(folder_of(experiment), "seconds.csv")
    return sum(read_job_seconds(content["seconds.csv"]).values()), cpus_of(manifest)


def folder_of(experiment: Experiment) -> Path:
    """Return the folder of the committed results of an experiment; refuse one that has none."""
    folder = packaged("results") / experiment.name
    if not folder.is_dir():
        known = [name for name in experiments() if (packaged("results") / name).is_dir()]
        hint = nearest(experiment.name, known)
        raise ConfigError(f"{experiment.name}: no records of it come with kselect{hint}")
    return folder


def read_files(folder: Path, *names: str) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the content of some files, and the manifest; refuse a folder with a damaged one."""
    try:
        content = {name: read_packed(folder / name) for name in (*names, "manifest.json")}
    except OSError as error:
        raise StoreError(f"{error.filename}: {error.strerror}") from None
    manifest = parse_manifest(content["manifest.json"], folder / "manifest.json")
    if not manifest:
        raise StoreError(f"{folder / 'manifest.json'}: damaged")
    return content, manifest


def cpus_of(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the processors that computed the results."""
    machines = manifest["environments"].values()
    return tuple(dict.fromkeys(str(known.get("cpu") or "unknown") for known in machines))


def read_job_seconds(content: bytes) -> dict[tuple[str, int], float]:
    """Return the seconds of each job in a seconds.csv."""
    rows = csv.DictReader(io.StringIO(content.decode(), newline=""))
    if tuple(rows.fieldnames or ()) != SECONDS_COLUMNS:
        return {}
    return {
        (row["dataset"], int(row["split"])): float(row["search"]) + float(row["test"])
        for row in rows
    }


# --- sampling ---------------------------------------------------------------------------------------


def draw_sample(
    records: Iterable[Record], datasets: Collection[str], count: int, seed: int
) -> list[Record]:
    """Return ``count`` records of some data sets, or all if there are fewer; equal seeds give equal samples.

    The data sets have equal shares; one with too few records leaves the rest to the others.
    """
    of: dict[str, list[Record]] = {name: [] for name in datasets}
    for record in records:
        if record.dataset in of:
            of[record.dataset].append(record)
    shares = equal_shares({name: len(found) for name, found in of.items()}, count)
    return [r for name, found in of.items() for r in sample_of_one(found, shares[name], seed)]


def equal_shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Deal out ``count`` in turn, one at a time, to each name at most its size."""
    shares, left = dict.fromkeys(sizes, 0), min(count, sum(sizes.values()))
    while left:
        for name in [name for name in sizes if shares[name] < sizes[name]][:left]:
            shares[name] += 1
            left -= 1
    return shares


def sample_of_one(records: list[Record], count: int, seed: int) -> list[Record]:
    """Return ``count`` records of one data set, in their own order: random splits, then the methods in turn."""
    if not count:
        return []
    random = stream(seed, records[0].dataset, PURPOSE)
    by_split: dict[int, list[Record]] = {}
    for record in records:
        by_split.setdefault(record.split, []).append(record)
    pool: list[Record] = []
    for taken, position in enumerate(random.permutation(len(by_split))):
        if taken >= ceil(count / CELLS_PER_SPLIT) and len(pool) >= count:
            break
        pool += list(by_split.values())[position]
    by_method: dict[tuple[str, str], list[Record]] = {}
    for position in random.permutation(len(pool)):
        record = pool[position]
        by_method.setdefault((record.part, record.method), []).append(record)
    in_turn = filter(None, chain.from_iterable(zip_longest(*by_method.values())))
    chosen = {id(record) for record, _ in zip(in_turn, range(count), strict=False)}
    return [record for record in records if id(record) in chosen]
