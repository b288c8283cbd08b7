"""Claims about the ranks of a pool of methods over data sets, with columns that the paper prints."""

from __future__ import annotations

import math

import numpy as np

from kselect.core.claim import Claim
from kselect.core.record import significant
from kselect.core.table import Column, Group, Table, Values
from kselect.report.claims.deciding import decide
from kselect.report.claims.effects import Effect
from kselect.report.claims.rules import LEVEL, withhold
from kselect.report.claims.scope import Finding, find_datasets, find_methods, nothing, too_few
from kselect.report.words import show_p
from kselect.stats.ranks import LEVELS, Ranks, rank
from kselect.stats.samples import SplitErrors
from kselect.stats.study import Study

COLUMNS = (
    Column("method", align="left"),
    Column("mean rank", format=".2f"),
    Column("source", align="left"),
)
# The kinds whose effect is the least favourable difference, from the other end.
LEAST = ("ranks after",)


def judge_pool(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge a claim about ranks: its pool is ranked over the data sets that it names, and no others."""
    labels, printed, ranks, runs, planned = rank_pool(study, claim, loss)
    withheld = withhold(runs, planned)
    if withheld == "no numbers" or not ranks.datasets:
        return nothing()
    if ranks.friedman is None or ranks.critical is None:
        withheld = "too few numbers"
    limit = ranks.critical[LEVELS.index(LEVEL)] if ranks.critical else math.nan
    mean = dict(zip(labels, ranks.mean, strict=True))
    rows: tuple[Values, ...] = tuple(
        (m, r, "printed" if m in printed else "ours")
        for m, r in sorted(mean.items(), key=lambda one: one[1])
    )
    reason = too_few(runs, planned, "runs") if withheld else ""
    table = Table("", COLUMNS, (Group(rows),))
    if claim.kind in ("friedman rejected", "friedman not rejected"):
        test = ranks.friedman
        p = test.p_value if test else math.nan
        text = (
            f"Friedman's chi-squared is {test.chi_squared:.2f}, Iman and Davenport's F {test.f:.2f}."
            if test
            else ""
        )
        decided = decide(claim.kind, withheld, p)
        return Finding(
            decided.verdict,
            Effect(test.f, unit=f"(F, p {describe_p(p)})") if test else Effect(),
            f"{len(ranks.datasets)} data sets, {len(labels)} methods",
            text,
            table,
            reason,
            decided.notes,
        )
    left = next(m.label for m in find_methods(study.experiment, claim.left))
    wanted = claim.right or tuple(m for m in labels if m != left)
    rivals = [m for m in labels if m in wanted or m in names_of(study, wanted)]
    differences = [mean[left] - mean[m] for m in rivals]
    decided = decide(claim.kind, withheld, differences, limit)
    return Finding(
        decided.verdict,
        Effect(decisive(claim, differences), unit=f"ranks (critical difference {limit:.2f})"),
        "; ".join(f"{d:+.2f} to {m}" for d, m in zip(differences, rivals, strict=True)),
        f"Mean ranks over {len(ranks.datasets)} data sets; a negative difference means that {left} ranks before.",
        table,
        reason,
        decided.notes,
    )


def names_of(study: Study, wanted: tuple[str, ...]) -> set[str]:
    """Return the labels that names of methods stand for."""
    return {m.label for m in find_methods(study.experiment, wanted)}


def describe_p(p: float) -> str:
    """Return ``= 0.034`` or ``< 0.001``."""
    text = show_p(p)
    return text if text.startswith("<") else f"= {text}"


def decisive(claim: Claim, differences: list[float]) -> float:
    """Return the difference that decides the verdict: the rival for which the claim holds least."""
    if claim.kind == "ranks same":
        return max(differences, key=abs)
    return min(differences) if claim.kind in LEAST else max(differences)


def rank_pool(
    study: Study, claim: Claim, loss: str
) -> tuple[list[str], list[str], Ranks, int, int]:
    """Rank the pool; return labels, printed labels, ranks, and the numbers of existing and planned runs.

    Our means are over the splits that all of our methods share, then over the settings. A data set without a number
    of every method is not ranked.
    """
    comparison = study.comparison(loss)
    ours = [m.label for m in find_methods(study.experiment, claim.pool)]
    known = {r.method for r in study.published}
    printed = [m for m in claim.pool if m not in ours and m in known]
    if (
        not ours
        or len(ours) + len(printed) < len(claim.pool)
        or not set(ours) <= set(comparison.methods)
    ):
        return [], [], rank(np.empty((0, 0)), ()), 0, 0
    table: dict[str, list[float]] = {}
    runs = planned = 0
    for dataset, serving in find_datasets(study, claim).items():
        planned += comparison.splits[serving] * len(comparison.cells)
        theirs = [
            next(
                (r.mean for r in study.published if (r.dataset, r.method) == (dataset, m)), math.nan
            )
            for m in printed
        ]
        means = []
        for cells in comparison.cells.values():
            mine = [cells.get((serving, m), SplitErrors()) for m in ours]
            shared = frozenset.intersection(*(frozenset(s.errors) for s in mine))
            if shared:
                means.append([s.on(shared).mean for s in mine])
                runs += len(shared)
        if len(means) == len(comparison.cells) and not any(map(math.isnan, theirs)):
            # Rounded as records are, so that equal means that differ in their last bit share a rank.
            average = [significant(math.fsum(row) / len(row)) for row in zip(*means, strict=True)]
            table[dataset] = [*average, *theirs]
    errors = np.array(list(table.values())).reshape(len(table), len(ours) + len(printed))
    return [*ours, *printed], printed, rank(errors, tuple(table)), runs, planned
