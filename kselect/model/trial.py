"""The unit of work and of resumption, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass

from kselect.datasets.dataset import Source
from kselect.model.method import Method
from kselect.model.records import Record


@dataclass(frozen=True)
class Trial:
    """Every pending method on one split of one data set."""

    dataset: str
    split: int
    methods: tuple[Method, ...]
    source: Source

    @property
    def name(self) -> str:
        """``heart, split 3``."""
        return f"{self.dataset}, split {self.split}"


@dataclass(frozen=True)
class Outcome:
    """What a trial gives back: its records, the split's checksum, and the seconds of each stage."""

    records: tuple[Record, ...]
    split_sha256: str
    seconds: dict[str, float]
    traceback: str = ""
