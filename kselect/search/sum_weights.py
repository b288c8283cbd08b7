r"""The weights of a sum of kernels, learned like widths: multiple kernel learning (ecml2014, Remark 1).

``K_mu = sum_j mu_j K_j`` with ``mu >= 0`` and ``||mu||_p = 1``, p = 1 or 2. The search moves ``v >= 0`` and takes
``mu = v / ||v||_p``, so that the bounds of L-BFGS-B are all the constraints. A factor of v changes nothing:
the largest weight is held, and the others are relative to it. If another weight is the largest in the end, the
search continues with that one held. The units of v are the mean diagonal elements of the matrices.

The criterion is not convex in mu. The search starts from the best single kernel, from equal shares, and from equal
shares of the best kernel of each family, each at its best ridge of the grid, and keeps the lowest end. Its
minimum is thus never above the best single kernel's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kselect.core.method import Method
from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.kernels.sums import WeightedMatrices
from kselect.learners.lssvm_errors import slope
from kselect.numerics.linalg import Array
from kselect.search.continuous import (
    DIGITS,
    KnownSolutions,
    Solution,
    check_targets,
    weighed,
    weighted,
)
from kselect.search.descent import Effort, Objective, descend, error_function, score_of
from kselect.search.grid import score_kernels
from kselect.search.training_context import TrainingContext

# The limits of n lam, relative to the mean diagonal of the kernels: the ridge of a kernel with a diagonal of one.
LAM_LIMITS = (1e-7, 1e5)
# The largest weight relative to the held one, and how often another weight may become the held one.
LARGEST = 1e6
CHANGES = 4
# Weights below this share of the largest are set to zero if that raises the score by at most the share EQUAL. Of
# ends whose scores differ by less, the one with the fewest kernels is kept.
SMALL, EQUAL = 1e-3, 1e-6


@dataclass(frozen=True)
class Shares:
    """``mu = v / ||v||_p`` with ``v = u / units``; u of the kernel number ``held`` is 1 and not moved."""

    units: Array
    p: int
    held: int

    def weights(self, u: Array) -> Array:
        """Return v."""
        return np.insert(u, self.held, 1.0) / self.units

    def theta(self, u: Array) -> Array:
        """Return mu."""
        v = self.weights(u)
        return v / float(np.linalg.norm(v, self.p))

    def pulled(self, u: Array, theta: Array, gradient: Array) -> Array:
        """Return ``(g - (g' mu) mu^(p-1)) / (||v||_p units)`` without the held kernel."""
        size = float(np.linalg.norm(self.weights(u), self.p))
        normal = theta if self.p == 2 else np.ones_like(theta)
        whole = (gradient - float(gradient @ theta) * normal) / (size * self.units)
        return np.delete(whole, self.held)

    @classmethod
    def around(cls, mu: Array, units: Array, p: int) -> tuple[Shares, Array]:
        """Return the coordinates that hold the largest of some weights, and u of these weights."""
        u = mu * units
        held = int(np.argmax(u))
        return cls(units, p, held), np.delete(u / u[held], held)


@dataclass(frozen=True)
class WeighedStart:
    """Weights and a ridge with their score from the search over the grid."""

    mu: Array
    lam: float
    score: float


def learn_weights(known: KnownSolutions, method: Method, effort: Effort, p: int) -> Solution:
    """Return the weights with the lowest score, including the best single kernel."""
    context, parts = known.context, known.parts(method.kernel)
    check_targets(known.y)
    roots = None if known.counts is None else np.sqrt(known.counts)
    moved = WeightedMatrices(parts, context.points, roots)
    units = moved.scales
    singles = scored(context, method, parts, np.eye(len(parts)))
    best = min(singles, key=lambda start: start.score)
    if not np.isfinite(best.score):
        raise TrialError("no kernel of the sum has a finite score")
    mixtures = scored(context, method, parts, mixed(parts, singles, units, p))
    score = score_of(method)
    errors = error_function(known.folds(method), score["by_folds"])
    objective = Objective(errors, moved, weighed(known.y, roots), eta=score["eta"], ones=roots)
    zeros = len(parts) - 1
    found = [Solution(best.mu, best.lam * moved.total, best.score, 0, "converged", zeros)]
    for start in (best, *mixtures):
        if np.isfinite(start.score):
            ridge = replace(start, lam=start.lam * moved.total)
            found.append(ended_from(objective, ridge, units, p, method, effort))
    evaluations = sum(one.evaluations for one in found)
    least = min(one.value for one in found)
    near = [one for one in found if one.value <= least * (1.0 + EQUAL)]
    lowest = max(near, key=lambda one: (one.held, -one.value))  # the fewest kernels
    # At the best single kernel the search may end where it started; its state is that of the end.
    state = found[1].state if lowest is found[0] and len(found) > 1 else lowest.state
    return replace(lowest, evaluations=evaluations, state=state)


def mixed(
    parts: tuple[Kernel, ...], singles: Sequence[WeighedStart], units: Array, p: int
) -> Array:
    """Return equal shares of the diagonals for all kernels, and for the best kernel of each family."""
    best: dict[str, int] = {}
    for i in sorted(range(len(parts)), key=lambda i: singles[i].score):
        best.setdefault(parts[i].name, i)
    rows = np.zeros((2, len(parts)))
    rows[0], rows[1, list(best.values())] = 1.0, 1.0
    mu = rows / units
    mu /= np.linalg.norm(mu, p, axis=1, keepdims=True)
    return mu if 1 < len(best) < len(parts) else mu[:1]


def scored(
    context: TrainingContext, method: Method, parts: tuple[Kernel, ...], weights: Array
) -> list[WeighedStart]:
    """Return each row of weights at its best ridge of the grid, or at the method's own."""
    single = replace(method, search=None, kernel="", lam=None)
    sums = tuple(weighted(parts, mu.tolist()) for mu in weights)
    grid = replace(context, kernels=sums, keeps_held_out=False)
    found = []
    for mu, visit in zip(weights, score_kernels(grid, (single,)), strict=True):
        scores, lams = visit.scores[single], np.array(context.lams)
        if method.lam is not None:
            scores = np.where(lams == method.lam, scores, np.inf)
        i = int(np.argmin(scores))
        found.append(WeighedStart(mu, float(lams[i]), float(scores[i])))
    return found


def ended_from(
    objective: Objective, start: WeighedStart, units: Array, p: int, method: Method, effort: Effort
) -> Solution:
    """Return the end of the search from a start, with the digits that the kernel keeps and its score there.

    The ridge of the start is n times the lam of the grid.
    """
    ended = Solution(start.mu, start.lam, start.score, 0, "converged")
    used, held = 0, -1  # the kernel that is held
    for _ in range(CHANGES):
        shares, u = Shares.around(ended.theta, units, p)
        if shares.held == held or ended.state == "iteration limit":
            break
        held, log_lam = shares.held, float(np.log(ended.lam))
        low, high = np.log(LAM_LIMITS) if method.lam is None else (log_lam, log_lam)
        ends = min(low, log_lam), max(high, log_lam)
        bounds = np.array([*[(0.0, LARGEST)] * len(u), ends])
        moving = replace(objective, coordinates=shares)
        ended = descend(moving, np.append(u, log_lam), bounds, effort)
        used += ended.evaluations
    sparse = np.where(ended.theta * units < SMALL * (ended.theta * units).max(), 0.0, ended.theta)
    options = [rounded(objective, ended, mu, p) for mu in (sparse, ended.theta)]
    better = options[0].value <= options[1].value * (1.0 + EQUAL)
    return replace(options[0] if better else options[1], evaluations=used)


def rounded(objective: Objective, ended: Solution, mu: Array, p: int) -> Solution:
    """Return an end with these weights, with the digits that a kernel keeps, and its score there."""
    mu = mu / float(np.linalg.norm(mu, p))
    mu = np.array([float(f"{value:.{DIGITS}g}") for value in mu])
    one, y = objective, objective.y
    squares, penalty, _ = slope(one.errors, one.moved, y, mu, ended.lam, ones=one.ones, eta=one.eta)
    total = len(y) if one.ones is None else float(one.ones @ one.ones)
    value = 2.0 * (float(squares.sum()) + penalty) / (total * len(squares))
    held = int((mu == 0.0).sum())
    return replace(ended, theta=mu, value=value, held=held)
