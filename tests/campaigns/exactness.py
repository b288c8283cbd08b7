"""Compare the smoothed hinge, KRR, their series and the pruned selection with their definitions.

    python tests/campaigns/exactness.py [-d NAME ...] [--widths 5] [--seed 0]

Start it by hand; it takes some minutes. The data sets are scikit-learn's and synthetic ones, none
from the papers: equal rows, more features than rows, outliers, few rows of a class, features of
size 1e6, few rows. For each data set, over widths from K = I to 1 1^T and the ridges of ijcai2018,
it compares:

* optimality: ``2 lam beta + V'/n``, relative to the largest slope;
* k-fold: each fold trained from scratch, by the paper's Newton method or a linear solve, relative
  to the largest prediction;
* BIF: the first order against the difference quotient in the fold's weight, at ridges of at least
  2^-9 if no margin is near the end of a zone;
* Woodbury: the inverse with Nystrom columns against the dense one, relative to its largest entry;
* minimum: the pruned selection's error against the lowest error of the surface.

It prints the worst gap of each kind; an exclamation mark stands for a gap above its limit.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import numpy as np
import oracles_smooth_hinge as slow
from paper_fbif import newton, without
from sklearn import datasets

from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners import Problem
from kselect.learners.krr_lssvm import krr
from kselect.learners.nystrom_series import nystrom_factor, woodbury
from kselect.learners.smooth_hinge import smooth_hinge
from kselect.learners.smooth_hinge_trainer import HingeProblem, SignedKernel
from kselect.numerics.folds import Folds, draw_folds
from kselect.numerics.linalg import Array
from kselect.search.pruned import PrunedLearner, select_exactly

H = 0.05
LAMS = 2.0 ** np.arange(-15, 16, 2)
MOST = 220
LIMITS = {"optimality": 1e-9, "k-fold": 1e-8, "BIF": 1e-6, "Woodbury": 1e-10, "minimum": 1e-10}
# The change of the fold's weight, its smallest ridge, and the required distance of margins from zone ends, over h.
STEP = 1e-6
LEAST = 2.0**-9
NEAR = 1e-3
Data = tuple[Array, Array]
Worst = dict[str, float]

# --- the data --------------------------------------------------------------------------------------


def bundled(load: Callable[[], object], positive: Callable[[Array], Array]) -> Data:
    """Return one of scikit-learn's data sets as two classes."""
    found = load()
    y = np.asarray(found.target, dtype=float)  # type: ignore[attr-defined]
    return np.asarray(found.data, dtype=float), np.where(positive(y), 1.0, -1.0)  # type: ignore[attr-defined]


def made(rng: np.random.Generator, n: int, d: int) -> Data:
    """Return two classes with a curved boundary and noise."""
    X = rng.uniform(-1, 1, size=(n, d))
    y = np.sin(3 * X[:, 0]) + X[:, -1] + 0.5 * rng.normal(size=n)
    return X, np.where(y > 0, 1.0, -1.0)


def duplicated(rng: np.random.Generator) -> Data:
    """Return every row twice, often with the other label."""
    X, _ = made(rng, 80, 3)
    return np.vstack([X, X]), rng.choice([-1.0, 1.0], size=160)


def outliers(rng: np.random.Generator) -> Data:
    """Return data with some rows a thousand times as far away."""
    X, y = made(rng, 150, 4)
    X[::29] *= 1000.0
    return X, y


def unbalanced(rng: np.random.Generator) -> Data:
    """Return data with four rows of one class."""
    X, _ = made(rng, 180, 5)
    return X, np.where(np.arange(180) < 4, 1.0, -1.0)


def on_a_grid(rng: np.random.Generator) -> Data:
    """Return whole numbers, which have many equal distances."""
    X = rng.integers(0, 4, size=(150, 4)).astype(float)
    return X, np.where((X.sum(axis=1) + rng.normal(size=150)) > 6, 1.0, -1.0)


def data_sets(seed: int) -> Iterator[tuple[str, Data]]:
    """Return unscaled rows and labels by name."""
    rng = np.random.default_rng(seed)
    yield "iris", bundled(datasets.load_iris, lambda y: y == 1)
    yield "wine", bundled(datasets.load_wine, lambda y: y == 0)
    yield "cancer (Wisconsin, diagnostic)", bundled(datasets.load_breast_cancer, lambda y: y == 1)
    yield "digits, even or odd", bundled(datasets.load_digits, lambda y: y % 2 == 0)
    yield "diabetes progression", bundled(datasets.load_diabetes, lambda y: y > 140)
    yield "equal rows", duplicated(rng)
    yield "60 rows, 500 features", made(rng, 60, 500)
    yield "outliers", outliers(rng)
    yield "four of a class", unbalanced(rng)
    X, y = made(rng, 120, 3)
    yield "features of the size 1e6", (1e6 * X + 3e6, y)
    yield "whole numbers", on_a_grid(rng)
    yield "eleven rows", made(rng, 11, 2)
    yield "heavy tails", (rng.standard_t(1.5, size=(140, 6)), made(rng, 140, 1)[1])


def thinned(X: Array, y: Array, seed: int) -> Data:
    """Return few enough rows for training from scratch."""
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST]
    return X[rows], y[rows]


def widths(X: Array, count: int) -> Array:
    """Return widths from far below the smallest to far above the largest distance."""
    D = Points(X).distances.squared
    middle = float(np.median(D[np.triu_indices(len(X), 1)])) or 1.0
    return middle * 2.0 ** np.linspace(-12, 12, count)


# --- the comparisons --------------------------------------------------------------------------------


def over(gap: Array, size: Array) -> float:
    """Return the largest gap relative to the largest size, or to 1 if that is larger."""
    return float(np.abs(gap).max() / max(1.0, np.abs(size).max()))


def optimality(p: Problem, _: Folds) -> float:
    """Return the optimality violation, relative to the largest slope of a row."""
    dual = smooth_hinge(p).fit()
    even = slow.even(p.n)
    found = (
        slow.violation(p.K, p.y, a, lam, H, even) for a, lam in zip(dual.alpha, LAMS, strict=True)
    )
    return max(found)


def trained(p: Problem, folds: Folds, hinge: bool) -> Array:
    """Predict every fold by a model trained from scratch."""
    out = np.empty((len(LAMS), p.n))
    for F in folds.members:
        T, inner, outer = without(p.K, F)
        signed = SignedKernel.of(inner, p.y[T], H, "")
        for i, lam in enumerate(LAMS.tolist()):
            if hinge:
                beta = p.y[T] * newton(HingeProblem(signed, 2.0 * lam * len(T))).a
            else:
                beta = np.linalg.solve(inner + len(T) * lam * np.eye(len(T)), p.y[T])
            out[i, F] = outer @ beta
    return out


def k_fold(p: Problem, folds: Folds) -> float:
    """Compare the held-out predictions of both learners."""
    gaps = []
    for make, hinge in ((smooth_hinge, True), (krr, False)):
        want = trained(p, folds, hinge)
        gaps.append(over(make(p).held_out(folds) - want, want))
    return max(gaps)


def first_order(p: Problem, folds: Folds) -> float:
    """Compare the first order with a central difference, if no margin is near the end of a zone."""
    path, worst = smooth_hinge(p), 0.0
    fitted, series = path.decision(), path.bif(folds, 1)
    for i, lam in enumerate(LAMS.tolist()):
        z = p.y * fitted[i]
        if lam < LEAST or np.abs(np.abs(1.0 - z) - H).min() < NEAR * H:
            continue
        for F in folds.members[:2]:
            eps = -len(F) / (p.n - len(F))
            ends = [
                p.K @ slow.fit(p.K, p.y, lam, H, slow.weights(p.n, F, e)) for e in (STEP, -STEP)
            ]
            want = fitted[i] + eps * (ends[0] - ends[1]) / (2.0 * STEP)
            worst = max(worst, over(series[i, F] - want[F], want[F]))
    return worst


def inverses(p: Problem, folds: Folds) -> float:
    """Compare the inverses of the square loss and the hinge on a tenth of the columns."""
    landmarks = np.arange(0, p.n, 10)
    V, n, worst = nystrom_factor(p.K[:, landmarks], landmarks), p.n, 0.0
    zones = np.abs(1.0 - p.y * smooth_hinge(p).decision()) <= H
    for lam, zone in zip(LAMS.tolist(), zones.astype(float), strict=True):
        square = woodbury(V, V, V.T @ V, n * lam, 2 * lam)(np.eye(n))
        on = V * zone[:, None]
        hinge = woodbury(V, on, on.T @ V, 4 * n * lam * H, 2 * lam)(np.eye(n))
        for found, v in ((square, np.full(n, 2.0)), (hinge, zone / (2 * H))):
            dense = np.linalg.inv(slow.operator(V @ V.T, v, lam))
            worst = max(worst, float(np.abs(found - dense).max() / np.abs(dense).max()))
    return worst


def minimum(X: Array, y: Array, taus: Array, folds: Folds, learner: PrunedLearner) -> float:
    """Compare the error of the pruned selection with the lowest error of the surface."""
    points, rows = Points(X), []
    for tau in taus.tolist():
        p = problem(X, y, tau)
        if learner == "krr":
            rows.append(np.square(y - krr(p).held_out(folds)).mean(axis=1))
        else:
            rows.append(np.maximum(0.0, 1.0 - y * smooth_hinge(p).held_out(folds)).mean(axis=1))
    grams = [partial(Gaussian(tau).gram, points) for tau in taus.tolist()]
    lowest = float(np.min(rows))
    return abs(select_exactly(grams, y, LAMS, folds, learner).score - lowest) / max(1.0, lowest)


def problem(X: Array, y: Array, tau: float) -> Problem:
    """Return one width with the paper's ridges."""
    kernel = Gaussian(tau)
    return Problem(X, y, kernel, kernel.gram(Points(X)), LAMS, "per-fold")


def worst_of(X: Array, y: Array, count: int, seed: int) -> Worst:
    """Return the worst gap of each comparison."""
    taus = widths(X, count)
    folds = [draw_folds(len(y), k, np.random.default_rng(seed + k)) for k in (5, 10)]
    kinds = {"optimality": optimality, "k-fold": k_fold, "BIF": first_order, "Woodbury": inverses}
    found = {
        name: max(compare(problem(X, y, tau), folds[i % 2]) for i, tau in enumerate(taus.tolist()))
        for name, compare in kinds.items()
    }
    learners: tuple[PrunedLearner, ...] = ("smooth-hinge", "krr")
    fine = widths(X, 4 * count)
    return found | {
        "minimum": max(minimum(X, y, fine, one, learner) for one in folds for learner in learners)
    }


def main() -> None:
    """Run the comparisons and print their gaps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", "--dataset", action="append")
    parser.add_argument("--widths", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    total: Worst = dict.fromkeys(LIMITS, 0.0)
    print(f"{'data set':<32}{'rows':>5}" + "".join(f"{name:>12}" for name in LIMITS))
    for name, (X, y) in data_sets(arguments.seed):
        if arguments.dataset and name not in arguments.dataset:
            continue
        X, y = thinned(X, y, arguments.seed)
        found = worst_of(X, y, arguments.widths, arguments.seed)
        total = {k: max(v, found[k]) for k, v in total.items()}
        shown = "".join(f"{v:>11.1e}{' ' if v <= LIMITS[k] else '!'}" for k, v in found.items())
        print(f"{name:<32}{len(y):>5}{shown}", flush=True)
    print(f"{'worst':<37}" + "".join(f"{v:>11.1e} " for v in total.values()))
    print(f"{'limit':<37}" + "".join(f"{v:>11.1e} " for v in LIMITS.values()))


if __name__ == "__main__":
    main()
