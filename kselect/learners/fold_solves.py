r"""The held-out errors of many right-hand sides by one factorisation of each fold's block.

``P_FF e_F = alpha_F`` for every fold F, ridge and target: the block belongs to the kernel matrix, the ridge and the
bias alone, so targets that share these (one per class) share its factor. Ten classes cost little more than two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dposv

from kselect.errors import TrialError
from kselect.learners.factor import Factor, ScatteredFactor, weights
from kselect.learners.large_ridges import LargeRidges
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index, Mask

# Multiplications in a product that BLAS takes for a small one: its rows are not worth a call of their own.
SMALL_PRODUCT = 1_000_000
# Numbers in a stack of scaled eigenvectors: two megabytes.
STACK_SIZE = 250_000
# Ridges in a stack, unless all folds and ridges make one: neighbours, as they need about as many eigenvectors.
RIDGES = 4
# Blocks of fewer rows are solved by numpy, all of a stack in one call.
SMALL_BLOCK = 12


@dataclass(frozen=True, eq=False)
class Solutions:
    """``alpha`` (q, n_ridges, n) and b of all targets, and ``p / sqrt(1^T p)``, which is zero without a bias."""

    gammas: Array
    alpha: Array
    b: Array
    q: Array

    def at(self, ridges: Mask) -> Solutions:
        """Those at some of the ridges."""
        alpha, b = self.alpha[:, ridges], self.b[:, ridges]
        return Solutions(self.gammas[ridges], alpha, b, self.q[ridges])


def solve_all(factor: Factor, gammas: Array, targets: Array, bias: bool) -> Solutions:
    """The fits of all targets at once: ``alpha = P y`` and ``b = p^T y / (1^T p)``."""
    alpha = np.array([factor.solve(gammas, y) for y in targets])
    if not bias:
        return Solutions(gammas, alpha, np.zeros(alpha.shape[:2]), np.zeros(alpha.shape[1:]))
    p = factor.solve(gammas, np.ones_like(targets[0]))
    total = p.sum(axis=1)
    b = np.array([(p @ y) / total for y in targets])
    alpha -= b[:, :, None] * p
    return Solutions(gammas, alpha, b, p / np.sqrt(total)[:, None])


@dataclass(frozen=True, eq=False)
class FoldErrors:
    """``y - f`` held out, (q, n_ridges, n), the fits by size of fold, and the blocks at the smallest ridge.

    ``edges`` is None where not all blocks were made.
    """

    errors: Array
    fits: dict[int, Solutions]
    edges: list[Array] | None


class FoldSolver:
    """The folds of one kernel matrix, with or without a bias."""

    def __init__(self, K: Array, factor: Factor, bias: bool, folds: Folds) -> None:
        self.K, self.factor, self.bias, self.folds = K, factor, bias, folds

    def solve(self, targets: Array, fits: dict[int, Solutions]) -> FoldErrors:
        """All folds; ``fits`` are those with the ridges at which a fold of each size is held out."""
        if self.bias:
            return self._by_blocks(fits)
        if isinstance(self.factor, ScatteredFactor):
            return FoldErrors(self._scattered(self.factor, fits), fits, None)
        gammas = {m: fit.gammas for m, fit in fits.items()}
        large = LargeRidges.of(self.factor.eigenvalues(), self.folds, gammas, len(targets))
        if not large.count:
            return self._by_blocks(fits)
        errors, others = np.empty((len(targets), len(large.served), self.folds.n)), ~large.served
        errors[:, large.served] = targets[:, None] - large.predictions(self.K, targets)
        if not others.any():
            return FoldErrors(errors, fits, None)
        rest = self._by_blocks({m: fit.at(others) for m, fit in fits.items()})
        errors[:, others] = rest.errors
        return FoldErrors(errors, fits, rest.edges)  # the smallest ridge is not a large one

    def _by_blocks(self, fits: dict[int, Solutions]) -> FoldErrors:
        """One block for each fold and ridge."""
        errors, edges = np.empty_like(next(iter(fits.values())).alpha), list[Array]()
        for m, positions in self.folds.by_size.items():
            if m * m * self.folds.n <= SMALL_PRODUCT:
                self._several(positions, fits[m], errors, edges)
            else:
                for position in positions:
                    self._one(self.folds.members[position], fits[m], errors, edges)
        return FoldErrors(errors, fits, edges)

    def _several(
        self, positions: Sequence[int], fit: Solutions, errors: Array, edges: list[Array]
    ) -> None:
        """Small folds of one size, in stacks."""
        least = int(np.argmin(fit.gammas))
        size = len(self.folds.members[positions[0]]) * self.folds.n
        for ridges in neighbours(fit.gammas, size, len(positions)):
            for chunk in chunks(self.folds, positions, len(ridges)):
                blocks = self._blocks(chunk, fit, ridges)
                if least in ridges:
                    edges.append(blocks[:, ridges.tolist().index(least)].copy())
                put(errors, fit, blocks, chunk, ridges)

    def _one(self, F: Index, fit: Solutions, errors: Array, edges: list[Array]) -> None:
        """A large fold, a block at a time."""
        gammas, least = fit.gammas, int(np.argmin(fit.gammas))
        right = gammas[:, None] * fit.alpha[:, :, F]
        for i, block in enumerate(self.factor.blocks(F, gammas)):
            if self.bias:
                block = dsyr(-gammas[i], fit.q[i, F], lower=1, a=block, overwrite_a=1)
            if i == least:
                edges.append(block[None].copy())  # its lower triangle alone is whole
            _, solved, failed = dposv(block, right[:, i].T, lower=1, overwrite_a=1)
            if failed:
                raise TrialError("a fold block is singular")
            errors[:, i, F] = solved.T

    def _blocks(self, folds: Index, fit: Solutions, ridges: Index) -> Array:
        """``gamma P_FF`` of small folds of one size, (k, n_ridges, m, m)."""
        gammas = fit.gammas[ridges]
        blocks = self.factor.stack(folds, gammas)
        if self.bias:
            along = np.sqrt(gammas)[:, None] * fit.q[ridges]
            rows = along[:, folds].transpose(1, 0, 2)
            blocks -= rows[..., :, None] * rows[..., None, :]
        return blocks

    def _scattered(self, factor: ScatteredFactor, fits: dict[int, Solutions]) -> Array:
        """Without a bias a row without neighbours is a fold of its own; the others are those of the core."""
        errors = np.empty_like(next(iter(fits.values())).alpha)
        for F in self.folds.members:
            fit, inside = fits[len(F)], np.flatnonzero(factor.place[F] >= 0)
            errors[:, :, F] = fit.alpha[:, :, F] / weights(factor.kappa[F], fit.gammas)
            if factor.inner and len(inside):
                rows, at = F[inside], factor.place[F[inside]][None]
                for ridges in neighbours(fit.gammas, len(rows) * len(factor.core), 1):
                    blocks = factor.inner.stack(at, fit.gammas[ridges])
                    put(errors, fit, blocks, rows[None], ridges)
        return errors


def put(errors: Array, fit: Solutions, blocks: Array, folds: Index, ridges: Index) -> None:
    """The errors (q, n_ridges, n) of some folds and ridges from their blocks ``gamma P_FF``, which are lost."""
    right = fit.gammas[ridges, None] * fit.alpha[:, ridges]
    solved = solve(blocks, right[:, :, folds].transpose(2, 1, 3, 0))
    errors[:, ridges[:, None, None], folds] = solved.transpose(3, 1, 0, 2)


def solve(blocks: Array, right: Array) -> Array:
    """``block^{-1} right`` of every block in a stack (..., m, m), the right sides being (..., m, q)."""
    m, q = right.shape[-2:]
    if m < SMALL_BLOCK:
        try:  # numpy solves by LU, which would make numbers of a block that rounding has left indefinite
            np.linalg.cholesky(blocks)
            return np.asarray(np.linalg.solve(blocks, right))
        except np.linalg.LinAlgError:
            raise TrialError("a fold block is singular") from None
    out = np.empty(right.shape)
    for block, b, x in zip(
        blocks.reshape(-1, m, m), right.reshape(-1, m, q), out.reshape(-1, m, q), strict=True
    ):
        _, x[:], failed = dposv(block.T, b, lower=1, overwrite_a=1)
        if failed:
            raise TrialError("a fold block is singular")
    return out


def neighbours(gammas: Array, size: int, folds: int) -> list[Index]:
    """The ridges in groups, neighbours together: all if their stack with all folds is small enough."""
    order = np.argsort(gammas, kind="stable")
    whole = len(order) * size * folds <= STACK_SIZE
    together = len(order) if whole else max(1, min(RIDGES, STACK_SIZE // size))
    return [order[i : i + together] for i in range(0, len(order), together)]


def chunks(folds: Folds, positions: Sequence[int], ridges: int) -> Iterator[Index]:
    """Folds of one size, (k, m) together as long as their stack is small enough for the cache."""
    members = np.array([folds.members[i] for i in positions])
    together = max(1, STACK_SIZE // (ridges * members.shape[1] * folds.n))
    yield from (members[i : i + together] for i in range(0, len(members), together))
