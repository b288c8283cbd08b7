"""Claims that belong to no loss, each judged by a written rule.

They are about the exactness of a truncated series, about ranks over data sets, and about learned widths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kselect.papers.base import RankClaim, RankKind, SpreadClaim, SpreadKind
from kselect.report.elements import CLAIMS_FILE, Element, Heading, Paragraph, Passage
from kselect.report.figures.discrepancy import EXACT, Discrepancy, follow
from kselect.report.figures.ranking import Ranked, Ranking, rank_columns
from kselect.report.figures.widths import learned_widths
from kselect.report.sections import section
from kselect.report.words import describe_edges
from kselect.stats.claims import Verdict, too_few
from kselect.stats.diagnostics import leaning
from kselect.stats.ranks import LEVELS
from kselect.stats.study import Study

EXACT_RULE = (
    "Supported: the root mean square difference at order {order} is below one percent of the target's scale (1 for "
    "labels, the root of the cross-validation error for regression) on every data set and number of folds. "
    "Not supported: on at most half of them. Mixed: anything between. "
    "Withheld if fewer than half of the planned numbers at that order exist."
)
RANK_RULES: dict[RankKind, str] = {
    "before": (
        "Supported: before every rival by more than Nemenyi's critical difference at {level} %. "
        "Not supported: before none of them. Mixed: anything between."
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
        "The number is the share of a kernel's widths, averaged over splits, that belongs to the weaker half of "
        "the features. Supported: lower on every one of these data sets. Not supported: on none. "
        "Mixed: anything between."
    ),
}
MEASURES = {"variation": "coefficient of variation", "suppression": "share of the weaker half"}
TOO_FEW = "Fewer than half of the planned runs exist, too few to judge. "


def verdicts_without_loss(study: Study) -> tuple[tuple[str, Verdict], ...]:
    """Return the text and the verdict of every claim that belongs to no loss."""
    ranks, spreads = study.once(judge_ranks), study.once(judge_spreads)
    exact = [(found.claim, found.verdict) for found in study.once(judge_exactness)]
    rest = [(found.claim.text, found.verdict) for found in ranks]
    return (*exact, *rest, *((found.claim.text, found.verdict) for found in spreads))


@dataclass(frozen=True)
class Exactness:
    """The curves of a figure on which the series is exact at an order, and the curve that is furthest off.

    ``worst`` is its data set, method, error as a share of the target's scale, and rate of the series; ``numbers``
    of the ``planned`` values at that order exist.
    """

    figure: Discrepancy
    order: int
    exact: int
    total: int
    numbers: int
    planned: int
    worst: tuple[str, str, float, float]

    @property
    def claim(self) -> str:
        """Return the paper's claim."""
        return f"The series is exact for orders t >= {self.order}"

    @property
    def verdict(self) -> Verdict:
        """Return the verdict by ``EXACT_RULE``."""
        if too_few(self.numbers, self.planned):
            return "too few numbers"
        if self.exact == self.total:
            return "supported"
        return "mixed" if 2 * self.exact > self.total else "not supported"


def judge_exactness(study: Study) -> tuple[Exactness, ...]:
    """Judge the paper's claim with each discrepancy figure that has numbers at the claimed order."""
    order = study.paper.exact_order if study.paper else None
    splits = study.comparison(study.experiment.loss).splits
    found = []
    for figure in study.experiment.figures:
        if not isinstance(figure, Discrepancy) or order is None:
            continue
        tracks = study.once(follow, figure)
        known = [(t, t.relative(order)) for t in tracks if not math.isnan(t.relative(order))]
        if known:
            worst, relative = max(known, key=lambda found: found[1])
            found.append(
                Exactness(
                    figure,
                    order,
                    sum(share < EXACT for _, share in known),
                    len(known),
                    sum(t.runs.get(float(order), 0) for t in tracks),
                    sum(splits[t.dataset] for t in tracks),
                    (worst.dataset, worst.method, relative, worst.rate),
                )
            )
    return tuple(found)


@section("exactness")
def show_exactness(study: Study) -> Iterator[Passage]:
    """Yield the verdict on exactness of each discrepancy figure."""
    for found in study.once(judge_exactness):
        dataset, method, relative, rate = found.worst
        few = (
            f"Only {found.numbers} of {found.planned} planned numbers exist, too few to judge. "
            if found.verdict == "too few numbers"
            else ""
        )
        text = (
            f"{few}At order {found.order} the approximated held-out predictions are within one percent of the "
            f"target's scale on {found.exact} of {found.total} curves. The largest error is "
            f"{100 * relative:.3g} %, on {dataset} with {method}, where the rate of the series is {rate:.2f}."
        )
        edges = describe_edges(leaning(study, study.experiment.loss, found.figure.at))
        text = " ".join(filter(None, (text, edges)))
        rule = EXACT_RULE.format(order=found.order)
        yield Passage("claims", claim_elements(found.claim, text, found.verdict, rule), CLAIMS_FILE)


def claim_elements(claim: str, text: str, verdict: Verdict, rule: str) -> tuple[Element, ...]:
    """Return a claim, its verdict in a sentence, and the rule."""
    return (
        Heading(claim, 3),
        Paragraph(text, verdict),
        Paragraph(f"The rule. {rule}", soft=True),
    )


@dataclass(frozen=True)
class RankVerdict:
    """A claim, its ranking, and the differences of mean rank to each rival (negative: before it)."""

    claim: RankClaim
    ranked: Ranked
    differences: tuple[float, ...]
    limit: float
    verdict: Verdict


def judge_ranks(study: Study) -> tuple[RankVerdict, ...]:
    """Judge every claim about ranks whose methods the experiment has; they are ranked with no others."""
    found = []
    for claim in study.paper.rank_claims if study.paper else ():
        if {claim.method, *claim.rivals} <= set(study.experiment.labels):
            ranked = rank_columns(study, Ranking("", (claim.method, *claim.rivals)))
            mean, critical = ranked.ranks.mean, ranked.ranks.critical
            differences = tuple(mean[0] - other for other in mean[1:])
            limit = critical[LEVELS.index(claim.level)] if critical else math.nan
            verdict = rank_verdict(study, claim, ranked, differences, limit)
            found.append(RankVerdict(claim, ranked, differences, limit, verdict))
    return tuple(found)


def rank_verdict(
    study: Study, claim: RankClaim, ranked: Ranked, differences: tuple[float, ...], limit: float
) -> Verdict:
    """Return the verdict by ``RANK_RULES``; withheld if fewer than half of all planned splits are ranked."""
    if not ranked.ranks.datasets:
        return "no numbers"
    splits = study.comparison(study.experiment.loss).splits
    planned = sum(n for d, n in splits.items() if not study.experiment.info(d).stands_for)
    existing = sum(min(e.runs for e in ranked.rows[d]) for d in ranked.ranks.datasets)
    if math.isnan(limit) or too_few(existing, planned):
        return "too few numbers"
    held = {
        "before": [d < -limit for d in differences],
        "same": [abs(d) <= limit for d in differences],
        "not after": [d <= limit for d in differences],
    }[claim.kind]
    some = any(d < 0 for d in differences) if claim.kind == "before" else any(held)
    return "supported" if all(held) else "mixed" if some else "not supported"


@dataclass(frozen=True)
class SpreadVerdict:
    """A claim about learned widths; ``numbers`` are data set, both numbers, and the splits behind them."""

    claim: SpreadClaim
    numbers: tuple[tuple[str, float, float, int], ...]
    verdict: Verdict


def judge_spreads(study: Study) -> tuple[SpreadVerdict, ...]:
    """Judge every claim about learned widths whose methods the experiment has, on data sets with two splits."""
    judged = []
    splits = study.comparison(study.experiment.loss).splits
    for claim in study.paper.spread_claims if study.paper else ():
        if not {claim.method, claim.rival} <= set(study.experiment.labels):
            continue
        found = []
        for dataset in claim.datasets:
            mine, other = (learned_widths(study, dataset, m) for m in (claim.method, claim.rival))
            runs = min(len(mine.values), len(other.values))
            if runs > 1:
                pair = (mine.variation, other.variation)
                if claim.kind == "suppression":
                    pair = (mine.weak_share, other.weak_share)
                found.append((dataset, *pair, runs))
        planned = sum(splits.get(d, 0) for d in claim.datasets)
        lower = [a < b for _, a, b, _ in found]
        verdict: Verdict = "supported" if all(lower) else "mixed" if any(lower) else "not supported"
        if too_few(sum(runs for *_, runs in found), planned):
            verdict = "too few numbers" if found else "no numbers"
        judged.append(SpreadVerdict(claim, tuple(found), verdict))
    return tuple(judged)


@section("rank-claims")
def show_ranks_and_spreads(study: Study) -> Iterator[Passage]:
    """Yield the verdicts on ranks and on learned widths."""
    for ranks in study.once(judge_ranks):
        rule = RANK_RULES[ranks.claim.kind].format(level=f"{100 * ranks.claim.level:g}")
        text = describe_ranks(ranks)
        elements = claim_elements(ranks.claim.text, text, ranks.verdict, rule)
        yield Passage("claims", elements, CLAIMS_FILE)
    for spreads in study.once(judge_spreads):
        claim = spreads.claim
        each = "; ".join(
            f"{dataset} {mine:.3g} against {other:.3g} ({runs} splits)"
            for dataset, mine, other, runs in spreads.numbers
        )
        few = TOO_FEW if spreads.verdict == "too few numbers" else ""
        text = f"{few}The {MEASURES[claim.kind]} of {claim.method} against {claim.rival}: {each}."
        text = text if spreads.numbers else "There are no numbers yet: two splits are needed."
        elements = claim_elements(claim.text, text, spreads.verdict, SPREAD_RULES[claim.kind])
        yield Passage("claims", elements, CLAIMS_FILE)


def describe_ranks(found: RankVerdict) -> str:
    """Return the mean ranks and their differences."""
    ranks, labels = found.ranked.ranks, found.ranked.labels
    if not ranks.datasets:
        return "There are no numbers yet that rank these methods."
    shown = ", ".join(f"{m} {r:.2f}" for m, r in zip(labels, ranks.mean, strict=True))
    apart = ", ".join(
        f"{d:+.2f} to {rival}" for d, rival in zip(found.differences, labels[1:], strict=True)
    )
    few = TOO_FEW if found.verdict == "too few numbers" else ""
    return (
        f"{few}Mean ranks over {len(ranks.datasets)} data sets: {shown}. The difference of {labels[0]} is {apart} "
        f"(negative: before it); Nemenyi's critical difference is {found.limit:.2f}."
    )
