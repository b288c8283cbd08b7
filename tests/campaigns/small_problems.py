"""Compare every learner, kernel and criterion (but the SVM's) with retraining, on hostile small problems.

    python tests/campaigns/small_problems.py [--problems 2000] [--seed 0] [--learner krr]

This campaign is run by hand; 2,000 problems take some four minutes. A problem is 5 to 14 rows: normal, whole
numbers, pairs, outliers, far from zero, or nearly equal. Its targets are labels, numbers, or numbers around 1000.
The kernel lies between I and 1 1^T, or has a low rank; the ridges go from 1e-18 to 1e6, next to each other.

The definitions train every model from the start. For the square loss they do this in extended precision (64 bits),
by elimination. The series of the other losses, k-FBIF and k-Newton follow the general recursion from a slow fit on
all rows. On Nystrom columns (``*``) all rows are landmarks, so that the definition uses the exact kernel.

A score may differ by 1e-9, or by what the condition number of ``K + gamma I`` explains: a share of
``30 n eps cond`` of the predictions (with a bias, ten times that). A candidate that is excluded by name is counted.
The campaign prints these counts for every learner and criterion, and it ends with 1 if a difference was silent.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import oracles
import oracles_smooth_hinge
import oracles_svr
from numpy.typing import NDArray
from problems import side_of

from kselect.core.method import Method
from kselect.criteria import CRITERIA
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.laplacian import Laplacian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.numerics.folds import Folds, stream
from kselect.search.grid import score_kernel

Array = NDArray[np.float64]
Long = NDArray[np.longdouble]
Index = NDArray[np.intp]
SQUARE = {"krr": False, "krr*": False, "lssvm": True, "lssvm*": True}
LEARNERS = (*SQUARE, "quadratic-svr", "smooth-hinge")
EXACT, SHARE = 1e-9, 30.0
EPS = oracles.EPS
# On Nystrom columns kselect refuses ridges at which their rounding changes predictions by more than this.
COLUMNS = 3e-4
# A row this close to the edge of a zone may be on either side.
EDGE = 1e-6
OUTCOMES = ("scores", "excluded", "explained", "undefined", "silent")
Slow = tuple[float, float]

# --- the problems ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A learner, rows, targets, a kernel, ridges and folds."""

    learner: str
    X: Array
    y: Array
    kernel: Kernel
    lams: tuple[float, ...]
    folds: Folds
    ridge: str
    average: str

    @property
    def K(self) -> Array:
        """The kernel matrix."""
        return self.kernel.gram(Points(self.X))

    @property
    def labels(self) -> bool:
        """Whether the targets are labels."""
        return bool(np.isin(self.y, (-1.0, 1.0)).all())


def draw_rows(rng: np.random.Generator) -> Array:
    """Return rows of one of six kinds."""
    n, d, kind = int(rng.integers(5, 15)), int(rng.integers(1, 4)), rng.integers(6)
    X = rng.normal(size=(n, d))
    if kind == 1:
        X = np.round(3 * X)
    elif kind == 2:
        X = np.repeat(X, 2, axis=0)[:n]
    elif kind == 3:
        X[0] *= 1e4
    elif kind == 4:
        X = 1e6 + np.round(10 * X)
    elif kind == 5:
        X = X[:1] + 1e-6 * X
    return X


def draw_kernel(rng: np.random.Generator, X: Array) -> Kernel:
    """Return a kernel whose width is a multiple of the median distance of different rows."""
    kind, stretch = rng.random(), 10 ** rng.uniform(-2, 4)
    if kind < 0.12:
        return Linear()
    if kind < 0.3:
        return Polynomial(int(rng.integers(1, 4)))
    D = np.abs(X[:, None] - X[None])
    middle = D.sum(axis=2) if kind < 0.5 else np.square(D).sum(axis=2)
    size = float(np.median(middle[middle > 0])) if (middle > 0).any() else 1.0
    return Laplacian(size * stretch) if kind < 0.5 else Gaussian(size * stretch)


def draw_target(rng: np.random.Generator, n: int, labels: bool) -> Array:
    """Return labels of both signs, or numbers."""
    if labels:
        return np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    y = rng.normal(size=n)
    return 1000.0 + y if rng.random() < 0.3 else y


def draw(rng: np.random.Generator, learner: str) -> Drawn:
    """Return a problem."""
    X = draw_rows(rng)
    n = len(X)
    labels = learner == "smooth-hinge" or (learner != "quadratic-svr" and rng.random() < 0.5)
    span = (-18.0, 6.0) if learner in SQUARE else (-5.0, 2.0)
    lams = tuple(sorted(10 ** rng.uniform(*span, size=3)))
    k = int(rng.integers(2, n + 1))
    sizes = rng.random() < 0.5
    numbers = np.arange(n) % k if sizes else np.append(np.arange(k), rng.integers(k, size=n - k))
    return Drawn(
        learner,
        X,
        draw_target(rng, n, labels),
        draw_kernel(rng, X),
        lams,
        Folds.from_numbers(rng.permutation(numbers)),
        str(rng.choice(["fixed", "per-fold"])),
        str(rng.choice(["points", "folds"])),
    )


# --- the definitions ---------------------------------------------------------------------------------


def solve(A: Array, right: Array) -> Long:
    """Return ``A^{-1} right`` by elimination with pivots, in extended precision."""
    M = np.column_stack([A, right]).astype(np.longdouble)
    n = len(A)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(M[k:, k])))
        M[[k, pivot]] = M[[pivot, k]]
        M[k + 1 :, k:] -= np.outer(M[k + 1 :, k] / M[k, k], M[k, k:])
        M[k + 1 :, k] = 0.0
    for k in range(n - 1, -1, -1):
        M[k] /= M[k, k]
        M[:k, k:] -= np.outer(M[:k, k], M[k, k:])
    return np.asarray(M[:, n:])


def system(K: Array, gamma: float, bias: bool) -> Long:
    """Return ``K + gamma I``, bordered by ones if there is a bias."""
    n = len(K)
    A = np.zeros((n + bias, n + bias), dtype=np.longdouble)
    A[:n, :n] = K
    A[np.arange(n), np.arange(n)] += np.longdouble(gamma)
    A[:n, n:], A[n:, :n] = 1.0, 1.0
    return A


def trained_without(drawn: Drawn, folds: list[Index], lam: float, per_fold: bool) -> Array:
    """Return the prediction of each row by a model that was trained without its fold."""
    K, y, n = drawn.K, drawn.y, len(drawn.y)
    if drawn.learner not in SQUARE and len(folds[0]) == n:
        return fitted(drawn, lam)
    if drawn.learner == "smooth-hinge":
        return oracles_smooth_hinge.held_out(K, y, folds, lam, 0.05, per_fold)
    if drawn.learner == "quadratic-svr":
        return oracles_svr.held_out(K, y, folds, lam, 0.1, per_fold)
    out, bias = np.empty(n), SQUARE[drawn.learner]
    for F in folds:
        T = oracles.without(F, n) if len(F) < n else F
        gamma = np.longdouble(len(T) if per_fold else n) * np.longdouble(lam)
        right = np.append(y[T], [0.0] * bias)[:, None]
        x = solve(system(K[np.ix_(T, T)], gamma, bias), right)[:, 0]
        out[F] = K[np.ix_(F, T)] @ x[: len(T)] + (x[-1] if bias else 0.0)
    return out


def fitted(drawn: Drawn, lam: float) -> Array:
    """Return the fitted values of a learner with another loss than the square."""
    K, y, weights = drawn.K, drawn.y, oracles_smooth_hinge.even(len(drawn.y))
    if drawn.learner == "smooth-hinge":
        return np.asarray(K @ oracles_smooth_hinge.fit(K, y, lam, 0.05, weights))
    alpha, b = oracles_svr.fit(K, y, lam, 0.1, weights)
    return np.asarray(K @ alpha + b)


def hat_matrix(drawn: Drawn, lam: float) -> tuple[Long, Long]:
    """Return P and ``gamma P = I - S`` of a square loss."""
    n, bias = len(drawn.y), SQUARE[drawn.learner]
    gamma = np.longdouble(n) * np.longdouble(lam)
    P = solve(system(drawn.K, gamma, bias), np.eye(n + bias)[:, :n])[:n]
    return P, gamma * P


def series(drawn: Drawn, lam: float, order: int) -> Array:
    """Return the predictions of the Taylor series of cross-validation, term by term."""
    y, n = drawn.y, len(drawn.y)
    rest = hat_matrix(drawn, lam)[1]
    S, out = np.eye(n) - rest, np.empty(n)
    for F in drawn.folds.members:
        weight = np.full(n, -len(F) / (n - len(F)))
        weight[F] = 1.0
        term = total = rest @ y
        for _ in range(order):
            term = S @ (weight * term)
            total = total + term
        out[F] = (y - total)[F]
    return out


def columns_of(drawn: Drawn, c: float) -> tuple[Array, float]:
    """Return the Nystrom approximation on a share of the rows, and the relative error that rounding explains.

    Raise ValueError if an eigenvalue is near the limit of 1e-12 below which it is dropped.
    """
    n = len(drawn.y)
    columns = np.sort(stream(0, "columns").permutation(n)[: max(1, round(c * n))])
    s = np.linalg.eigvalsh(drawn.K[np.ix_(columns, columns)])
    s = s[s > 1e-14 * s[-1]] / s[-1]
    if (s < 1e-10).any():
        raise ValueError("an eigenvalue that may be dropped or not")
    return oracles_smooth_hinge.nystrom(drawn.K, columns), float(n * EPS / s[0])


def recursion(drawn: Drawn, params: dict[str, Any], lam: float, newton: bool) -> Array:
    """Return the predictions of the general recursion with its zones kept, or of its limit, one Newton step.

    Raise ValueError if a row is on the edge of a zone, where the curvature is undefined.
    """
    K, y, n, out, hinge = drawn.K, drawn.y, len(drawn.y), np.empty(len(drawn.y)), 0.05
    f = trained_without(drawn, [np.arange(n)], lam, False)
    if drawn.learner == "krr":
        u, v = 2 * (y - f), np.full(n, 2.0)
    elif drawn.learner == "smooth-hinge":
        u, v = oracles_smooth_hinge.slopes(y, f, hinge)
    edge = np.abs(1 - y * f) - hinge if drawn.learner == "smooth-hinge" else np.abs(y - f) - 0.1
    if drawn.learner != "krr" and np.abs(edge).min() < EDGE:
        raise ValueError("a row on the edge of a zone")
    if drawn.learner == "quadratic-svr":
        b = oracles_svr.fit(K, y, lam, 0.1, oracles_smooth_hinge.even(n))[1]
        for F in drawn.folds.members:
            out[F] = oracles_svr.taylor(K, y, lam, 0.1, f - b, b, F, params["order"])[F]
        return out
    inside = right = K
    if "c" in params:
        inside = columns_of(drawn, params["c"])[0]
        right = K if params["rhs"] == "exact" else inside
    L = oracles_smooth_hinge.operator(inside, v, lam)
    inverse = solve(L, np.eye(n)).astype(np.float64)
    for F in drawn.folds.members:
        if newton:
            per_fold = drawn.ridge == "per-fold"
            out[F] = oracles_smooth_hinge.frozen(K, y, f, lam, hinge, F, per_fold)[F]
        else:
            more = inverse, f, u, v, lam, F, params["order"]
            out[F] = oracles_smooth_hinge.recursion(right, *more)[F]
    return out


def condition(K: Array, gamma: float, bias: bool) -> float:
    """Return the condition number, with what a bias may lose in addition."""
    s = np.maximum(np.linalg.eigvalsh(K), 0.0)
    return float((s[-1] + gamma) / (s[0] + gamma)) * (10.0 if bias else 1.0)


def error_of(drawn: Drawn, f: Array, loss: str, average: str, share: float) -> Slow:
    """Return the mean loss of predictions, and how much it changes if they are off by a share of their size."""
    y, folds = drawn.y, drawn.folds.members
    off = np.full(len(y), share * float(np.abs(y).max() + np.abs(f).max()))
    mean = oracles.MEANS[average]
    values, change = oracles.losses(loss, y, f), oracles.loss_bound(loss, y, f, off)
    return mean(values, folds), mean(change, folds)


def definition(drawn: Drawn, method: Method, lam: float) -> Slow:
    """Return the score of a method at one ridge by its definition, and the difference that rounding explains."""
    n, y, K, params = len(drawn.y), drawn.y, drawn.K, dict(method.params)
    square = drawn.learner in SQUARE
    # The ridge per fold is smaller, and so may be the least eigenvalue of the other rows.
    bias = not square or SQUARE[drawn.learner]
    share = EXACT / 10 + SHARE * n * EPS * condition(
        K, n * lam / 2, bias and drawn.learner != "smooth-hinge"
    )
    share += COLUMNS if drawn.learner.endswith("*") else 0.0 if square else 1e-7
    fixed, name, everyone = drawn.ridge == "fixed", method.criterion, [np.arange(n)]
    if name == "k-FBIF" or (name in ("k-Newton", "BIF-k-CV", "k-BIF") and not square):
        held = recursion(drawn, params, lam, name == "k-Newton")
        growth = float(n)
        if "c" in params:
            growth = float(np.linalg.norm(K, 2)) / lam
            share += columns_of(drawn, params["c"])[1]
        share *= (1 + growth) * 4 ** params.get("order", 1)
        return error_of(drawn, held, params["loss"], params["average"], share)
    if name in ("k-CV", "k-Newton", "k-KS", "k-CVKS"):
        held = trained_without(drawn, list(drawn.folds.members), lam, not fixed)
        value, change = error_of(drawn, held, params["loss"], params["average"], share)
        return value + (
            params["eta"] / n * oracles.stability(K) if "eta" in params else 0.0
        ), change
    if name in ("BIF-k-CV", "k-BIF"):
        held = series(drawn, lam, params["order"])
        return error_of(
            drawn, held, params["loss"], params["average"], share * 4 ** params["order"]
        )
    if name == "GCV":
        P, _ = hat_matrix(drawn, lam)
        value = float(np.mean((P @ y) ** 2) / np.mean(np.diagonal(P)) ** 2)
        return value, 4.0 * (share * value + share**2 * float(np.square(y).max()))
    if name in ("RKS", "SPS", "EP", "ER"):
        fitted = trained_without(drawn, everyone, lam, False)
        value, change = error_of(drawn, fitted, params["loss"], "points", share)
        if name == "RKS":
            return value + params["eta"] / n * oracles.stability(K), change
        if name == "SPS":
            return value + params["delta"] * oracles.spectral_perturbation(K), change
        if name == "EP":
            assert isinstance(drawn.kernel, Gaussian)
            penalty = params["eta"] * oracles.perturbation(drawn.X, K, drawn.kernel.tau)
            return value + penalty, change + 1e-9 * penalty
        s = np.sort(np.maximum(np.linalg.eigvalsh(K), 0.0))[::-1]
        count, unit = (
            max(1, round(params["t"] * n)),
            y.var() if params["loss"] == "squared" else 1.0,
        )
        return value / unit + params["eta"] * s[count:].sum() / s[
            :count
        ].sum(), change / unit + 1e-12 * n
    held = trained_without(drawn, oracles.singletons(n), lam, False)
    press, change = error_of(drawn, held, "squared", "points", share)
    if name == "BR":
        change = 0.5 * n * change / max(press, 1e-300)
        return oracles.bayesian_regularisation(y - held, drawn.kernel.regularised()), change
    if params["form"] == "press":
        return press, change
    margin, off = y * held, share * float(np.abs(y).max() + np.abs(held).max())
    if params["form"] == "error":
        return float(np.mean(margin <= 0)), float(np.mean(np.abs(margin) <= off))
    smooth = 1.0 / (1.0 + np.exp(np.minimum(params["slope"] * margin, 700.0)))
    return float(smooth.mean()), params["slope"] * off


# --- the comparison ----------------------------------------------------------------------------------


def methods(drawn: Drawn) -> Iterator[Method]:
    """Yield the criteria that fit the learner and the kernel, with every loss."""
    labels, k = drawn.labels, len(drawn.folds.members)
    asked: list[tuple[str, dict[str, Any]]] = [("k-CV", {}), ("k-KS", {}), ("ELOO", {}), ("BR", {})]
    asked += [(name, {}) for name in ("RKS", "SPS", "ER")]
    asked += [("k-CV", {"loss": loss}) for loss in ("zero-one", "hinge") if labels]
    asked += [("ELOO", {"form": form}) for form in ("error", "smoothed") if labels]
    if isinstance(drawn.kernel, Gaussian) and np.ptp(drawn.X):
        asked.append(("EP", {}))
    if drawn.learner in SQUARE:
        asked.append(("GCV", {}))
    asked += [("k-BIF", {}), ("BIF-k-CV", {"order": 2, "identity": 0.0})]
    if drawn.learner in ("krr", "smooth-hinge"):
        sides = [("k-FBIF", {"c": 0.5, "rhs": rhs}) for rhs in ("exact", "nystrom")]
        asked += [("k-Newton", {}), *sides]
    for name, params in asked:
        criterion = CRITERIA[name]
        defaults = dict(criterion.defaults)
        if "average" in defaults:
            params = {"average": drawn.average, **params}
        folds = k if criterion.takes_folds else None
        yield Method(name, name, folds, tuple(sorted({**defaults, **params}.items())))


@dataclass
class Tally:
    """Counts of what was found, and the reasons of exclusions."""

    counts: Counter[tuple[str, str]]
    reasons: Counter[str]
    show: int

    def compare(self, drawn: Drawn) -> None:
        """Compare all scores of a problem."""
        asked, name = list(methods(drawn)), drawn.learner.rstrip("*")
        more = {"given_folds": lambda _: drawn.folds, "ridge": drawn.ridge}
        side = side_of([drawn.kernel], drawn.X, drawn.y, drawn.lams, learner=name, **more)
        if drawn.learner.endswith("*"):
            side = replace(side, landmarks=np.arange(len(drawn.y)))
        found = score_kernel(side, drawn.kernel, asked)
        for method in asked:
            for i, lam in enumerate(drawn.lams):
                self.add(drawn, method, lam, float(found.scores[method][i]))
                why = found.reasons[method].get(i)
                if why is not None:
                    self.reasons[re.sub(r"-?[0-9.]+(e[-+]?[0-9]+)?", "#", why)[:90]] += 1

    def add(self, drawn: Drawn, method: Method, lam: float, score: float) -> None:
        """Compare one score."""
        label = f"{drawn.learner} {method.label}"
        self.counts[label, "scores"] += 1
        if not np.isfinite(score):
            self.counts[label, "excluded"] += 1
            return
        try:
            with np.errstate(all="ignore"):
                value, change = definition(drawn, method, lam)
        except (AssertionError, ValueError, ZeroDivisionError, np.linalg.LinAlgError):
            self.counts[label, "undefined"] += 1
            return
        difference = abs(score - value)
        if not np.isfinite(difference):
            self.counts[label, "undefined"] += 1
        elif difference > EXACT * max(1.0, abs(value)) + change:
            self.counts[label, "silent"] += 1
            if self.show > 0:
                self.show -= 1
                said = f"{score!r}, by definition {value!r}, allowed {change:.1e}"
                print(f"{label} {dict(method.params)} at lam={lam!r}: {said}")
                print(f"    {drawn}; folds {drawn.folds.numbers.tolist()}")
        elif difference > EXACT * max(1.0, abs(value)):
            self.counts[label, "explained"] += 1

    def report(self) -> int:
        """Print one line for each learner and criterion; return the number of silent differences."""
        print(f"{'':<26}" + "".join(f"{outcome:>11}" for outcome in OUTCOMES))
        for label in sorted({label for label, _ in self.counts}):
            print(f"{label:<26}" + "".join(f"{self.counts[label, o]:>11}" for o in OUTCOMES))
        totals = [
            sum(v for (_, o), v in self.counts.items() if o == outcome) for outcome in OUTCOMES
        ]
        print(f"{'all':<26}" + "".join(f"{total:>11}" for total in totals))
        for why, count in self.reasons.most_common():
            print(f"{count:>6} excluded: {why}")
        return totals[-1]


def main() -> int:
    """Draw, compare and count; return 1 if a difference is silent."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learner", choices=LEARNERS, action="append")
    parser.add_argument("--show", type=int, default=5, help="how many differences to print")
    arguments = parser.parse_args()
    tally, started = Tally(Counter(), Counter(), arguments.show), time.process_time()
    learners = arguments.learner or LEARNERS
    for number in range(arguments.problems):
        rng = np.random.default_rng([arguments.seed, number])
        tally.compare(draw(rng, learners[number % len(learners)]))
    silent = tally.report()
    spent = time.process_time() - started
    print(f"{arguments.problems} problems of seed {arguments.seed}, {spent:.0f} CPU seconds")
    return int(silent > 0)


if __name__ == "__main__":
    sys.exit(main())
