r"""Conjugate gradients for all folds and ridges of a kernel matrix, with an interval for every score.

T are the training rows of a fold F; P removes the mean over T with a bias (of weighted rows, the part along the
roots of the weights), and does nothing without one;
``A = P K_TT P``. For any vector x with the residual ``r = P y - (A + gamma) x``, its predictions f~ and the exact
ones f,

    f_F - f~_F = C_FT (A + gamma)^{-1} r,   | |e_F| - |e~_F| | <= sqrt(largest eigenvalue of C_FF) |r| / sqrt(gamma)

where C is the kernel matrix with P on both sides. It is positive semidefinite, so that
``C_FT (A + gamma)^{-1} C_TF <= C_FF``. Its largest eigenvalue is at most its trace and its Frobenius norm. If every
eigenvalue of K exceeds ``least``, gamma may be replaced by ``gamma + least``. Rounding adds ``4 eps (iterations +
2)`` times the largest sum of a row of K times ``|x|`` to ``|r|``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kselect.errors import TrialError
from kselect.numerics.linalg import EPS, Array, Mask
from kselect.numerics.tiles import Crew, tiles
from kselect.search.column_preconditioner import ColumnBases
from kselect.search.pruned_grid import FoldedGrid

# A system has arrived when its residual, squared, is this share of the first one: far below rounding.
ARRIVED = 1e-40


@dataclass(frozen=True, eq=False)
class Intervals:
    """Of each ridge's squared errors on each fold (ridges, folds): both ends, and the best guess."""

    lower: Array
    upper: Array
    guess: Array

    def width(self) -> Array:
        """Return the width of the interval of each ridge's sum, relative to the best guess."""
        total = self.guess.sum(axis=1)
        width = (self.upper - self.lower).sum(axis=1)
        return np.asarray(width / np.maximum(total, np.finfo(np.float64).tiny))


@dataclass(frozen=True, eq=False)
class Spread:
    """Bounds of the eigenvalues of a kernel matrix, which the intervals need.

    ``largest`` are those of the folds' centred blocks, ``least`` is below every eigenvalue of the matrix, and
    ``rows`` is the largest sum of a row.
    """

    largest: Array
    least: float
    rows: float

    @classmethod
    def of(cls, K: Array, grid: FoldedGrid, crew: Crew) -> Spread:
        """Return the bounds; the cost is two passes over K."""
        ones, sizes = grid.ones, grid.others
        sums, absolute = np.empty((2, grid.n))

        def add(some: slice) -> None:
            sums[some] = K[some] @ ones
            absolute[some] = np.abs(K[some]).sum(axis=1)

        crew.each(add, tiles(0, grid.n))
        if not np.isfinite(absolute).all():
            raise TrialError("the kernel matrix is not finite")
        largest = []
        for F, size in zip(grid.slices, sizes.tolist(), strict=True):
            block = K[F, F]
            if grid.bias:
                mine, inner = ones[F], block @ ones[F]
                mean = (sums[F] - inner) / size
                over_all = float(sums @ ones - 2.0 * sums[F] @ mine + inner @ mine) / size**2
                mean = mean - 0.5 * over_all * mine
                block = block - np.outer(mean, mine) - np.outer(mine, mean)
            norms = np.trace(block), np.linalg.norm(block), np.abs(block).sum(axis=1).max()
            largest.append(max(0.0, float(min(norms))))
        rows = float(absolute.max())
        least = float((2.0 * np.diagonal(K) - absolute).min()) - 4.0 * EPS * grid.n * rows
        return cls(np.array(largest), max(0.0, least), rows)


class CertifiedSystems:
    """The systems of all open ridges: arrays (ridges, folds, targets, rows), zero on the own fold of each."""

    def __init__(
        self,
        K: Array,
        grid: FoldedGrid,
        gammas: Array,
        spread: Spread,
        columns: ColumnBases | None,
        crew: Crew,
    ) -> None:
        self.K, self.grid, self.gammas, self.spread = K, grid, gammas, spread
        self.columns, self.crew = columns, crew
        self.y = grid.targets
        self.steps = 0
        shape = *gammas.shape, *self.y.shape
        self.r = self.project(np.broadcast_to(self.y, shape).copy())
        self.x, self.Kx = np.zeros(shape), np.zeros(shape)
        self.d = self.solve(self.r)
        self.rz = np.einsum("...n,...n", self.r, self.d)
        self.least = ARRIVED * self.rz

    @property
    def systems(self) -> int:
        """The number of open systems."""
        return int(np.prod(self.r.shape[:3]))

    def project(self, V: Array) -> Array:
        """Set every row to zero on its own fold, and remove the mean of the others if there is a bias, in place."""
        grid = self.grid
        for f, (F, size) in enumerate(zip(grid.slices, grid.others.tolist(), strict=True)):
            mine = V[:, f]
            mine[..., F] = 0.0
            if grid.bias:
                mean = (mine @ grid.ones)[..., None] / size
                for part in (slice(0, F.start), slice(F.stop, grid.n)):
                    mine[..., part] -= mean * grid.ones[part] if grid.weighted else mean
        return V

    def solve(self, V: Array) -> Array:
        """Return ``P M^{-1} v``."""
        if self.columns is None:
            return self.project(np.asarray(V / self.gammas[:, :, None, None]))
        return self.project(self.columns.solve(V, self.gammas))

    def step(self) -> None:
        """Take one step for every system; a system that has arrived stays."""
        shape, gammas = self.d.shape, self.gammas[:, :, None, None]
        Kd = self.crew.product(self.d.reshape(-1, shape[-1]), self.K.T).reshape(shape)
        Ad = self.project(Kd.copy())
        Ad += gammas * self.d
        curvature = np.einsum("...n,...n", self.d, Ad)
        moves = (curvature > 0) & (self.rz > self.least)
        length = np.divide(self.rz, curvature, out=np.zeros_like(curvature), where=moves)
        for sum_, part in ((self.x, self.d), (self.Kx, Kd)):
            part = np.multiply(part, length[..., None], out=Kd if part is Kd else None)
            sum_ += part
        Ad *= length[..., None]
        self.r -= Ad
        z = self.solve(self.r)
        rz = np.einsum("...n,...n", self.r, z)
        ratio = np.divide(rz, self.rz, out=np.zeros_like(rz), where=moves)
        self.d *= ratio[..., None]
        self.d += z
        self.project(self.d)  # the mean of a direction would grow, and no residual would show it
        self.rz = rz
        self.steps += 1

    def keep(self, ridges: Mask) -> None:
        """Drop the other ridges."""
        for name in ("gammas", "r", "x", "Kx", "d", "rz", "least"):
            setattr(self, name, getattr(self, name)[ridges])

    def intervals(self) -> Intervals:
        """Return the interval of the squared error of every ridge and fold, the mean over the targets."""
        grid = self.grid
        error = np.empty(self.r.shape[:3])
        for f, (F, size) in enumerate(zip(grid.slices, grid.others.tolist(), strict=True)):
            left, mine = self.y - self.Kx[:, f], grid.ones[F]
            held = left[..., F]
            if grid.bias:
                mean = (left @ grid.ones - held @ mine) / size
                held = held - mean[..., None] * mine
            error[:, f] = np.linalg.norm(held, axis=-1)
        rounding = 4.0 * EPS * (self.steps + 2) * self.spread.rows * np.linalg.norm(self.x, axis=-1)
        scale = np.sqrt(self.spread.largest / (self.gammas + self.spread.least))[..., None]
        reach = scale * (np.linalg.norm(self.r, axis=-1) + rounding) + rounding
        ends = np.maximum(0.0, error - reach), error + reach, error
        return Intervals(*(np.square(end).mean(axis=-1) for end in ends))
