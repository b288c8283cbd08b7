r"""Held-out errors of all folds, ridges and targets for the square loss.

``P_FF e_F = alpha_F`` for every fold F, ridge and target. The block depends on the kernel matrix, the ridge and the
bias only, so all targets (one per class) share its factor: ten classes cost little more than two.

Large ridges need no blocks (large_ridges.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kselect.errors import TrialError
from kselect.learners.factor import Factor, ScatteredFactor
from kselect.learners.large_ridges import LargeRidges
from kselect.learners.spectral import weights
from kselect.numerics.folds import Folds
from kselect.numerics.lapack import dposv, dsyr
from kselect.numerics.linalg import Array, Index

# A fold whose block needs at most this many multiplications is too small for a BLAS call of its own.
SMALL_PRODUCT = 1_000_000
# The number of elements in a stack of scaled eigenvectors: two megabytes.
STACK_SIZE = 250_000
# The number of ridges in a stack, unless one stack holds all folds and ridges. They are neighbours, which need
# about the same number of eigenvectors.
RIDGES = 4
# Blocks with fewer rows are solved by numpy, a whole stack in one call.
SMALL_BLOCK = 12


@dataclass(frozen=True, eq=False)
class SharedFits:
    """alpha (q, n_ridges, n) and b of all targets, and ``p / sqrt(1^T p)``, which is zero without a bias."""

    gammas: Array
    alpha: Array
    b: Array
    q: Array


def solve_all(
    factor: Factor,
    gammas: Array,
    targets: Array,
    bias: bool,
    ones: Array | None = None,
    *,
    together: bool = False,
) -> SharedFits:
    """Return the fits of all targets: ``alpha = P y`` and ``b = p^T y / (1^T p)``; ``ones`` may replace 1.

    One call for all targets ``together`` is faster; the last digits of a target then depend on the others.
    """
    r = np.ones_like(targets[0]) if ones is None else ones
    if together:
        solved = factor.solve_several(gammas, np.vstack([targets, r]) if bias else targets)
        alpha = np.array(solved[: len(targets)])
    else:
        alpha = np.array([factor.solve(gammas, y) for y in targets])
    if not bias:
        return SharedFits(gammas, alpha, np.zeros(alpha.shape[:2]), np.zeros(alpha.shape[1:]))
    p = solved[-1] if together else factor.solve(gammas, r)
    total = p.sum(axis=1) if ones is None else p @ ones
    b = np.array([(p @ y) / total for y in targets])
    alpha -= b[:, :, None] * p
    return SharedFits(gammas, alpha, b, p / np.sqrt(total)[:, None])


# ``y - f`` held out, (q, n_ridges, n), and the blocks at the smallest ridge; None if not all were computed.
FoldErrors = tuple[Array, list[Array] | None]


@dataclass(frozen=True, eq=False)
class FoldSolver:
    """The folds of one kernel matrix, with or without a bias, which multiplies ``ones`` (None: 1)."""

    K: Array
    factor: Factor
    bias: bool
    folds: Folds
    ones: Array | None = None

    def solve(self, targets: Array, fits: dict[int, SharedFits]) -> FoldErrors:
        """Return the errors of all folds; ``fits`` maps a fold size to the fits with its ridges."""
        if isinstance(self.factor, ScatteredFactor) and not self.bias:
            return self._scattered(self.factor, fits), None
        gammas = {m: fit.gammas for m, fit in fits.items()}
        ones = (np.ones(self.folds.n) if self.ones is None else self.ones) if self.bias else None
        large = LargeRidges.of(self.K, targets, self.folds, gammas, ones)
        if not large.served.any():
            return self.by_blocks(fits)
        errors, others = np.empty((len(targets), len(large.served), self.folds.n)), ~large.served
        errors[:, large.served] = targets[:, None] - large.predictions
        if not others.any():
            return errors, None
        rest = {
            m: SharedFits(f.gammas[others], f.alpha[:, others], f.b[:, others], f.q[others])
            for m, f in fits.items()
        }
        errors[:, others], edges = self.by_blocks(rest)
        return errors, edges  # the smallest ridge is not a large one

    def by_blocks(self, fits: dict[int, SharedFits]) -> FoldErrors:
        """Solve one block ``gamma P_FF`` per fold and ridge; small folds of one size in stacks."""
        errors, edges = np.empty_like(next(iter(fits.values())).alpha), list[Array]()
        for m, positions in self.folds.by_size.items():
            fit, members = fits[m], np.array([self.folds.members[i] for i in positions])
            if m * m * len(self.K) > SMALL_PRODUCT:
                for F in members:
                    self._one(F, fit, errors, edges)
                continue
            least = int(np.argmin(fit.gammas))
            for ridges, chunk in stacks(fit.gammas, members, len(self.K)):
                gammas = fit.gammas[ridges]
                blocks = self.factor.stack(chunk, gammas)
                if self.bias:
                    rows = np.sqrt(gammas)[:, None, None] * fit.q[ridges[:, None, None], chunk]
                    rows = rows.transpose(1, 0, 2)
                    blocks -= rows[..., :, None] * rows[..., None, :]
                if least in ridges:
                    edges.append(blocks[:, ridges.tolist().index(least)].copy())
                put_errors(errors, fit, blocks, chunk, ridges)
        return errors, edges

    def _one(self, F: Index, fit: SharedFits, errors: Array, edges: list[Array]) -> None:
        """Solve a large fold, one block at a time."""
        gammas, least = fit.gammas, int(np.argmin(fit.gammas))
        right = gammas[:, None] * fit.alpha[:, :, F]
        for i, block in enumerate(self.factor.blocks(F, gammas)):
            if self.bias:
                dsyr(-gammas[i], fit.q[i, F], block)
            if i == least:
                edges.append(block[None].copy())  # only its lower triangle is valid
            _, solved, failed = dposv(block, right[:, i].T, overwrite=True)
            if failed:
                raise TrialError("a fold block is singular")
            errors[:, i, F] = solved.T

    def _scattered(self, factor: ScatteredFactor, fits: dict[int, SharedFits]) -> Array:
        """Return the errors without a bias: a row outside the core is a fold of its own."""
        errors = np.empty_like(next(iter(fits.values())).alpha)
        for F in self.folds.members:
            fit, inside = fits[len(F)], np.flatnonzero(factor.place[F] >= 0)
            errors[:, :, F] = fit.alpha[:, :, F] / weights(factor.kappa[F], fit.gammas)
            if factor.inner and len(inside):
                rows, at = F[inside], factor.place[F[inside]][None]
                for ridges, _ in stacks(fit.gammas, at, len(factor.core)):
                    blocks = factor.inner.stack(at, fit.gammas[ridges])
                    put_errors(errors, fit, blocks, rows[None], ridges)
        return errors


def put_errors(errors: Array, fit: SharedFits, blocks: Array, folds: Index, ridges: Index) -> None:
    """Solve blocks ``gamma P_FF`` (k, n_ridges, m, m), which are overwritten, and store the errors."""
    right = fit.gammas[ridges, None] * fit.alpha[:, ridges]
    right = right[:, :, folds].transpose(2, 1, 3, 0)
    m, q = right.shape[-2:]
    out: Array = np.empty(right.shape)
    if m < SMALL_BLOCK:
        try:  # numpy solves by LU, which would accept a block that rounding has made indefinite
            np.linalg.cholesky(blocks)
            out[:] = np.linalg.solve(blocks, right)
        except np.linalg.LinAlgError:
            raise TrialError("a fold block is singular") from None
    else:  # scipy holds the interpreter's lock in its call, which is shorter than one of ours without the lock
        from scipy.linalg.lapack import dposv as solve

        parts = (blocks.reshape(-1, m, m), right.reshape(-1, m, q), out.reshape(-1, m, q))
        for block, b, x in zip(*parts, strict=True):
            _, x[:], failed = solve(block.T, b, lower=True, overwrite_a=True)
            if failed:
                raise TrialError("a fold block is singular")
    errors[:, ridges[:, None, None], folds] = out.transpose(3, 1, 0, 2)


def stacks(gammas: Array, folds: Index, n: int) -> Iterator[tuple[Index, Index]]:
    """Yield ridges and folds (k, m) such that the stack of their blocks, from n eigenvectors, fits into the cache.

    The ridges of a stack are neighbours, or all ridges if these fit with all folds.
    """
    order, size = np.argsort(gammas, kind="stable"), folds.shape[1] * n
    whole = len(order) * size * len(folds) <= STACK_SIZE
    together = len(order) if whole else max(1, min(RIDGES, STACK_SIZE // size))
    for first in range(0, len(order), together):
        ridges = order[first : first + together]
        count = max(1, STACK_SIZE // (len(ridges) * size))
        yield from ((ridges, folds[i : i + count]) for i in range(0, len(folds), count))
