"""LAPACK by address: without the interpreter's lock, and with workspaces of the right size.

scipy's own wrappers hold the lock while a routine runs, so that two threads take as long as one. These functions
call the same routines by the addresses that scipy publishes for Cython, through ctypes, which gives up the lock.
(numpy's ``eigh``, ``cholesky``, ``solve`` and products give it up, too.) Names are LAPACK's.

Every matrix is in Fortran order; the transpose of a symmetric matrix in C order is the same memory. Of symmetric
matrices and factors only the lower half is read. ``overwrite`` lets a routine work in the array that it is given.
A routine that may fail returns whether it did, as ``failed``, last.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kselect.numerics.linalg import EPS, Array

# Columns of workspace per row, from which on the blocked routines run at full speed.
BLOCK = 64
# The reduction to tridiagonal form takes as many columns at once as its workspace has; this number is the fastest.
PANEL = 16
NUMBERS: dict[type, Any] = {int: ctypes.c_int, float: ctypes.c_double}
Library = Literal["blas", "lapack"]
LOWER, LEFT, PLAIN, UNIT = (ctypes.c_char(letter) for letter in b"LLNI")
RANGE, WHOLE = ctypes.c_char(b"I"), ctypes.c_char(b"E")


def address(library: Library, name: str) -> int:
    """Return the address of a routine of scipy's BLAS or LAPACK in this process."""
    capsule = import_module(f"scipy.linalg.cython_{library}").__pyx_capi__[name]
    label, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    label.restype, label.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer(capsule, label(capsule)))


@cache
def routine(library: Library, name: str, count: int) -> Callable[..., None]:
    """Return a routine of ``count`` arguments, all of which are pointers."""
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(address(library, name))


def call(name: str, *given: Any, library: Library = "lapack") -> int:
    """Call a routine with arrays, integers, numbers and letters; return LAPACK's ``info``, which comes last."""
    info = ctypes.c_int(0)
    pointers, kept = [], []  # the numbers must live as long as the call
    for one in given:
        if type(one) is np.ndarray:
            pointers.append(one.__array_interface__["data"][0])
            continue
        number = NUMBERS[type(one)](one) if type(one) in NUMBERS else one
        kept.append(number)
        pointers.append(ctypes.addressof(number))
    if library == "lapack":
        pointers.append(ctypes.addressof(info))
    routine(library, name, len(pointers))(*pointers)
    return info.value


def fortran(A: Array, overwrite: bool = False) -> Array:
    """Return A in Fortran order: a copy, or A itself if it may be overwritten and has that order."""
    if overwrite and A.dtype == np.float64 and A.flags.f_contiguous and A.flags.writeable:
        return A
    return np.array(A, dtype=np.float64, order="F")


def columns(b: Array) -> int:
    """Return the number of right-hand sides in a vector or a matrix."""
    return 1 if b.ndim == 1 else b.shape[1]


# --- Cholesky ---------------------------------------------------------------------------------------


def dpotrf(A: Array, *, overwrite: bool = False, clean: bool = False) -> tuple[Array, bool]:
    """Return L with ``L L^T = A``; its upper half is only zero if ``clean``."""
    L = fortran(A, overwrite)
    failed = call("dpotrf", LOWER, len(L), L, max(1, len(L)))
    if clean:
        L[np.triu_indices(len(L), 1)] = 0.0
    return L, failed != 0


def dpotrs(L: Array, b: Array, *, overwrite: bool = False) -> Array:
    """Return ``(L L^T)^{-1} b`` for one right-hand side or several."""
    x, n = fortran(b, overwrite), len(L)
    call("dpotrs", LOWER, n, columns(x), L, max(1, n), x, max(1, n))
    return x


def dposv(A: Array, b: Array, *, overwrite: bool = False) -> tuple[Array, Array, bool]:
    """Return the Cholesky factor of A, and ``A^{-1} b``; only A may be overwritten."""
    L, x, n = fortran(A, overwrite), fortran(b), len(A)
    failed = call("dposv", LOWER, n, columns(x), L, max(1, n), x, max(1, n))
    return L, x, failed != 0


def dpotri(L: Array, *, overwrite: bool = False) -> Array:
    """Return the lower half of ``(L L^T)^{-1}``."""
    inverse = fortran(L, overwrite)
    call("dpotri", LOWER, len(L), inverse, max(1, len(L)))
    return inverse


def dtrtrs(L: Array, b: Array, *, overwrite: bool = False) -> Array:
    """Return ``L^{-1} b`` for a lower triangular matrix, which may be a part of a larger one."""
    x, n = fortran(b, overwrite), len(L)
    leading = max(1, L.strides[1] // 8)
    call("dtrtrs", LOWER, PLAIN, PLAIN, n, columns(x), L, leading, x, max(1, n))
    return x


def dtrtri(L: Array, *, overwrite: bool = False) -> Array:
    """Return ``L^{-1}``, lower triangular; the upper half is as in L."""
    inverse = fortran(L, overwrite)
    call("dtrtri", LOWER, PLAIN, len(L), inverse, max(1, len(L)))
    return inverse


def dtrmm(scale: float, L: Array, B: Array) -> Array:
    """Return ``scale L B`` for the lower triangle of L."""
    L, C, n = fortran(L, overwrite=True), fortran(B), len(L)
    size = max(1, n)
    call(
        *("dtrmm", LEFT, LOWER, PLAIN, PLAIN, n, columns(C), scale, L, size, C, size),
        library="blas",
    )
    return C


def dpstrf(A: Array, tolerance: float) -> tuple[Array, NDArray[np.intp], int]:
    """Return the pivoted factor of A, the pivots, and the rank: the diagonal elements above the tolerance."""
    L, n = fortran(A), len(A)
    pivots, rank, work = np.zeros(n, dtype=np.int32), np.zeros(1, dtype=np.int32), np.empty(2 * n)
    call("dpstrf", LOWER, n, L, max(1, n), pivots, rank, tolerance, work)
    return L, pivots.astype(np.intp) - 1, int(rank[0])


def dsyr(scale: float, x: Array, A: Array) -> None:
    """Add ``scale x x^T`` to the lower half of A in Fortran order, in place."""
    n, x = len(x), np.ascontiguousarray(x)
    call("dsyr", LOWER, n, float(scale), x, 1, A, max(1, n), library="blas")


# --- the tridiagonal form ---------------------------------------------------------------------------


def dsytrd(A: Array, *, overwrite: bool = False) -> tuple[Array, Array, Array, Array]:
    """Return the reflectors of Q, their scales, and the diagonals d, e of T with ``A = Q T Q^T``."""
    V, n = fortran(A, overwrite), len(A)
    d, e, scales = np.empty(n), np.empty(max(0, n - 1)), np.empty(max(0, n - 1))
    call("dsytrd", LOWER, n, V, max(1, n), d, e, scales, np.empty(PANEL * n), PANEL * n)
    return V, scales, d, e


def dorgtr(V: Array, scales: Array, *, overwrite: bool = False) -> Array:
    """Return Q from its reflectors."""
    Q, n = fortran(V, overwrite), len(V)
    call("dorgtr", LOWER, n, Q, max(1, n), scales, np.empty(BLOCK * n), BLOCK * n)
    return Q


def dpttrf(d: Array, e: Array) -> tuple[Array, Array, bool]:
    """Return D and the subdiagonal of L with ``L D L^T = T`` for a tridiagonal T."""
    D, L = d.copy(), e.copy()
    return D, L, call("dpttrf", len(d), D, L) != 0


def dpttrs(D: Array, L: Array, b: Array, *, overwrite: bool = False) -> Array:
    """Return ``(L D L^T)^{-1} b`` for one right-hand side or several."""
    x, n = fortran(b, overwrite), len(D)
    call("dpttrs", n, columns(x), D, L, x, max(1, n))
    return x


def dsterf(d: Array, e: Array) -> tuple[Array, bool]:
    """Return the eigenvalues of a tridiagonal matrix, ascending."""
    s = d.copy()
    return s, call("dsterf", len(d), s, e.copy()) != 0


def dstedc(d: Array, e: Array) -> tuple[Array, Array, bool]:
    """Return the eigenvalues of a tridiagonal matrix, ascending, and its eigenvectors."""
    n, s = len(d), d.copy()
    Z, size, whole = np.empty((n, n), order="F"), 1 + 4 * n + n * n, 3 + 5 * n
    work, places = np.empty(size), np.empty(whole, dtype=np.int32)
    failed = call("dstedc", UNIT, n, s, e.copy(), Z, n, work, size, places, whole)
    return s, Z, failed != 0


def dstebz(d: Array, e: Array) -> tuple[float, float]:
    """Return the smallest and the largest eigenvalue of a tridiagonal matrix, by bisection.

    The smallest one is exact to the rounding error of the matrix, the largest one to a millionth.
    """
    n, found, work = len(d), np.zeros((2, len(d))), np.empty(4 * len(d))
    size = float(np.abs(d).max(initial=0.0) + 2.0 * np.abs(e).max(initial=0.0))
    if not np.isfinite(size):
        return np.nan, np.nan
    digits = 0.25 * n * EPS * size, 1e-6 * size
    whole, counts = np.empty(3 * n, dtype=np.int32), np.zeros(2, dtype=np.int32)
    blocks = np.empty((2, n), dtype=np.int32)
    for at, position in enumerate((1, n)):
        call(
            *("dstebz", RANGE, WHOLE, n, 0.0, 0.0, position, position, digits[at], d, e),
            *(counts[:1], counts[1:], found[at], blocks[0], blocks[1], work, whole),
        )
    return float(found[0, 0]), float(found[1, 0])
