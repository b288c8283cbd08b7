"""Claims about ranks over data sets and about learned widths, each judged by a written rule."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kselect.papers.base import RankClaim, RankKind, SpreadClaim, SpreadKind
from kselect.stats.learned import learned
from kselect.stats.rankings import Ranked, Ranking, rank_columns
from kselect.stats.ranks import LEVELS
from kselect.stats.study import Study
from kselect.stats.verdicts import Verdict, too_few

RULES: dict[RankKind, str] = {
    "before": (
        "Supported: before every rival by more than Nemenyi's critical difference at {level} %. "
        "Not supported: before none of them at all. Mixed: anything between."
    ),
    "same": (
        "Supported: within Nemenyi's critical difference at {level} % of every rival. Not supported: of none. "
        "Mixed: anything between."
    ),
    "not after": (
        "Supported: after no rival by more than Nemenyi's critical difference at {level} %. Not supported: after "
        "all of them by more. Mixed: anything between."
    ),
}
SPREAD_RULES: dict[SpreadKind, str] = {
    "variation": (
        "The number is the median over features of the coefficient of variation of a width over splits. Supported: "
        "lower on every one of these data sets. Not supported: on none. Mixed: anything between."
    ),
    "suppression": (
        "The number is the share of a kernel's widths, averaged over splits, that the weaker half of the "
        "features has. Supported: lower on every one of these data sets. Not supported: on none. "
        "Mixed: anything between."
    ),
}


@dataclass(frozen=True)
class RankVerdict:
    """The claim, the ranking behind it, and the differences of mean rank to each rival (negative: before it)."""

    claim: RankClaim
    ranked: Ranked
    differences: tuple[float, ...]
    limit: float
    verdict: Verdict


@dataclass(frozen=True)
class SpreadVerdict:
    """The claim, and per data set both numbers and the splits behind them."""

    claim: SpreadClaim
    numbers: tuple[tuple[str, float, float, int], ...]
    verdict: Verdict


def judge_ranks(study: Study) -> tuple[RankVerdict, ...]:
    """Every claim of the paper about ranks, all of whose columns the experiment has."""
    claims = study.paper.rank_claims if study.paper else ()
    labels = set(study.experiment.labels)
    return tuple(judge_rank(study, c) for c in claims if {c.method, *c.rivals} <= labels)


def judge_rank(study: Study, claim: RankClaim) -> RankVerdict:
    """One claim; its columns are ranked together and with no others."""
    ranked = rank_columns(study, Ranking("", (claim.method, *claim.rivals)))
    mean, critical = ranked.ranks.mean, ranked.ranks.critical
    differences = tuple(mean[0] - other for other in mean[1:])
    limit = critical[LEVELS.index(claim.level)] if critical else math.nan
    return RankVerdict(claim, ranked, differences, limit, verdict(study, claim, ranked, limit))


def verdict(study: Study, claim: RankClaim, ranked: Ranked, limit: float) -> Verdict:
    """By ``RULES``; withheld where less than half of the planned splits of all data sets are ranked."""
    if not ranked.ranks.datasets:
        return "no numbers"
    splits = study.comparison(study.experiment.loss).splits
    planned = sum(n for d, n in splits.items() if not study.experiment.info(d).stands_for)
    there = sum(min(e.runs for e in ranked.rows[d]) for d in ranked.ranks.datasets)
    if math.isnan(limit) or too_few(there, planned):
        return "too few numbers"
    mean = ranked.ranks.mean
    differences = [mean[0] - other for other in mean[1:]]
    tests = {
        "before": [d < -limit for d in differences],
        "same": [abs(d) <= limit for d in differences],
        "not after": [d <= limit for d in differences],
    }
    held = tests[claim.kind]
    some = any(d < 0 for d in differences) if claim.kind == "before" else any(held)
    return "supported" if all(held) else "mixed" if some else "not supported"


def judge_spreads(study: Study) -> tuple[SpreadVerdict, ...]:
    """Every claim of the paper about learned widths whose columns the experiment has."""
    claims = study.paper.spread_claims if study.paper else ()
    labels = set(study.experiment.labels)
    return tuple(judge_spread(study, c) for c in claims if {c.method, c.rival} <= labels)


def judge_spread(study: Study, claim: SpreadClaim) -> SpreadVerdict:
    """Both numbers on each data set that has two splits at least."""
    found = []
    for dataset in claim.datasets:
        mine, other = (learned(study, dataset, m) for m in (claim.method, claim.rival))
        runs = min(len(mine.splits), len(other.splits))
        if runs > 1:
            pair = (mine.variation, other.variation)
            if claim.kind == "suppression":
                pair = (mine.weak_share, other.weak_share)
            found.append((dataset, *pair, runs))
    splits = study.comparison(study.experiment.loss).splits
    planned = sum(splits.get(d, 0) for d in claim.datasets)
    lower = [a < b for _, a, b, _ in found]
    said: Verdict = "supported" if all(lower) else "mixed" if any(lower) else "not supported"
    if too_few(sum(runs for *_, runs in found), planned):
        said = "too few numbers" if found else "no numbers"
    return SpreadVerdict(claim, tuple(found), said)
