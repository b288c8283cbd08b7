"""Coverage and width of the regressor's prediction intervals, on simulated and on real data.

    python tests/bench/intervals.py [--mirror DIR] [--sets 200] [--splits 5]

Simulated: y = f(x) + noise in five features, with normal noise or noise whose scale grows with a feature. Each set
has 100 training rows (Jackknife+) or 300 (CV+, five folds), and 1000 test rows. The last column is the width of the
shortest interval for one who knows f and the noise of every row.

Real: random halves of a data set, at most 1000 training rows and 2000 test rows; widths are in units of the
target's standard deviation. Without --mirror only the set that comes with scikit-learn is measured.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_diabetes, load_svmlight_file

from kselect import EdgeWarning, KernelSelectRegressorCV
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array

LEVELS = (0.8, 0.9, 0.95)
ROWS, TESTED, FEATURES = (100, 300), 1000, 5
REAL = ("housing_scale", "mpg_scale", "abalone_scale", "space_ga_scale")
MOST_TRAINED, MOST_TESTED = 1000, 2000
# Noise by its name: draws from a generator for rows, and half the shortest interval of a level.
Noise = tuple[Callable[[np.random.Generator, Array], Array], Callable[[Array, float], Array]]
NOISES: dict[str, Noise] = {
    "normal": (
        lambda rng, X: rng.normal(size=len(X)),
        lambda X, level: np.full(len(X), norm.ppf((1 + level) / 2)),
    ),
    "growing": (
        lambda rng, X: (0.3 + X[:, 0]) * rng.normal(size=len(X)),
        lambda X, level: (0.3 + X[:, 0]) * norm.ppf((1 + level) / 2),
    ),
}


def surface(X: Array) -> Array:
    """Return the regression function of Friedman (1991), divided by 3."""
    bends = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return np.asarray((bends + 10 * X[:, 3] + 5 * X[:, 4]) / 3.0)


def measured(X: Array, y: Array, Z: Array, truth: Array) -> Iterator[tuple[float, float]]:
    """Yield coverage and mean width of each level."""
    shift, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread == 0] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeWarning)
        model = KernelSelectRegressorCV().fit((X - shift) / spread, y)
    for level in LEVELS:
        _, bounds = model.predict((Z - shift) / spread, interval=level)
        low, high = bounds.T
        yield float(((low <= truth) & (truth <= high)).mean()), float((high - low).mean())


def simulated(sets: int) -> None:
    """Print a line per noise, number of rows and level."""
    print("| noise | rows | level | coverage | sd over sets | width | known noise |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, (draw, half) in NOISES.items():
        for n in ROWS:
            found, known = np.empty((sets, len(LEVELS), 2)), np.empty((sets, len(LEVELS)))
            for i in range(sets):
                rng = stream(i, "intervals", name, n)
                X, Z = rng.uniform(size=(n, FEATURES)), rng.uniform(size=(TESTED, FEATURES))
                y, truth = (surface(A) + draw(rng, A) for A in (X, Z))
                found[i] = list(measured(X, y, Z, truth))
                known[i] = [2 * half(Z, level).mean() for level in LEVELS]
            for j, level in enumerate(LEVELS):
                coverage, width = found[:, j].mean(axis=0)
                spread, least = found[:, j, 0].std(ddof=1), known[:, j].mean()
                cells = f"{coverage:.3f} | {spread:.3f} | {width:.2f} | {least:.2f}"
                print(f"| {name} | {n} | {level:g} | {cells} |", flush=True)


def real(mirror: Path | None, splits: int) -> None:
    """Print a line per data set and level."""
    print("| data set | rows trained | level | coverage | sd over splits | width |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, X, y in tables(mirror):
        found = np.empty((splits, len(LEVELS), 2))
        for i in range(splits):
            order = stream(i, "intervals", name).permutation(len(y))
            half = min(len(y) // 2, MOST_TRAINED)
            train, test = order[:half], order[half:][:MOST_TESTED]
            found[i] = list(measured(X[train], y[train], X[test], y[test]))
        for j, level in enumerate(LEVELS):
            coverage, width = found[:, j].mean(axis=0)
            spread = found[:, j, 0].std(ddof=1)
            cells = f"{coverage:.3f} | {spread:.3f} | {width / y.std():.2f}"
            print(f"| {name} | {half} | {level:g} | {cells} |", flush=True)


def tables(mirror: Path | None) -> Iterator[tuple[str, Array, Array]]:
    """Yield name, rows and targets of each data set that is here."""
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes (scikit-learn)", X, y
    for name in REAL if mirror else ():
        X, y = load_svmlight_file(str(mirror / "libsvm" / name))
        yield name.removesuffix("_scale"), X.toarray(), y


def main() -> None:
    """Measure as the flags ask."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", type=Path, help="folder with libsvm/<file>")
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--splits", type=int, default=5)
    asked = parser.parse_args()
    simulated(asked.sets)
    print()
    real(asked.mirror, asked.splits)


if __name__ == "__main__":
    main()
