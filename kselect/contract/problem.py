"""The small problem on which the contract is checked, the comparison with an oracle, and what a docstring needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kselect.criteria import Criterion
from kselect.errors import ConfigError
from kselect.grids import parse_grid
from kselect.kernels import KERNELS, Kernel, Points
from kselect.learners import LEARNERS, Path, Problem
from kselect.learners.base import WORDS
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.plugins import companion
from kselect.registry import Part

N, FOLDS = 18, 4
RIDGES = (0.05, 0.2, 0.8)
CLOSE = 1e-6  # relative; trainers stop at 1e-8 of the targets' scale
SHORTEST = 10  # characters of a summary


def rows(n: int = N, d: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """Return points of two overlapping classes."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.4 * y[:, None], y


def some_kernel(cls: type[Kernel]) -> Kernel:
    """Return the kernel in the middle of its default grids."""
    grids = {name: parse_grid(grid) for name, grid in cls.grids.items()}
    return cls.of({name: grid[len(grid) // 2] for name, grid in grids.items()})


def fold_numbers() -> Index:
    """Return the fold of each row; the folds differ in size."""
    rng = np.random.default_rng(3)
    first = np.append(np.arange(FOLDS), rng.integers(FOLDS, size=N - FOLDS))
    return rng.permutation(first).astype(np.intp)


def small_problem(kernel: Kernel, y: Array | None = None, order: Any = slice(None)) -> Problem:
    """Return a problem of N rows with their kernel matrix, in some order of the rows."""
    X, labels = rows()
    X, y = X[order], (labels if y is None else y)[order]
    drawn = np.argsort(np.arange(N)[order])[np.random.default_rng(4).permutation(N)]
    K = kernel.gram(Points(X))
    return Problem(X, y, kernel, K, np.array(RIDGES), "fixed", order=drawn)


def small_path(learner: str, kernel: str, order: Any = slice(None)) -> Path:
    """Return a path of a learner on the small problem."""
    return LEARNERS[learner].path(small_problem(some_kernel(KERNELS[kernel]), order=order))


def fits(criterion: Criterion, learner: str, kernel: str) -> bool:
    """Return whether a criterion works with a learner and a kernel."""
    tasks = "classification" in LEARNERS[learner].tasks
    return tasks and not list(criterion.misfits(criterion.name, LEARNERS[learner], [kernel]))


def first_path(criterion: Criterion) -> Path:
    """Return a path of the first learner and kernel that a criterion works with."""
    names = [name for name, cls in KERNELS.items() if not cls.learned]
    pairs = ((le, k) for le in ("lssvm", *sorted(LEARNERS)) for k in names)
    found = next(((le, k) for le, k in pairs if fits(criterion, le, k)), None)
    if found is None:
        raise ConfigError(f"no learner and kernel offers it {WORDS[criterion.need]}")
    return small_path(*found)


def score(criterion: Criterion, path: Any, folds: Folds | None = None, **options: Any) -> Array:
    """Return a criterion's scores, with folds if it takes them."""
    own = (folds or Folds.from_numbers(fold_numbers()),) if criterion.takes_folds else ()
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        found: Array = criterion.function(path, *own, **options)
    return found


def differs_from_oracle(item: Any, found: Callable[[Callable[..., Any]], tuple[Any, Any]]) -> str:
    """Return whether a part differs from the oracle in its module; without an oracle, it does not."""
    oracle = companion(item, "oracle")
    if oracle is None:
        return ""
    fast, slow = (np.asarray(v, dtype=np.float64) for v in found(oracle))
    if fast.shape != slow.shape:
        return f"has the shape {fast.shape}, its oracle {slow.shape}"
    if np.allclose(fast, slow, rtol=CLOSE, atol=CLOSE, equal_nan=True):
        return ""
    return f"differs from its oracle by up to {np.abs(fast - slow).max():.3g}"


def undocumented(part: Part) -> str:
    """Return what a reader of ``kselect list`` misses."""
    if len(part.summary) < SHORTEST:
        return "has no docstring; its first line is shown by kselect list"
    return "" if part.paper else "has no paper; write paper='none' if there is none"
