"""Claims about what methods choose: how much learned widths vary, which grid points they avoid, one minimum."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kselect.core.claim import Claim
from kselect.core.table import Column, Group, Table, Values
from kselect.kernels.base import read_parameters
from kselect.numerics.linalg import Array
from kselect.report.claims.deciding import decide
from kselect.report.claims.effects import Effect, median_effect, share_effect
from kselect.report.claims.rules import withhold
from kselect.report.claims.scope import (
    Finding,
    find_datasets,
    find_figure,
    find_methods,
    find_pairs,
    note_absent,
    nothing,
    too_few,
)
from kselect.report.figures.surfaces import Surfaces, read_surfaces
from kselect.report.figures.widths import LearnedWidths, learned_widths
from kselect.stats.samples import table_records
from kselect.stats.study import Study

if TYPE_CHECKING:
    import pandas as pd

WIDTHS = (
    Column("data set", align="left"),
    Column("methods", align="left"),
    *(Column(name, format=".3g") for name in ("first", "second")),
    Column("splits"),
)
UNITS = {"varies less": "sd/mean", "suppresses": "of the widths"}


def judge_widths(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge a claim that learned widths vary less over splits, or suppress uninformative features more."""
    pairs = find_pairs(study.experiment, claim)
    splits = study.comparison(study.experiment.loss).splits
    measure = read_measure(study, claim)
    rows: list[Values] = []
    differences: list[list[float]] = []
    runs = planned = 0
    for dataset, serving in find_datasets(study, claim).items():
        for a, b in pairs:
            planned += splits[serving]
            mine, other = (learned_widths(study, serving, m) for m in (a, b))
            shared = min(len(mine.values), len(other.values))
            if shared < 2:
                continue
            runs += shared
            values = measure(dataset, mine), measure(dataset, other)
            rows.append((dataset, f"{a} against {b}", *values, shared))
            differences.append([values[0] - values[1]])
    withheld = withhold(runs, planned)
    if withheld == "no numbers":
        return nothing()
    held = sum(d < 0 for (d,) in differences)
    decided = decide(claim.kind, withheld, held, len(rows), claim.everywhere)
    return Finding(
        decided.verdict,
        median_effect(differences, UNITS[claim.kind]),
        f"lower on {held} of {len(rows)} data set{'s' * (len(rows) != 1)}",
        table=Table("", WIDTHS, (Group(tuple(rows)),)),
        reason=too_few(runs, planned, "runs") if withheld else "",
        notes=(*decided.notes, *note_absent(claim, {str(row[0]) for row in rows})),
    )


def read_measure(study: Study, claim: Claim) -> Callable[[str, LearnedWidths], float]:
    """Return the number that a claim compares, for a data set's name and the widths of one method."""
    source = study.experiment.source

    def measure(dataset: str, found: LearnedWidths) -> float:
        # Features are counted from 1; nothing is known of most data sets.
        known = [i - 1 for i in source.informative.get(dataset, ())] if source else []
        others = [i for i in range(found.values.shape[1]) if i not in known]
        if claim.kind == "suppresses":
            return share_of(found.values, others) if known else found.weak_share
        if claim.features == "informative":
            found = replace(found, values=found.values[:, known]) if known else found.stronger
        return found.variation

    return measure


def share_of(values: Array, features: Sequence[int]) -> float:
    """Return the mean over splits of the share of a kernel's widths that some features have."""
    totals = values.sum(axis=1)
    known = totals > 0.0
    if not known.any():
        return math.nan
    return float((values[known][:, features].sum(axis=1) / totals[known]).mean())


def judge_avoids(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge a claim that methods choose some grid points more rarely than their rivals, from all choices."""
    large = claim.what
    if large is None:
        return nothing()
    table = table_records(study.records, study.experiment, loss)
    good = table[table["status"] == "ok"]
    sides = [
        {m.label for m in find_methods(study.experiment, names)}
        & set(study.comparison(loss).methods)
        for names in (claim.method, claim.against)
    ]
    texts = dict.fromkeys(good.loc[good["kernel"] == large.kernel, "chosen"])
    wanted = {t for t in texts if read_parameters(t).get(large.parameter, -math.inf) >= large.least}
    good = good.assign(hit=(good["kernel"] == large.kernel) & good["chosen"].isin(wanted))
    datasets = list(find_datasets(study, claim).values())
    splits = study.comparison(loss).splits
    settings = len(study.experiment.lam.settings())
    planned = settings * sum(splits[d] for d in datasets) * sum(map(len, sides))
    every = {dataset: count_hits(good[good["dataset"] == dataset], sides) for dataset in datasets}
    counts = {dataset: found for dataset, found in every.items() if found[1] and found[3]}
    a, all_a, b, all_b = (sum(found[i] for found in counts.values()) for i in range(4))
    withheld = withhold(all_a + all_b, planned)
    if withheld == "no numbers":
        return nothing()
    if not a and not b:
        least = f"{large.parameter} of {large.least:g} or more"
        return nothing(
            f"Neither the methods nor their rivals choose a {large.kernel} kernel with a {least}."
        )
    rows = tuple((d, f"{n[0]} of {n[1]}", f"{n[2]} of {n[3]}") for d, n in counts.items())
    headings = ("data set", ", ".join(sorted(sides[0])), ", ".join(sorted(sides[1])))
    decided = decide(claim.kind, withheld, a / all_a, b / all_b)
    return Finding(
        decided.verdict,
        share_effect(list(counts.values()), "points of the choices"),
        f"chosen in {100 * a / all_a:.1f} % of the choices ({a} of {all_a}), by the rivals in "
        f"{100 * b / all_b:.1f} % ({b} of {all_b})",
        table=Table("", tuple(Column(h, align="left") for h in headings), (Group(rows),)),
        reason=too_few(all_a + all_b, planned, "choices") if withheld else "",
        notes=decided.notes,
    )


def count_hits(
    choices: pd.DataFrame, sides: Sequence[Collection[str]]
) -> tuple[int, int, int, int]:
    """Return the hits and the number of choices of the methods of one side, then the same of the other."""
    one, other = (choices[choices["method"].isin(side)]["hit"] for side in sides)
    return int(one.sum()), len(one), int(other.sum()), len(other)


def judge_minima(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge a claim that an error has one minimum over two hyper-parameters, by the config's figure of it."""
    figure = find_figure(study, claim, Surfaces)
    if figure is None:
        return nothing("The config has no figure of this surface.")
    surface, _ = read_surfaces(study, figure)
    known = int(np.isfinite(surface).sum())
    withheld = withhold(known, surface.size)
    if withheld == "no numbers":
        return nothing()
    depths = minima(surface)
    others = ", ".join(f"{100 * d:.2g} %" for d in depths[1:])
    decided = decide(claim.kind, withheld, depths[1:])
    return Finding(
        decided.verdict,
        Effect(len(depths), unit="minimum" if len(depths) == 1 else "minima"),
        f"{len(depths)} local minim{'um' if len(depths) == 1 else 'a'} on {known} grid points",
        f"Depth of the others in per cent of the surface's range: {others}." if others else "",
        reason=too_few(known, surface.size) if withheld else "",
        notes=decided.notes,
    )


def minima(surface: Array) -> list[float]:
    """Return the depth of every local minimum as a share of the surface's range, the deepest first.

    The lowest has depth 1. The depth of another is how far one must climb from it to reach a lower one, on paths
    over neighbours (also diagonal ones). Points without a value are walls. A plateau is one point.
    """
    order = [tuple(p) for p in np.argwhere(np.isfinite(surface))]
    order.sort(key=lambda p: float(surface[p]))
    if not order:
        return []
    low, high = float(surface[order[0]]), float(surface[order[-1]])
    parent: dict[tuple[int, ...], tuple[int, ...]] = {}

    def root(point: tuple[int, ...]) -> tuple[int, ...]:
        while parent[point] != point:
            point = parent[point]
        return point

    found: list[float] = []
    for point in order:
        parent[point] = point
        level = float(surface[point])
        near = ((point[0] + i, point[1] + j) for i in (-1, 0, 1) for j in (-1, 0, 1))
        basins = sorted({root(p) for p in near if p in parent}, key=lambda p: float(surface[p]))
        for basin in basins[1:]:
            # Two basins meet here. The shallower one ends; without a climb it was never a minimum.
            parent[basin] = basins[0]
            depth = level - float(surface[basin])
            found += [depth / (high - low)] if depth > 0.0 else []
    return [1.0, *sorted(found, reverse=True)]
