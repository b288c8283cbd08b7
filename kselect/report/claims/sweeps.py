"""Claims about a parameter of a criterion: whether a range of its values is safe, and whether it is good."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kselect.core.claim import Claim
from kselect.core.table import Column, Group, Table, Values
from kselect.grids import show_power
from kselect.report.claims.deciding import decide
from kselect.report.claims.effects import median_effect
from kselect.report.claims.errors import unit_of
from kselect.report.claims.rules import withhold
from kselect.report.claims.scope import (
    Finding,
    find_datasets,
    find_figure,
    find_methods,
    nothing,
    too_few,
)
from kselect.report.figures.sweep import Sweep
from kselect.stats.samples import SplitErrors, match, samples_by, select, t_test
from kselect.stats.study import Study

COLUMNS = (
    Column("data set", align="left"),
    Column("method", align="left"),
    Column("best of the range"),
    Column("worst of the range"),
    Column("best of the sweep"),
    Column("significantly worse", align="left"),
    Column("counts", align="left"),
)
ROUNDING = 1e-9


def judge_range(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge a claim that a range is robust or good, over one curve per data set and method."""
    figure = find_figure(study, claim, Sweep)
    if figure is None or figure.parameter != claim.parameter:
        return nothing(f"The config has no sweep over {claim.parameter}.")
    labels = [m.label for m in find_methods(study.experiment, claim.method)]
    curves = study.once(read_curves, figure, loss)
    low, high = claim.range
    inside = [v for v in figure.values if low * (1 - ROUNDING) <= v <= high * (1 + ROUNDING)]
    shown = figure.datasets if figure.datasets is not None else study.experiment.datasets
    datasets = [d for d in find_datasets(study, claim).values() if d in shown]
    splits = study.comparison(loss).splits
    planned = len(labels) * len(figure.values) * sum(splits[d] for d in datasets)
    known = [
        (dataset, label, judge_curve(study, claim, dataset, curve, inside))
        for dataset in datasets
        for label in labels
        if (curve := curves.get((dataset, label), {})) and set(inside) & set(curve)
    ]
    found = sum(s.runs for d in datasets for m in labels for s in curves.get((d, m), {}).values())
    withheld = withhold(found, planned)
    if withheld == "no numbers" or not known:
        return nothing()
    held = sum(not one.worse for _, _, one in known)
    distances = [[one.distance for d, _, one in known if d == dataset] for dataset in datasets]
    what = "every value of the range is as good as its best (not significantly worse)"
    if claim.kind != "robust":
        what = "the best of the range is as good as the best of the sweep (not significantly worse)"
    rows: tuple[Values, ...] = tuple(
        (
            *(dataset, label, *(f"{mean:.4g}" for mean in one.means)),
            ", ".join(f"{claim.parameter} = {show_power(v)}" for v in one.worse) or "none",
            "no" if one.worse else "yes",
        )
        for dataset, label, one in known
    )
    decided = decide(claim.kind, withheld, held, len(known))
    return Finding(
        decided.verdict,
        median_effect(distances, unit_of(study, datasets)),
        f"on {held} of {len(known)} curves {what}",
        describe_worse(claim, [one for _, _, one in known]),
        table=Table("", COLUMNS, (Group(rows),)),
        reason=too_few(found, planned) if withheld else "",
        notes=decided.notes,
    )


def describe_worse(claim: Claim, curves: Sequence[JudgedCurve]) -> str:
    """Return how often each value of a robust range is significantly worse: one bad value refutes the range."""
    counts = Counter(value for one in curves for value in one.worse)
    if claim.kind != "robust" or not counts:
        return ""
    values = (f"{claim.parameter} = {show_power(v)} on {counts[v]}" for v in sorted(counts))
    return f"Significantly worse than the best of the range: {', '.join(values)} of {len(curves)} curves."


class JudgedCurve(NamedTuple):
    """One curve: the values that are significantly worse, a distance to the best of the sweep, and three means.

    The means belong to the best and the worst value of the range, and to the best value of the sweep.
    """

    worse: tuple[float, ...]
    distance: float
    means: tuple[float, float, float]


def judge_curve(
    study: Study,
    claim: Claim,
    dataset: str,
    curve: Mapping[float, SplitErrors],
    inside: Sequence[float],
) -> JudgedCurve:
    """Judge one curve: the worst of the range for a robust range, its best for a good one."""
    within_range = {v: curve[v] for v in inside if v in curve}
    best, least = lowest(within_range), lowest(curve)
    means = [s.mean for s in within_range.values()]
    if claim.kind == "robust":
        worse = tuple(v for v in within_range if is_worse(curve[v], curve[best]))
        mean = max(means)
    else:
        worse = (best,) if is_worse(curve[best], curve[least]) else ()
        mean = min(means)
    whole = curve[least].mean
    relative = study.experiment.info(dataset).task == "regression" and whole > 0
    distance = 100 * (mean / whole - 1) if relative else mean - whole
    return JudgedCurve(worse, distance, (min(means), max(means), whole))


def read_curves(
    study: Study, figure: Sweep, loss: str
) -> dict[tuple[str, str], dict[float, SplitErrors]]:
    """Return (data set, method) -> value of the parameter -> sample, of a sweep's records."""
    records = select(study.records, study.experiment, figure.name, loss)
    values = [
        float(dict(m.params).get(figure.parameter, math.nan)) if m else math.nan
        for m in records["made_by"]
    ]
    found: dict[tuple[str, str], dict[float, SplitErrors]] = {}
    samples = samples_by(records.assign(x=values), "dataset", "method", "x")
    for (dataset, label, x), mine in samples.items():
        if mine.runs:
            found.setdefault((dataset, label), {})[x] = mine
    return found


def lowest(curve: Mapping[float, SplitErrors]) -> float:
    """Return the value with the lowest mean error, the smallest of equal ones."""
    return min(sorted(curve), key=lambda v: curve[v].mean)


def is_worse(one: SplitErrors, best: SplitErrors) -> bool:
    """Return whether an error is significantly above the best."""
    return one is not best and t_test(match(one, best).difference).significant
