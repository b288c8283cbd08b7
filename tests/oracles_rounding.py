"""Predictions without any rounding: the square loss retrained in whole numbers, without code of kselect.

A float is a fraction whose denominator is a power of two, so a kernel matrix consists of whole numbers over a
common denominator. Gauss-Jordan elimination without fractions (Bareiss) solves with it exactly.

Rounding cannot explain a wrong sign if the exact prediction is larger than ``allowed``: the effect of a
relative error ``n eps`` in the system on the terms of that prediction, for any y.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Exact = list[Fraction]
EPS = float(np.finfo(np.float64).eps)
STEPS = 10


def exactly(A: Array) -> list[Exact]:
    """Return the rows of a matrix as fractions."""
    return [[Fraction(v) for v in row] for row in A.tolist()]


def outer(V: Array) -> list[Exact]:
    """Return ``V V^T``."""
    rows = exactly(V)
    return [
        [sum((a * b for a, b in zip(x, z, strict=True)), Fraction()) for z in rows] for x in rows
    ]


def solve(A: Sequence[Exact], B: Sequence[Exact]) -> list[Exact]:
    """Return ``A^{-1} B`` by elimination in whole numbers, with one division per number of the result."""
    unit = max(v.denominator for row in [*A, *B] for v in row)
    M = [
        [v.numerator * (unit // v.denominator) for v in [*a, *b]] for a, b in zip(A, B, strict=True)
    ]
    n, before = len(M), 1
    for k in range(n):
        pivot = next(i for i in range(k, n) if M[i][k])
        M[k], M[pivot] = M[pivot], M[k]
        for i in range(n):
            if i != k:
                factor = M[i][k]
                M[i] = [
                    (M[k][k] * a - factor * b) // before for a, b in zip(M[i], M[k], strict=True)
                ]
        before = M[k][k]
    return [[Fraction(v, row[i]) for v in row[n:]] for i, row in enumerate(M)]


def system(K: Sequence[Exact], rows: Iterable[int], gamma: Fraction, bias: bool) -> list[Exact]:
    """Return ``K + gamma I`` for some rows; with a bias, add a row and column of ones with a zero in the corner."""
    rows = list(rows)
    one = [Fraction(1)] if bias else []
    A = [[K[i][j] + gamma * (i == j) for j in rows] + one for i in rows]
    return [*A, [*[Fraction(1)] * len(rows), Fraction()]] if bias else A


def fit(
    K: Sequence[Exact], y: Array, rows: Sequence[int], gamma: float, bias: bool
) -> tuple[Exact, Fraction]:
    """Return alpha on the rows, and b."""
    right = [[Fraction(float(y[i]))] for i in rows] + [[Fraction()]] * bias
    x = [v for (v,) in solve(system(K, rows, Fraction(gamma), bias), right)]
    return (x[:-1], x[-1]) if bias else (x, Fraction())


def held_out_by_columns(
    C: Array, W: Array, y: Array, folds: Iterable[Index], gamma: float, bias: bool
) -> Array:
    """Return the predictions of each fold by the minimum over the others of ``|y - C a - b|^2 + gamma a^T W a``."""
    out, whole = np.empty(len(y)), exactly(np.column_stack([C, np.ones(len(y))]))
    size, ridge = C.shape[1] + bias, exactly(np.pad(W, (0, 1)))
    for F in folds:
        rows = [whole[i] for i in range(len(y)) if i not in F]
        goal = [Fraction(float(y[i])) for i in range(len(y)) if i not in F]
        A = [
            [sum((x[i] * x[j] for x in rows), Fraction(gamma) * ridge[i][j]) for j in range(size)]
            for i in range(size)
        ]
        right = [
            [sum((x[i] * v for x, v in zip(rows, goal, strict=True)), Fraction())]
            for i in range(size)
        ]
        a = [v for (v,) in solve(A, right)]
        for i in F:
            out[i] = float(sum((x * v for x, v in zip(whole[i], a, strict=False)), Fraction()))
    return out


def predict(K: Sequence[Exact], row: int, rows: Sequence[int], a: Exact, b: Fraction) -> Fraction:
    """Return ``sum_j K_ij a_j + b``."""
    return sum((K[row][j] * v for j, v in zip(rows, a, strict=True)), b)


def allowed(K: Array, T: Index, F: Index, gamma: float, a: Array, y: Array, bias: bool) -> Array:
    """Return the error that ``n eps`` explains, for rows F predicted by rows T with coefficients a.

    This is ``10 n eps cond(K + gamma I)`` times ``|K_iT| |a|``, plus, with a bias, the terms of ``b = (1^T y -
    1^T (K_TT - K_00 I) a) / (n - m)``.
    """
    s = np.maximum(np.linalg.eigvalsh(K), 0.0)
    terms = np.linalg.norm(K[np.ix_(F, T)], axis=1) * np.linalg.norm(a)
    if bias:
        off = K[np.ix_(T, T)] - K[0, 0] * np.eye(len(T))
        columns = np.linalg.norm(np.abs(off).sum(axis=0))
        terms = terms + (abs(y.sum()) + columns * np.linalg.norm(a)) / len(T)
    return np.asarray(STEPS * len(K) * EPS * (s[-1] + gamma) / (s[0] + gamma) * terms)


def allowed_by_columns(
    V: Array, T: Index, F: Index, gamma: float, a: Array, y: Array, bias: bool
) -> Array:
    """Return the same for the kernel ``V V^T``, if V is known up to rounding of whole rows."""
    whole = np.linalg.norm(V[T], axis=1) @ np.abs(a)
    terms = np.linalg.norm(V[F], axis=1) * whole
    if bias:
        terms = terms + (abs(y.sum()) + np.linalg.norm(V[T].sum(axis=0)) * whole) / len(T)
    largest = float(np.linalg.norm(V, 2)) ** 2
    return np.asarray(STEPS * len(V) * EPS * (largest + gamma) / gamma * terms)


def held_out(
    A: Array, y: Array, folds: Iterable[Index], gammas: Iterable[float], bias: bool, columns: bool
) -> tuple[Exact, Array]:
    """Predict every row by the model trained without its fold, at the fold's ridge, and the allowed error.

    A is the kernel matrix, or V if ``columns`` says that the kernel is ``V V^T``.
    """
    K, bound = (outer(A), allowed_by_columns) if columns else (exactly(A), allowed)
    n = len(y)
    found, off = [Fraction()] * n, np.zeros(n)
    for F, gamma in zip(folds, gammas, strict=True):
        T = np.setdiff1d(np.arange(n), F)
        a, b = fit(K, y, T.tolist(), gamma, bias)
        for i in F.tolist():
            found[i] = predict(K, i, T.tolist(), a, b)
        off[F] = bound(A, T, F, gamma, np.array([float(v) for v in a]), y[T], bias)
    return found, off


def fitted(A: Array, y: Array, gamma: float, bias: bool, columns: bool) -> tuple[Exact, Array]:
    """Return ``K alpha + b`` on the training rows, and the allowed error."""
    K, bound = (outer(A), allowed_by_columns) if columns else (exactly(A), allowed)
    rows = np.arange(len(y))
    a, b = fit(K, y, rows.tolist(), gamma, bias)
    found = [predict(K, i, rows.tolist(), a, b) for i in rows.tolist()]
    return found, bound(A, rows, rows, gamma, np.array([float(v) for v in a]), y, bias)


def series(
    K: Array, y: Array, folds: Iterable[Index], gamma: float, bias: bool, order: int
) -> tuple[Exact, Array]:
    """Return ``y - sum_{q <= order} T^q r`` on F, and the allowed error.

    T is ``S diag(1 on F, -m / (n - m) off F)``. The prediction of an order is ``S z`` with coefficients ``P
    z``. It is z of the next order on F, and its rounding propagates through S: the last bit of K can decide the
    sign of the remainder.
    """
    n = len(y)
    unit = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)] + [[Fraction()] * n] * bias
    P = solve(system(exactly(K), range(n), Fraction(gamma), bias), unit)[:n]
    target = [Fraction(float(v)) for v in y]

    def smooth(z: Exact) -> Exact:
        return [v - Fraction(gamma) * p for v, p in zip(z, apply(P, z), strict=True)]

    residual = [a - b for a, b in zip(target, smooth(target), strict=True)]
    S = np.abs(
        [[float(int(i == j) - Fraction(gamma) * P[i][j]) for j in range(n)] for i in range(n)]
    )
    found, off = [Fraction()] * n, np.zeros(n)
    for F in folds:
        D = [
            Fraction(1) if i in set(F.tolist()) else -Fraction(len(F), n - len(F)) for i in range(n)
        ]
        term, total, before = residual, residual, [Fraction()] * n
        passed = series_terms(K, y, P, F, gamma, target, bias)
        for _ in range(order):
            before = total
            term = smooth([d * v for d, v in zip(D, term, strict=True)])
            total = [a + b for a, b in zip(total, term, strict=True)]
            z = [a - d * b for a, d, b in zip(target, D, before, strict=True)]
            own = series_terms(K, y, P, F, gamma, z, bias)
            passed = own + S @ (np.abs([float(d) for d in D]) * passed)
        off[F] = passed[F]
        for i in F.tolist():
            found[i] = target[i] - total[i]
    return found, off


def series_terms(
    K: Array, y: Array, P: Sequence[Exact], F: Index, gamma: float, z: Exact, bias: bool
) -> Array:
    """Return the error of every row that the rounding of one order explains."""
    a, at = (np.array([float(v) for v in values]) for values in (apply(P, z), z))
    rows = np.arange(len(y))
    found = allowed(K, rows, rows, gamma, a, at, bias)
    found[F] = terms_of_series(K, F, gamma, a, at, bias)
    return found


def terms_of_series(K: Array, F: Index, gamma: float, a: Array, z: Array, bias: bool) -> Array:
    """Return ``allowed`` with ``|K_iT| |a_T| + |K_iF| |a_F|`` instead of ``|K_i| |a|``."""
    n = len(K)
    rows, T = np.arange(n), np.setdiff1d(np.arange(n), F)
    if bias:
        return allowed(K, rows, F, gamma, a, z, bias)
    return allowed(K, T, F, gamma, a[T], z[T], bias) + allowed(K, F, F, gamma, a[F], z[F], bias)


def apply(P: Sequence[Exact], z: Exact) -> Exact:
    """Return ``P z``."""
    return [sum((p * v for p, v in zip(row, z, strict=True)), Fraction()) for row in P]


def beyond(y: Array, found: Array, exact: Exact, off: Array) -> NDArray[np.bool_]:
    """Return where the zero-one loss has a wrong sign that rounding does not explain."""
    wrong = y * found <= 0
    really = np.array([v * h <= 0 for v, h in zip(map(Fraction, y.tolist()), exact, strict=True)])
    size = np.array([abs(float(h)) for h in exact])
    return np.asarray((wrong != really) & (size > off))
