"""Functions compiled by numba: each once per machine, for the types of its annotations.

numba copies the code of a called function into each caller and optimises it again there. Here compiled functions
call each other by name instead, so that each is compiled once; only small ones are copied (``inner``). They
allocate nothing: callers give them memory, and numba need not count references.

A function that is called from Python is compiled for that, too, with code that takes Python's objects apart. For
types with many arrays, that code takes longer to compile than the function.

Why numba is a dependency: on diabetes (768 rows), with 31 widths, 16 C and 5 folds, the SVM's algorithm with numpy
instead of these loops takes 6.8 times as long, which is longer than LIBSVM. numba adds 208 MB to an installation
of 640 MB, and 0.3 s of import. Only what compiles something imports it, never the command line.

The code is kept next to the source, or else in the user's cache, or else in a folder for temporary files. If none
can be written, every process compiles.
``NUMBA_CACHE_DIR`` names another folder.
"""

from __future__ import annotations

import atexit
import hashlib
import inspect
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial, update_wrapper
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numba
import numpy as np
from llvmlite import binding
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.extending import lower_builtin, register_jitable, type_callable

from kselect.numerics.linalg import Array

F = TypeVar("F", bound=Callable[..., Any])
RowMajor = Annotated[Array, 2]  # a matrix in C order

OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
SCALARS = {float: types.float64, int: types.int64, bool: types.boolean, type(None): types.none}
LINKING = RLock()


@cache
def stamp(folder: Path) -> str:
    """Return a checksum of the sources in a folder: compiled code depends on the functions that it calls."""
    sources = (*sorted(folder.glob("*.py")), Path(__file__))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def compiled(loops: F) -> F:
    """Compile a function when it is first needed, or load its code."""
    return Compiled(loops)  # type: ignore[return-value]


def inner(loops: F) -> F:
    """Compile a small function into each compiled function that calls it; to Python it stays what it is."""
    found: F = register_jitable(**OPTIONS)(loops)
    return found


class Compiled:
    """A compiled function with a name, which other compiled functions use."""

    def __init__(self, loops: Callable[..., Any]) -> None:
        update_wrapper(self, loops)
        self.py_func = loops
        self.name = f"{loops.__module__}.{loops.__qualname__}"
        self.linked, self.from_python = False, cast("Any", None)
        type_callable(self)(lambda _: self.typed)
        lower_builtin(self, types.VarArg(types.Any))(self.generate_call)

    def __call__(self, *args: Any) -> Any:
        """Call the function from Python."""
        return (self.from_python or self.prepare())(*args)

    def prepare(self) -> Any:
        """Compile the function, or load its code, for calls from Python."""
        with LINKING:
            if self.from_python is None:
                self.from_python = self.machine_code(self.for_python(), wrapped=True)
            return self.from_python

    def for_python(self) -> Callable[..., Any]:
        """Return the function under another name, so that its code is kept apart."""
        apart = FunctionType(self.py_func.__code__, self.py_func.__globals__)
        apart.__qualname__ = f"{self.py_func.__qualname__}.from_python"
        return apart

    @cached_property
    def signature(self) -> Any:
        """The types of the annotations."""
        hints = get_type_hints(self.py_func, include_extras=True)
        result = numba_type(hints.pop("return"))
        return signature(result, *map(numba_type, hints.values()))

    @cached_property
    def typed(self) -> Callable[..., Any]:
        """A function with the same parameters that returns the signature."""

        def typer(*_: Any) -> Any:
            return self.signature

        typer.pysig = inspect.signature(self.py_func)  # type: ignore[attr-defined]
        return typer

    def generate_call(self, context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Generate the call of the name; no function here raises, so that its status is not looked at."""
        convention = context.call_conv
        kind = convention.get_function_type(signature.return_type, signature.args)
        function = cgutils.get_or_insert_function(builder.module, kind, self.name)
        given = function, signature.return_type, signature.args, args
        return convention.call_function(builder, *given)[1]

    def link(self) -> None:
        """Compile the function or load its code, and make its name known to compiled functions."""
        with LINKING:
            if not self.linked:
                (result,) = self.machine_code(self.py_func, wrapped=False).overloads.values()
                at = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
                binding.add_symbol(self.name, at)
                self.linked = True

    def machine_code(self, loops: Callable[..., Any], *, wrapped: bool) -> Any:
        """Return numba's function, compiled or loaded, after all that it calls."""
        for one in callees(loops):
            one.link()
        code = with_cache(loops, wrapped=wrapped)
        code.compile(self.signature)
        code.disable_compile()
        return code


def with_cache(loops: Callable[..., Any], *, wrapped: bool) -> Any:
    """Return numba's function, with a folder for its code if one can be written."""
    compiler = partial(numba.njit, no_cpython_wrapper=not wrapped, **OPTIONS)
    try:
        code = compiler(cache=True)(loops)
    except RuntimeError:  # numba has no folder for its cache
        try:
            folder = private_folder()
        except OSError:  # not even for temporary files
            return compiler()(loops)
        with cache_in(folder):
            code = compiler(cache=True)(loops)
    # numba itself would notice changes only in the function's own module.
    code._cache._cache_file._source_stamp = stamp(Path(loops.__code__.co_filename).parent)
    return code


def callees(loops: Callable[..., Any]) -> Iterator[Compiled]:
    """Yield the compiled functions that a function calls, also by way of inner ones."""
    for name in loops.__code__.co_names:
        one = loops.__globals__.get(name)
        if isinstance(one, Compiled):
            yield one
        elif isinstance(one, FunctionType):
            yield from callees(one)


def numba_type(hint: Any) -> types.Type:
    """Return the type that an annotation stands for; arrays are contiguous, and vectors unless ``Annotated``."""
    if hint in SCALARS:
        return SCALARS[hint]
    if hasattr(hint, "__metadata__"):
        array, dimensions = get_args(hint)
        return types.Array(numba_type(array).dtype, dimensions, "C")
    if get_origin(hint) is np.ndarray:
        (scalar,) = get_args(get_args(hint)[1])
        return types.Array(numba.from_dtype(np.dtype(scalar)), 1, "C")
    if get_origin(hint) is tuple:
        return types.Tuple([numba_type(one) for one in get_args(hint)])
    if issubclass(hint, np.generic):
        return numba.from_dtype(np.dtype(hint))
    fields = get_type_hints(hint, include_extras=True).values()
    return types.NamedTuple([numba_type(one) for one in fields], hint)


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
