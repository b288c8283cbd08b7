"""A table's numbers: how often columns choose the same kernel and ridge, and how far their scores lie apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kselect.stats.samples import table_records

if TYPE_CHECKING:
    import pandas as pd

    from kselect.stats.study import Study

SPLIT = ["split", "setting"]
CHOICE = ["kernel", "chosen", "lam"]


@dataclass(frozen=True)
class LikenessFigure:
    """A table of a config: columns beside another one."""

    name: str
    of: tuple[str, ...]
    against: str
    kind: str = "likeness"


@dataclass(frozen=True)
class Likeness:
    """One column on one data set, over the splits (and fixed ridges) that both have.

    ``same`` counts equal choices, ``same_kernel`` equal kernels. ``apart`` is the median of ``|s - e| / e`` of the
    lowest scores s and e of both, ``largest`` the largest; ``error`` is the mean difference of the test errors in
    the data set's unit, the column's less the other's.
    """

    dataset: str
    method: str
    runs: int
    same: int
    same_kernel: int
    apart: float
    largest: float
    error: float


def compare_choices(study: Study, figure: LikenessFigure) -> tuple[Likeness, ...]:
    """Data set by data set, each column in its order; those that have no split in common are left out."""
    experiment = study.experiment
    table = table_records(study.records, experiment, experiment.loss)
    good = table[table["status"] == "ok"]
    found = (
        compare(name, label, rows(good, name, label), rows(good, name, figure.against))
        for name in experiment.datasets
        for label in figure.of
    )
    return tuple(one for one in found if one.runs)


def rows(table: pd.DataFrame, dataset: str, label: str) -> pd.DataFrame:
    """The records of one column on one data set."""
    return table[(table["dataset"] == dataset) & (table["method"] == label)]


def compare(dataset: str, label: str, one: pd.DataFrame, other: pd.DataFrame) -> Likeness:
    """Matched by split and setting."""
    both = one.merge(other, on=SPLIT, suffixes=("", "_other"))
    pairs = [both[name] == both[f"{name}_other"] for name in CHOICE]
    same_kernel = pairs[0] & pairs[1]
    scores = zip(both["score"].tolist(), both["score_other"].tolist(), strict=True)
    apart = [abs(s - e) / abs(e) for s, e in scores if e]
    factor = 100.0 if len(both) and (both["metric"] == "zero-one").all() else 1.0
    difference = (factor * (both["error"] - both["error_other"])).tolist()
    return Likeness(
        dataset,
        label,
        len(both),
        int((same_kernel & pairs[2]).sum()),
        int(same_kernel.sum()),
        statistics.median(apart) if apart else math.nan,
        max(apart, default=math.nan),
        math.fsum(difference) / len(difference) if difference else math.nan,
    )


def totals(found: Sequence[Likeness]) -> tuple[Likeness, ...]:
    """Each column over all data sets: counts added up, the median of the medians."""
    labels = dict.fromkeys(one.method for one in found)
    return tuple(total(label, [o for o in found if o.method == label]) for label in labels)


def total(label: str, mine: Sequence[Likeness]) -> Likeness:
    """One column; test errors of several units have no mean."""
    known = [one.apart for one in mine if not math.isnan(one.apart)]
    return Likeness(
        "all",
        label,
        sum(one.runs for one in mine),
        sum(one.same for one in mine),
        sum(one.same_kernel for one in mine),
        statistics.median(known) if known else math.nan,
        max((one.largest for one in mine if not math.isnan(one.largest)), default=math.nan),
        math.nan,
    )
