r"""FLKL as the paper searched: Nelder-Mead over ``(log lam, log mu)``, gradient descent inside (flkl2014).

The same objective, start and limits as ``flkl``; each inner problem is solved anew by L-BFGS in ``phi = log theta``
from the widths of the start. For comparison: some hundred times slower than ``flkl``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, minimize

from kselect.core.method import Method
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.search.continuous import FirstLevel, SecondLevel, State, Unit, require_targets
from kselect.search.first_level import Inner, Point
from kselect.search.flkl import LIMITS, beginning
from kselect.search.held_out_fits import Fold
from kselect.search.kinds import Solutions, search_kind
from kselect.search.quasi_newton import minimise_k_fold, rbf

EVALUATIONS = 400
# scipy's own: the size of the last simplex, in the logarithms and in the objective.
STILL = 1e-4
# Where theta may be in the unit's features; its logarithm cannot reach zero.
WIDTHS = (1e-12, 1e6)


@dataclass(eq=False)
class Nested:
    """The outer objective ``0.5 sum e^2`` as a function of ``(log lam, log mu)``; counts inner evaluations."""

    folds: Sequence[Fold]
    theta: Array
    evaluations: int = 0

    def __call__(self, u: Array) -> float:
        """Every fold anew."""
        total = 0.0
        for fold in self.folds:
            point = self.settled(fold.inner(u))
            fitted = fold.across.gram(point.theta) @ point.solution.alpha + point.solution.bias
            total += 0.5 * float(np.sum((fold.targets - fitted) ** 2))
        return total

    def settled(self, inner: Inner) -> Point:
        """The inner minimum by L-BFGS from the start."""

        def in_logs(phi: Array) -> tuple[float, Array]:
            point = inner.at(np.exp(phi))
            return point.value, point.gradient * point.theta

        phi = np.log(self.theta)
        found = minimize(in_logs, phi, jac=True, method="L-BFGS-B", bounds=Bounds(*np.log(WIDTHS)))
        self.evaluations += int(found.nfev)
        return inner.at(np.exp(found.x))


def nested_nelder_mead(
    X: Array, y: Array, folds: Folds, *, ard: bool = True, start: SecondLevel | None = None
) -> FirstLevel:
    """FLKL by nested Nelder-Mead; arguments and result as those of ``flkl``."""
    require_targets(X, y)
    unit = Unit.of(X)
    widths = unit.widths(ard=ard)
    u, theta = beginning(unit, widths, y, start or minimise_k_fold(X, y, folds))
    nested = Nested([Fold.of(widths, y, F) for F in folds.members], theta)
    found = minimize(
        nested,
        u,
        method="Nelder-Mead",
        bounds=Bounds(*LIMITS.T),
        options={"xatol": STILL, "fatol": STILL, "maxfev": EVALUATIONS},
    )
    point = nested.settled(Inner(widths, y, *np.exp(found.x).tolist()))
    state: State = "converged" if found.success else "iteration limit"
    return FirstLevel(
        theta=unit.outside(point.theta, ard=ard),
        lam=point.problem.lam,
        mu=point.problem.mu * unit.square**2,
        objective=2.0 * float(found.fun) / len(y),
        state=state,
        evaluations=nested.evaluations,
        steps=int(found.nfev),
        jumps=0,
    )


@search_kind("nelder-mead", paper="flkl2014", criteria=("k-CV",))
def by_nelder_mead(solutions: Solutions, method: Method) -> FirstLevel:
    """FLKL as the paper searched: Nelder-Mead over (lam, mu), the widths by gradient descent inside."""
    context = solutions.context
    assert method.folds is not None
    folds, start = context.folds(method.folds), rbf(solutions, method.folds)
    return nested_nelder_mead(
        context.X, solutions.y, folds, ard=method.kernel == "ard", start=start
    )
