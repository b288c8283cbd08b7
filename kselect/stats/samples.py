"""Samples: the test errors of one method on one data set under one setting, by split, and their t-tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from kselect.core.experiment import Experiment
from kselect.core.method import TABLE, Setting
from kselect.errors import StoreError
from kselect.numerics.linalg import Array

if TYPE_CHECKING:
    import pandas as pd

UNITS = {"zero-one": "%", "mse": "MSE"}
LEVEL = 0.05


def unit_of(metric: str) -> str:
    """Return the unit of a metric in tables: %, MSE, or the name of another error."""
    return UNITS.get(metric, metric)


def factor_of(metric: str) -> float:
    """Return what the errors of records are multiplied by in tables."""
    return 100.0 if metric == "zero-one" else 1.0


@dataclass(frozen=True)
class TTest:
    """A one-sided test of ``mean(d) > 0``; without two pairs no test is possible, and all numbers are NaN.

    The same test finds a difference, in either direction, if and only if ``mean(d)`` is further from 0 than
    ``half_width``.
    """

    pairs: int
    statistic: float
    p_value: float
    significant: bool
    half_width: float


@dataclass(frozen=True)
class SplitErrors:
    """Errors by split with ``n_test/n_train`` and failures: a percentage of wrong labels, or another mean error.

    ``shares`` are the shares of wrong labels as fractions, so that equal counts are exact ties; empty for squared
    errors. In a comparison, ``planned`` is the number of planned splits, ``best`` marks the lowest means of the
    data set, and ``worse`` tests whether the errors exceed the first best method's; it is None for that
    method and without errors.

    ``runs`` is the number of splits with an error, ``missing`` that of planned splits without a record; ``mean``
    and ``sd`` (ddof = 1) are over splits, NaN without any error and below two. The mean is rounded once, so that
    equal means of counts are equal floats. ``not_worse`` says whether the sample is the best or not significantly
    worse; it is None without a test.
    """

    errors: Mapping[int, float] = field(default_factory=dict)
    ratios: Mapping[int, float] = field(default_factory=dict)
    failures: int = 0
    shares: Mapping[int, Fraction] = field(default_factory=dict)
    planned: int = 0
    best: bool = False
    worse: TTest | None = None
    worse_corrected: TTest | None = None
    runs: int = field(init=False)
    missing: int = field(init=False)
    mean: float = field(init=False)
    sd: float = field(init=False)
    not_worse: bool | None = field(init=False)
    not_worse_corrected: bool | None = field(init=False)

    def __post_init__(self) -> None:
        values, runs, mean = list(self.errors.values()), len(self.errors), math.nan
        if self.shares:
            mean = float(100 * sum(self.shares.values()) / runs)
        elif values:
            mean = math.fsum(values) / runs
        facts: dict[str, Any] = {
            "runs": runs,
            "missing": max(0, self.planned - runs - self.failures),
            "mean": mean,
            "sd": float(np.std(values, ddof=1)) if runs > 1 else math.nan,
        }
        for name, test in (("", self.worse), ("_corrected", self.worse_corrected)):
            clear = None if test is None or test.pairs < 2 else not test.significant
            facts[f"not_worse{name}"] = True if self.best else clear
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    def on(self, splits: frozenset[int]) -> SplitErrors:
        """Return the sample restricted to some splits, in ascending order."""
        kept = sorted(splits & self.errors.keys())
        return SplitErrors(
            {s: self.errors[s] for s in kept},
            {s: self.ratios[s] for s in kept},
            shares={s: self.shares[s] for s in kept if s in self.shares},
        )


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two samples on the splits on which both have an error: a failure drops the pair.

    ``difference`` is ``a - b`` by split; equal differences of counts are equal floats. ``test_over_train`` is the
    mean of ``n_test / n_train``, as stratified splits differ by a row or two.
    """

    a: SplitErrors
    b: SplitErrors
    difference: Array
    test_over_train: float


def match(one: SplitErrors, other: SplitErrors) -> Pairs:
    """Return both samples restricted to the splits that they share."""
    shared = frozenset(one.errors) & frozenset(other.errors)
    a, b = one.on(shared), other.on(shared)
    if a.shares and b.shares:
        differences = [float(100 * (a.shares[s] - b.shares[s])) for s in a.shares]
    else:
        differences = [a.errors[s] - b.errors[s] for s in a.errors]
    ratio = math.fsum(a.ratios.values()) / a.runs if a.runs else math.nan
    return Pairs(a, b, np.array(differences), ratio)


def t_test(d: Array, test_over_train: float = 0.0, level: float = LEVEL) -> TTest:
    """Return the papers' one-sided paired t-test, or the one corrected for overlapping splits.

    ``mean(d) / sqrt((1/R + n_test/n_train) sd^2)`` is compared with Student's t with R - 1 degrees of freedom
    (Nadeau and Bengio 2003); at 5 %, t is 1.676 for R = 50. The papers' own test has no ``n_test/n_train``.
    Equal differences have sd = 0: p is 1 if all are zero, otherwise the sign is certain.
    """
    pairs = len(d)
    if pairs < 2:
        return TTest(pairs, math.nan, math.nan, False, math.nan)
    # Not only np.std: the rounded mean of equal differences leaves 1e-17, which must be exactly 0.
    sd = 0.0 if np.ptp(d) == 0 else float(np.std(d, ddof=1))
    mean = float(np.mean(d))
    if sd == 0:
        certain = math.copysign(math.inf, mean) if mean else 0.0
        return TTest(pairs, certain, 0.0 if mean > 0 else 1.0, mean > 0, 0.0)
    root = math.sqrt(1 / pairs + test_over_train)
    statistic = mean / (root * sd)
    # The special functions, because importing scipy.stats would slow down the start of every command.
    p = float(stdtr(pairs - 1, -statistic))
    return TTest(pairs, statistic, p, p < level, float(stdtrit(pairs - 1, 1 - level)) * root * sd)


def select(
    records: pd.DataFrame, experiment: Experiment, part: str, loss: str = ""
) -> pd.DataFrame:
    """Return the records of a table or a figure, on the data sets and splits that the experiment names.

    With a loss, return only those that belong to it. A record without a loss belongs to all losses, and so does a
    regression: its loss is always the squared one.
    """
    here = records["dataset"].isin(experiment.datasets) & records["split"].isin(experiment.splits)
    here &= records["part"] == part
    if loss:
        here &= records["loss"].isin([loss, ""]) | (records["metric"] == "mse")
    return records[here]


def table_records(records: pd.DataFrame, experiment: Experiment, loss: str) -> pd.DataFrame:
    """Return the records behind the table of a loss, under the settings of the experiment; refuse duplicates.

    An estimator has one record per split, which belongs to every setting.
    """
    known = [s.text for s in experiment.lam.settings()]
    mine = select(records, experiment, TABLE, loss)
    mine = mine[mine["setting"].isin(known) | mine["method"].isin(experiment.estimators)]
    repeated = mine.duplicated(["dataset", "split", "method", "setting"])
    if repeated.any():
        first = mine[repeated].iloc[0]
        raise StoreError(
            f"the records hold {first['dataset']}, split {first['split']}, {first['method']}, "
            f"{first['setting']} twice; remove records.csv and report again"
        )
    return mine


def read_samples(
    table: pd.DataFrame, experiment: Experiment
) -> dict[tuple[Setting, str, str], SplitErrors]:
    """Return (setting, data set, method) -> sample, from the records behind one table.

    The sample of an estimator, which has no lam, stands under every setting.
    """
    settings = {s.text: s for s in experiment.lam.settings()}
    found = {}
    for (text, dataset, method), rows in table.groupby(["setting", "dataset", "method"]):
        shared = method in experiment.estimators
        mine = sample(rows)
        for setting in settings.values() if shared else [settings[str(text)]]:
            found[setting, str(dataset), str(method)] = mine
    return found


def sample(rows: pd.DataFrame) -> SplitErrors:
    """Return the sample of some records; a record that is not ok or has no error is a failure.

    The shares of wrong labels are recovered as fractions from the digits of the records if they are counts.
    """
    good = rows[(rows["status"] == "ok") & rows["error"].notna()].sort_values("split")
    splits = [int(s) for s in good["split"]]
    errors, tested = good["error"].to_numpy(float), good["n_test"].to_numpy(float)
    ratios = tested / good["n_train"].to_numpy(float)
    counts = errors * tested
    shares = {}
    if (good["metric"] == "zero-one").all() and np.allclose(
        counts, np.rint(counts), rtol=1e-9, atol=1e-9
    ):
        wrong = zip(counts.tolist(), tested.tolist(), strict=True)
        shares = dict(zip(splits, (Fraction(round(c), int(n)) for c, n in wrong), strict=True))
    scaled = errors * good["metric"].map(factor_of).to_numpy(float)
    return SplitErrors(
        dict(zip(splits, scaled.tolist(), strict=True)),
        dict(zip(splits, ratios.tolist(), strict=True)),
        len(rows) - len(good),
        shares,
    )
