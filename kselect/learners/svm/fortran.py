"""The addresses of scipy's LAPACK and BLAS routines, for compiled loops.

A matrix of n columns is stored column by column in a flat array. Only its lower half is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from kselect.numerics.compiled import inner
from kselect.numerics.lapack import Library, address
from kselect.numerics.linalg import Array

ROUTINES: tuple[tuple[Library, str], ...] = (
    ("lapack", "dpotrf"),
    ("blas", "dtrsv"),
    ("lapack", "dtrtrs"),
    ("blas", "dsymv"),
    ("blas", "ddot"),
)
# From this many columns on, the matrix routine is faster, although it copies the factor.
SEVERAL = 5
# Addresses differ between processes. They are therefore arguments, not constants, of cached compiled code.
Addresses = NDArray[np.int64]
LOWER, PLAIN, TRANSPOSED = np.uint8(ord("L")), np.uint8(ord("N")), np.uint8(ord("T"))


def addresses() -> Addresses:
    """Return the addresses of the routines in this process."""
    return np.array([address(*one) for one in ROUTINES], dtype=np.int64)


def calling(result: types.Type) -> Any:
    """Return a function for compiled code that calls a Fortran routine, given its address and its arguments.

    Fortran takes the address of each argument: that of an array's first element, or that of a copy of a number, in
    32 bits if it is an integer. If the result is an integer, it is the last argument after the call, such as
    LAPACK's info; otherwise it is what the routine returns.
    """

    def called(_: Any, address: Any, given: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointers, byte = [], ir.IntType(8).as_pointer()
            for at, kind in enumerate(signature.args[1]):
                value = builder.extract_value(args[1], at)
                pointers.append(fortran_pointer(context, builder, kind, value))
            info = isinstance(result, types.Integer)
            returned = ir.VoidType() if info else context.get_value_type(result)
            kind = ir.FunctionType(returned, [byte] * len(pointers))
            routine = builder.inttoptr(args[0], kind.as_pointer())
            found = builder.call(routine, [builder.bitcast(one, byte) for one in pointers])
            return builder.load(pointers[-1]) if info else found

        return result(types.intp, given), code

    return intrinsic(called)


def fortran_pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Generate the address of an argument."""
    if isinstance(kind, types.Array):
        return context.make_array(kind)(context, builder, value).data
    if isinstance(kind, types.Integer) and kind.bitwidth > 32:
        value = builder.trunc(value, ir.IntType(32))
    return cgutils.alloca_once_value(builder, value)


call, call_for_number = calling(types.int32), calling(types.float64)


@inner
def factorise(at: Addresses, A: Array, n: int) -> bool:
    """Overwrite A by L with ``A = L L^T``; return False if A is not positive definite."""
    return bool(call(at[0], (LOWER, n, A, n, 0)) == 0)


@inner
def solve(at: Addresses, L: Array, n: int, B: Array, columns: int) -> None:
    """Overwrite B by ``(L L^T)^{-1} B``."""
    half_solve(at, L, n, B, columns, PLAIN)
    half_solve(at, L, n, B, columns, TRANSPOSED)


@inner
def half_solve(at: Addresses, L: Array, n: int, B: Array, columns: int, which: np.uint8) -> None:
    """Overwrite B by ``L^{-1} B``, or by ``L^{-T} B`` if TRANSPOSED."""
    if columns < SEVERAL:
        for column in range(columns):
            call(at[1], (LOWER, which, PLAIN, n, L, n, B[n * column :], 1))
    else:
        call(at[2], (LOWER, which, PLAIN, n, columns, L, n, B, n, 0))


@inner
def product(at: Addresses, K: Array, x: Array, out: Array) -> None:
    """Write ``K x`` to ``out``, reading only one half of K."""
    n = len(x)
    call(at[3], (LOWER, n, 1.0, K, n, x, 1, 0.0, out, 1))


@inner
def dot(at: Addresses, x: Array, y: Array, n: int) -> float:
    """Return the inner product of the first n elements."""
    return call_for_number(at[4], (n, x, 1, y, 1))  # type: ignore[no-any-return]
