"""Compare the choice by bounds with the choice from all scores, on forty data sets and more.

    python tests/campaigns/choices.py [--mirror DIR] [--rows 400] [--many 700] [-d NAME ...]

Start it by hand; it takes some minutes. The data sets are all in the registry that are at hand, scikit-learn's, and
synthetic ones; of large ones a random part. Every third one takes more rows, so that certified conjugate gradients
take part. The columns are standardised. The cases of each data set, with 5 folds:

    krr, lssvm      Gaussian kernels, on select's own grid
    weighted        the same for one of both learners, with weights of rows, of classes or of one class
    laplacian       Laplacian kernels
    polynomial      degrees 1 to 4, ridges from 1e-12 on
    smooth-hinge    two classes, the hinge loss

It compares the kernel and ridge that the search by bounds chooses with the lowest score of the whole surface. The
gap is how much higher the score of the choice is, relative to the lowest one; a gap above 1e-12 is marked with an
exclamation mark, and the script fails.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import numpy as np
from sklearn import datasets

from kselect.core.method import Choice
from kselect.datasets.dataset import read_dataset
from kselect.datasets.fetch import Places, default_cache, resolve
from kselect.datasets.registry import load_registry
from kselect.errors import KselectError
from kselect.kernels import Kernel
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.numerics.weights import Weights
from kselect.selection.defaults import LAM
from kselect.selection.engine import select
from kselect.selection.request import Request, make_kernels, make_lams, make_method

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


@dataclass(frozen=True, eq=False)
class Case:
    """A learner with kernels and ridges, the loss of its criterion, and weights."""

    name: str
    learner: str
    kernels: tuple[Kernel, ...]
    lams: tuple[float, ...]
    loss: str = "squared"
    weights: Weights | None = None


def cases(number: int, X: Array, targets: Array, classes: bool) -> Iterator[Case]:
    """Yield the cases of a data set; its number turns the kinds of weights and the learners."""
    own, few = make_kernels("gaussian", {}, X), make_lams(LAM)
    for learner in ("krr", "lssvm"):
        yield Case("", learner, own, few)
    turn = ("krr", "lssvm")[number % 2]
    yield Case("weighted", turn, own, few, weights=weights_of(number % 3, targets, classes))
    yield Case("laplacian", turn, make_kernels("laplacian", {}, X), few)
    degrees = make_kernels("polynomial", {"degree": "1,2,3,4"}, X)
    yield Case("polynomial", turn, degrees, make_lams("1e-12:1e1"))
    if classes and len(targets) == 1:
        yield Case("", "smooth-hinge", own, few, "hinge")


def weights_of(kind: int, targets: Array, classes: bool) -> Weights:
    """Return random weights of the rows, balanced ones of the classes, or weights of one class only."""
    rng, n = np.random.default_rng(kind), targets.shape[1]
    if kind == 0 or not classes:
        return Weights(rng.uniform(0.1, 5.0, n))
    labels = targets[0] > 0
    if kind == 1:
        return Weights(np.where(labels, n / (2.0 * labels.sum()), n / (2.0 * (~labels).sum())))
    return Weights(np.where(labels, rng.uniform(0.1, 5.0, n), 1.0))


def compare(name: str, case: Case, X: Array, targets: Array, classes: bool) -> tuple[str, bool]:
    """Print a line; return how the search went, and whether its choice is a lowest score."""
    method = make_method("5-CV", case.loss, {}, classification=classes)
    folds = draw_folds(len(X), 5, stream(0, "folds"))
    asked = Request(
        Choice(case.learner), case.kernels, case.lams, method, search="pruned", weights=case.weights
    )
    bounds = select(X, targets, asked, folds)
    grid = select(X, targets, replace(asked, search="grid"), folds)
    lowest = grid.scores.min()
    gap = (grid.scores[bounds.position] - lowest) / max(lowest, np.finfo(float).tiny)
    how = "by bounds" if bounds.work else "on the grid"
    same = "same choice" if bounds.position == grid.position else "another choice"
    mark = "  !" if gap > TIE else ""
    print(
        f"{name:<26}{case.learner:<13}{case.name:<11}{len(X):>5} rows {len(targets):>2} targets  {how:<12}{same}, "
        f"gap {gap:.1e}, scores {abs(bounds.score - grid.score) / max(lowest, TIE):.0e} apart{mark}",
        flush=True,
    )
    return how, not mark


def main() -> None:
    """Compare on every data set that is at hand."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mirror")
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--many", type=int, default=700, help="rows of every third data set")
    parser.add_argument("-d", "--dataset", action="append")
    asked = parser.parse_args()
    seen, found = set[str](), Counter[tuple[str, bool]]()
    for number, (name, X, y, classes) in enumerate(tables(asked.mirror)):
        if asked.dataset and name not in asked.dataset:
            continue
        rows, targets = prepared(X, y, classes, asked.rows if number % 3 else asked.many)
        seen.add(name)
        for case in cases(number, rows, targets, classes):
            found[compare(name, case, rows, targets, classes)] += 1
    fine = sum(count for (_, good), count in found.items() if good)
    bounds = sum(count for (how, _), count in found.items() if how == "by bounds")
    print(
        f"{fine} of {found.total()} cases on {len(seen)} data sets: every choice is a lowest score "
        f"({bounds} by bounds)"
    )
    sys.exit(fine < found.total())


if __name__ == "__main__":
    main()
