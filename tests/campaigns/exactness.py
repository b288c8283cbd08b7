"""The smoothed hinge, KRR, their series and the selection by bounds, against their definitions on other data.

    python tests/campaigns/exactness.py [-d NAME ...] [--widths 5] [--seed 0]

Run by hand, some minutes: none of its data sets is one of a paper's. Scikit-learn's own, and made ones with
equal rows, more features than rows, outliers, few rows of a class, features of the size 1e6, few rows. For each,
over widths from K = I to 1 1^T and the ridges of ijcai2018:

* optimality: ``2 lam beta + V'/n``, over the largest slope;
* k-fold: each fold trained from nothing, by the paper's Newton method or a linear solution, over the largest
  prediction;
* BIF: the first order against the difference quotient of the fold's weight, at ridges of 2^-9 and more where no
  margin is near the end of a zone;
* Woodbury: the inverse with Nystrom columns against the dense one, over its largest entry;
* minimum: the pruned selection's error against the lowest of the surface.

Prints the worst of each, and what exceeds its limit.
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
# The change of the fold's weight; the smallest ridge of that; the share of h that no margin may come near.
STEP = 1e-6
LEAST = 2.0**-9
NEAR = 1e-3
Data = tuple[Array, Array]
Worst = dict[str, float]

# --- the data --------------------------------------------------------------------------------------


def bundled(load: Callable[[], object], positive: Callable[[Array], Array]) -> Data:
    """One of scikit-learn's own as two classes."""
    found = load()
    y = np.asarray(found.target, dtype=float)  # type: ignore[attr-defined]
    return np.asarray(found.data, dtype=float), np.where(positive(y), 1.0, -1.0)  # type: ignore[attr-defined]


def made(rng: np.random.Generator, n: int, d: int) -> Data:
    """Two classes by a curved rule with noise."""
    X = rng.uniform(-1, 1, size=(n, d))
    y = np.sin(3 * X[:, 0]) + X[:, -1] + 0.5 * rng.normal(size=n)
    return X, np.where(y > 0, 1.0, -1.0)


def duplicated(rng: np.random.Generator) -> Data:
    """Every row twice, often with the other label."""
    X, _ = made(rng, 80, 3)
    return np.vstack([X, X]), rng.choice([-1.0, 1.0], size=160)


def outliers(rng: np.random.Generator) -> Data:
    """Some rows a thousand times as far away."""
    X, y = made(rng, 150, 4)
    X[::29] *= 1000.0
    return X, y


def unbalanced(rng: np.random.Generator) -> Data:
    """Four rows of one class."""
    X, _ = made(rng, 180, 5)
    return X, np.where(np.arange(180) < 4, 1.0, -1.0)


def on_a_grid(rng: np.random.Generator) -> Data:
    """Whole numbers: many equal distances."""
    X = rng.integers(0, 4, size=(150, 4)).astype(float)
    return X, np.where((X.sum(axis=1) + rng.normal(size=150)) > 6, 1.0, -1.0)


def data_sets(seed: int) -> Iterator[tuple[str, Data]]:
    """Name -> rows and labels; the rows as they are, so that a width may be far from all of them."""
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
    """So many rows that training from nothing stays short."""
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST]
    return X[rows], y[rows]


def widths(X: Array, count: int) -> Array:
    """From far below the nearest to far above the farthest distance."""
    D = Points(X).squared_distances
    middle = float(np.median(D[np.triu_indices(len(X), 1)])) or 1.0
    return middle * 2.0 ** np.linspace(-12, 12, count)


# --- what is compared ------------------------------------------------------------------------------


def over(gap: Array, size: Array) -> float:
    """The largest gap over the largest size, or over 1 where that is larger."""
    return float(np.abs(gap).max() / max(1.0, np.abs(size).max()))


def optimality(p: Problem, _: Folds) -> float:
    """The slope of a row with the largest pull is 1."""
    dual = smooth_hinge(p).fit()
    even = slow.even(p.n)
    found = (
        slow.violation(p.K, p.y, a, lam, H, even) for a, lam in zip(dual.alpha, LAMS, strict=True)
    )
    return max(found)


def trained(p: Problem, folds: Folds, hinge: bool) -> Array:
    """Every fold predicted by a model trained from nothing."""
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
    """Both learners."""
    gaps = []
    for make, hinge in ((smooth_hinge, True), (krr, False)):
        want = trained(p, folds, hinge)
        gaps.append(over(make(p).held_out(folds) - want, want))
    return max(gaps)


def first_order(p: Problem, folds: Folds) -> float:
    """``f + eps df/de`` by a central difference of training with weights, where no margin is near a zone's end."""
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
    """Square and hinge with the zones of the fit, a tenth of the columns."""
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
    """The selection by bounds over all widths and ridges, against the surface's lowest error."""
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
    """One width with the paper's ridges."""
    kernel = Gaussian(tau)
    return Problem(X, y, kernel, kernel.gram(Points(X)), LAMS, "per-fold")


def worst_of(X: Array, y: Array, count: int, seed: int) -> Worst:
    """Each comparison at its worst."""
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
    """Compare, print."""
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
