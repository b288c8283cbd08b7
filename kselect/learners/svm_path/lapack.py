"""scipy's LAPACK and BLAS within compiled loops, without copies: by the address, as numba gives no other way.

A matrix of n columns is stored column by column in a flat array. Its lower half is what counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import get_cython_function_address, intrinsic
from numpy.typing import NDArray

from kselect.learners.svm_path.compiled import compiled
from kselect.numerics.linalg import Array

ROUTINES = (("lapack", "dpotrf"), ("blas", "dtrsv"), ("lapack", "dtrtrs"), ("blas", "dsymv"))
# From so many columns on the routine for matrices, which makes itself a copy of the factor, is faster.
SEVERAL = 5
# Addresses differ between processes: an argument of what is compiled and kept, never a constant in it.
Addresses = NDArray[np.int64]
LOWER, PLAIN, TRANSPOSED = ord("L"), ord("N"), ord("T")


def addresses() -> Addresses:
    """Where the routines are in this process."""
    found = [get_cython_function_address(f"scipy.linalg.cython_{a}", b) for a, b in ROUTINES]
    return np.array(found, dtype=np.int64)


def _called(_: Any, address: Any, pointers: Any) -> Any:
    """A Fortran routine takes nothing but pointers."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        count = signature.args[1].count
        kind = ir.FunctionType(ir.VoidType(), [byte] * count)
        given = [builder.extract_value(args[1], at) for at in range(count)]
        routine = builder.inttoptr(args[0], kind.as_pointer())
        builder.call(routine, [builder.inttoptr(one, byte) for one in given])
        return context.get_dummy_value()

    return types.void(types.intp, pointers), code


call: Any = intrinsic(_called)


@compiled
def pointer(x: NDArray[Any]) -> int:
    """Signed, as a sum of signed and unsigned integers would be a float."""
    return np.int64(x.ctypes.data)  # type: ignore[return-value]


@compiled
def factorise(at: Addresses, A: Array, n: int) -> bool:
    """``A <- L`` with ``A = L L^T``; False where A is not positive definite."""
    sizes, lower = np.array([n, 0], dtype=np.int32), np.full(1, LOWER, dtype=np.uint8)
    i = pointer(sizes)
    call(at[0], (pointer(lower), i, pointer(A), i, i + 4))
    # Read after the call, which keeps the arrays until then.
    return bool(sizes[1] == 0 and lower[0] == LOWER)


@compiled
def solve(at: Addresses, L: Array, n: int, B: Array, columns: int) -> bool:
    """``B <- (L L^T)^{-1} B``."""
    there = half_solve(at, L, n, B, columns, False)
    return half_solve(at, L, n, B, columns, True) and there


@compiled
def half_solve(at: Addresses, L: Array, n: int, B: Array, columns: int, back: bool) -> bool:
    """``B <- L^{-1} B``, or back ``L^{-T} B``."""
    sizes = np.array([n, columns, 0, 1], dtype=np.int32)
    letters = np.array([LOWER, TRANSPOSED if back else PLAIN, PLAIN], dtype=np.uint8)
    i, c, f, b = pointer(sizes), pointer(letters), pointer(L), pointer(B)
    if columns < SEVERAL:
        for column in range(columns):
            call(at[1], (c, c + 1, c + 2, i, f, i, b + 8 * n * column, i + 12))
    else:
        call(at[2], (c, c + 1, c + 2, i, i + 4, f, i, b, i, i + 8))
    return bool(sizes[0] == n and letters[0] == LOWER and letters[2] == PLAIN)


@compiled
def product(at: Addresses, K: Array, x: Array, out: Array) -> bool:
    """``out <- K x``, from one half of K."""
    sizes, lower = np.array([len(x), 1], dtype=np.int32), np.full(1, LOWER, dtype=np.uint8)
    factors = np.array([1.0, 0.0])
    i, c, f = pointer(sizes), pointer(lower), pointer(factors)
    one = i + 4
    call(
        at[3],
        (c, i, f, pointer(K), i, pointer(x), one, f + 8, pointer(out), one),
    )
    return bool(sizes[0] == len(x) and lower[0] == LOWER and factors[0] == 1.0)
