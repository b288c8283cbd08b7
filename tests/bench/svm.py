"""Time an SVM's 5-fold cross-validation over a grid against scikit-learn, in one process.

    python tests/bench/svm.py [-d australian ...] [--mirror DIR] [--grid lam|n-lam|usual] [--every 1] [--check]

The grid has 31 widths, tau 2^-15 .. 2^15, by 16 C; features are on [-1, 1]; all rows and the same
folds are used. ``--grid lam`` has lam 2^-15, 2^-13, .. 2^15, C = 1 / (2 n lam), ``n-lam`` the same
without the n; ``usual`` has C = 2^-1 .. 2^14. ``--every 4`` takes every fourth width, if all would
take too long. It measures CPU seconds with one thread of:

* ``GridSearchCV(SVC())`` with gamma and C, without refitting, which computes its kernels for each
  candidate;
* a loop of ``SVC`` on the precomputed kernel matrix, one fit per width, C and fold;
* kselect's path, ``held_out`` of each width, including the kernel matrices.

It prints both ratios, the number of cells whose held-out errors differ from the loop's, the largest
difference, and whether both choose the same pair. ``--check`` compares the decision values of fits
on all rows with LIBSVM's at its tolerance 1e-8 instead, on the kernel matrix in single precision,
in which LIBSVM stores it.
"""

from __future__ import annotations

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import time

import numpy as np
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVC

from kselect.datasets.dataset import read_dataset
from kselect.datasets.fetch import Places, default_cache, resolve
from kselect.datasets.prepare import apply_scale, fit_scale
from kselect.datasets.registry import find_dataset
from kselect.errors import TrialError
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners import Problem
from kselect.learners.svm import svm
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array

TAUS = 2.0 ** np.arange(-15, 16)
DATA_SETS = ("australian", "diabetes", "german.numer")
K = 5


def load(name: str, mirror: str | None) -> tuple[Array, Array]:
    """Return all rows, on [-1, 1]."""
    info = find_dataset(name)
    data = read_dataset(info, resolve(info, Places(default_cache(), mirror, offline=True)))
    return apply_scale(data.X, *fit_scale(data.X, "minmax")), data.y


def boxes(grid: str, n: int) -> Array:
    """Return the values of C, ascending."""
    if grid == "usual":
        return np.asarray(2.0 ** np.arange(-1, 15))
    lams = 2.0 ** np.arange(-15, 16, 2)
    return np.sort(1.0 / (2.0 * lams * (n if grid == "lam" else 1)))


def ours(X: Array, y: Array, folds: Folds, taus: Array, Cs: Array) -> Array:
    """Return held-out errors of shape (widths, C)."""
    points, lams, found = Points(X), 1.0 / (2 * len(y) * Cs), []
    for tau in taus.tolist():
        kernel = Gaussian(tau)
        held = svm(Problem(X, y, kernel, kernel.gram(points), lams)).held_out(folds)
        found.append((y * held <= 0).sum(axis=1))
    return np.array(found)


def loop(X: Array, y: Array, folds: Folds, taus: Array, Cs: Array) -> Array:
    """Return the same errors by a fit for each."""
    points, found = Points(X), np.zeros((len(taus), len(Cs)), dtype=np.intp)
    for i, tau in enumerate(taus.tolist()):
        gram = Gaussian(tau).gram(points)
        for F in folds.members:
            rest = np.setdiff1d(np.arange(len(y)), F)
            inside, across = gram[np.ix_(rest, rest)], gram[np.ix_(F, rest)]
            for j, C in enumerate(Cs.tolist()):
                model = SVC(C=C, kernel="precomputed").fit(inside, y[rest])
                found[i, j] += int((y[F] * model.decision_function(across) <= 0).sum())
    return found


def grid_search(X: Array, y: Array, folds: Folds, taus: Array, Cs: Array) -> None:
    """Run a user's ``GridSearchCV``."""
    grid = {"gamma": (0.5 / taus).tolist(), "C": Cs.tolist()}
    GridSearchCV(SVC(), grid, cv=PredefinedSplit(folds.numbers), refit=False).fit(X, y)


def warm() -> None:
    """Compile the loops, or read them from the cache."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    ours(X, y, draw_folds(80, K, rng), np.array([0.1, 1.0]), 2.0 ** np.arange(-5, 11))


def measure(name: str, X: Array, y: Array, taus: Array, Cs: Array) -> None:
    """Print seconds, ratios, and differences of the errors."""
    folds = draw_folds(len(y), K, stream(0, name, 0, f"{K} folds"))
    seconds, found = {}, {}
    for contestant in (ours, loop, grid_search):
        started = time.process_time()
        found[contestant] = contestant(X, y, folds, taus, Cs)
        seconds[contestant] = time.process_time() - started
    a, b = found[ours], found[loop]
    same = np.unravel_index(a.argmin(), a.shape) == np.unravel_index(b.argmin(), b.shape)
    print(
        f"{name}, n = {len(y)}, {len(taus)} widths, {len(Cs)} C: ours {seconds[ours]:.2f} s, "
        f"loop {seconds[loop]:.2f} s = {seconds[loop] / seconds[ours]:.1f} times, "
        f"GridSearchCV {seconds[grid_search]:.2f} s = {seconds[grid_search] / seconds[ours]:.1f} times; "
        f"errors differ in {(a != b).sum()} of {a.size} cells, by at most {np.abs(a - b).max()} rows, "
        f"{'the same pair' if same else 'DIFFERENT PAIR'}",
        flush=True,
    )


def check(name: str, X: Array, y: Array, taus: Array, Cs: Array) -> None:
    """Print the largest difference of decision values, relative to at least 1."""
    points, lams, worst, failed = Points(X), 1.0 / (2 * len(y) * Cs), [], 0
    for tau in taus.tolist():
        kernel = Gaussian(tau)
        gram = kernel.gram(points).astype(np.float32).astype(np.float64)
        try:
            path = svm(Problem(X, y, kernel, gram, lams))
            decision = path.decision()
        except TrialError as error:
            failed += 1
            print(error)
            continue
        for i, C in enumerate(Cs.tolist()):
            model = SVC(C=C, kernel="precomputed", tol=1e-8).fit(gram, y)
            expected = model.decision_function(gram)
            off = np.abs(decision[i] - expected) / np.maximum(1.0, np.abs(expected))
            worst.append((float(off.max()), tau, C))
    above = sum(w[0] > 1e-5 for w in worst)
    print(
        f"{name}, n = {len(y)}: {len(worst)} fits, worst {max(worst)}, {above} above 1e-5, failed {failed}",
        flush=True,
    )


def main() -> None:
    """Run the benchmark, or the check."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", "--dataset", action="append")
    parser.add_argument("--mirror")
    parser.add_argument("--grid", choices=["lam", "n-lam", "usual"], default="lam")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    warm()
    for name in arguments.dataset or DATA_SETS:
        X, y = load(name, arguments.mirror)
        run = check if arguments.check else measure
        run(name, X, y, TAUS[:: arguments.every], boxes(arguments.grid, len(y)))


if __name__ == "__main__":
    main()
