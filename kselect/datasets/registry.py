"""The data sets that configs may name; ``registry.yaml`` holds what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from kselect.errors import ConfigError, nearest, quoted

SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
HERE = Path(__file__).resolve().parent

LONGEST_LABEL = 26  # of "-2.2250738585072014e-308" and what ends the line
LONGEST_PAIR = 34  # of " 1000000:-2.2250738585072014e-308"

Task = Literal["classification", "regression"]


@dataclass(frozen=True)
class DataSetInfo:
    """One entry of the registry; the comment at the head of registry.yaml explains every key."""

    name: str
    task: Task
    rows: int
    features: int
    labels: Mapping[str, int]
    file: str
    folder: str | None
    sha256: str
    embedded: str | None
    embedded_sha256: str | None
    licence: str
    note: str
    bytes: int | None = None

    @property
    def largest(self) -> int:
        """The most bytes that a text of so many numbers has; an embedded copy may differ from the file."""
        longest = self.rows * (LONGEST_LABEL + LONGEST_PAIR * self.features)
        return max(longest, self.bytes or 0)

    @property
    def reading(self) -> Mapping[str, Any]:
        """How the bytes become a table, where there is more than one way; a registered file has one."""
        return {}

    def __hash__(self) -> int:
        return hash((self.name, self.sha256))

    @property
    def url(self) -> str | None:
        """The file on the LIBSVM site, None where the site no longer has it."""
        return f"{SITE}/{self.folder}/{self.file}" if self.folder else None


def as_info(name: str, entry: Mapping[str, Any]) -> DataSetInfo:
    """An entry of the YAML with its optional keys filled in."""
    optional = ("folder", "embedded", "embedded_sha256")
    filled = {"labels": {}, "note": "", **dict.fromkeys(optional), **entry}
    return DataSetInfo(name=name, **filled)


@cache
def load_registry() -> Mapping[str, DataSetInfo]:
    """Name -> entry, in the order of the file."""
    entries = yaml.safe_load((HERE / "registry.yaml").read_text(encoding="utf-8"))
    return {name: as_info(name, entry) for name, entry in entries.items()}


def find_dataset(name: str) -> DataSetInfo:
    """The entry of a name, or a ConfigError with the nearest one."""
    known = load_registry()
    if name not in known:
        raise ConfigError(
            f"unknown data set {quoted(name)}{nearest(name, known)} (kselect list datasets)"
        )
    return known[name]
