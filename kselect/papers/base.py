"""Papers: their claims, their names for our columns, and the protocol of their experiments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kselect.datasets.registry import Task
from kselect.registry import Registry

ClaimKind = Literal["lower", "same"]


@dataclass(frozen=True)
class Claim:
    """The claim that ``criterion`` has a lower (or the same) test error than ``rival`` with the same folds.

    ``task`` restricts it to the data sets of one task.
    """

    text: str
    criterion: str
    rival: str
    kind: ClaimKind
    task: Task | None = None


RankKind = Literal["before", "same", "not after"]
SpreadKind = Literal["variation", "suppression"]


@dataclass(frozen=True)
class RankClaim:
    """The claim that ``method`` ranks before (the same as, not after) every rival in one Nemenyi test."""

    text: str
    method: str
    rivals: tuple[str, ...]
    kind: RankKind
    level: float = 0.1


@dataclass(frozen=True)
class SpreadClaim:
    """The claim that learned widths vary less over splits than a rival's, or suppress weak features more."""

    text: str
    method: str
    rival: str
    datasets: tuple[str, ...]
    kind: SpreadKind


@dataclass(frozen=True)
class TimedPair:
    """Two criteria whose run times a paper compares, the slower one first; a ``k`` in a name stands for the folds.

    ``short`` names the second one in a table heading. Counting operations, it takes ``factors`` Cholesky factors of
    n rows, described in ``words``; the first takes k of n - n/k rows.
    """

    exact: str
    approximate: str
    short: str
    factors: float
    words: str


@dataclass(frozen=True)
class Faster:
    """The claim that the second of a timed pair is ``times`` as fast as the first, on some data sets or all."""

    text: str
    pair: TimedPair
    folds: int
    times: float
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper.

    Parameters
    ----------
    splits, splits_of : the number of splits in its means, and exceptions by data set.
    aliases : its name of a column -> ours.
    exact_order : the order from which it calls a series exact.
    timed_pairs, faster : criteria whose run times it compares, and its claims about them.
    remarks : notes on its printed numbers, shown next to them.
    plain : criteria without free parameters, whose columns show best how close our protocol is to the paper's.
    rank_claims, spread_claims : its claims about ranks over data sets and about learned widths.
    wording : the origin of the words of its claims.
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
        """Return the number of splits in its mean on a data set."""
        return self.splits_of.get(dataset, self.splits)

    def column(self, label: str) -> str:
        """Return our name of one of its columns."""
        return self.aliases.get(label, label)


PAPERS: Registry[Paper] = Registry("paper", "kselect.papers")


def paper(known: Paper) -> Paper:
    """Register a paper under its name."""
    PAPERS[known.name] = known
    return known
