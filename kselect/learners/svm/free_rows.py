r"""Newton steps for the free rows, ``(K_FF + ridge) x = r``, by Cholesky; similar sets of rows share a factor.

With ``L L^T = K_BB + ridge`` and ``F = B - G + N``, where a multiplier nu keeps x at zero on G:

    V = L^{-1} [I_BG, K_BN],   z = L^{-1} r_B,   w = (nu, x_N)
    ([0, 0; 0, K_NN] - V^T V) w = [0; r_N] - V^T z,   x_B = L^{-T} (z - V w)

The matrix on the left is negative definite on G and positive definite on N, so it has a factor ``M D M^T`` in any
order. For isolated rows, the step is a division by K_ii; the next step corrects the error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kselect.learners.svm.compiled import compiled, factorise, half_solve, solve
from kselect.learners.svm.quadratic import BoxQP, Status
from kselect.numerics.linalg import Array, Index

# A factor of at least LEAST rows is used again if at most this share of its rows has changed.
LEAST, CHANGED = 48, 0.15
# Positions in ``sizes``: numbers of free rows, isolated free rows, rows of L, G and N; and whether L is valid.
ALL, ISOLATED, BASE, OUT, NEW, KNOWN = range(6)


class FreeRows(NamedTuple):
    """The free rows and their factor.

    ``F`` are the free rows, isolated ones last; ``B`` the rows of L; ``G`` positions in B; ``N`` rows;
    ``place`` is the position of a row in B, or -1.
    """

    sizes: Index
    F: Index
    B: Index
    G: Index
    N: Index
    place: Index
    L: Array
    V: Array
    M: Array


@compiled
def no_free_rows(n: int) -> FreeRows:
    """Allocate space for at most n free rows."""
    most = int(CHANGED * n) + 1
    r = np.empty((5, n), np.intp)
    return FreeRows(
        np.zeros(6, np.intp),
        *(r[0], r[1], r[2], r[3], r[4]),
        np.empty(n * n),
        np.empty(n * most),
        np.empty(most * most),
    )


@compiled
def find_free(q: BoxQP, free: FreeRows, status: Status) -> bool:
    """Set the free rows and their factor from the statuses; return False if their block is singular."""
    s, n = free.sizes, len(status)
    count = 0
    for isolated in (False, True):
        for t in range(n):
            if status[t] == 0 and q.isolated[t] == isolated:
                free.F[count] = t
                count += 1
        if not isolated:
            inner = count
    s[ALL], s[ISOLATED] = count, count - inner
    if s[KNOWN] and compare(free, status, inner):
        s[KNOWN] = s[OUT] + s[NEW] == 0 or border(q, free)
        if s[KNOWN]:
            return True
    return factorise_again(q, free, inner)


@compiled
def compare(free: FreeRows, status: Status, inner: int) -> bool:
    """Find G and N; return whether they are small enough to keep the factor."""
    s, most = free.sizes, int(CHANGED * free.sizes[BASE])
    if s[BASE] < LEAST:
        most = 0
    s[OUT] = s[NEW] = 0
    for at in range(s[BASE]):
        if status[free.B[at]] != 0:
            if s[OUT] == most:
                return False
            free.G[s[OUT]] = at
            s[OUT] += 1
    for a in range(inner):
        if free.place[free.F[a]] < 0:
            if s[OUT] + s[NEW] == most:
                return False
            free.N[s[NEW]] = free.F[a]
            s[NEW] += 1
    return True


@compiled
def factorise_again(q: BoxQP, free: FreeRows, inner: int) -> bool:
    """Compute L for the free rows that are not isolated."""
    s, F, L = free.sizes, free.F, free.L
    free.place[:] = -1
    for a in range(inner):
        row = q.K[F[a]]
        free.B[a], free.place[F[a]] = F[a], a
        for b in range(a, inner):
            L[a * inner + b] = row[F[b]]
        L[a * inner + a] += q.ridge[F[a]]
    s[BASE], s[OUT], s[NEW] = inner, 0, 0
    s[KNOWN] = inner == 0 or factorise(q.routines, L, inner)
    return bool(s[KNOWN])


@compiled
def border(q: BoxQP, free: FreeRows) -> bool:
    """Compute V and the factor of the bordering system; return False if that is singular."""
    s, k = free.sizes, free.sizes[BASE]
    out, m = s[OUT], s[OUT] + s[NEW]
    V, M = free.V[: m * k].reshape(m, k), free.M[: m * m].reshape(m, m)
    for c in range(m):
        if c < out:
            V[c] = 0.0
            V[c, free.G[c]] = 1.0
        else:
            row = q.K[free.N[c - out]]
            for a in range(k):
                V[c, a] = row[free.B[a]]
    half_solve(q.routines, free.L, k, free.V, m, False)
    for c in range(m):
        for d in range(c + 1):
            M[c, d] = -np.dot(V[c], V[d])
            if d >= out:
                M[c, d] += q.K[free.N[c - out], free.N[d - out]]
        if c >= out:
            M[c, c] += q.ridge[free.N[c - out]]
    return factorise_signed(M, out)


@compiled
def factorise_signed(M: Array, out: int) -> bool:
    """Overwrite M with its unit lower factor, and its diagonal with D, whose first ``out`` entries are negative."""
    m = len(M)
    for c in range(m):
        if not (M[c, c] < 0.0 if c < out else M[c, c] > 0.0):
            return False
        for a in range(c + 1, m):
            part = M[a, c] / M[c, c]
            for b in range(a, m):
                M[b, a] -= part * M[b, c]
        for a in range(c + 1, m):
            M[a, c] /= M[c, c]
    return True


@compiled
def solve_signed(M: Array, w: Array) -> None:
    """Overwrite w by ``(M D M^T)^{-1} w``."""
    m = len(M)
    for c in range(m):
        for a in range(c + 1, m):
            w[a] -= M[a, c] * w[c]
    for c in range(m - 1, -1, -1):
        w[c] /= M[c, c]
        for a in range(c + 1, m):
            w[c] -= M[a, c] * w[a]


@compiled
def solve_inner(q: BoxQP, free: FreeRows, right: Array, columns: int) -> None:
    """Solve for the free rows that are not isolated; ``right`` has columns of the length of F."""
    s = free.sizes
    f, k, out = s[ALL], s[BASE], s[OUT]
    inner, m = f - s[ISOLATED], out + s[NEW]
    z = np.zeros((columns, k))
    w = np.zeros((columns, m))
    for c in range(columns):
        added = 0
        for a in range(inner):
            at = free.place[free.F[a]]
            if at >= 0:
                z[c, at] = right[c * f + a]
            else:
                w[c, out + added] = right[c * f + a]
                added += 1
    if m == 0:
        solve(q.routines, free.L, k, z.ravel(), columns)
    else:
        V, M = free.V[: m * k].reshape(m, k), free.M[: m * m].reshape(m, m)
        half_solve(q.routines, free.L, k, z.ravel(), columns, False)
        for c in range(columns):
            for a in range(m):
                w[c, a] -= np.dot(V[a], z[c])
            solve_signed(M, w[c])
            for a in range(m):
                for t in range(k):
                    z[c, t] -= w[c, a] * V[a, t]
        half_solve(q.routines, free.L, k, z.ravel(), columns, True)
    for c in range(columns):
        added = 0
        for a in range(inner):
            at = free.place[free.F[a]]
            if at >= 0:
                right[c * f + a] = z[c, at]
            else:
                right[c * f + a] = w[c, out + added]
                added += 1


@compiled
def newton(q: BoxQP, free: FreeRows, right: Array, excess: float) -> float:
    """Overwrite ``right`` by x with ``K_FF x + b 1 = right``, ``1^T x = -excess`` and return b.

    The second half of ``right`` becomes ``p = K_FF^{-1} 1``. Without a bias b is 0.
    """
    s, F = free.sizes, free.F
    f = s[ALL]
    columns = 2 if q.bias else 1
    for a in range(f):
        right[f + a] = 1.0
    for a in range(f - s[ISOLATED], f):
        scale = q.K[F[a], F[a]] + q.ridge[F[a]]
        right[a] /= scale
        right[f + a] /= scale
    if s[BASE] > 0:
        solve_inner(q, free, right, columns)
    if not q.bias:
        return 0.0
    x = p = 0.0
    for a in range(f):
        x += right[a]
        p += right[f + a]
    b = (x + excess) / p
    for a in range(f):
        right[a] -= b * right[f + a]
    return b
