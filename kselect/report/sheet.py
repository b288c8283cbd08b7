"""A table as text before it has a format: what Markdown, LaTeX and HTML then typeset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kselect.report.cells import Row, show_row
from kselect.report.words import (
    DASH,
    RANKS,
    describe_absent,
    describe_columns,
    describe_coverage,
    describe_protocol,
    describe_ranks,
    describe_reconstructed,
    describe_units,
    mark_label,
    title_setting,
)
from kselect.stats.comparison import Block, Comparison
from kselect.stats.counts import Duel, WinTieLoss
from kselect.stats.study import Study

TESTS = ("by mean", "t-test", "corrected t-test")


@dataclass(frozen=True)
class Part:
    """The rows under one setting; ``ranks`` is the footer, empty where nothing could be ranked."""

    title: str
    rows: tuple[Row, ...]
    ranks: tuple[str, ...]


@dataclass(frozen=True)
class Contest:
    """Win/tie/loss of one method against another: for each test, one text per setting."""

    method: str
    rival: str
    lines: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Sheet:
    """A whole table: heads and parts, what it says about itself, and the win/tie/loss counts."""

    name: str
    loss: str
    caption: str
    heads: tuple[str, ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...]
    daggers: tuple[str, ...]
    settings: tuple[str, ...]
    contests: tuple[Contest, ...]

    @property
    def failures(self) -> bool:
        """Whether any cell has failed runs, so that the count needs explaining."""
        return any(c.failures for part in self.parts for row in part.rows for c in row.cells)

    @property
    def tested(self) -> bool:
        """Whether any cell carries the mark of the test."""
        return any(c.mark == "close" for p in self.parts for row in p.rows for c in row.cells)


def stem(name: str, study: Study, loss: str) -> str:
    """``table1``, or ``table1-zero-one`` for a loss that is not the experiment's own."""
    return name if loss == study.experiment.loss else f"{name}-{loss}"


def dagger_notes(study: Study, loss: str) -> tuple[str, ...]:
    """What is reconstructed, tuned or scored by another learner among the columns of a loss."""
    methods = study.comparison(loss).methods
    return (
        *describe_reconstructed(methods, study.reconstructed),
        *describe_columns(study.experiment, methods),
    )


def make_sheet(study: Study, loss: str) -> Sheet:
    """The table of one loss as text."""
    comparison = study.comparison(loss)
    notes = (
        describe_coverage(study.coverage(loss)),
        RANKS,
        *(describe_ranks(block) for block in comparison.blocks),
        *describe_absent(study.absent),
    )
    return Sheet(
        stem("table1", study, loss),
        loss,
        f"{describe_units(comparison)}. {describe_protocol(study.experiment, loss)}",
        tuple(mark_label(m, study.reconstructed) for m in comparison.methods),
        tuple(make_part(study, comparison, block) for block in comparison.blocks),
        tuple(note for note in notes if note),
        dagger_notes(study, loss),
        tuple(title_setting(block.setting) for block in comparison.blocks),
        make_contests(comparison.blocks, study.reconstructed),
    )


def make_part(study: Study, comparison: Comparison, block: Block) -> Part:
    """The rows of one block, in the order of the config."""
    splits = len(study.experiment.splits)
    rows = tuple(
        show_row(d, comparison.units.get(d, ""), block.row(d), splits) for d in comparison.datasets
    )
    ranks = tuple("" if math.isnan(r) else f"{r:.2f}" for r in block.ranks.mean)
    return Part(title_setting(block.setting), rows, ranks)


def make_contests(
    blocks: tuple[Block, ...], reconstructed: Mapping[str, str]
) -> tuple[Contest, ...]:
    """Every pair over all settings; the blocks hold the same pairs in the same order."""
    columns = zip(*(block.duels for block in blocks), strict=True)
    return tuple(make_contest(duels, reconstructed) for duels in columns)


def make_contest(duels: tuple[Duel, ...], reconstructed: Mapping[str, str]) -> Contest:
    """The three lines of one pair."""
    counts = (
        tuple(show_counts(d.by_mean) for d in duels),
        tuple(show_counts(d.by_ttest) for d in duels),
        tuple(show_counts(d.by_corrected) for d in duels),
    )
    return Contest(
        mark_label(duels[0].method, reconstructed),
        mark_label(duels[0].rival, reconstructed),
        tuple(zip(TESTS, counts, strict=True)),
    )


def show_counts(counts: WinTieLoss) -> str:
    """``3/1/5``; a dash where nothing could be compared."""
    return f"{counts.wins}/{counts.ties}/{counts.losses}" if counts.total else DASH
