"""Records -> samples: the test errors of one method on one data set under one setting, by split."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from kselect.core.experiment import Experiment
from kselect.core.method import TABLE, Setting
from kselect.core.record import COLUMNS, Metric, Record
from kselect.errors import StoreError
from kselect.numerics.linalg import Array

if TYPE_CHECKING:
    import pandas as pd

UNITS: dict[Metric, str] = {"zero-one": "%", "mse": "MSE"}
FACTORS: dict[Metric, float] = {"zero-one": 100.0, "mse": 1.0}
NUMBERS = {"lam": float, "score": float, "error": float, "split": int, "excluded": int}
Key = tuple[Setting, str, str]


@dataclass(frozen=True)
class Sample:
    """By split: errors (percent of wrong labels, or mean squared), ``n_test/n_train``; failures.

    ``shares`` are the wrong labels' shares as fractions, empty for mean squares: a tie of counts is a tie.
    """

    errors: Mapping[int, float] = field(default_factory=dict)
    ratios: Mapping[int, float] = field(default_factory=dict)
    failures: int = 0
    shares: Mapping[int, Fraction] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """How many splits have a number."""
        return len(self.errors)

    @property
    def mean(self) -> float:
        """The mean over splits, NaN without any, rounded once: equal means of counts are equal floats."""
        if self.shares:
            return float(100 * sum(self.shares.values()) / self.runs)
        return math.fsum(self.errors.values()) / self.runs if self.errors else math.nan

    @property
    def sd(self) -> float:
        """The standard deviation over splits (ddof = 1), NaN below two."""
        return float(np.std(list(self.errors.values()), ddof=1)) if self.runs > 1 else math.nan

    def on(self, splits: frozenset[int]) -> Sample:
        """The same restricted to some splits, in ascending order."""
        kept = sorted(splits & self.errors.keys())
        return Sample(
            {s: self.errors[s] for s in kept},
            {s: self.ratios[s] for s in kept},
            shares={s: self.shares[s] for s in kept if s in self.shares},
        )


@dataclass(frozen=True)
class Pairs:
    """Two samples on the splits where both have a number: a failure drops the pair."""

    a: Sample
    b: Sample

    @property
    def difference(self) -> Array:
        """``a - b``, matched by the number of the split; equal differences of counts are equal floats."""
        if self.a.shares and self.b.shares:
            exact = [100 * (self.a.shares[s] - self.b.shares[s]) for s in self.a.shares]
            return np.array([float(d) for d in exact])
        return np.array([self.a.errors[s] - self.b.errors[s] for s in self.a.errors])

    @property
    def test_over_train(self) -> float:
        """The mean of ``n_test / n_train``; stratified splits differ by a row or two."""
        return math.fsum(self.a.ratios.values()) / self.a.runs if self.a.runs else math.nan


def match(a: Sample, b: Sample) -> Pairs:
    """Both samples restricted to the splits that they share."""
    shared = frozenset(a.errors) & frozenset(b.errors)
    return Pairs(a.on(shared), b.on(shared))


def frame(records: Iterable[Record]) -> pd.DataFrame:
    """One row per record, as it is; a number that a record does not have is NaN."""
    import pandas as pd

    rows = list(records)
    columns = {name: [getattr(r, name) for r in rows] for name in COLUMNS}
    return pd.DataFrame(columns).astype(NUMBERS)


def within(records: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The records of the data sets and splits that the experiment names."""
    here = records["dataset"].isin(experiment.datasets) & records["split"].isin(experiment.splits)
    return records[here]


def count_splits(records: pd.DataFrame, experiment: Experiment) -> dict[str, int]:
    """Data set -> how many splits are planned; where a flag asked for more than the config, those count too."""
    held = within(records, experiment)
    pairs = {*zip(held["dataset"], held["split"], strict=True)}
    pairs |= {(d, s) for d in experiment.datasets for s in experiment.splits_on(d)}
    return {d: sum(name == d for name, _ in pairs) for d in experiment.datasets}


def select(records: pd.DataFrame, part: str, loss: str) -> pd.DataFrame:
    """The records of a table or figure that belong to a loss.

    An empty loss belongs to all, and so does a regression, whose loss is the squared one whatever the config's.
    """
    belongs = records["loss"].isin([loss, ""]) | (records["metric"] == "mse")
    return records[(records["part"] == part) & belongs]


def table_records(records: pd.DataFrame, experiment: Experiment, loss: str) -> pd.DataFrame:
    """The records behind the table of a loss, under the settings of the experiment; none may stand twice."""
    known = [s.text for s in experiment.settings]
    mine = select(within(records, experiment), TABLE, loss)
    mine = mine[mine["setting"].isin(known)]
    repeated = mine.duplicated(["dataset", "split", "method", "setting"])
    if repeated.any():
        first = mine[repeated].iloc[0]
        raise StoreError(
            f"the records hold {first['dataset']}, split {first['split']}, {first['method']}, "
            f"{first['setting']} twice; remove records.csv and report again"
        )
    return mine


def read_samples(table: pd.DataFrame, experiment: Experiment) -> dict[Key, Sample]:
    """(setting, data set, method) -> Sample, from the records behind one table."""
    settings = {s.text: s for s in experiment.settings}
    groups = table.groupby(["setting", "dataset", "method"])
    return {(settings[str(s)], str(d), str(m)): sample(rows) for (s, d, m), rows in groups}


def sample(rows: pd.DataFrame) -> Sample:
    """One sample from its rows; whatever is not an ok row with a number is a failure."""
    good = rows[(rows["status"] == "ok") & rows["error"].notna()].sort_values("split")
    splits = [int(s) for s in good["split"]]
    shares = shares_of(good)
    errors = good["error"].to_numpy(float) * good["metric"].map(FACTORS).to_numpy(float)
    ratios = good["n_test"].to_numpy(float) / good["n_train"].to_numpy(float)
    return Sample(
        dict(zip(splits, errors.tolist(), strict=True)),
        dict(zip(splits, ratios.tolist(), strict=True)),
        len(rows) - len(good),
        dict(zip(splits, shares, strict=True)) if shares else {},
    )


def shares_of(good: pd.DataFrame) -> list[Fraction]:
    """The shares of wrong labels as fractions, from the records' digits; nothing where they are no counts."""
    if not (good["metric"] == "zero-one").all():
        return []
    counts = good["error"].to_numpy(float) * good["n_test"].to_numpy(float)
    if not np.allclose(counts, np.rint(counts), rtol=1e-9, atol=1e-9):
        return []
    tested = [int(n) for n in good["n_test"]]
    return [Fraction(round(c), n) for c, n in zip(counts.tolist(), tested, strict=True)]


def read_units(records: pd.DataFrame) -> dict[str, str]:
    """Data set -> the unit of its errors, ``%`` or ``MSE``."""
    known = records.drop_duplicates("dataset")
    return {str(d): UNITS[m] for d, m in zip(known["dataset"], known["metric"], strict=True)}
