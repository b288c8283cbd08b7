"""Compare the choice by bounds with the choice from all scores, on forty data sets and more.

    python tests/campaigns/choices.py [--mirror DIR] [--rows 400] [-d NAME ...]

Start it by hand; it takes some minutes. The data sets are all in the registry that are at hand, scikit-learn's, and
synthetic ones; of large ones a random part. The columns are standardised. For KRR and the LSSVM, on select's own
grid with 5 folds, it compares the kernel and ridge that the search by bounds chooses with the lowest score of the
whole surface. The gap is how much higher the score of the choice is, relative to the lowest one; a gap above 1e-12
is marked with an exclamation mark, and the script fails.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import numpy as np
from sklearn import datasets

from kselect.core.method import Choice
from kselect.datasets.dataset import read_dataset
from kselect.datasets.fetch import Places, default_cache, resolve
from kselect.datasets.registry import load_registry
from kselect.errors import KselectError
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.selection.engine import select
from kselect.selection.request import LAM, Request, make_kernels, make_lams, make_method

TIE = 1e-12
MADE = {
    "made: circles": lambda: datasets.make_circles(300, noise=0.2, factor=0.5, random_state=0),
    "made: moons": lambda: datasets.make_moons(300, noise=0.3, random_state=0),
    "made: blobs": lambda: datasets.make_blobs(300, centers=4, cluster_std=3.0, random_state=0),
    "made: noise": lambda: (np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 2),
    "made: many columns": lambda: datasets.make_classification(120, 200, random_state=0),
    "made: quantiles": lambda: datasets.make_gaussian_quantiles(n_samples=300, random_state=0),
    "made: hastie": lambda: datasets.make_hastie_10_2(300, random_state=0),
    "made: friedman 1": lambda: datasets.make_friedman1(300, noise=1.0, random_state=0),
    "made: friedman 2": lambda: datasets.make_friedman2(300, noise=50.0, random_state=0),
    "made: friedman 3": lambda: datasets.make_friedman3(300, noise=0.1, random_state=0),
    "made: linear": lambda: datasets.make_regression(300, 10, noise=20.0, random_state=0),
    "made: equal rows": lambda: (np.repeat(np.arange(60.0)[:, None] % 7, 4, 0), np.arange(240) % 3),
}
REGRESSIONS = {
    "diabetes",
    "linnerud",
    *(name for name in MADE if "friedman" in name or "linear" in name),
}
BUNDLED = {
    "breast cancer": datasets.load_breast_cancer,
    "wine": datasets.load_wine,
    "iris": datasets.load_iris,
    "digits": datasets.load_digits,
    "diabetes": datasets.load_diabetes,
}


def tables(mirror: str | None) -> Iterator[tuple[str, Array, Array, bool]]:
    """Yield names, rows, targets, and whether these are classes."""
    for name, make in MADE.items():
        yield name, *make(), name not in REGRESSIONS
    for name, load in BUNDLED.items():
        yield f"scikit-learn: {name}", *load(return_X_y=True), name not in REGRESSIONS
    places = Places(default_cache(), mirror, offline=True)
    for name, info in load_registry().items():
        try:
            data = read_dataset(info, resolve(info, places))
        except KselectError as error:
            print(f"{name}: skipped, {error}", file=sys.stderr)
            continue
        yield name, data.X, data.y, info.task == "classification"


def prepared(X: Array, y: Array, classes: bool, most: int) -> tuple[Array, Array]:
    """Return standardised rows, at most so many, and targets (q, n)."""
    rows = stream(0, "rows", len(X)).permutation(len(X))[:most]
    X, y = np.asarray(X, dtype=float)[rows], y[rows]
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    if not classes:
        return X, np.asarray(y, dtype=float)[None]
    values = np.unique(y)
    targets = np.where(y == values[:, None], 1.0, -1.0)
    return X, targets[1:] if len(values) == 2 else targets


def compare(name: str, X: Array, targets: Array, classes: bool) -> bool:
    """Print a line for each learner; return whether every choice is a lowest score."""
    fine = True
    method = make_method("5-CV", None, {}, classification=classes)
    folds = draw_folds(len(X), 5, stream(0, "folds"))
    kernels, lams = make_kernels("gaussian", {}, X), tuple(make_lams(LAM))
    for learner in ("krr", "lssvm"):
        request = Request(Choice(learner), kernels, lams, method, search="pruned")
        bounds = select(X, targets, request, folds)
        grid = select(
            X, targets, Request(Choice(learner), kernels, lams, method, search="grid"), folds
        )
        lowest = grid.scores.min()
        gap = (grid.scores[bounds.position] - lowest) / max(lowest, np.finfo(float).tiny)
        how = "by bounds" if bounds.work else "on the grid"
        same = "same choice" if bounds.position == grid.position else "another choice"
        mark = "  !" if gap > TIE else ""
        print(
            f"{name:<28}{learner:<7}{len(X):>5} rows {len(targets):>2} targets  {how:<12}{same}, gap {gap:.1e}, "
            f"scores {abs(bounds.score - grid.score) / max(lowest, TIE):.0e} apart{mark}",
            flush=True,
        )
        fine &= not mark
    return fine


def main() -> None:
    """Compare on every data set that is at hand."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mirror")
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("-d", "--dataset", action="append")
    asked = parser.parse_args()
    fine = [
        compare(name, *prepared(X, y, classes, asked.rows), classes)
        for name, X, y, classes in tables(asked.mirror)
        if not asked.dataset or name in asked.dataset
    ]
    print(f"{sum(fine)} of {len(fine)} data sets: every choice is a lowest score")
    sys.exit(not all(fine))


if __name__ == "__main__":
    main()
