r"""The minimum of k-fold cross-validation with the squared loss on many rows, without a decomposition.

1. Every kernel is visited once. Conjugate gradients on all its ridges and folds at once narrow an interval for each
   score (certified.py). A ridge is dropped when the lower end exceeds the lowest upper end so far. It is set aside
   when its interval is narrow, or when further steps would cost more than its factorizations.
2. The ridges that are still open are settled exactly, the most promising kernel first: one Cholesky factor of the
   other rows for each fold, until the sum of exact errors and lower ends exceeds the best score.

If there are many rows, one kernel matrix is in memory at a time, and all threads work on it. The bounds need a
positive semidefinite kernel matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from kselect.errors import DataError, TrialError
from kselect.learners.factor import Factor, factorise
from kselect.numerics.linalg import EPS, Array, Mask, row_sizes
from kselect.numerics.tiles import Crew
from kselect.search import pruned_square
from kselect.search.certified import CertifiedSystems, Intervals, Spread
from kselect.search.column_preconditioner import ColumnBases
from kselect.search.pruned_grid import Ahead, BestPair, Candidate, FoldedGrid, Pruned, in_threads
from kselect.search.retraining import Retraining

# From this number of rows on, conjugate gradients are cheaper than starting with the tridiagonal form.
MANY = 700
# Below this number of rows, a kernel with so many open ridges is left to the tridiagonal form, whose matrices take
# more memory. More rows make a factorization cheaper, relative to the tridiagonal form.
FEWER, CROWD = 3000, 2
# A ridge is set aside when its interval is this narrow, relative to its score.
NARROW = 1e-4
# It is also set aside when its steps would in all cost this multiple of its factorizations, at the present pace.
# Factorizations of FOLDS_TRIED folds are counted, but some ridges need more.
FORESEEN = 2.0
# Folds that are factorised before a ridge is dropped, usually.
FOLDS_TRIED = 3
# A product with s vectors takes as long as this many operations of a factorization: PER_VECTOR (s + SHARED) n^2.
PER_VECTOR, SHARED = 2.8, 17.0
# Steps over which the speed of convergence is measured.
PACE = 4
# A matrix is indefinite if a factor of it fails with this many roundings per row on the diagonal.
UNSURE = 4.0


@dataclass(frozen=True, eq=False)
class Open:
    """A ridge that the intervals leave: lower ends and best guesses (folds,)."""

    kernel: int
    candidate: Candidate

    @property
    def guess(self) -> float:
        """The best guess of the score."""
        return float(self.candidate.expected.sum())


@dataclass(eq=False)
class Gradients:
    """The search on one grid: the kernels' matrices in fold order, and the best pair so far.

    ``unproven`` names the kernels that must be tested.
    """

    grams: Sequence[Callable[[], Array]]
    unproven: Mapping[int, str]
    best: BestPair
    crew: Crew
    left: list[Open] = field(default_factory=list)

    def narrow(self, kernel: int) -> None:
        """Drop the ridges of one kernel that conjugate gradients can drop, and note the others."""
        grid, best = self.best.grid, self.best
        best.count(kernels=1)
        K = self.grams[kernel]()
        spread = Spread.of(K, grid, self.crew)
        ridges = np.argsort(grid.lams, kind="stable")
        gammas = grid.fold_gammas(ridges)
        if kernel in self.unproven and not is_semidefinite(K, spread.rows, self.crew):
            raise DataError(
                f"the kernel {self.unproven[kernel]} is not positive semidefinite on these rows, so that least "
                "squares with it has no minimum: choose another kernel"
            )
        if not gammas.min() > hidden(grid.n, spread.rows):
            pruned_square.judge(kernel, K, grid, best, make)
            return
        columns = ColumnBases.of(K, grid, self.crew)
        systems = CertifiedSystems(K, grid, gammas, spread, columns, self.crew)
        pace = Pace(systems)
        while True:
            found = systems.intervals()
            best.bound(float(found.upper.sum(axis=1).min()))
            dropped = found.lower.sum(axis=1) > best.limit
            aside = ~dropped & pace.ends(found, best.limit)
            for i in np.flatnonzero(aside).tolist():
                one = Candidate(int(ridges[i]), found.lower[i], found.guess[i])
                self.left.append(Open(kernel, one))
            best.count(iterated=int(dropped.sum()) if systems.steps else 0)
            keep = ~(dropped | aside)
            if not keep.any():
                return
            ridges = ridges[keep]
            pace.keep(keep)
            systems.keep(keep)
            systems.step()

    def settle(self, kernel: int) -> None:
        """Settle the open pairs of one kernel exactly."""
        grid, best = self.best.grid, self.best
        every = [one.candidate for one in self.left if one.kernel == kernel]
        mine = [one for one in every if one.bounds.sum() <= best.limit]
        best.count(iterated=len(every) - len(mine))
        if not mine:
            return
        K = self.grams[kernel]()
        if not keeps_few_matrices(grid.n) and (len(mine) >= CROWD or self.doubts(K, mine)):
            known = np.full((len(grid.lams), len(grid.sizes)), np.inf)
            for one in mine:
                known[one.ridge] = one.bounds
            pruned_square.judge(kernel, K, grid, best, make, known)
            return
        best.count(kernels_fitted=1)
        fits = Retraining(K, grid, self.crew)
        for one in sorted(mine, key=lambda one: (float(one.expected.sum()), one.ridge)):
            best.try_folds(kernel, one, fits.loss, fits.held)

    def doubts(self, K: Array, some: Sequence[Candidate]) -> bool:
        """Return whether rounding hides differences of scores if candidates are trained without each fold."""
        least = self.best.grid.fold_gammas(np.array([one.ridge for one in some])).min()
        return bool(EPS * float(row_sizes(K).max()) > pruned_square.DOUBT * least)

    def promising(self) -> list[int]:
        """Return the kernels with open pairs, the lowest guess first."""
        lowest: dict[int, float] = {}
        for one in self.left:
            lowest[one.kernel] = min(lowest.get(one.kernel, np.inf), one.guess)
        return sorted(lowest, key=lambda kernel: (lowest[kernel], kernel))


class Pace:
    """The cost of each open ridge's steps, and how fast its interval becomes narrow."""

    def __init__(self, systems: CertifiedSystems) -> None:
        self.systems = systems
        self.spent = np.zeros(len(systems.gammas))
        self.reaches: list[Array] = []

    def ends(self, found: Intervals, limit: float) -> Mask:
        """Return the ridges that are set aside."""
        systems, grid = self.systems, self.systems.grid
        open_ridges, per_ridge = len(self.spent), int(np.prod(systems.r.shape[1:3]))
        n, per_vector = grid.n, PER_VECTOR * grid.n**2
        if systems.columns is not None:
            per_vector *= 1.0 + 2.0 * len(systems.columns.B) / n
        cost = per_vector * (per_ridge + SHARED / open_ridges)
        if systems.steps:
            self.spent += cost
        rest = grid.n - grid.sizes
        whole = FOLDS_TRIED * float((rest.astype(float) ** 3).mean()) / 3.0
        upper, lower, guess = (
            np.sqrt(a.sum(axis=1)) for a in (found.upper, found.lower, found.guess)
        )
        reach = np.maximum(upper - guess, guess - lower)
        self.reaches.append(reach)
        done = found.width() <= NARROW
        if len(self.reaches) <= PACE:
            return np.asarray(done)
        margin = np.maximum(guess - np.sqrt(limit), NARROW * guess)
        with np.errstate(divide="ignore", invalid="ignore"):
            speed = np.log(self.reaches[-1 - PACE] / reach) / PACE
            steps = np.where(speed > 0, np.log(reach / margin) / speed, np.inf)
        goes_on = self.spent + np.maximum(steps, 0.0) * cost <= FORESEEN * whole
        return np.asarray(done | ~goes_on)

    def keep(self, ridges: Mask) -> None:
        """Drop the other ridges."""
        self.spent = self.spent[ridges]
        self.reaches = [each[ridges] for each in self.reaches[-PACE:]]


def make(blocks: bool, K: Array) -> Factor:
    """Return the cheapest factor, with blocks or for products with vectors only."""
    return factorise(K, blocks=blocks)


def is_semidefinite(K: Array, rows: float, crew: Crew) -> bool:
    """Return whether K is positive semidefinite up to rounding: it then has a Cholesky factor with a tiny ridge."""
    A = K.copy()
    A.ravel()[:: len(A) + 1] += UNSURE * hidden(len(A), rows)
    return not crew.cholesky(A.T)


def hidden(n: int, rows: float) -> float:
    """Return the ridge up to which rounding hides a matrix of n rows, the largest sum of which is ``rows``."""
    return UNSURE * n * EPS * rows


def serves(grid: FoldedGrid) -> bool:
    """Return whether there are enough rows; for targets that share blocks, these are as fast up to many rows."""
    return keeps_few_matrices(grid.n) or (grid.n >= MANY and not pruned_square.shares_blocks(grid))


def keeps_few_matrices(n: int) -> bool:
    """Return whether the search never has more than three n by n matrices, the distances among them."""
    return n >= max(MANY, FEWER)


def search(
    grams: Sequence[Callable[[], Array]],
    order: Sequence[int],
    best: BestPair,
    unproven: Mapping[int, str],
    n_jobs: int,
    watch: Callable[[int, int], bool | None],
    ahead: Ahead | None = None,
) -> Pruned:
    """Return the best pair; visit the kernels in the given order. The matrices are in fold order.

    Threads take a kernel each, or share one if few matrices are to be kept.
    """
    few = keeps_few_matrices(best.grid.n)
    with Crew(n_jobs if few else 1) as crew:
        gradients = Gradients(grams, unproven, best, crew)

        def visit(work: Callable[[int], None], kernel: int) -> None:
            try:
                with np.errstate(divide="raise", invalid="raise", over="raise"):
                    work(kernel)
            except TrialError as error:
                best.exclude(kernel, error)

        threads = 1 if few else n_jobs
        tasks, done = [partial(visit, gradients.narrow, kernel) for kernel in order], 0
        for done, _ in enumerate(in_threads(tasks, threads), 1):
            if watch(done, len(order)):
                break
        if gradients.left:
            likely = min(gradients.left, key=lambda one: (one.guess, one.kernel))
            best.likely = likely.kernel, likely.candidate.ridge
        for limit in (best.upper, np.inf):
            best.upper = limit
            tasks = [partial(visit, gradients.settle, kernel) for kernel in gradients.promising()]
            for _ in in_threads(tasks, threads, partial(best.look_ahead, ahead)):
                pass
            if best.totals:  # else every error is within rounding of zero, below an upper end
                break
    return replace(best.found(), seen=done)
