"""The data sets that a config may name; ``registry.yaml`` describes each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from kselect.datasets.content import git_blob_id, sha256_of
from kselect.errors import ConfigError, nearest, quoted

SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
HERE = Path(__file__).resolve().parent

LONGEST_LABEL = 26  # "-2.2250738585072014e-308" and the end of the line
LONGEST_PAIR = 34  # " 1000000:-2.2250738585072014e-308"

# DataSetInfo has a field named ``bytes``, which hides the type.
Content: TypeAlias = bytes
Task = Literal["classification", "regression"]


@dataclass(frozen=True)
class Given:
    """The sizes of the published splits: training rows, test rows, and the number of splits."""

    train: int
    test: int
    splits: int


@dataclass(frozen=True)
class DataSetInfo:
    """One entry of the registry; the comment at the top of registry.yaml explains every key."""

    name: str
    task: Task
    rows: int
    features: int
    labels: Mapping[str, int] = field(default_factory=dict, hash=False)
    file: str = ""
    folder: str | None = None
    sha256: str = ""
    embedded: str | None = None
    embedded_sha256: str | None = None
    licence: str = ""
    note: str = ""
    bytes: int | None = None
    blob: str | None = None
    given: Given | None = None
    original: str | None = None
    formula: str | None = None
    stands_for: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The options by which the bytes become a table; only a user's file has any."""

    @property
    def checksum(self) -> str:
        """The value that identifies the file: its git blob id if that is known, else its SHA-256."""
        return self.blob or self.sha256

    @property
    def checksum_kind(self) -> str:
        """The name of that value in messages."""
        return "git blob id" if self.blob else "sha256"

    def checksum_of(self, content: Content) -> str:
        """Return the same kind of checksum for some bytes."""
        return git_blob_id(content) if self.blob else sha256_of(content)

    @property
    def place(self) -> str:
        """The path of the file in a mirror: ``libsvm/heart``, ``raetsch/banana``."""
        return self.file if "/" in self.file else f"libsvm/{self.file}"

    @property
    def largest(self) -> int:
        """The largest size in bytes of a text with these rows and features, embedded copies included."""
        longest = self.rows * (LONGEST_LABEL + LONGEST_PAIR * self.features)
        return max(longest, self.bytes or 0)

    @property
    def url(self) -> str | None:
        """The address of the file, None if it is on no site."""
        if self.folder and "://" in self.folder:
            return f"{self.folder}/{self.file}"
        return f"{SITE}/{self.folder}/{self.file}" if self.folder else None


# Raetsch's collection with its original splits. We never had the file, so only its git blob id is known.
BENCHMARKS = DataSetInfo(
    "benchmarks.mat", "classification", 0, 0, file="benchmarks.mat",
    folder="https://raw.githubusercontent.com/tdiethe/gunnar_raetsch_benchmark_datasets/master",
    bytes=2**26, blob="4b54cae3f99419fba1f27f98f7235a799d6580ce", licence="none stated",
    note="Raetsch's benchmark collection: one struct per set, with the index matrices of its splits.",
)  # fmt: skip


def as_info(name: str, entry: Mapping[str, Any]) -> DataSetInfo:
    """Return an entry of the YAML file."""
    filled = dict(entry)
    if "given" in filled:
        filled["given"] = Given(**filled["given"])
    if "formula" in filled:
        # There is no file: the rows are identified by the formula and a version number.
        known = sha256_of(f"{filled['formula']} 1".encode())
        filled |= {"file": name, "sha256": known, "bytes": 0}
    return DataSetInfo(name=name, **filled)


@cache
def load_registry() -> Mapping[str, DataSetInfo]:
    """Return the entries under their names, in the order of the file."""
    import yaml

    text = (HERE / "registry.yaml").read_text(encoding="utf-8")
    entries = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {name: as_info(name, entry) for name, entry in entries.items()}


def find_dataset(name: str) -> DataSetInfo:
    """Return the entry of a name, or raise a ConfigError that suggests the nearest name."""
    known = load_registry()
    if name not in known:
        raise ConfigError(
            f"unknown data set {quoted(name)}{nearest(name, known)} (kselect list datasets)"
        )
    return known[name]
