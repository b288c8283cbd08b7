"""Claims about approximations: how far a series is from cross-validation, and how near a criterion's value is."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from kselect.core.claim import Claim
from kselect.core.table import Column, Group, Table, Values
from kselect.report.claims.deciding import decide
from kselect.report.claims.effects import median_effect
from kselect.report.claims.rules import EXACT, withhold
from kselect.report.claims.scope import (
    Finding,
    find_datasets,
    find_figure,
    find_methods,
    find_pairs,
    nothing,
    too_few,
)
from kselect.report.figures.discrepancy import Discrepancy, follow
from kselect.report.words import describe_edges, note_edges
from kselect.stats.diagnostics import leaning
from kselect.stats.samples import table_records
from kselect.stats.study import Study

if TYPE_CHECKING:
    import pandas as pd

SPLIT = ["split", "setting"]
POINT = ("kernel", "chosen", "lam")
UNIT = "% of the scale"
EXACT_COLUMNS = (
    Column("data set", align="left"),
    Column("at the choice of", align="left"),
    Column("difference", format=lambda share: f"{100 * share:.3g} %"),
    Column("rate of the series", format=".2f"),
    Column("splits"),
)
NEAR_COLUMNS = (
    Column("data set", align="left"),
    Column("methods", align="left"),
    Column("splits"),
    Column("same grid point"),
    Column("median difference", format=lambda share: f"{100 * share:.3g} %"),
)


def judge_exact(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge the claim that a series is exact from an order on, by the config's figure of its differences."""
    figure = find_figure(study, claim, Discrepancy)
    if figure is None:
        return nothing("The config has no figure of the differences over the order.")
    here = set(find_datasets(study, claim).values())
    tracks = [t for t in study.once(follow, figure) if t.dataset in here]
    known = [(t, share) for t in tracks if not math.isnan(share := t.relative(claim.order))]
    splits = study.comparison(study.experiment.loss).splits
    numbers = sum(t.runs.get(float(claim.order), 0) for t in tracks)
    planned = sum(splits[t.dataset] for t in tracks)
    withheld = withhold(numbers, planned)
    if not known:
        return nothing()
    held = sum(share < EXACT for _, share in known)
    worst, largest = max(known, key=lambda one: one[1])
    names = dict.fromkeys(t.dataset for t, _ in known)
    shares = [[100 * share for t, share in known if t.dataset == d] for d in names]
    rows: tuple[Values, ...] = tuple(
        (t.dataset, t.method, share, t.rate, t.runs.get(float(claim.order), 0))
        for t, share in known
    )
    text = (
        f"The largest difference at order {claim.order} is {100 * largest:.3g} %, on {worst.dataset} with "
        f"{worst.method}, where the rate of the series is {worst.rate:.2f}."
    )
    edges = leaning(study, study.experiment.loss, figure.at)
    decided = decide(claim.kind, withheld, held, len(known))
    return Finding(
        decided.verdict,
        median_effect(shares, UNIT),
        f"{held} of {len(known)} curves below {100 * EXACT:g} %",
        " ".join(filter(None, (text, describe_edges(edges)))),
        Table("", EXACT_COLUMNS, (Group(rows),)),
        too_few(numbers, planned) if withheld else "",
        (*decided.notes, *note_edges(edges)),
    )


def judge_near(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge the claim that an approximation's value is near the exact one, where both chose the same point."""
    pairs = near_pairs(study, claim)
    table = table_records(study.records, study.experiment, loss)
    good = table[table["status"] == "ok"]
    rows: list[Values] = []
    medians: list[list[float]] = []
    datasets = find_datasets(study, claim)
    for dataset in datasets.values():
        mine: list[float] = []
        for a, b in pairs:
            here = good[good["dataset"] == dataset]
            both = here[here["method"] == a].merge(
                here[here["method"] == b], on=SPLIT, suffixes=("", "_exact")
            )
            apart = differences(both)
            if apart:
                mine.append(statistics.median(apart))
                rows.append((dataset, f"{a} and {b}", len(both), len(apart), mine[-1]))
        medians.append([100 * m for m in mine])
    known = [m for row in medians for m in row]
    planned = len(datasets) * len(pairs)
    withheld = withhold(len(known), planned)
    if withheld == "no numbers":
        return nothing()
    held = sum(m <= 100 * EXACT for m in known)
    decided = decide(claim.kind, withheld, held, len(known))
    return Finding(
        decided.verdict,
        median_effect(medians, "% of the exact value"),
        f"{held} of {len(known)} within {100 * EXACT:g} %",
        f"Compared on {planned} data sets and numbers of folds; {planned - len(known)} have no split on which both "
        "chose the same grid point."
        if planned > len(known)
        else "",
        Table("", NEAR_COLUMNS, (Group(tuple(rows)),)),
        too_few(len(known), planned) if withheld else "",
        decided.notes,
    )


def near_pairs(study: Study, claim: Claim) -> list[tuple[str, str]]:
    """Return the approximate and the exact method of each pair; a series is compared with k-CV of its folds."""
    if not claim.series:
        return find_pairs(study.experiment, claim)
    return [
        (a.label, b.label)
        for a in find_methods(study.experiment, [claim.series])
        if dict(a.params).get("order", claim.order) == claim.order
        for b in find_methods(study.experiment, ["k-CV"])
        if a.folds == b.folds
    ]


def differences(both: pd.DataFrame) -> list[float]:
    """Return ``|s - e| / |e|`` of each split with the same grid point; 0 if both values are 0."""
    same = both
    for name in POINT:
        same = same[same[name] == same[f"{name}_exact"]]
    values = zip(same["score"].tolist(), same["score_exact"].tolist(), strict=True)
    return [
        abs(s - e) / abs(e) if e else (math.inf if s else 0.0)
        for s, e in values
        if not (math.isnan(s) or math.isnan(e))
    ]
