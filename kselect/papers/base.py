"""What is known of a paper: its claims, what it calls our columns, and how it was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kselect.datasets.registry import Task
from kselect.registry import Registry

Kind = Literal["lower", "same"]


@dataclass(frozen=True)
class Claim:
    """``criterion`` has a lower (or the same) test error than ``rival`` with the same folds.

    ``task``: the data sets that it is about, None for all.
    """

    text: str
    criterion: str
    rival: str
    kind: Kind
    task: Task | None = None


@dataclass(frozen=True)
class Paper:
    """One paper.

    ``remark``: what has to be said of the claims; ``splits``: how many its means are over, and ``splits_of`` the
    data sets with another number; ``aliases``: its name of a column -> ours; ``exact_order``: from which order on it calls a series exact; ``timed_pairs``:
    criteria whose seconds it compares, the dearer first.
    """

    name: str
    splits: int
    splits_of: Mapping[str, int] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    exact_order: int | None = None
    timed_pairs: tuple[tuple[str, str], ...] = ()
    remark: str = ""

    def splits_on(self, dataset: str) -> int:
        """How many splits its mean on a data set is over."""
        return self.splits_of.get(dataset, self.splits)

    def column(self, label: str) -> str:
        """Our name of one of its columns."""
        return self.aliases.get(label, label)


PAPERS: Registry[Paper] = Registry("paper", "kselect.papers")


def paper(known: Paper) -> Paper:
    """Register a paper under its name."""
    PAPERS[known.name] = known
    return known
