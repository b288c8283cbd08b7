"""Compare the derivatives, held-out errors and inner minima of flkl2014 with their definitions.

    python tests/campaigns/gradients.py [--problems 200] [--first 0] [-v]

Start it by hand; it takes some minutes. The problems are random, none from the papers: 40 to 200
rows, 1 to 20 features, widths of all sizes including zeros, ridges over six decades, classes and
numbers as targets; scikit-learn's data sets, and synthetic ones with equal rows, whole numbers,
heavy tails, nearly equal features, constant features. For RBF and ARD it compares:

* LOO, k-CV: the error of every row or fold with retraining, relative to the largest; the gradients
  in theta (at zero from both sides) and lam, and BR's in the logarithms, with central differences
  of an independent definition;
* inner: the gradient of L with central differences of L, its Hessian with those of the gradient;
* minimum: the projected gradient at the end of the inner search, relative to the largest sum of the
  absolute values of its two terms, on one fold and at the widths that ``flkl`` reports;
* Jacobian: every held-out error's derivative in (log lam, log mu) with central differences of
  minima that Newton's method on the definition's gradient has polished;
* objective: the value that ``flkl`` reports with retraining at the minima near the end of its path;
  skipped if ``flkl`` counted a jump, which permits a mismatch.

Gaps of derivatives are relative to the largest derivative of the same kind. Differences use several
steps and the best one counts: short steps show rounding, long ones higher derivatives. It prints
the worst gap of each kind, and every problem above a limit.
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

import numpy as np
from oracles_flkl import (
    Array,
    Index,
    derivative,
    differences,
    fit,
    held_out_errors,
    kernel,
    objective,
)
from sklearn import datasets

from kselect.errors import TrialError
from kselect.kernels.widths import KernelWidths
from kselect.learners.lssvm_errors import KFoldErrors, LeaveOneOutErrors, slope
from kselect.numerics.folds import Folds, draw_folds
from kselect.search.continuous import Unit
from kselect.search.first_level import Inner
from kselect.search.flkl import OuterProblem, flkl
from kselect.search.flkl import outer as outer_search
from kselect.search.fold_fits import FoldProblem
from kselect.search.quasi_newton import Objective, minimise

LIMITS = {
    "LOO": 1e-10,
    "k-CV": 1e-10,
    "LOO'": 1e-6,
    "k-CV'": 1e-6,
    "BR'": 1e-6,
    "L'": 1e-6,
    "L''": 1e-6,
    "minimum": 1e-6,
    "Jacobian": 1e-6,
    "widths": 1e-6,
    "objective": 1e-4,
}
# Steps of the differences, relative to the scale of a variable. Short steps are for kernel matrices of low
# rank with a small ridge, which are not positive definite as soon as a width is negative.
SHARES = tuple((3.0 * 10.0 ** -np.arange(2.0, 10.0)).tolist())
# Below this gap no other step is tried.
FINE = 1e-9
# The number of rows that must differ from a feature's most frequent value; with fewer rows every derivative
# is dominated by rounding.
RARE = 5
SETS = ("iris", "wine", "breast_cancer", "diabetes", "digits")
Worst = dict[str, float]

# --- the problems ----------------------------------------------------------------------------------


def made(rng: np.random.Generator, kind: str, n: int, d: int) -> Array:
    """Return rows of one kind."""
    X = rng.normal(size=(n, d))
    if kind == "equal rows":
        X[n // 2 :] = X[: n - n // 2]
    elif kind == "whole numbers":
        X = rng.integers(0, 4, size=(n, d)).astype(float)
    elif kind == "heavy tails":
        X = rng.standard_t(2.5, size=(n, d))
    elif kind == "nearly equal features":
        X = X[:, :1] + 1e-3 * X
    elif kind == "a constant feature" and d > 1:
        X[:, -1] = 3.0
    elif kind == "another scale":
        X = X * 10.0 ** rng.uniform(-1, 1, size=d)
    return X


KINDS = (
    "normal",
    "equal rows",
    "whole numbers",
    "heavy tails",
    "nearly equal features",
    "a constant feature",
    "another scale",
    *SETS,
)


def differing(x: Array) -> int:
    """Return the number of rows that differ from the most frequent value."""
    return len(x) - int(np.unique(x, return_counts=True)[1].max())


def problem(number: int) -> tuple[str, Array, Array, np.random.Generator]:
    """Return rows in the unit of the searches, with two classes or a numeric target."""
    rng = np.random.default_rng([number, 2014])
    kind, n, d = KINDS[number % len(KINDS)], int(rng.integers(40, 201)), int(rng.integers(1, 21))
    if kind in SETS:
        X = np.asarray(getattr(datasets, f"load_{kind}")().data, dtype=float)
        X = X[rng.permutation(len(X))[:n]]
        X = X[:, rng.permutation([r for r in range(X.shape[1]) if differing(X[:, r]) >= RARE])[:d]]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    else:
        X = made(rng, kind, n, d)
    X = X - X.mean(axis=0)
    X /= X.std() or 1.0
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, -1] + 0.5 * rng.normal(size=len(X))
    return kind, X, np.where(y > np.median(y), 1.0, -1.0) if number % 3 else y, rng


def place(rng: np.random.Generator, size: int, d: int) -> tuple[Array, float, float]:
    """Draw theta with some zeros, lam and mu."""
    theta = rng.exponential(size=size) * 10.0 ** rng.uniform(-2, 0.5) / d
    if size > 1:
        theta[rng.permutation(size)[: rng.integers(0, size)]] = 0.0
    return theta, 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-2, 3)


# --- gaps -------------------------------------------------------------------------------------------


def over(gap: Array, size: Array) -> float:
    """Return the largest gap relative to the largest size."""
    return float(np.abs(gap).max(initial=0.0) / (np.abs(size).max(initial=0.0) or 1.0))


def against(found: Array, f: Callable[[Array], float | Array], x: Array, reach: Array) -> float:
    """Compare a gradient with central differences along the last axis, at the best step."""

    def moved(r: int, value: float) -> float | Array:
        point = x.copy()
        point[r] = value
        return f(point)

    def gradient(share: float) -> Array:
        every = [
            np.asarray(derivative(partial(moved, r), x[r], share * reach[r])) for r in range(len(x))
        ]
        return np.stack(every, axis=-1)

    best = np.inf
    for share in SHARES:
        expected = gradient(share)
        best = min(best, over(found - expected, expected))
        if best <= FINE:
            break
    return best


# --- definitions -----------------------------------------------------------------------------------


def loo_errors(K: Array, y: Array, lam: float) -> Array:
    """Return errors from the inverse of the bordered system."""
    n, one = len(y), np.ones((len(y), 1))
    inverse = np.linalg.inv(np.block([[K + lam * np.eye(n), one], [one.T, np.zeros((1, 1))]]))
    return np.asarray((inverse[:n, :n] @ y) / np.diagonal(inverse)[:n])


def half_squares(
    errors: Callable[[Array, Array, float], Array], D: Array, y: Array
) -> Callable[[Array], float]:
    """Return ``Q`` as a function of theta and, in the last place, lam."""
    return lambda at: 0.5 * float(np.sum(errors(kernel(D, at[:-1]), y, float(at[-1])) ** 2))


def shifted(value: Callable[[Array], float], at: Array, far: Array, shares: Array) -> float:
    """Return a value moved by a multiple of its step."""
    return value(at + shares * far)


def inner_gradient(D: Array, y: Array, lam: float, mu: float, theta: Array) -> Array:
    """Return ``-(lam/2) alpha' (K o -D_r) alpha + mu theta_r``."""
    K = kernel(D, theta)
    alpha, _ = fit(K, y, lam)
    pull = np.array([alpha @ (K * one) @ alpha for one in D])
    return np.asarray(0.5 * lam * pull + mu * theta)


def polished(D: Array, y: Array, lam: float, mu: float, theta: Array, H: Array) -> Array:
    """Return the minimum nearby, by Newton's method on the definition's gradient."""
    theta, positive = theta.copy(), theta > 0.0
    for _ in range(40):
        step = np.linalg.solve(H, inner_gradient(D, y, lam, mu, theta)[positive])
        theta[positive] -= step
        if np.abs(step).max(initial=0.0) <= 1e-14 * np.abs(theta).max():
            break
    return theta


def unsettled(D: Array, y: Array, lam: float, mu: float, theta: Array) -> float:
    """Return the projected gradient relative to the largest sum of its absolute terms."""
    g = inner_gradient(D, y, lam, mu, theta)
    projected = np.where(theta > 0.0, g, np.minimum(g, 0.0))
    return over(projected, np.abs(g - mu * theta) + mu * np.abs(theta))


# --- the comparisons --------------------------------------------------------------------------------


def reach(D: Array) -> Array:
    """Return the scale of theta for each width."""
    return np.asarray(1.0 / np.maximum(D.max(axis=(1, 2)), 1e-3))


def second_level(
    widths: KernelWidths, D: Array, y: Array, folds: Folds, theta: Array, lam: float
) -> Iterator[tuple[str, float]]:
    """Compare LOO, k-CV and BR at one place."""
    K, n = kernel(D, theta), len(y)
    rows: list[Index] = [np.array([i]) for i in range(n)]
    members = list(folds.members)
    k_fold = partial(held_out_errors, members=members)
    at, far = np.append(theta, lam), np.append(reach(D), lam)
    kinds = (("LOO", LeaveOneOutErrors, rows, loo_errors), ("k-CV", KFoldErrors, members, k_fold))
    for name, criterion, left_out, errors in kinds:
        make = criterion if name == "LOO" else partial(KFoldErrors, folds=folds)
        expected = held_out_errors(K, y, lam, left_out)
        yield name, over(make(widths.gram(theta), y, lam).errors - expected, expected)
        *_, found = slope(make, widths, y, theta, lam)
        # in units of the steps, so that no component is hidden by the unit of another
        gradient = found * far
        value = half_squares(errors, D, y)
        in_shares = partial(shifted, value, at, far)
        yield f"{name}'", against(gradient, in_shares, 0.0 * at, np.ones_like(at))
    yield "BR'", regularised(widths, D, y, np.maximum(theta, 0.01 / len(theta)), lam)


def regularised(widths: KernelWidths, D: Array, y: Array, theta: Array, lam: float) -> float:
    """Compare the gradient of ``(n/2) log Q + (d/2) log Omega``; the search's is 2/n of that."""
    press, n = half_squares(loo_errors, D, y), len(y)

    def value(u: Array) -> float:
        at = np.exp(u)
        omega = 0.5 * float(at[:-1] @ at[:-1])
        return 0.5 * n * np.log(press(at)) + 0.5 * len(theta) * np.log(omega)

    u = np.log(np.append(theta, lam))
    found = Objective(LeaveOneOutErrors, widths, y, prior=len(theta))(u)[1] * 0.5 * n
    return against(found, value, u, np.ones_like(u))


def inner(
    widths: KernelWidths, D: Array, y: Array, theta: Array, lam: float, mu: float
) -> Iterator[tuple[str, float]]:
    """Compare the gradient and Hessian of L at one place, in units of the steps."""
    point, far = Inner(widths, y, lam, mu).at(theta), reach(D)

    def value(v: Array) -> float:
        moved = theta + v * far
        return objective(kernel(D, moved), y, lam, mu, moved)

    def free_gradient(v: Array) -> Array:
        moved = theta.copy()
        moved[free] += v * far[free]
        return inner_gradient(D, y, lam, mu, moved)[free] * far[free]

    yield "L'", against(point.gradient * far, value, 0.0 * theta, np.ones_like(theta))
    free = point.free
    H = point.hessian * np.outer(far[free], far[free])
    yield "L''", against(H, free_gradient, np.zeros(len(free)), np.ones(len(free)))


def outer(
    widths: KernelWidths, X: Array, y: Array, held: Index, start: Array, u: Array, *, ard: bool
) -> Iterator[tuple[str, float]]:
    """Compare one fold's minimum and its errors' derivatives in (log lam, log mu)."""
    rest = np.setdiff1d(np.arange(len(y)), held)
    inside, across = (differences(X[rows], X[rest], one=not ard) for rows in (rest, held))
    found = FoldProblem.of(widths, y, held).fit(u, start, near=0.0)
    if found.state != "converged":
        raise TrialError(f"the inner search ended with {found.state}")
    lam, mu = np.exp(u).tolist()
    yield "minimum", unsettled(inside, y[rest], lam, mu, found.theta)
    point = Inner(widths.part(rest, rest), y[rest], lam, mu).at(found.theta)
    chosen = np.isin(point.free, np.flatnonzero(found.theta > 0.0))
    H = point.hessian[np.ix_(chosen, chosen)]

    def errors(at: Array) -> Array:
        here = np.exp(at).tolist()
        theta = polished(inside, y[rest], *here, found.theta, H)
        alpha, bias = fit(kernel(inside, theta), y[rest], here[0])
        return np.asarray(y[held] - kernel(across, theta) @ alpha - bias)

    yield "Jacobian", against(found.jacobian, errors, u, np.ones(2))


def whole(X: Array, y: Array, folds: Folds, *, ard: bool) -> Iterator[tuple[str, float]]:
    """Compare the widths and the objective that ``flkl`` reports, in the original features."""
    start = minimise(X, y, folds)
    whole_problem = OuterProblem.of(X, y, folds, start, ard=ard)
    found = flkl(whole_problem)
    D = differences(X, X, one=not ard)
    yield "widths", unsettled(D, y, found.lam, found.mu, found.theta)
    unit, errors = whole_problem.unit, np.empty_like(y)
    ended, _, _ = outer_search(whole_problem)
    D = differences(unit.X, unit.X, one=not ard)
    for F, fit_there in zip(folds.members, ended.point.fits, strict=True):
        theta = fit_there.problem.fit(ended.u, fit_there.theta, near=0.0).theta
        errors[F] = held_out_errors(kernel(D, theta), y, float(np.exp(ended.u[0])), [F])[F]
    if not found.jumps:
        yield "objective", abs(found.value / float(np.mean(errors**2)) - 1.0)


def compare(number: int, *, ard: bool) -> Iterator[tuple[str, float]]:
    """Compare everything for one problem and one kernel."""
    _, X, y, rng = problem(number)
    unit = Unit.of(X, y)
    widths, d = unit.widths(ard=ard), unit.X.shape[1]
    D = differences(unit.X, unit.X, one=not ard)
    folds = draw_folds(len(y), 5, rng)
    theta, lam, mu = place(rng, widths.size, d)
    yield from second_level(widths, D, y, folds, theta, lam)
    yield from inner(widths, D, y, theta, lam, mu)
    u, start = np.log([lam, mu]), np.full(widths.size, 1.0 / d)
    yield from outer(widths, unit.X, y, folds.members[0], start, u, ard=ard)
    yield from whole(X, y, folds, ard=ard)


def main() -> None:
    """Run the comparisons and print their gaps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each problem")
    arguments = parser.parse_args()
    total: Worst = dict.fromkeys(LIMITS, 0.0)
    beyond = 0
    print(f"{'problem':<46}" + "".join(f"{name:>11}" for name in LIMITS))
    for number in range(arguments.first, arguments.first + arguments.problems):
        kind, X, _, _ = problem(number)
        for ard in (False, True):
            name = f"{number} {kind} {X.shape[0]} x {X.shape[1]} {'ARD' if ard else 'RBF'}"
            try:
                found = dict(compare(number, ard=ard))
            except TrialError as error:
                print(f"{name:<46} {error}", flush=True)
                continue
            wrong = any(value > LIMITS[k] for k, value in found.items())
            beyond += wrong
            total = {k: max(v, found.get(k, 0.0)) for k, v in total.items()}
            if wrong or arguments.verbose:
                print(f"{name:<46}" + shown({k: found.get(k, 0.0) for k in LIMITS}), flush=True)
    print(f"{'worst':<46}" + shown(total))
    print(f"{'limit':<46}" + shown(LIMITS))
    print(f"{2 * arguments.problems} searches, {beyond} with a gap above its limit")


def shown(found: Worst) -> str:
    """Format numbers, with an exclamation mark above the limit."""
    return "".join(f"{v:>10.1e}{' ' if v <= LIMITS[k] else '!'}" for k, v in found.items())


if __name__ == "__main__":
    main()
