"""Claims that belong to no loss, each judged by a written rule.

They are about the exactness of a truncated series, about ranks over data sets, and about learned widths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kselect.papers.base import RankClaim, RankKind, SpreadKind
from kselect.report.elements import CLAIMS_FILE, Heading, Paragraph, Passage
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


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim with its verdict, the numbers behind it in sentences, and the rule."""

    claim: str
    verdict: Verdict
    text: str
    rule: str

    @property
    def passage(self) -> Passage:
        """Return the claim as the page and the Markdown file show it."""
        rule = Paragraph(f"The rule. {self.rule}", soft=True)
        elements = (Heading(self.claim, 3), Paragraph(self.text, self.verdict), rule)
        return Passage("claims", elements, CLAIMS_FILE)


def verdicts_without_loss(study: Study) -> tuple[tuple[str, Verdict], ...]:
    """Return the text and the verdict of every claim that belongs to no loss."""
    judges = (judge_exactness, judge_ranks, judge_spreads)
    return tuple((v.claim, v.verdict) for judge in judges for v in study.once(judge))


@section("exactness")
def show_exactness(study: Study) -> Iterator[Passage]:
    """Yield the verdict on exactness of each discrepancy figure."""
    yield from (found.passage for found in study.once(judge_exactness))


@section("rank-claims")
def show_ranks_and_spreads(study: Study) -> Iterator[Passage]:
    """Yield the verdicts on ranks and on learned widths."""
    found = (*study.once(judge_ranks), *study.once(judge_spreads))
    yield from (one.passage for one in found)


def judge_exactness(study: Study) -> tuple[ClaimVerdict, ...]:
    """Judge the paper's claim with each discrepancy figure that has numbers at the claimed order.

    The text names the curve that is furthest off, as a share of the target's scale.
    """
    order = study.paper.exact_order if study.paper else None
    splits = study.comparison(study.experiment.loss).splits
    judged = []
    for figure in study.experiment.figures:
        if not isinstance(figure, Discrepancy) or order is None:
            continue
        tracks = study.once(follow, figure)
        known = [(t, t.relative(order)) for t in tracks if not math.isnan(t.relative(order))]
        if not known:
            continue
        worst, relative = max(known, key=lambda found: found[1])
        exact = sum(share < EXACT for _, share in known)
        numbers = sum(t.runs.get(float(order), 0) for t in tracks)
        planned = sum(splits[t.dataset] for t in tracks)
        verdict = exactness_verdict(exact, len(known), numbers, planned)
        few = f"Only {numbers} of {planned} planned numbers exist, too few to judge. "
        text = (
            f"{few if verdict == 'too few numbers' else ''}At order {order} the approximated held-out predictions "
            f"are within one percent of the target's scale on {exact} of {len(known)} curves. The largest error is "
            f"{100 * relative:.3g} %, on {worst.dataset} with {worst.method}, where the rate of the series is "
            f"{worst.rate:.2f}."
        )
        edges = describe_edges(leaning(study, study.experiment.loss, figure.at))
        text = " ".join(filter(None, (text, edges)))
        claim = f"The series is exact for orders t >= {order}"
        judged.append(ClaimVerdict(claim, verdict, text, EXACT_RULE.format(order=order)))
    return tuple(judged)


def exactness_verdict(exact: int, total: int, numbers: int, planned: int) -> Verdict:
    """Return the verdict by ``EXACT_RULE`` if ``exact`` of ``total`` curves are exact."""
    if too_few(numbers, planned):
        return "too few numbers"
    if exact == total:
        return "supported"
    return "mixed" if 2 * exact > total else "not supported"


def judge_ranks(study: Study) -> tuple[ClaimVerdict, ...]:
    """Judge every claim about ranks whose methods the experiment has; they are ranked with no others."""
    judged = []
    for claim in study.paper.rank_claims if study.paper else ():
        labels = (claim.method, *claim.rivals)
        if not set(labels) <= set(study.experiment.labels):
            continue
        ranked = rank_columns(study, Ranking("", labels))
        ranks = ranked.ranks
        differences = tuple(ranks.mean[0] - other for other in ranks.mean[1:])
        limit = ranks.critical[LEVELS.index(claim.level)] if ranks.critical else math.nan
        verdict = rank_verdict(study, claim, ranked, differences, limit)
        shown = ", ".join(f"{m} {r:.2f}" for m, r in zip(ranked.labels, ranks.mean, strict=True))
        rivals = zip(differences, ranked.labels[1:], strict=True)
        apart = ", ".join(f"{d:+.2f} to {rival}" for d, rival in rivals)
        text = (
            f"{TOO_FEW if verdict == 'too few numbers' else ''}Mean ranks over {len(ranks.datasets)} data sets: "
            f"{shown}. The difference of {ranked.labels[0]} is {apart} (negative: before it); Nemenyi's critical "
            f"difference is {limit:.2f}."
        )
        text = text if ranks.datasets else "There are no numbers yet that rank these methods."
        rule = RANK_RULES[claim.kind].format(level=f"{100 * claim.level:g}")
        judged.append(ClaimVerdict(claim.text, verdict, text, rule))
    return tuple(judged)


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


def judge_spreads(study: Study) -> tuple[ClaimVerdict, ...]:
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
        each = "; ".join(f"{d} {a:.3g} against {b:.3g} ({runs} splits)" for d, a, b, runs in found)
        few = TOO_FEW if verdict == "too few numbers" else ""
        text = f"{few}The {MEASURES[claim.kind]} of {claim.method} against {claim.rival}: {each}."
        text = text if found else "There are no numbers yet: two splits are needed."
        judged.append(ClaimVerdict(claim.text, verdict, text, SPREAD_RULES[claim.kind]))
    return tuple(judged)
