"""The inputs of a report besides the records: the printed numbers of the paper, and the manifest of the results."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from kselect.core.method import SELECTED, LamUnit, Setting
from kselect.errors import DataError


@dataclass(frozen=True)
class Published:
    """One printed test error: a mean over splits with its standard deviation (sd) or standard error (se)."""

    table: str
    dataset: str
    method: str
    setting: Setting
    mean: float
    spread: float
    kind: Literal["sd", "se"]


def read_published(path: Path) -> tuple[Published, ...]:
    """Read the test errors of a CSV, not its seconds and counts; none if the paper has no such file."""
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    found = []
    try:
        for row in rows:
            if row["spread_kind"] not in ("sd", "se") or not row["mean"]:
                continue
            # As in lam=0.001 or n lam=0.1; an empty text means that the ridge was selected.
            unit, _, value = row["setting"].partition("=")
            if unit not in ("", "lam", "n lam"):
                raise ValueError(f"{row['setting']!r} is not a setting such as lam=0.001")
            setting = Setting(value=float(value), unit=cast(LamUnit, unit)) if unit else SELECTED
            names, mean = (row["table"], row["dataset"], row["method"]), float(row["mean"])
            kind = cast(Literal["sd", "se"], row["spread_kind"])
            found.append(Published(*names, setting, mean, float(row["spread"] or "nan"), kind))
    except (KeyError, ValueError) as error:
        raise DataError(f"{path}: not a table of published numbers: {error}") from None
    return tuple(found)


@dataclass(frozen=True)
class Machine:
    """An environment in which jobs were computed; ``commit`` is empty if it is not known."""

    name: str
    jobs: int
    python: str
    packages: Mapping[str, str]
    cpu: str
    commit: str
    changed: bool


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
