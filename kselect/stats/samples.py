"""Samples: the test errors of one method on one data set under one setting, by split, and their t-tests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
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
    """

    errors: Mapping[int, float] = field(default_factory=dict)
    ratios: Mapping[int, float] = field(default_factory=dict)
    failures: int = 0
    shares: Mapping[int, Fraction] = field(default_factory=dict)
    planned: int = 0
    best: bool = False
    worse: TTest | None = None
    worse_corrected: TTest | None = None

    @property
    def runs(self) -> int:
        """Return the number of splits with an error."""
        return len(self.errors)

    @property
    def missing(self) -> int:
        """Return the number of planned splits without a record."""
        return max(0, self.planned - self.runs - self.failures)

    @cached_property
    def mean(self) -> float:
        """Return the mean over splits, rounded once, so that equal means of counts are equal floats."""
        if self.shares:
            whole = math.lcm(*(s.denominator for s in self.shares.values()))
            wrong = sum(s.numerator * (whole // s.denominator) for s in self.shares.values())
            return 100 * wrong / (whole * self.runs)
        return math.fsum(self.errors.values()) / self.runs if self.errors else math.nan

    @cached_property
    def sd(self) -> float:
        """Return the standard deviation over splits (ddof = 1), NaN below two."""
        return float(np.std([*self.errors.values()], ddof=1)) if self.runs > 1 else math.nan

    @property
    def not_worse(self) -> bool | None:
        """Return whether the sample is the best or not significantly worse; None without a test."""
        return self.passes(self.worse)

    @property
    def not_worse_corrected(self) -> bool | None:
        """Return the same for the test that is corrected for overlapping splits."""
        return self.passes(self.worse_corrected)

    def passes(self, test: TTest | None) -> bool | None:
        """Return whether the sample is the best or a test finds no difference; None without a test."""
        clear = None if test is None or test.pairs < 2 else not test.significant
        return True if self.best else clear

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
        # Fractions of whole numbers, each rounded once.
        fractions = ((one, b.shares[split]) for split, one in a.shares.items())
        differences = [
            100
            * (p.numerator * q.denominator - q.numerator * p.denominator)
            / (p.denominator * q.denominator)
            for p, q in fractions
        ]
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
    for (text, dataset, method), mine in samples_by(table, "setting", "dataset", "method").items():
        shared = method in experiment.estimators
        for setting in settings.values() if shared else [settings[text]]:
            found[setting, dataset, method] = mine
    return found


def samples_by(records: pd.DataFrame, *columns: str) -> dict[tuple[Any, ...], SplitErrors]:
    """Return the sample of each group of records with the same values in some columns.

    Groups are in their order of appearance; a record without a value (NaN) belongs to none. A record that is not ok
    or has no error is a failure. The shares of wrong labels are recovered as fractions from the digits of the
    records if they are counts.
    """
    error, tested = records["error"].to_numpy(float), records["n_test"].to_numpy(float)
    counts = error * tested
    whole = np.rint(counts)
    counted = (records["metric"] == "zero-one").to_numpy(bool)
    counted = counted & (np.abs(counts - whole) <= 1e-9 + 1e-9 * np.abs(whole))
    with np.errstate(divide="ignore", invalid="ignore"):  # the sizes of a failure may be 0
        ratios = tested / records["n_train"].to_numpy(float)
    scaled = error * records["metric"].map(factor_of).to_numpy(float)
    measured = (v.tolist() for v in (records["split"], scaled, ratios, counted, whole, tested))
    good = ((records["status"] == "ok") & records["error"].notna()).tolist()
    groups: dict[tuple[Hashable, ...], list[Any]] = {}
    failures = Counter[tuple[Hashable, ...]]()
    keys = zip(*(records[name].tolist() for name in columns), strict=True)
    for key, ok, *row in zip(keys, good, *measured, strict=True):
        rows = groups.setdefault(key, [])
        if ok:
            rows.append(row)
        else:
            failures[key] += 1
    return {
        key: make_sample(sorted(rows), failures[key])
        for key, rows in groups.items()
        if all(value == value for value in key)  # NaN does not equal itself
    }


def make_sample(rows: Sequence[Sequence[Any]], failures: int) -> SplitErrors:
    """Return a sample of rows: split, error, ratio of sizes, whether it is a count, the count, and rows tested."""
    splits, errors, ratios, counted, wrong, tested = zip(*rows, strict=True) if rows else [()] * 6
    shares = map(Fraction, map(int, wrong), map(int, tested)) if all(counted) else ()
    return SplitErrors(
        dict(zip(splits, errors, strict=True)),
        dict(zip(splits, ratios, strict=True)),
        failures,
        dict(zip(splits, shares, strict=False)),
    )
