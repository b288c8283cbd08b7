"""LAPACK by address gives what numpy gives, and two threads run it at once."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest

from kselect.numerics import lapack
from kselect.numerics.bidiagonal import STRIP, column_squares, half_solve
from kselect.numerics.linalg import EPS, Array

N = 70
RNG = np.random.default_rng(0)
FACTOR = RNG.normal(size=(N, N))
K: Array = FACTOR @ FACTOR.T + np.eye(N)
v = RNG.normal(size=N)


def close(found: Array, wanted: Array) -> None:
    np.testing.assert_allclose(found, wanted, atol=1e-9 * max(1.0, float(np.abs(wanted).max())))


@pytest.mark.parametrize("n", [1, 2, N])
def test_cholesky(n: int) -> None:
    A, b = K[:n, :n], v[:n]
    L, failed = lapack.dpotrf(A, clean=True)
    assert not failed
    close(L @ L.T, A)
    close(lapack.dpotrs(L, b), np.linalg.solve(A, b))
    close(np.tril(lapack.dpotri(L)), np.tril(np.linalg.inv(A)))
    close(np.tril(lapack.dtrtri(L)), np.linalg.inv(L))
    close(lapack.dtrtrs(L, A), np.linalg.solve(L, A))
    part = slice(n // 2, None)  # a part of a larger factor
    close(lapack.dtrtrs(L[part, part], b[part]), np.linalg.solve(L[part, part], b[part]))
    close(lapack.dtrmm(2.0, L, A), 2.0 * L @ A)
    close(lapack.dposv(A, A)[1], np.eye(n))


def test_nothing_is_overwritten_unless_asked() -> None:
    A, b = np.asfortranarray(K), v.copy()
    lapack.dposv(A, b)
    lapack.dsytrd(A)
    lapack.dpstrf(A, 1e-12)
    np.testing.assert_array_equal(A, K)
    np.testing.assert_array_equal(b, v)
    assert lapack.dpotrf(A, overwrite=True)[0] is A


def test_failures_are_reported() -> None:
    assert lapack.dpotrf(-np.eye(3))[1]
    assert lapack.dposv(-np.eye(3), np.ones(3))[2]
    assert lapack.dpttrf(-np.ones(3), np.zeros(2))[2]


def test_pivots_and_rank() -> None:
    A = FACTOR[:, :9] @ FACTOR[:, :9].T
    L, pivots, rank = lapack.dpstrf(A, 1e-9)
    assert rank == 9
    L = np.tril(L)[:, :rank]
    close(L @ L.T, A[np.ix_(pivots, pivots)])


def test_a_symmetric_update() -> None:
    A = np.asfortranarray(K)
    lapack.dsyr(-2.0, v, A)
    close(np.tril(A), np.tril(K - 2.0 * np.outer(v, v)))


@pytest.mark.parametrize("n", [1, 2, N])
def test_the_tridiagonal_form(n: int) -> None:
    A, b = K[:n, :n], v[:n]
    V, scales, d, e = lapack.dsytrd(A)
    Q, T = lapack.dorgtr(V, scales), np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    close(Q @ T @ Q.T, A)
    s = np.linalg.eigvalsh(A)
    close(lapack.dsterf(d, e)[0], s)
    least, largest = lapack.dstebz(d, e)
    assert least == pytest.approx(s[0], abs=len(s) * EPS * s[-1])
    assert largest == pytest.approx(s[-1], rel=1e-5)
    values, Z, failed = lapack.dstedc(d, e)
    assert not failed
    close((Z * values) @ Z.T, T)
    D, below, failed = lapack.dpttrf(d, e)
    assert not failed
    close(lapack.dpttrs(D, below, b), np.linalg.solve(T, b))
    W, across = np.empty((n, n)), np.ascontiguousarray(Q.T)
    half_solve(across, below, 1.0 / np.sqrt(D), W, np.empty(n))
    close(W.T @ W, np.linalg.inv(A))
    out = np.empty((1, n))
    column_squares(across, below[None], 1.0 / D[None], out, np.empty((1, STRIP)))
    close(out[0], np.diagonal(np.linalg.inv(A)))


def test_strips_of_columns_do_not_touch() -> None:
    """More columns than a strip holds."""
    B, below = RNG.normal(size=(4, 600)), RNG.normal(size=(2, 3))
    weight, out = RNG.uniform(1.0, 2.0, size=(2, 4)), np.empty((2, 600))
    column_squares(B, below, weight, out, np.empty((2, STRIP)))
    for i in range(2):
        inverse = np.linalg.inv(np.eye(4) + np.diag(below[i], -1))
        close(out[i], (weight[i][:, None] * np.square(inverse @ B)).sum(axis=0))


def test_a_routine_gives_up_the_lock() -> None:
    """No thread is asked for the lock here, so that this one only counts if the routine gives it up."""
    A, count, seen = np.asfortranarray(np.eye(900) + 1e-4), [0], []

    def reduce() -> None:
        before = count[0]
        lapack.dsytrd(A, overwrite=True)
        seen.append(count[0] - before)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    try:
        for _ in range(5):  # on a busy machine this thread may not run at all during one call
            worker = threading.Thread(target=reduce)
            worker.start()
            while worker.is_alive():
                count[0] += 1
                time.sleep(0)
            worker.join(timeout=60)
    finally:
        sys.setswitchinterval(usual)
    assert max(seen) > 0
