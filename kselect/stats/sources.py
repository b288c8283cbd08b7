"""The inputs of a report besides the records: the printed numbers of the paper, and the manifest of the results."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, cast

from kselect.core.method import Setting, read_setting
from kselect.errors import DataError


@dataclass(frozen=True)
class Published:
    """One printed test error: a mean over splits with its standard deviation (sd) or standard error (se).

    ``count`` is the number that the table prints next to it, such as a number of kernels, or else NaN.
    """

    table: str
    dataset: str
    method: str
    setting: Setting
    mean: float
    spread: float
    kind: Literal["sd", "se"]
    count: float = math.nan


def read_published(path: Path) -> tuple[Published, ...]:
    """Read the test errors of a CSV, with their counts but not its seconds; none if the paper has no such file."""
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    found, place = [], itemgetter("table", "dataset", "method")
    try:
        counts = {place(r): float(r["mean"]) for r in rows if r["spread_kind"] == "count"}
        for row in rows:
            if row["spread_kind"] not in ("sd", "se") or not row["mean"]:
                continue
            setting = read_setting(row["setting"])
            names, mean = (row["table"], row["dataset"], row["method"]), float(row["mean"])
            kind = cast(Literal["sd", "se"], row["spread_kind"])
            spread, count = float(row["spread"] or "nan"), counts.get(names, math.nan)
            found.append(Published(*names, setting, mean, spread, kind, count))
    except (KeyError, ValueError) as error:
        raise DataError(f"{path}: not a table of published numbers: {error}") from None
    return tuple(found)


def read_seconds(path: Path) -> dict[tuple[str, str], float]:
    """Return the seconds that a paper printed, by data set and method; empty if it has no such table."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    try:
        return {
            (row["dataset"], row["method"]): float(row["mean"])
            for row in rows
            if "seconds" in (row["spread_kind"], row["setting"]) and row["mean"]
        }
    except (KeyError, ValueError) as error:
        raise DataError(f"{path}: not a table of published numbers ({error})") from None


@dataclass(frozen=True)
class Machine:
    """An environment in which jobs were computed; ``commit`` is empty if it is not known.

    ``days`` are the first and the last day of these jobs (2026-01-31), empty if they are not known.
    """

    name: str
    jobs: int
    python: str
    packages: Mapping[str, str]
    cpu: str
    commit: str
    changed: bool
    days: tuple[str, ...] = ()

    @property
    def when(self) -> str:
        """``2026-01-30 to 2026-01-31``, one day only, or nothing if the days are not known."""
        return " to ".join(dict.fromkeys(self.days))


@dataclass(frozen=True)
class DataFile:
    """The file of a data set, with its source and its checksum."""

    dataset: str
    source: str
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The facts of a manifest.json; ``missing`` gives the reason why a data set has no records."""

    seed: int | None = None
    jobs: int = 0
    failed: int = 0
    missing: Mapping[str, str] = field(default_factory=dict)
    machines: tuple[Machine, ...] = ()
    data: tuple[DataFile, ...] = ()


def read_facts(manifest: Mapping[str, Any]) -> Manifest:
    """Read the content of a manifest.json; an empty one has no facts."""
    machines = []
    for name, known in manifest.get("environments", {}).items():
        git = known.get("git") or {}
        machines.append(
            Machine(
                name,
                known.get("jobs", 0),
                known.get("python", ""),
                known.get("packages", {}),
                known.get("cpu") or "",
                git.get("commit", ""),
                bool(git.get("dirty")),
                tuple(known.get("days", ())),
            )
        )
    data = manifest.get("data", {}).items()
    return Manifest(
        manifest.get("seed"),
        manifest.get("jobs", 0),
        manifest.get("failed_records", 0),
        manifest.get("missing", {}),
        tuple(machines),
        tuple(DataFile(name, entry.get("from", ""), entry["sha256"]) for name, entry in data),
    )
