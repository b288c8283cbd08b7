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

from kselect.learners.svm.fortran import PLAIN, TRANSPOSED, dot, factorise, half_solve, solve
from kselect.learners.svm.quadratic import BoxQP, Status
from kselect.numerics.compiled import compiled, inner
from kselect.numerics.linalg import Array, Index

# A factor of at least LEAST rows is used again if at most this share of its rows has changed.
LEAST, CHANGED = 48, 0.15
# Positions in ``sizes``: numbers of free rows, isolated free rows, rows of L, G and N; and whether L is valid.
ALL, ISOLATED, BASE, OUT, NEW, KNOWN = range(6)


class FreeRows(NamedTuple):
    """The free rows and their factor.

    ``F`` are the free rows, isolated ones last; ``B`` the rows of L; ``G`` positions in B; ``N`` rows;
    ``place`` is the position of a row in B, or -1. ``right`` (2n) and ``inside`` are memory for Newton steps.
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
    right: Array
    inside: Array


def no_free_rows(n: int) -> FreeRows:
    """Allocate space for at most n free rows."""
    most = int(CHANGED * n) + 1
    F, B, G, N, place = np.empty((5, n), np.intp)
    sizes = n * n, n * most, most * most, 2 * n, 2 * (n + most)
    L, V, M, right, inside = (np.empty(size) for size in sizes)
    return FreeRows(np.zeros(6, np.intp), F, B, G, N, place, L, V, M, right, inside)


@compiled
def find_free(q: BoxQP, free: FreeRows, status: Status) -> bool:
    """Set the free rows and their factor from the statuses; return False if their block is singular."""
    s, n = free.sizes, len(status)
    inside = 0
    for t in range(n):
        if status[t] == 0 and not q.isolated[t]:
            free.F[inside] = t
            inside += 1
    count = inside
    for t in range(n):
        if status[t] == 0 and q.isolated[t]:
            free.F[count] = t
            count += 1
    s[ALL], s[ISOLATED] = count, count - inside
    if s[KNOWN] and compare(free, status, inside):
        s[KNOWN] = s[OUT] + s[NEW] == 0 or border(q, free)
        if s[KNOWN]:
            return True
    return factorise_again(q, free, inside)


@compiled
def compare(free: FreeRows, status: Status, inside: int) -> bool:
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
    for a in range(inside):
        if free.place[free.F[a]] < 0:
            if s[OUT] + s[NEW] == most:
                return False
            free.N[s[NEW]] = free.F[a]
            s[NEW] += 1
    return True


@compiled
def factorise_again(q: BoxQP, free: FreeRows, inside: int) -> bool:
    """Compute L for the free rows that are not isolated."""
    s, F, L = free.sizes, free.F, free.L
    for t in range(len(free.place)):
        free.place[t] = -1
    for a in range(inside):
        row = q.K[F[a]]
        free.B[a], free.place[F[a]] = F[a], a
        for b in range(a, inside):
            L[a * inside + b] = row[F[b]]
        L[a * inside + a] += q.ridge[F[a]]
    s[BASE], s[OUT], s[NEW] = inside, 0, 0
    s[KNOWN] = inside == 0 or factorise(q.routines, L, inside)
    return bool(s[KNOWN])


@compiled
def border(q: BoxQP, free: FreeRows) -> bool:
    """Compute V and the factor of the bordering system; return False if that is singular."""
    s, k, V, M = free.sizes, free.sizes[BASE], free.V, free.M
    out, m = s[OUT], s[OUT] + s[NEW]
    for c in range(out):
        for a in range(k):
            V[c * k + a] = 0.0
        V[c * k + free.G[c]] = 1.0
    for c in range(out, m):
        row = q.K[free.N[c - out]]
        for a in range(k):
            V[c * k + a] = row[free.B[a]]
    half_solve(q.routines, free.L, k, V, m, PLAIN)
    for c in range(m):
        for d in range(c + 1):
            M[c * m + d] = -dot(q.routines, V[c * k :], V[d * k :], k)
            if d >= out:
                M[c * m + d] += q.K[free.N[c - out], free.N[d - out]]
        if c >= out:
            M[c * m + c] += q.ridge[free.N[c - out]]
    return factorise_signed(M, m, out)


@inner
def factorise_signed(M: Array, m: int, out: int) -> bool:
    """Overwrite M with its unit lower factor, and its diagonal with D, whose first ``out`` entries are negative."""
    for c in range(m):
        pivot = M[c * m + c]
        if not (pivot < 0.0 if c < out else pivot > 0.0):
            return False
        for a in range(c + 1, m):
            part = M[a * m + c] / pivot
            for b in range(a, m):
                M[b * m + a] -= part * M[b * m + c]
        for a in range(c + 1, m):
            M[a * m + c] /= pivot
    return True


@inner
def solve_signed(M: Array, m: int, w: Array) -> None:
    """Overwrite w by ``(M D M^T)^{-1} w``."""
    for c in range(m):
        for a in range(c + 1, m):
            w[a] -= M[a * m + c] * w[c]
    for c in range(m - 1, -1, -1):
        w[c] /= M[c * m + c]
        for a in range(c + 1, m):
            w[c] -= M[a * m + c] * w[a]


@compiled
def solve_inside(q: BoxQP, free: FreeRows, right: Array, columns: int) -> None:
    """Solve for the free rows that are not isolated; ``right`` has columns of the length of F."""
    s, V = free.sizes, free.V
    f, k, out = s[ALL], s[BASE], s[OUT]
    inside, m = f - s[ISOLATED], out + s[NEW]
    z = free.inside
    w = z[columns * k :]
    for a in range(columns * (k + m)):
        z[a] = 0.0
    for c in range(columns):
        added = out
        for a in range(inside):
            at = free.place[free.F[a]]
            if at >= 0:
                z[c * k + at] = right[c * f + a]
            else:
                w[c * m + added] = right[c * f + a]
                added += 1
    if m == 0:
        solve(q.routines, free.L, k, z, columns)
    else:
        half_solve(q.routines, free.L, k, z, columns, PLAIN)
        for c in range(columns):
            for a in range(m):
                w[c * m + a] -= dot(q.routines, V[a * k :], z[c * k :], k)
            solve_signed(free.M, m, w[c * m :])
            for a in range(m):
                for t in range(k):
                    z[c * k + t] -= w[c * m + a] * V[a * k + t]
        half_solve(q.routines, free.L, k, z, columns, TRANSPOSED)
    for c in range(columns):
        added = out
        for a in range(inside):
            at = free.place[free.F[a]]
            if at >= 0:
                right[c * f + a] = z[c * k + at]
            else:
                right[c * f + a] = w[c * m + added]
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
        solve_inside(q, free, right, columns)
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
