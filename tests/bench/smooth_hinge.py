"""Time exact k-fold selection against ijcai2018's approximation, FBIF, in one process.

    python tests/bench/smooth_hinge.py [-d heart -d sonar ...] [--mirror DIR] [--folds 5 10] [--rounds 3]

The grid is the paper's: 31 widths, tau 2^-15 .. 2^15, by 16 ridges, lam 2^-15, 2^-13, .. 2^15;
features on [-1, 1], 70 % of the rows. It measures CPU seconds with one thread, the minimum over the
rounds, of:

* the paper's FBIF and k-CV for the smoothed hinge, with every grid point trained separately, by the
  paper's Newton method and by kselect's trainer from scratch; for KRR by Cholesky factors;
* kselect's exact selection (bounds, ``select_exactly``) and its whole surface: for KRR all that the
  engine does with the grid, including the fits at every ridge; for the smoothed hinge ``held_out``.

Each contestant computes its own kernel matrices. The output has ratios over FBIF, whether the pair
and its error are the minimum of the surface, and the share of models trained to find it.
"""

from __future__ import annotations

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from paper_fbif import contestants

from kselect.core.method import Choice, LamGrid, Method
from kselect.datasets.dataset import read_dataset
from kselect.datasets.fetch import Places, default_cache, resolve
from kselect.datasets.prepare import apply_scale, fit_scale
from kselect.datasets.registry import find_dataset
from kselect.datasets.splits import draw_split
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners import Problem
from kselect.learners.smooth_hinge import smooth_hinge
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.search.grid import score_kernels
from kselect.search.pruned import (
    Pruned,
    PrunedLearner,
    most_promising,
    order_of,
    select_exactly,
)
from kselect.search.training_context import TrainingContext

TAUS = 2.0 ** np.arange(-15, 16)
LAMS = 2.0 ** np.arange(-15, 16, 2)
DATA_SETS = ("heart", "sonar", "australian", "german.numer")


def load(name: str, mirror: str | None, split: int) -> tuple[Array, Array, bool]:
    """Return the training rows of a split on [-1, 1], and whether there are two classes."""
    info = find_dataset(name)
    data = read_dataset(info, resolve(info, Places(default_cache(), mirror, offline=True)))
    X = apply_scale(data.X, *fit_scale(data.X, "minmax"))
    rows = draw_split(data.y, 0.7, False, stream(0, name, split, "split")).train
    return X[rows], data.y[rows], info.task == "classification"


def select(X: Array, y: Array, folds: Folds, learner: PrunedLearner) -> Pruned:
    """Run kselect's selection: rows in fold order, kernels outward from the median distance."""
    order = order_of(folds)
    points = Points(X[order])
    kernels = [Gaussian(float(tau)) for tau in TAUS]
    sorted_folds = Folds.from_numbers(folds.numbers[order])
    grams = [partial(kernel.gram, points) for kernel in kernels]
    start = most_promising(kernels, points)
    return select_exactly(grams, y[order], LAMS, sorted_folds, learner, start=start)


def hinge_surface(X: Array, y: Array, folds: Folds) -> Array:
    """Return the (widths, ridges) surface of the path."""
    points, rows = Points(X), []
    for tau in TAUS.tolist():
        kernel = Gaussian(tau)
        problem = Problem(X, y, kernel, kernel.gram(points), LAMS, "per-fold")
        held = smooth_hinge(problem).held_out(folds)
        rows.append(np.maximum(0.0, 1.0 - y * held).mean(axis=1))
    return np.array(rows)


def square_surface(X: Array, y: Array, folds: Folds) -> Array:
    """Return the (widths, ridges) surface as the grid search computes it."""
    k = len(folds.members)
    side = TrainingContext(
        X=X,
        targets=y[None],
        task="regression",
        kernels=tuple(Gaussian(tau) for tau in TAUS.tolist()),
        ridges=LamGrid(tuple(LAMS.tolist()), "select"),
        learner=Choice("krr"),
        ridge="per-fold",
        given_folds={k: folds}.__getitem__,
        stream=partial(stream, 0),
    )
    method = Method(f"{k}-CV", "k-CV", k, (("average", "points"), ("loss", "squared")))
    return np.array([visit.scores[method] for visit in score_kernels(side, (method,))])


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return CPU seconds and the result of a call."""
    started = time.process_time()
    result = run()
    return time.process_time() - started, result


def measure(
    X: Array, y: Array, folds: Folds, rounds: int, classes: bool
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the minimum seconds and the result of each contestant."""
    landmarks = np.sort(
        stream(0, "landmarks").choice(len(y), max(1, round(0.1 * len(y))), replace=False)
    )
    runs: dict[str, Callable[[], Any]] = dict(contestants(X, y, TAUS, LAMS, folds, landmarks))
    runs["selection"] = lambda: select(X, y, folds, "smooth-hinge")
    runs["surface"] = lambda: hinge_surface(X, y, folds)
    runs["KRR selection"] = lambda: select(X, y, folds, "krr")
    runs["KRR surface"] = lambda: square_surface(X, y, folds)
    runs = {name: run for name, run in runs.items() if classes or name.startswith("KRR")}
    seconds: dict[str, float] = {}
    found: dict[str, Any] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            spent, found[name] = timed(run)
            seconds[name] = min(spent, seconds.get(name, np.inf))
    return seconds, found


def verdict(chosen: Pruned, scores: Array) -> str:
    """Return whether the pair is the minimum of the surface, and how much was trained."""
    lowest = float(scores.min())
    same = scores[chosen.kernel, chosen.ridge] <= lowest + 3e-12 * max(1.0, lowest)
    off = abs(chosen.score - lowest) / lowest
    return (
        f"{'same pair' if same else 'DIFFERENT PAIR'}, relative error of the value {off:.0e}, "
        f"{chosen.work.kernels_fitted} kernels and {chosen.work.pairs} pairs fitted, {chosen.work.folds} folds"
    )


def show(name: str, k: int, n: int, seconds: dict[str, float], found: dict[str, Any]) -> None:
    """Print ratios over FBIF."""
    print(f"\n{name}, n = {n}, {k} folds")
    for prefix, base in (("", "FBIF"), ("KRR ", "KRR FBIF")):
        if base not in seconds:
            continue
        for other, value in seconds.items():
            if other.startswith("KRR ") == bool(prefix):
                print(f"  {other:<20}{value:>8.3f} s{value / seconds[base]:>8.2f}", end="")
                if "our trainer" in other or prefix:
                    print()
                else:
                    print(
                        f"{value / seconds['FBIF, our trainer']:>8.2f} over FBIF with our trainer"
                    )
        chosen, k_cv = found[f"{prefix}selection"], seconds[f"{prefix}k-CV"]
        print(
            f"    k-CV time over selection time {k_cv / seconds[f'{prefix}selection']:.1f}", end=""
        )
        if not prefix:
            ours = seconds["k-CV, our trainer"] / seconds["selection"]
            print(f", with our trainer {ours:.1f}", end="")
        print(f"; {verdict(chosen, found[f'{prefix}surface'])}", flush=True)


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", "--dataset", action="append")
    parser.add_argument("--mirror")
    parser.add_argument("--folds", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--split", type=int, default=0)
    arguments = parser.parse_args()
    for name in arguments.dataset or DATA_SETS:
        X, y, classes = load(name, arguments.mirror, arguments.split)
        for k in arguments.folds:
            folds = draw_folds(len(y), k, stream(0, name, arguments.split, f"{k} folds"))
            show(name, k, len(y), *measure(X, y, folds, arguments.rounds, classes))


if __name__ == "__main__":
    main()
