"""Slow definitions of verdicts and effects, from the rows of records.csv alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

Row = tuple[str, float, str]


def read(path: Path) -> pd.DataFrame:
    """Return the good records, with errors in points, and the value of eta."""
    rows = pd.read_csv(path, keep_default_na=False)
    rows = rows[rows["status"] == "ok"].copy()
    rows["error"] = 100 * rows["error"].astype(float)
    rows["eta"] = rows["params"].str.extract(r"eta=([^;]*)")[0].astype(float)
    return rows


def table(rows: pd.DataFrame, loss: str) -> pd.DataFrame:
    """Return (data set, setting, split) by method."""
    mine = rows[(rows["part"] == "table") & rows["loss"].isin([loss, ""])]
    return mine.pivot(index=["dataset", "setting", "split"], columns="method", values="error")


def test_of(d: np.ndarray) -> float:
    """Return the p-value of the one-sided paired t-test of a positive mean, as scipy has it."""
    d = np.round(d, 9)
    if np.ptp(d) == 0:
        return 0.0 if d[0] > 0 else 1.0
    return float(stats.ttest_1samp(d, 0.0, alternative="greater").pvalue)


def two_thirds(held: int, total: int) -> str:
    """Return the verdict of a claim that must hold on two thirds."""
    return (
        "supported" if held >= 2 * total / 3 else "not supported" if held < total / 3 else "mixed"
    )


def errors(wide: pd.DataFrame, pairs: Sequence[tuple[str, str]], kind: str) -> Row:
    """Judge a claim about errors."""
    signs, tests = [], []
    apart: dict[str, list[float]] = {}
    for a, b in pairs:
        for (dataset, _), rows in wide.groupby(["dataset", "setting"]):
            d = (rows[a] - rows[b]).to_numpy()
            mean = round(d.mean(), 9)
            apart.setdefault(str(dataset), []).append(d.mean())
            signs.append(int(np.sign(mean)))
            tests.append(int(test_of(d) < 0.05) - int(test_of(-d) < 0.05))
    low, high = tests.count(-1), tests.count(1)
    fewer, more, total = signs.count(-1), signs.count(1), len(signs)
    if kind == "lower":
        supported = fewer > total / 2 and low > high
        fails = fewer <= more and low <= high
    else:
        different = high + (low if kind == "same" else 0)
        supported, fails = different <= 0.2 * total, different > total / 2
    verdict = "supported" if supported else "not supported" if fails else "mixed"
    counts = f"{fewer} lower, {signs.count(0)} equal, {more} higher; significantly {low} lower, {high} higher"
    return verdict, float(np.median([np.mean(v) for v in apart.values()])), counts


def ranges(
    rows: pd.DataFrame, methods: Sequence[str], low: float, high: float, robust: bool
) -> tuple[str, float, int]:
    """Judge a claim about a range of eta: verdict, effect, and the number of curves that count."""
    swept = rows[rows["part"] == "eta-sweep"]
    held, apart = 0, []
    for (dataset, method), curve in swept.groupby(["dataset", "method"]):
        if method not in methods:
            continue
        wide = curve.pivot(index="split", columns="eta", values="error")
        means = wide.mean().round(9)
        inside = means[(means.index >= low) & (means.index <= high)]
        rivals = inside.index if robust else [inside.idxmin()]
        best = (inside if robust else means).idxmin()
        worse = [
            v for v in rivals if v != best and test_of((wide[v] - wide[best]).to_numpy()) < 0.05
        ]
        held += not worse
        apart.append((str(dataset), (inside.max() if robust else inside.min()) - means.min()))
    return two_thirds(held, len(apart)), float(np.median([v for _, v in apart])), held


def setting(wide: pd.DataFrame, name: str) -> tuple[str, float, int]:
    """Judge the claim of a good setting: verdict, effect, and the number of data sets that count."""
    held, apart = 0, []
    for _, rows in wide.groupby("dataset"):
        flat = rows.reset_index("dataset", drop=True).unstack("setting")  # type: ignore[arg-type]
        means = flat.mean().round(9)
        there = means[means.index.get_level_values("setting") == name].idxmin()
        best = means.idxmin()
        d = (flat[there] - flat[best]).to_numpy()
        held += means[there] == means[best] or test_of(d) >= 0.05
        apart.append(means[there] - means[best])
    return two_thirds(held, len(apart)), float(np.median(apart)), held


def interval(values: Sequence[float], draw: Callable[[int], np.ndarray]) -> tuple[float, float]:
    """Return the percentile interval of the median, one draw after the other."""
    found = [float(np.median([values[i] for i in row])) for row in draw(len(values))]
    low, high = (float(np.percentile(found, q)) for q in (2.5, 97.5))
    return (low, high) if len(values) > 1 else (math.nan, math.nan)
