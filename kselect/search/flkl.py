r"""FLKL: the widths at the first level of inference, (lam, mu) by cross-validation (flkl2014, section 3).

The outer objective is the sum of squared k-fold errors of models whose widths minimise the regularised training
error of their own fold. Two searches minimise it over ``(log lam, log mu)``: our Levenberg-Marquardt, and the
paper's Nelder-Mead. With one width (RBF) both start at the solution of RBF-XVAL with ``mu = -g^T theta / theta^T
theta``, which makes that solution stationary along its own direction. With one width per feature (ARD) both start
at lam, mu and the width of RBF-FLKL, which the paper calls the corresponding model (section 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import Bounds, minimize

from kselect.core.method import Method
from kselect.kernels.widths import KernelWidths
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.search.continuous import (
    LAPLACIAN,
    SINGLE,
    KnownSolutions,
    Solution,
    State,
    Unit,
    continuous_search,
)
from kselect.search.first_level import Inner, InnerPoint, Settled, settle
from kselect.search.fold_fits import NEAR, FoldFits, FoldProblem, Follower
from kselect.search.levenberg_marquardt import Ended, least_squares
from kselect.search.quasi_newton import THETA_LIMITS, rbf

# The limits of (lam, mu), in the unit's features.
LIMITS = np.log([[1e-5, 1e3], [1e-6, 1e7]])
# How far folds may be from their minimum at the start: a single width bends alike in all folds, many widths do not.
ROUGH_ONE, ROUGH_MANY = 0.04, 0.02
# A search that ends without having converged is repeated with all fits this near to their minimum.
SHARP = 3e-4
# Nelder-Mead: the most evaluations, scipy's default for the size of the last simplex, and the limits of theta.
EVALUATIONS = 400
STILL = 1e-4
WIDTHS = (1e-12, 1e6)


@dataclass(frozen=True, eq=False)
class OuterProblem:
    """The rows in their unit, the problems of all folds, and the start ``u = (log lam, log mu)`` and theta."""

    unit: Unit
    ard: bool
    widths: KernelWidths
    y: Array
    folds: tuple[FoldProblem, ...]
    u: Array
    theta: Array

    @classmethod
    def of(
        cls,
        X: Array,
        y: Array,
        folds: Folds,
        start: Solution,
        *,
        ard: bool,
        absolute: bool = False,
        counts: Array | None = None,
    ) -> OuterProblem:
        """Return the problem with one width, or one per feature (ARD); ``counts`` are weights of the rows.

        ``start`` is the solution of RBF-FLKL, or of RBF-XVAL, which has no mu.
        """
        unit = Unit.of(X, y, absolute=absolute, counts=counts)
        widths, y = unit.widths(ard=ard), unit.weighed(y)
        u, theta = beginning(unit, widths, y, start)
        parts = tuple(FoldProblem.of(widths, y, F, unit.roots) for F in folds.members)
        return cls(unit, ard, widths, y, parts, u, theta)

    def mean(self, squares: float) -> float:
        """Return the mean over rows and targets from the sum of squared errors."""
        return squares / (self.unit.total * (self.y.size // len(self.y)))

    def inner(self, u: Array) -> Inner:
        """Return the inner problem on all rows."""
        lam, mu = np.exp(u).tolist()
        return Inner(self.widths, self.y, lam, mu, self.unit.roots)

    def solution(
        self, final: InnerPoint, theta: Array, value: float, evaluations: int, state: State
    ) -> Solution:
        """Return a solution in the unit of the original features."""
        problem, mu = final.problem, final.problem.mu * self.unit.factor**2
        theta = self.unit.outside(theta, ard=self.ard)
        return Solution(theta, problem.lam, value, evaluations, state, mu=mu)


def beginning(unit: Unit, widths: KernelWidths, y: Array, rbf: Solution) -> tuple[Array, Array]:
    """Return ``(log lam, log mu)`` and theta from the solution of RBF-FLKL, or of RBF-XVAL.

    RBF-FLKL has all three; a width of zero is set to its limit. RBF-XVAL may be close to a linear kernel, with
    theta and lam both near zero and mu without bound. There theta and lam times a common factor give nearly the
    same fit, so that the least power of ten is used that brings mu inside the limits.
    """
    theta, lam = float(unit.inside(rbf.theta, 1)[0]), rbf.lam
    if rbf.mu is not None:
        u = np.log([lam, rbf.mu / unit.factor**2])
        return np.clip(u, *LIMITS.T), np.full(widths.size, max(theta, THETA_LIMITS[0]))
    u = stationary(widths, y, np.full(widths.size, theta), lam, unit.roots)
    while u[1] > LIMITS[1, 1] and 10.0 * theta * widths.size <= 1.0:
        theta, lam = 10.0 * theta, 10.0 * lam
        u = stationary(widths, y, np.full(widths.size, theta), lam, unit.roots)
    return np.clip(u, *LIMITS.T), np.full(widths.size, theta)


def stationary(
    widths: KernelWidths, y: Array, theta: Array, lam: float, ones: Array | None = None
) -> Array:
    """Return ``(log lam, log mu)`` with ``mu = -g^T theta / theta^T theta``; minus infinity if no mu balances g."""
    pull = Inner(widths, y, lam, 0.0, ones).at(theta).gradient
    mu = max(0.0, -float(pull @ theta) / float(theta @ theta))
    return np.array([np.log(lam), np.log(mu) if mu else -np.inf])


def outer_problem(known: KnownSolutions, method: Method) -> OuterProblem:
    """Return the outer problem of a method; RBF starts from RBF-XVAL, ARD from RBF-FLKL."""
    ard, find = method.kernel in SINGLE, rbf_flkl if method.kernel in SINGLE else rbf
    folds, absolute = known.folds(method), method.kernel in LAPLACIAN
    assert folds is not None
    start = find(known, method)
    kind = {"ard": ard, "absolute": absolute}
    return OuterProblem.of(known.context.X, known.y, folds, start, counts=known.counts, **kind)


def rbf_flkl(known: KnownSolutions, method: Method) -> Solution:
    """Return the solution of RBF-FLKL, from which ARD-FLKL starts."""
    single = replace(method, kernel=SINGLE.get(method.kernel, method.kernel))
    key = ("RBF-FLKL", method.folds, single.kernel)
    return known.once(key, lambda: flkl(outer_problem(known, single)))


@continuous_search("flkl", paper="flkl2014", criteria=("k-CV",))
def first_level(known: KnownSolutions, method: Method) -> Solution:
    """The first level: widths by projected Newton with the exact Hessian, (lam, mu) by Levenberg-Marquardt."""
    return (
        flkl(outer_problem(known, method)) if method.kernel in SINGLE else rbf_flkl(known, method)
    )


@continuous_search("flkl-at", paper="flkl2014", criteria=("k-CV",))
def at_hyper_parameters(
    known: KnownSolutions, method: Method, *, lam: float = 1.0, mu: float = 1.0
) -> Solution:
    """The widths at one given (lam, mu): a point of the surface that flkl minimises."""
    problem, follower = outer_problem(known, method), Follower()
    u = np.log([lam, mu / problem.unit.factor**2])
    found = follower.first(problem.folds, u, problem.theta)
    ended: Ended[FoldFits] = Ended(u, found, (), 0, "converged")
    return summary(problem, ended, found.theta, follower)


@continuous_search("nelder-mead", paper="flkl2014", criteria=("k-CV",))
def by_nelder_mead(known: KnownSolutions, method: Method) -> Solution:
    """FLKL as the paper searched: Nelder-Mead over (lam, mu), the widths by gradient descent inside."""
    return nested_nelder_mead(outer_problem(known, method))


def flkl(problem: OuterProblem) -> Solution:
    """Minimise the outer objective with Levenberg-Marquardt."""
    ended, follower, foreseen = outer(problem)
    return summary(problem, ended, foreseen, follower)


def outer(problem: OuterProblem) -> tuple[Ended[FoldFits], Follower, Array]:
    """Search over ``(log lam, log mu)``; return the end, the follower, and a forecast of the widths of all rows."""
    single = problem.widths.size == 1
    follower = Follower(rough=ROUGH_ONE if single else ROUGH_MANY)
    begun = follower.first(problem.folds, problem.u, problem.theta)
    ended = search(follower, problem.u, begun)
    more = larger(problem.theta, begun.theta) if single else 1.0
    return ended, follower, more * ended.point.theta


def search(follower: Follower, u: Array, begun: FoldFits) -> Ended[FoldFits]:
    """Run Levenberg-Marquardt; repeat it with nearer fits if it ended with rough ones or did not converge."""
    ended = least_squares(follower, u, begun, LIMITS)
    if ended.point.unmade > NEAR:
        ended = once_more(follower, ended, NEAR)
    return ended if ended.state == "converged" else once_more(follower, ended, SHARP)


def once_more(follower: Follower, ended: Ended[FoldFits], near: float) -> Ended[FoldFits]:
    """Continue a search from its end with nearer fits; count the steps of both."""
    again = least_squares(follower, ended.u, follower.sharper(ended.point, near), LIMITS)
    return replace(again, steps=ended.steps + again.steps)


def larger(theta: Array, folds: Array) -> float:
    """Return how much larger the width of all rows is than the folds', from the start, where RBF is stationary."""
    return float(theta[0] / folds[0]) if folds[0] > 0.0 else 1.0


def summary(
    problem: OuterProblem, ended: Ended[FoldFits], foreseen: Array, follower: Follower
) -> Solution:
    """Find the widths of all rows at the end of an outer search, and return the solution."""
    final, errors = settle(problem.inner(ended.u), foreseen, unseen=True), ended.point.errors
    value, used = problem.mean(float(errors @ errors)), follower.evaluations + final.evaluations
    found = problem.solution(final.point, final.theta, value, used, ending(ended, final))
    return replace(found, steps=ended.steps, jumps=follower.jumps)


def ending(ended: Ended[FoldFits], final: Settled) -> State:
    """Return the state of a search: a change of branch, then an unfinished inner search, then the outer state."""
    if any(point.jumps for point in ended.refused):
        return "branch change"
    inner = [fit.state for fit in ended.point.fits] + [final.state]
    return next((state for state in inner if state != "converged"), ended.state)


@dataclass(eq=False)
class Nested:
    """The outer objective ``0.5 sum e^2`` as the paper computes it; counts inner evaluations."""

    problem: OuterProblem
    evaluations: int = 0

    def __call__(self, u: Array) -> float:
        """Solve the inner problem of every fold from the start."""
        total = 0.0
        for fold in self.problem.folds:
            point = self.settled(fold.inner(u))
            errors = fold.errors(fold.across.gram(point.theta), point.solution)
            total += 0.5 * float(np.sum(errors**2))
        return total

    def settled(self, inner: Inner) -> InnerPoint:
        """Return the inner minimum of L-BFGS in ``log theta``, from the start."""

        def in_logs(phi: Array) -> tuple[float, Array]:
            point = inner.at(np.exp(phi))
            return point.value, point.gradient * point.theta

        phi, limits = np.log(self.problem.theta), Bounds(*np.log(WIDTHS))
        found = minimize(in_logs, phi, jac=True, method="L-BFGS-B", bounds=limits)
        self.evaluations += int(found.nfev)
        return inner.at(np.exp(found.x))


def nested_nelder_mead(problem: OuterProblem) -> Solution:
    """Minimise the outer objective with the paper's search, about a hundred times slower than ``flkl``."""
    nested = Nested(problem)
    found = minimize(
        nested,
        problem.u,
        method="Nelder-Mead",
        bounds=Bounds(*LIMITS.T),
        options={"xatol": STILL, "fatol": STILL, "maxfev": EVALUATIONS},
    )
    point = nested.settled(problem.inner(found.x))
    state: State = "converged" if found.success else "iteration limit"
    value = problem.mean(2.0 * float(found.fun))
    solution = problem.solution(point, point.theta, value, nested.evaluations, state)
    return replace(solution, steps=int(found.nfev))
