"""Compare the signs of small predictions with arithmetic of a thousand digits.

    python tests/campaigns/rounding.py [--problems 40000] [--seed 0]

Start it by hand. It needs python-flint (``pip install python-flint``), which is no dependency of
kselect. 40,000 problems take about six minutes.

A problem has 4 to 12 labelled rows on a line or in a plane, often whole numbers, often with equal
rows; a kernel between I and 1 1^T; a ridge of 1e-18 to 1e18; and folds. For each problem every
learner's path (``*``: on Nystrom columns; the SVR without its tube, so that it is the LSSVM)
predicts by k-fold and leave-one-out, fits the rows and sums the series of BIF. From the same kernel
matrix or columns, balls of 3000 bits retrain every fold without closed forms.

The comparison uses what the zero-one loss reads, ``y f <= 0``. A sign may differ if the exact
prediction is at most ``allowed`` of oracles_rounding.py: ten n eps cond of the terms of that
prediction, whatever y is.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import flint
import numpy as np
import oracles_rounding as oracles
from numpy.typing import NDArray

from kselect.errors import KselectError
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import nystrom_columns
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import LEARNERS, Problem
from kselect.learners import Path as LearnerPath
from kselect.numerics.folds import Folds

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Ball = Any  # flint.arb, which has no type annotations
BITS = 3000
ORDERS = (0, 1, 3)
COLUMNS = ("signs", "zero", "within", "differ", "beyond")
OPTIONS: dict[str, dict[str, float]] = {"krr": {}, "lssvm": {}, "quadratic-svr": {"eps": 0.0}}

# --- random problems --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Draw:
    """A problem with a learner, one ridge, and folds."""

    learner: str
    problem: Problem
    folds: Folds

    @property
    def bias(self) -> bool:
        """Return whether the learner has a bias."""
        return self.learner != "krr"

    @property
    def name(self) -> str:
        """Return the learner's name, with ``*`` on Nystrom columns."""
        return self.learner + "*" * (self.problem.columns is not None)

    @property
    def gamma(self) -> float:
        """Return ``n lam``."""
        return float(self.problem.n * self.problem.lams[0])

    @property
    def path(self) -> LearnerPath:
        """Return the path under test."""
        return LEARNERS[self.learner].path(self.problem, **OPTIONS[self.learner])


def draw_rows(rng: np.random.Generator) -> Array:
    """Draw normal rows, whole numbers, or distant pairs; the last row may repeat the first."""
    n, d = int(rng.integers(4, 13)), int(rng.integers(1, 3))
    kind = rng.integers(3)
    if kind == 0:
        X = rng.normal(size=(n, d))
    elif kind == 1:
        X = rng.integers(-4, 5, size=(n, d)).astype(np.float64)
    else:
        X = 10.0 * (rng.permutation(n)[:, None] // 2) + rng.integers(0, 2, size=(n, d))
    if rng.random() < 0.3:
        X[-1] = X[0]
    return X


def draw_kernel(rng: np.random.Generator, X: Array) -> Kernel:
    """Draw mostly a Gaussian in which the nearest rows have an entry of 1e-120 to 1."""
    kind = rng.random()
    if kind < 0.05:
        return Linear()
    if kind < 0.1:
        return Polynomial(int(rng.integers(1, 4)))
    D = np.square(X[:, None] - X[None]).sum(axis=2)
    near = float(D[D > 0].min(initial=1e4)) if (D > 0).any() else 1.0
    return Gaussian(near / (2 * 10 ** rng.uniform(-2, np.log10(276))))


def draw_labels(rng: np.random.Generator, n: int) -> Array:
    """Draw labels, in half of the cases balanced, so that the bias is small."""
    if rng.random() < 0.5:
        return rng.choice([-1.0, 1.0], size=n)
    return np.where(rng.permutation(n) % 2 == 0, 1.0, -1.0)


def draw_folds(rng: np.random.Generator, n: int) -> Folds:
    """Draw 2 to n folds of nearly equal sizes, or of any sizes."""
    k = int(rng.integers(2, n + 1))
    any_size = np.append(np.arange(k), rng.integers(k, size=n - k))
    return Folds.from_numbers(rng.permutation(np.arange(n) % k if rng.random() < 0.5 else any_size))


def draw(rng: np.random.Generator) -> Draw:
    """Draw one problem."""
    X = draw_rows(rng)
    n, kernel = len(X), draw_kernel(rng, X)
    span = (-18.0, 18.0) if rng.random() < 0.5 else (-4.0, 2.0)
    K, columns = kernel.gram(Points(X)), None
    learner = str(rng.choice(["krr", "krr", "lssvm", "lssvm", "quadratic-svr"]))
    if LEARNERS[learner].low_rank and rng.random() < 0.3:
        marks = np.sort(rng.permutation(n)[: rng.integers(2, n)])
        K, columns = np.empty((0, 0)), nystrom_columns(kernel, Points(X, X[marks]), marks)
    lams = np.array([10 ** rng.uniform(*span)])
    ridge: Any = rng.choice(["fixed", "per-fold"])
    problem = Problem(X, draw_labels(rng, n), kernel, K, lams, ridge, columns)
    return Draw(learner, problem, draw_folds(rng, n))


# --- exact arithmetic ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """Exact predictions, and the size up to which rounding explains a wrong sign."""

    values: list[Ball]
    allowed: Array


class Exact:
    """A problem in ball arithmetic, with ``K`` of shape (n, n)."""

    def __init__(self, drawn: Draw) -> None:
        self.drawn, self.n, self.bias = drawn, drawn.problem.n, drawn.bias
        columns = drawn.problem.columns
        self.given = drawn.problem.K if columns is None else columns.V
        self.bound = oracles.allowed if columns is None else oracles.allowed_by_columns
        balls = [[flint.arb(v) for v in row] for row in self.given.tolist()]
        if columns is not None:
            V = flint.arb_mat(balls)
            product = V * V.transpose()
            balls = [[product[i, j] for j in range(self.n)] for i in range(self.n)]
        self.K, self.y = balls, [flint.arb(v) for v in drawn.problem.y.tolist()]

    def system(self, rows: list[int], gamma: float) -> Ball:
        """Return ``K + gamma I`` of some rows, bordered by ones if the learner has a bias."""
        one, ridge = [flint.arb(1)] * self.bias, flint.arb(gamma)
        A = [[self.K[i][j] + ridge * (i == j) for j in rows] + one for i in rows]
        return flint.arb_mat(A + [[flint.arb(1)] * len(rows) + [flint.arb(0)]] * self.bias)

    def fit(self, rows: list[int], gamma: float) -> tuple[list[Ball], Ball]:
        """Return alpha and b of a model trained on these rows."""
        right = [[self.y[i]] for i in rows] + [[flint.arb(0)]] * self.bias
        x = self.system(rows, gamma).solve(flint.arb_mat(right))
        a = [x[i, 0] for i in range(len(rows))]
        return a, x[len(rows), 0] if self.bias else flint.arb(0)

    def predict(self, F: list[int], T: list[int], gamma: float) -> Answer:
        """Predict the rows F by the model trained on the rows T."""
        a, b = self.fit(T, gamma)
        values = [dot([self.K[i][j] for j in T], a) + b for i in F]
        rows = (np.array(T, dtype=np.intp), np.array(F, dtype=np.intp))
        y = self.drawn.problem.y[T]
        return Answer(values, self.bound(self.given, *rows, gamma, floats(a), y, self.bias))

    def held_out(self, folds: list[list[int]], gammas: list[float]) -> Answer:
        """Predict every row by the model trained without its fold."""
        values, allowed = [flint.arb(0)] * self.n, np.zeros(self.n)
        for F, gamma in zip(folds, gammas, strict=True):
            found = self.predict(F, [i for i in range(self.n) if i not in set(F)], gamma)
            allowed[F] = found.allowed
            for i, value in zip(F, found.values, strict=True):
                values[i] = value
        return Answer(values, allowed)

    def series(self, folds: list[list[int]], gamma: float, order: int) -> Answer:
        """Return ``y - sum_{q <= order} T^q r``, ``T = S D``; see oracles_rounding.series."""
        rows = range(self.n)
        inverse, ridge = self.system(list(rows), gamma).inv(), flint.arb(gamma)
        P = [[inverse[i, j] for j in rows] for i in rows]
        S = [[flint.arb(i == j) - ridge * P[i][j] for j in rows] for i in rows]
        residual = [y - dot(row, self.y) for row, y in zip(S, self.y, strict=True)]
        values, allowed = [flint.arb(0)] * self.n, np.zeros(self.n)
        for F in folds:
            off = -flint.arb(len(F)) / (self.n - len(F))
            D = [flint.arb(1) if i in set(F) else off for i in rows]
            term, total, before = residual, residual, [flint.arb(0)] * self.n
            passed = self.allowed_in_series(P, np.array(F), gamma, self.y)
            through = np.abs([floats(row) for row in S]) * np.abs(floats(D))
            for _ in range(order):
                pushed = [d * v for d, v in zip(D, term, strict=True)]
                term, before = [dot(row, pushed) for row in S], total
                total = [a + b for a, b in zip(total, term, strict=True)]
                z = [y - d * v for y, d, v in zip(self.y, D, before, strict=True)]
                # The rounding of one order's predictions enters the targets of the next order.
                passed = self.allowed_in_series(P, np.array(F), gamma, z) + through @ passed
            allowed[F] = passed[F]
            for i in F:
                values[i] = self.y[i] - total[i]
        return Answer(values, allowed)

    def allowed_in_series(
        self, P: list[list[Ball]], F: Index, gamma: float, z: list[Ball]
    ) -> Array:
        """Return the rounding of ``S z`` at one order, for every row."""
        a, at, rows = floats([dot(row, z) for row in P]), floats(z), np.arange(self.n)
        found = self.bound(self.given, rows, rows, gamma, a, at, self.bias)
        if self.drawn.problem.columns is None:
            found[F] = oracles.terms_of_series(self.given, F, gamma, a, at, self.bias)
        return found


def dot(a: list[Ball], b: list[Ball]) -> Ball:
    """Return ``a^T b``."""
    return sum((v * w for v, w in zip(a, b, strict=True)), flint.arb(0))


def floats(balls: list[Ball]) -> Array:
    """Return the midpoints of balls."""
    return np.array([float(v.mid()) for v in balls])


# --- the comparison --------------------------------------------------------------------------------


def questions(drawn: Draw, exact: Exact) -> Iterator[tuple[str, Array, Answer]]:
    """Yield (form, predictions of kselect, exact predictions)."""
    n, lam, gamma = drawn.problem.n, float(drawn.problem.lams[0]), drawn.gamma
    path, rows = drawn.path, list(range(drawn.problem.n))
    folds = [F.tolist() for F in drawn.folds.members]
    per_fold = drawn.problem.ridge == "per-fold"
    gammas = [(n - len(F) * per_fold) * lam for F in folds]
    yield "k-CV", path.held_out(drawn.folds)[0], exact.held_out(folds, gammas)
    yield "ELOO", path.loo()[0], exact.held_out([[i] for i in rows], [gamma] * n)
    yield "fit", path.decision()[0], exact.predict(rows, rows, gamma)
    # The SVR's series does not recompute small predictions: a regression does not use their signs.
    for order in ORDERS if drawn.learner != "quadratic-svr" else ():
        found = path.bif(drawn.folds, order)[0]
        yield f"BIF {order}", found, exact.series(folds, gamma, order)


@dataclass
class Tally:
    """Counts of the outcomes per learner and form, and of the failures per reason."""

    counts: Counter[tuple[str, str]]
    failures: Counter[str]
    show: int

    def compare(self, drawn: Draw) -> None:
        """Compare one problem under the floating-point settings of a selection."""
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            for form, ours, truth in questions(drawn, Exact(drawn)):
                self.add(drawn, form, ours, truth)

    def add(self, drawn: Draw, form: str, ours: Array, truth: Answer) -> None:
        """Count the signs of one form."""
        y = drawn.problem.y
        signs = np.array([1.0 if v > 0 else -1.0 if v < 0 else 0.0 for v in truth.values])
        size = np.abs(floats(truth.values))
        within = size <= truth.allowed
        differ = (y * ours <= 0) != (y * signs <= 0)
        found = (np.ones_like(within), signs == 0, within, differ, differ & ~within)
        for column, rows in zip(COLUMNS, found, strict=True):
            self.counts[f"{drawn.name} {form}", column] += int(rows.sum())
        for i in np.flatnonzero(differ & ~within):
            if self.show > 0:
                self.show -= 1
                print(
                    f"{drawn.name} {form}: row {i}: {ours[i]:.3e}, exactly {truth.values[i].mid()}"
                )
                print(f"    allowed {truth.allowed[i]:.1e}; {drawn.problem}; {drawn.folds}")

    def report(self) -> None:
        """Print one line per learner and form."""
        print(f"{'':<22}" + "".join(f"{column:>9}" for column in COLUMNS))
        for name in sorted({name for name, _ in self.counts}):
            print(f"{name:<22}" + "".join(f"{self.counts[name, c]:>9}" for c in COLUMNS))
        totals = [sum(v for (_, c), v in self.counts.items() if c == column) for column in COLUMNS]
        print(f"{'all':<22}" + "".join(f"{total:>9}" for total in totals))
        for reason, count in self.failures.most_common():
            print(f"{count:>6} problems without an answer: {reason}")

    @property
    def beyond(self) -> int:
        """Return the number of signs that rounding does not explain."""
        return sum(v for (_, column), v in self.counts.items() if column == "beyond")


def main() -> int:
    """Draw problems and compare them; return 1 if a sign differs beyond rounding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="how many signs to show in full")
    arguments = parser.parse_args()
    flint.ctx.prec = BITS
    rng = np.random.default_rng(arguments.seed)
    tally = Tally(Counter(), Counter(), arguments.show)
    started = time.process_time()
    for _ in range(arguments.problems):
        learner = "columns"
        try:
            drawn = draw(rng)
            learner = drawn.learner
            tally.compare(drawn)
        except (KselectError, FloatingPointError) as error:
            reason = re.sub(r"[0-9.]+e[-+]?[0-9]+", "some", str(error).partition(":")[0])
            tally.failures[f"{learner}: {reason}"] += 1
    tally.report()
    spent = time.process_time() - started
    print(f"{arguments.problems} problems of seed {arguments.seed}, {spent:.0f} CPU seconds")
    return int(tally.beyond > 0)


if __name__ == "__main__":
    sys.exit(main())
