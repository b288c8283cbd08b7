"""The judgement of every claim of an experiment: the main reading, its other losses, and its variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kselect.core.claim import Claim, Kind
from kselect.report.claims.errors import judge_errors, judge_setting
from kselect.report.claims.ranks import judge_pool
from kselect.report.claims.scope import Finding, find_datasets, find_methods
from kselect.report.claims.series import judge_exact, judge_near
from kselect.report.claims.spreads import judge_avoids, judge_minima, judge_widths
from kselect.report.claims.sweeps import judge_range
from kselect.report.claims.times import judge_times
from kselect.stats.study import Study

EVIDENCE: Mapping[Kind, Callable[[Study, Claim, str], Finding]] = {
    **dict.fromkeys(("lower", "higher", "not higher", "same"), judge_errors),
    "good setting": judge_setting,
    **dict.fromkeys(("robust", "good range"), judge_range),
    "exact": judge_exact,
    "near": judge_near,
    **dict.fromkeys(("cheaper", "same time"), judge_times),
    **dict.fromkeys(("friedman rejected", "friedman not rejected", "best rank"), judge_pool),
    **dict.fromkeys(("ranks before", "ranks same", "ranks not after", "ranks after"), judge_pool),
    **dict.fromkeys(("varies less", "suppresses"), judge_widths),
    "avoids": judge_avoids,
    "unimodal": judge_minima,
}
# The kinds whose numbers belong to the main loss only, or to none.
ONE_LOSS: tuple[Kind, ...] = (
    *("robust", "good range", "exact", "cheaper", "same time"),
    *("varies less", "suppresses", "unimodal"),
)


@dataclass(frozen=True)
class Judged:
    """A claim with what was found about it; ``variant`` and ``loss`` are empty for the main ones.

    ``reading`` is the title of the variant.
    """

    claim: Claim
    variant: str
    loss: str
    finding: Finding
    reading: str = ""


def judge_claims(study: Study) -> tuple[Judged, ...]:
    """Judge every claim in the main reading with the main loss, in the order of the paper."""
    experiment = study.experiment
    return tuple(Judged(c, "", "", find(study, c, experiment.loss)) for c in experiment.claims)


def judge_others(study: Study) -> tuple[Judged, ...]:
    """Judge every claim with the other losses and in every variant that was run, and keep those with numbers.

    A variant that only adds columns has the same numbers, and claims of its own in its own report.
    """
    experiment = study.experiment
    readings = {v.name: v.words for v in experiment.variants if v.reading}
    found = [
        Judged(claim, "", loss, find(study, claim, loss))
        for claim in experiment.claims
        for loss in experiment.losses[1:]
        if depends_on(study, claim, loss)
    ]
    found += [
        Judged(claim, name, "", find(variant, claim, variant.experiment.loss), readings[name])
        for name, variant in study.variants.items()
        if name in readings
        for claim in experiment.claims
    ]
    return tuple(
        one for one in found if one.finding.verdict not in ("no numbers", "not tested here")
    )


def find(study: Study, claim: Claim, loss: str) -> Finding:
    """Return the finding on one claim, or why it cannot be tested here."""
    if claim.untested:
        return Finding("not tested here", reason=claim.untested)
    return EVIDENCE[claim.kind](study, claim, loss)


def depends_on(study: Study, claim: Claim, loss: str) -> bool:
    """Return whether another loss gives other numbers: some method of the claim chooses by it.

    Regressions always have the squared loss.
    """
    if claim.kind in ONE_LOSS:
        return False
    experiment = study.experiment
    names = (*claim.left, *claim.right, *claim.method, *claim.against, *claim.pool)
    labels = {m.label for m in find_methods(experiment, names)} if names else set(experiment.labels)
    chosen_by = any(m.loss == loss and m.label in labels for m in experiment.table)
    tasks = {experiment.info(d).task for d in find_datasets(study, claim).values()}
    return "classification" in tasks and (chosen_by or claim.kind in ("near", "good setting"))
