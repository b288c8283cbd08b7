"""What the manifest says of the numbers: machines, seed, data files, and why a data set is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Machine:
    """An environment in which jobs were computed; ``commit`` is empty where it is not known."""

    name: str
    jobs: int
    python: str
    packages: Mapping[str, str]
    cpu: str
    commit: str
    changed: bool


@dataclass(frozen=True)
class DataFile:
    """The file of a data set: where it was found, and its checksum."""

    dataset: str
    source: str
    sha256: str


@dataclass(frozen=True)
class Facts:
    """A manifest; ``missing`` is the reason why a data set has no records."""

    seed: int | None = None
    jobs: int = 0
    failed: int = 0
    missing: Mapping[str, str] = field(default_factory=dict)
    machines: tuple[Machine, ...] = ()
    data: tuple[DataFile, ...] = ()


NO_FACTS = Facts()


def read_facts(manifest: Mapping[str, Any]) -> Facts:
    """The facts of a manifest.json; an empty one has none."""
    machines = manifest.get("environments", {}).items()
    data = manifest.get("data", {}).items()
    return Facts(
        manifest.get("seed"),
        manifest.get("jobs", 0),
        manifest.get("failed_records", 0),
        manifest.get("missing", {}),
        tuple(read_machine(name, known) for name, known in machines),
        tuple(DataFile(name, entry.get("from", ""), entry["sha256"]) for name, entry in data),
    )


def read_machine(name: str, known: Mapping[str, Any]) -> Machine:
    """One environment of a manifest."""
    git = known.get("git") or {}
    return Machine(
        name,
        known.get("jobs", 0),
        known.get("python", ""),
        known.get("packages", {}),
        known.get("cpu") or "",
        git.get("commit", ""),
        bool(git.get("dirty")),
    )
