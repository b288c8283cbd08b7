r"""Held-out predictions under large ridges for the square loss, without the blocks of the folds.

For the rows T without a fold F, ``A = P K_TT P``; P removes the mean over T with a bias, and does nothing without
one. Lanczos' method starts from ``P y_T`` and builds orthonormal vectors ``v_1, ..., v_p`` with ``V^T A V``
tridiagonal. One product with K for all folds and targets is a step, and every ridge shares the steps:

    x = V t,  (V^T A V + gamma I) t = |P y_T| e_1,   f_F = K_FT V t + b,   b = mean_T(y - K_TT V t)

The residual ``r = P y_T - (A + gamma I) x`` has the length ``beta_p |t_p|``, and
``|f - f_exact| <= sqrt(max K_ii) |r| / sqrt(gamma)``. A ridge is served when this is below rounding. A smooth
kernel needs about as many steps as it has eigenvalues above the ridge. A step costs ``O(n^2)`` for a fold; the
block of a fold costs ``O(n m^2)`` for a ridge.

With weights w of the rows, the system is scaled by ``r = sqrt(w)`` (krr_lssvm.py), and P removes the part along r.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from kselect.numerics.folds import Folds
from kselect.numerics.linalg import EPS, Array, Index, Mask

# The error of a prediction that is left to rounding, relative to the length of the targets.
TAIL = EPS / 4
# The overhead in floating-point operations of a step, and of the block of a fold.
STEP, BLOCK = 8_000_000, 30_000
# Reading K for a product takes as long as the arithmetic of this many columns.
READING = 12
# No bound counts as larger than this multiple of what is left to rounding.
FAR = 1e100
# Compiled code is faster than BLAS for products of up to this number of rows. The import is worth it for this many
# rows of K; with fewer, the blocks of all folds are formed in a few calls, which no steps beat.
THIN, COMPILED = 12, 300
# Steps over which the speed of convergence is measured.
PACE = 3


@dataclass(frozen=True, eq=False)
class LargeRidges:
    """The ridges that are served, and the held-out predictions (targets, ridges that are served, n)."""

    served: Mask
    predictions: Array

    @classmethod
    def of(
        cls,
        K: Array,
        targets: Array,
        folds: Folds,
        gammas: Mapping[int, Array],
        ones: Array | None,
    ) -> Self:
        """Serve the ridges that take less time by steps than by blocks; there may be none.

        ``gammas`` maps a fold size to its ridges. ``ones`` multiplies the bias; it is None without one.
        """
        count = len(next(iter(gammas.values())))
        sizes = np.array([len(F) for F in folds.members])
        columns = len(targets) * len(sizes)
        step = 2.0 * folds.n**2 * (columns + READING) + STEP
        block = float((2.0 * np.square(sizes) * (folds.n + sizes) + BLOCK).sum())
        found = Lanczos.start(K, targets, folds, gammas, ones)
        if folds.n >= COMPILED and block * count > (PACE + 1) * step:
            while found.goes_on(step / block):
                found.advance()
        served = found.served()
        return cls(served, found.predictions(served))


@dataclass(eq=False)
class Lanczos:
    """The state for all targets and folds: rows ``v`` (targets times folds, n), zero on the own fold of each.

    ``ends`` holds the bounds of the errors after each step, (targets times folds, ridges), relative to the bound
    that is left to rounding.
    """

    K: Array
    targets: Array
    folds: Folds
    gammas: Array
    ones: Array | None
    v: Array
    size: Array
    mean: Array
    before: Array
    lead: Array
    known: list[Array] = field(default_factory=list)
    means: list[Array] = field(default_factory=list)
    diagonal: list[Array] = field(default_factory=list)
    below: list[Array] = field(default_factory=list)
    pivots: list[Array] = field(default_factory=list)
    ends: list[Array] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        K: Array,
        targets: Array,
        folds: Folds,
        gammas: Mapping[int, Array],
        ones: Array | None,
    ) -> Self:
        """Start from the targets of the other rows."""
        q, k = len(targets), len(folds.members)
        each = np.array([gammas[len(F)] for F in folds.members])
        first = np.repeat(targets, k, axis=0)
        none = np.zeros((q * k, 1))
        found = cls(
            *(K, targets, folds, np.tile(each, (q, 1)), ones, first),
            *(none, none, np.zeros_like(first), none),
        )
        first[found.own] = 0.0
        found.mean = found.center(first)
        found.size = found.lead = np.linalg.norm(first, axis=1)[:, None]
        first /= np.where(found.size > 0, found.size, 1.0)
        return found

    @property
    def own(self) -> tuple[Index, Index]:
        """The positions (targets, n) of every row in the vectors of its own fold."""
        q, k = len(self.targets), len(self.folds.members)
        return np.arange(q)[:, None] * k + self.folds.numbers, np.arange(self.folds.n)

    def center(self, v: Array) -> Array:
        """Remove the mean of the other rows from vectors that are zero on their own fold, and return it."""
        if self.ones is None:
            return np.zeros((len(v), 1))
        squares = np.square(self.ones)
        others = squares.sum() - np.array([squares[F].sum() for F in self.folds.members])
        mean: Array = (v @ self.ones / np.tile(others, len(self.targets)))[:, None]
        v -= mean * self.ones
        v[self.own] = 0.0
        return mean

    def goes_on(self, price: float) -> bool:
        """Return whether more steps save time; a step costs ``price`` times as much as the blocks of one ridge."""
        if len(self.ends) <= PACE:
            return not self.below or bool(self.below[-1].any())
        now, past = (np.log(np.maximum(end.max(axis=0), EPS)) for end in self.ends[::-PACE][:2])
        left = now > 0.0
        speed = (past - now)[left] / PACE
        steps = np.sort(
            np.divide(now[left], speed, out=np.full_like(speed, np.inf), where=speed > 0)
        )
        return bool((np.arange(1, len(steps) + 1) > price * steps).any())

    def advance(self) -> None:
        """Take one step, with one product."""
        w = self.product()
        self.known.append(w[self.own])
        w[self.own] = 0.0
        self.means.append(self.center(w))
        a = np.einsum("sn,sn->s", w, self.v)[:, None]
        w -= a * self.v
        pivot = a + self.gammas
        if self.below:
            b = self.below[-1]
            w -= b * self.before
            pivot -= np.square(b) / self.pivots[-1]
            self.lead = self.lead * (b / self.pivots[-1])
        self.center(w)  # the division by a small b would make a rounded mean grow
        b = np.linalg.norm(w, axis=1)[:, None]
        w /= np.where(b > 0, b, 1.0)
        self.before, self.v = self.v, w
        self.diagonal.append(a)
        self.below.append(b)
        self.pivots.append(pivot)
        reach = np.sqrt(np.diagonal(self.K).max() / self.gammas) * b * self.lead / pivot
        self.ends.append(np.where(pivot > 0, reach, np.inf) / (TAIL * np.maximum(self.size, TAIL)))

    def product(self) -> Array:
        """Return ``v K``."""
        if len(self.v) > THIN or not self.K.flags.c_contiguous:
            return np.asarray(self.v @ self.K)
        from kselect.numerics.thin_product import thin_product

        return thin_product(self.v, self.K)

    def served(self) -> Mask:
        """Return the ridges whose errors are below rounding for every target and fold."""
        if not self.ends:
            return np.zeros(self.gammas.shape[1], dtype=np.bool_)
        return np.asarray((self.ends[-1] <= 1.0).all(axis=0))

    def predictions(self, served: Mask) -> Array:
        """Return the held-out predictions, (targets, ridges that are served, n)."""
        q, k, count = len(self.targets), len(self.folds.members), int(served.sum())
        out = np.empty((q, count, self.folds.n))
        if not count:
            return out
        t = self.coefficients(served).reshape(q, k, count, -1)
        known = np.array(self.known).swapaxes(0, 1)
        means = np.array(self.means)[..., 0].T.reshape(q, k, -1)
        b = self.mean.reshape(q, k, 1) - np.einsum("qkrp,qkp->qkr", t, means)
        for f, F in enumerate(self.folds.members):
            out[:, :, F] = t[:, f] @ known[:, :, F]
            if self.ones is not None:
                out[:, :, F] += b[:, f, :, None] * self.ones[F]
        return out

    def coefficients(self, served: Mask) -> Array:
        """Return t (targets times folds, ridges, steps), from the factor ``L D L^T`` of the tridiagonal system."""
        z = [np.broadcast_to(self.size, self.gammas[:, served].shape)]
        factors = [b / d[:, served] for b, d in zip(self.below, self.pivots, strict=True)]
        for factor in factors[:-1]:
            z.append(-factor * z[-1])
        t = [z[-1] / self.pivots[-1][:, served]]
        for i in reversed(range(len(z) - 1)):
            t.append(z[i] / self.pivots[i][:, served] - factors[i] * t[-1])
        return np.stack(t[::-1], axis=-1)
