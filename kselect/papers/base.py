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


RankKind = Literal["before", "same", "not after"]
SpreadKind = Literal["variation", "suppression"]


@dataclass(frozen=True)
class RankClaim:
    """``method`` ranks before (the same as, not after) every rival by Nemenyi's test, ranked together."""

    text: str
    method: str
    rivals: tuple[str, ...]
    kind: RankKind
    level: float = 0.1


@dataclass(frozen=True)
class SpreadClaim:
    """The learned widths of ``method`` vary less over splits than a rival's, or weak features get less of them."""

    text: str
    method: str
    rival: str
    datasets: tuple[str, ...]
    kind: SpreadKind


@dataclass(frozen=True)
class TimedPair:
    """Two criteria whose seconds a paper compares, the dearer first, by names with a ``k`` for the folds.

    ``short`` is how a table's head names the second. By the count of operations it takes ``factors`` Cholesky
    factors of n rows, in ``words``; the first takes k of n - n/k.
    """

    exact: str
    approximate: str
    short: str
    factors: float
    words: str


@dataclass(frozen=True)
class Faster:
    """A claim that the second of a timed pair is so many times as fast as the first, on some data sets or all."""

    text: str
    pair: TimedPair
    folds: int
    times: float
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """One paper.

    ``splits``: how many its means are over, and ``splits_of`` the data sets with another number; ``aliases``: its
    name of a column -> ours; ``exact_order``: from which order on it calls a series exact; ``timed_pairs``:
    criteria whose seconds it compares; ``faster``: its claims about them; ``remarks``: what is known of its
    printed numbers, beside which ours stand; ``plain``: criteria that leave nothing to choose, whose columns tell
    best how near a protocol comes to the paper's; ``rank_claims``, ``spread_claims``: what it claims of ranks over
    data sets and of learned widths; ``wording``: where the words of its claims come from.
    """

    name: str
    splits: int
    splits_of: Mapping[str, int] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    exact_order: int | None = None
    timed_pairs: tuple[TimedPair, ...] = ()
    faster: tuple[Faster, ...] = ()
    remarks: tuple[str, ...] = ()
    plain: tuple[str, ...] = ("k-CV", "ELOO")
    rank_claims: tuple[RankClaim, ...] = ()
    spread_claims: tuple[SpreadClaim, ...] = ()
    wording: str = ""

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
