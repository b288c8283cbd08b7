"""Compare leave-one-out with n-fold cross-validation for every learner, and the SVM with every status tried.

    python tests/campaigns/leave_one_out.py [--problems 2000] [--svm 500] [--seed 0]

Start it by hand; some minutes. A problem has a few rows, often whole numbers, equal rows, a far row, or a mean of
1e6; a linear, polynomial or Gaussian kernel from I to 1 1^T; and one to four ridges of 1e-6 to 100.

* ELOO: each learner's leave-one-out is its cross-validation with n folds of one row, to 1e-9 of the largest
  prediction. The closed forms of the square loss may also be off by what ``n eps cond(K + n lam I)`` explains.
* SVM: fits and leave-one-out on at most seven rows against all 3^n systems of statuses, to 1e-7; where
  rounding leaves these systems undecided, differences are only counted.
* Neighbours: the SVM at one ridge alone gives the same scores, or the same refusal, as next to others.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import oracles_svm as slow

from kselect.errors import KselectError
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import LEARNERS, Problem
from kselect.learners.svm import svm
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array

LEARNERS_WITH_LOO = ("krr", "lssvm", "quadratic-svr", "smooth-hinge", "svm")
EXACT, BY_STATUS, ALONE = 1e-9, 1e-7, 1e-3
# From this ``n eps max|K| C`` on, rounding can choose between two optima of every_status.
LOST = 1e-10
EPS = float(np.finfo(np.float64).eps)


def draw(rng: np.random.Generator, most: int, labels: bool) -> Problem:
    """Draw a problem with at most so many rows; with labels, both classes have at least two rows."""
    n, d = int(rng.integers(5, most + 1)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = np.round(2 * X)
    if rng.random() < 0.3:
        X[rng.integers(n)] = X[rng.integers(n)]
    if rng.random() < 0.1:
        X[0] *= 1e3
    if rng.random() < 0.1:
        X += 1e6
    y = rng.normal(size=n)
    if labels:
        y = np.where(rng.permutation(n) < rng.integers(2, n - 1), 1.0, -1.0)
    kernels: tuple[Kernel, ...] = (
        Linear(),
        Polynomial(int(rng.integers(1, 4))),
        Gaussian(2.0 ** int(rng.integers(-12, 12))),
    )
    kernel = kernels[rng.integers(3)]
    lams = 10.0 ** rng.uniform(-6, 2, size=int(rng.integers(1, 5)))
    return Problem(X, y, kernel, kernel.gram(Points(X)), lams, "fixed")


def singles(p: Problem) -> Folds:
    """Return one fold for each row."""
    return Folds(tuple(np.array([i]) for i in range(p.n)))


def explained(p: Problem) -> Array:
    """Return the relative error that the condition number explains, for each ridge."""
    s = np.maximum(np.linalg.eigvalsh(p.K), 0.0)
    return np.asarray(10 * p.n * EPS * (s[-1] + p.gammas) / (s[0] + p.gammas))


def without(p: Problem, row: int, lam: float) -> float:
    """Return the prediction of a row by an SVM trained on the others, trying every status."""
    T = np.delete(np.arange(p.n), row)
    y = p.y[T]
    if len(set(y.tolist())) == 1:
        return float(y[0])
    beta, b = slow.every_status(p.K[np.ix_(T, T)], y, 1.0 / (2 * p.n * lam))
    return float(p.K[row, T] @ beta + b)


def compare_folds(name: str, p: Problem, tally: Counter[str]) -> None:
    """Compare a learner's leave-one-out with its n-fold cross-validation."""
    path = LEARNERS[name].path(p)
    loo, held = path.loo(), path.held_out(singles(p))  # type: ignore[attr-defined]
    size = np.maximum(1.0, np.abs(held).max(axis=1))
    off = np.abs(loo - held).max(axis=1) / size
    tally[f"{name}: scores"] += len(off)
    over = off > EXACT
    if name != "svm":
        tally[f"{name}: off by what cond explains"] += int((over & (off <= explained(p))).sum())
        over &= off > explained(p)
    tally[f"{name}: DIFFER"] += int(over.sum())
    if over.any():
        print(name, p.kernel, p.n, p.lams[over], off[over], explained(p)[over])


def compare_statuses(p: Problem, tally: Counter[str]) -> None:
    """Compare the SVM's fit and leave-one-out with brute force."""
    path = svm(p)
    fitted, held = path.decision(), path.loo()
    for at, lam in enumerate(p.lams.tolist()):
        beta, b = slow.every_status(p.K, p.y, 1.0 / (2 * p.n * lam))
        rounding = EPS * p.n * np.abs(p.K).max() / (2 * p.n * lam)
        left = np.array([without(p, i, lam) for i in range(p.n)])
        for form, ours, truth in (("fit", fitted[at], p.K @ beta + b), ("LOO", held[at], left)):
            off = np.abs(ours - truth).max() / max(1.0, np.abs(truth).max())
            tally[f"svm {form} by every status: scores"] += 1
            if off > BY_STATUS and rounding > LOST:
                tally[f"svm {form} by every status: off where the oracle's K beta is rounded"] += 1
            elif off > BY_STATUS:
                tally[f"svm {form} by every status: DIFFER"] += 1
                print(form, p.kernel, p.n, lam, off, rounding, p.X.tolist(), p.y.tolist())


def risks(p: Problem) -> Array | str:
    """Return the SVM's mean hinge loss at every ridge, or its refusal."""
    try:
        return np.asarray(np.maximum(0.0, 1.0 - p.y * svm(p).decision()).mean(axis=1))
    except KselectError as error:
        return str(error)


def compare_neighbours(p: Problem, tally: Counter[str]) -> None:
    """Compare the SVM at each ridge alone with all ridges together."""
    alone = [risks(p.changed(lams=p.lams[[i]])) for i in range(len(p.lams))]
    together = risks(p)
    refused = [isinstance(one, str) for one in alone]
    tally["svm alone and together: problems"] += 1
    tally["svm alone and together: refused"] += any(refused)
    if any(refused) != isinstance(together, str):
        tally["svm alone and together: DIFFER"] += 1
        print("fate", p.kernel, p.n, p.lams, alone, together)
    elif not isinstance(together, str):
        off = np.abs(np.concatenate([np.asarray(one) for one in alone]) - together).max()
        tally["svm alone and together: DIFFER"] += bool(off > ALONE)
        if off > ALONE:
            print("score", p.kernel, p.n, p.lams, off)


def comparisons(rng: np.random.Generator, problems: int, few: int) -> Iterator[tuple[str, Problem]]:
    """Yield what to compare, and the problem."""
    for number in range(problems):
        name = LEARNERS_WITH_LOO[number % len(LEARNERS_WITH_LOO)]
        yield name, draw(rng, 24, name in ("svm", "smooth-hinge") or rng.random() < 0.5)
    for _ in range(few):
        yield "statuses", draw(rng, 7, True)
    for _ in range(problems):
        yield "neighbours", draw(rng, 24, True)


def main() -> int:
    """Draw, compare, count; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--svm", type=int, default=500, help="problems with every status tried")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)
    tally: Counter[str] = Counter()
    for what, p in comparisons(np.random.default_rng(asked.seed), asked.problems, asked.svm):
        try:
            if what == "statuses":
                compare_statuses(p, tally)
            elif what == "neighbours":
                compare_neighbours(p, tally)
            else:
                compare_folds(what, p, tally)
        except (KselectError, np.linalg.LinAlgError) as error:
            tally[f"{what}: refused: {str(error).partition(':')[0]}"] += 1
    for line, count in sorted(tally.items()):
        print(f"{count:>7} {line}")
    return int(any("DIFFER" in line and count for line, count in tally.items()))


if __name__ == "__main__":
    sys.exit(main())
