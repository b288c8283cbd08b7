"""The kernel parameters that searches learned, over splits: how they vary, and what is left to weak features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kselect.kernels.base import read_parameters
from kselect.numerics.linalg import Array
from kselect.stats.samples import table_records
from kselect.stats.study import Study

if TYPE_CHECKING:
    import pandas as pd


# What is smaller than this share of the largest median is drawn at the foot, where zero stands.
FOOT = 1e-4


@dataclass(frozen=True, eq=False)
class Learned:
    """The parameters of one column on one data set, (splits, parameters), by the splits' numbers."""

    dataset: str
    method: str
    splits: tuple[int, ...]
    values: Array

    @property
    def variation(self) -> float:
        """The median over parameters of their coefficient of variation over splits; NaN below two splits."""
        if len(self.values) < 2:
            return math.nan
        mean = self.values.mean(axis=0)
        used = mean > 0.0
        if not used.any():
            return 0.0
        return float(np.median(self.values[:, used].std(axis=0, ddof=1) / mean[used]))

    @property
    def weak_share(self) -> float:
        """The share of a kernel's widths, averaged over splits, that the weaker half of the features has.

        Each split's widths are divided by their sum first: one kernel with an enormous width would decide alone.
        """
        totals = self.values.sum(axis=1, keepdims=True)
        known = self.values[totals[:, 0] > 0.0] / totals[totals[:, 0] > 0.0]
        if not known.size:
            return math.nan
        mean = np.sort(known.mean(axis=0))
        return float(mean[: len(mean) // 2].sum())

    def raised(self, floor: float) -> Array:
        """The parameters, none below a floor."""
        return np.maximum(self.values, floor)


def limits(row: Sequence[Learned]) -> tuple[float, float]:
    """The foot and top of a data set's axis: of medians and upper percentiles, which no single split moves."""
    medians = [np.median(one.values, axis=0).max() for one in row if one.values.size]
    tops = [np.percentile(one.values, 95, axis=0).max() for one in row if one.values.size]
    foot = FOOT * max(medians, default=1.0) or FOOT
    return float(foot), float(max([*tops, 10.0 * foot]))


def learned(study: Study, dataset: str, method: str) -> Learned:
    """What a column learned on a data set; of one without numbers what it learned on its stand-in."""
    frame = study.once(learned_records)
    rows = frame[(frame["dataset"] == dataset) & (frame["method"] == method)].sort_values("split")
    if rows.empty:
        twins = [
            d for d in study.experiment.datasets if study.experiment.info(d).stands_for == dataset
        ]
        if twins:
            return learned(study, twins[0], method)
    found = [list(read_parameters(text).values()) for text in rows["chosen"]]
    width = len(found[0]) if found else 0
    values = np.array(found, dtype=np.float64).reshape(len(found), width)
    return Learned(dataset, method, tuple(map(int, rows["split"])), values)


def learned_records(study: Study) -> pd.DataFrame:
    """The good records of the table."""
    table = table_records(study.records, study.experiment, study.experiment.loss)
    return table[table["status"] == "ok"]
