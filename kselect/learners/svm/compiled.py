"""Compiled loops by numba, and scipy's LAPACK and BLAS routines to call in them.

Why numba is a dependency: on diabetes (768 rows), with 31 widths, 16 C and 5 folds, the same algorithm with numpy
instead of these loops takes 6.8 times as long, which is longer than LIBSVM. numba adds 208 MB to an installation
of 640 MB, and 0.3 s of import. Only an SVM's first path imports it, never the command line.
Compiling takes about a minute, once per machine.

A matrix of n columns is stored column by column in a flat array. Only its lower half is read.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from kselect.numerics.lapack import Library, address
from kselect.numerics.linalg import Array

F = TypeVar("F", bound=Callable[..., Any])

# A hash of all sources in this folder: the code of a compiled function includes the code of the functions it calls.
STAMP = hashlib.sha256(
    b"".join(source.read_bytes() for source in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()

ROUTINES: tuple[tuple[Library, str], ...] = (
    ("lapack", "dpotrf"),
    ("blas", "dtrsv"),
    ("lapack", "dtrtrs"),
    ("blas", "dsymv"),
)
# From this many columns on, the matrix routine is faster, although it copies the factor.
SEVERAL = 5
# Addresses differ between processes. They are therefore arguments, not constants, of cached compiled code.
Addresses = NDArray[np.int64]
LOWER, PLAIN, TRANSPOSED = ord("L"), ord("N"), ord("T")


def compiled(loops: F) -> F:
    """Compile a function when it is first called, and cache the code next to the source or in the user's cache.

    If neither folder is writable, a folder for temporary files holds the code, for all processes of the user.
    numba's own cache would notice changes only in the function's own module, not in the modules of the functions
    that it calls. Nothing calls the functions from C, which numba would prepare for.
    """
    compiler = numba.njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
    try:
        found: F = compiler(loops)
    except RuntimeError:  # numba has no folder for its cache
        with cache_in(private_folder()):
            found = compiler(loops)
    found._cache._cache_file._source_stamp = STAMP  # type: ignore[attr-defined]
    return found


@cache
def private_folder() -> Path:
    """Return a folder for temporary files that only this user can write, the same in every process.

    The cache is code: a folder that belongs to another user is not used, but a new one, for this process only.
    """
    folder = Path(tempfile.gettempdir()) / f"kselect-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    facts = folder.lstat()
    private = stat.S_ISDIR(facts.st_mode) and not facts.st_mode & 0o077
    if private and facts.st_uid == os.getuid():
        return folder
    new = tempfile.mkdtemp(prefix="kselect-")
    atexit.register(shutil.rmtree, new, ignore_errors=True)
    return Path(new)


@contextmanager
def cache_in(folder: Path) -> Iterator[None]:
    """Let numba cache the functions that are declared in this context in a folder."""
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def addresses() -> Addresses:
    """Return the addresses of the routines in this process."""
    return np.array([address(*one) for one in ROUTINES], dtype=np.int64)


def _called(_: Any, address: Any, pointers: Any) -> Any:
    """Generate the call of a Fortran routine, all of whose arguments are pointers."""

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
    """Return the address of an array as a signed integer: signed plus unsigned would be a float."""
    return np.int64(x.ctypes.data)  # type: ignore[return-value]


@compiled
def factorise(at: Addresses, A: Array, n: int) -> bool:
    """Overwrite A by L with ``A = L L^T``; return False if A is not positive definite."""
    sizes, lower = np.array([n, 0], dtype=np.int32), np.full(1, LOWER, dtype=np.uint8)
    i = pointer(sizes)
    call(at[0], (pointer(lower), i, pointer(A), i, i + 4))
    # Here and below, reading the arrays after the call keeps them alive until then.
    return bool(sizes[1] == 0 and lower[0] == LOWER)


@compiled
def solve(at: Addresses, L: Array, n: int, B: Array, columns: int) -> bool:
    """Overwrite B by ``(L L^T)^{-1} B``."""
    there = half_solve(at, L, n, B, columns, False)
    return half_solve(at, L, n, B, columns, True) and there


@compiled
def half_solve(at: Addresses, L: Array, n: int, B: Array, columns: int, back: bool) -> bool:
    """Overwrite B by ``L^{-1} B``, or by ``L^{-T} B`` if ``back``."""
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
    """Write ``K x`` to ``out``, reading only one half of K."""
    sizes, lower = np.array([len(x), 1], dtype=np.int32), np.full(1, LOWER, dtype=np.uint8)
    factors = np.array([1.0, 0.0])
    i, c, f = pointer(sizes), pointer(lower), pointer(factors)
    one = i + 4
    call(
        at[3],
        (c, i, f, pointer(K), i, pointer(x), one, f + 8, pointer(out), one),
    )
    return bool(sizes[0] == len(x) and lower[0] == LOWER and factors[0] == 1.0)
