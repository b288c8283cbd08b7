"""The contract of kernels, learners, searches and kinds of figure: what is wrong with them, or an empty text."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np

from kselect.contract.problem import (
    CLOSE,
    FOLDS,
    RIDGES,
    SHORTEST,
    N,
    differs_from_oracle,
    fold_numbers,
    rows,
    small_problem,
    some_kernel,
)
from kselect.core.method import Choice, LamGrid, Method
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError
from kselect.kernels import KERNELS, Kernel, Points
from kselect.learners import Learner, Path, Problem
from kselect.learners.base import WORDS
from kselect.learners.base import Path as AnyPath
from kselect.numerics.folds import Folds, stream
from kselect.numerics.linalg import Array
from kselect.numerics.weights import Weights
from kselect.search.continuous import ContinuousSearch, KnownSolutions, Solution
from kselect.search.training_context import TrainingContext

NOISE = 1e-9  # negative eigenvalues of a kernel matrix, relative to the largest

# --- kernels ----------------------------------------------------------------------------------------


def wrong_matrix(cls: type[Kernel]) -> str:
    """Return what is wrong with the kernel matrix: shape, symmetry, sign of eigenvalues, or its parts."""
    (X, _), kernel = rows(), some_kernel(cls)
    K = kernel.gram(Points(X))
    if not isinstance(K, np.ndarray) or K.shape != (N, N):
        return f"its matrix has the shape {np.shape(K)}, not {(N, N)}"
    if not np.isfinite(K).all():
        return "its matrix has an entry that is not a number"
    if not np.allclose(K, K.T, rtol=0, atol=NOISE * np.abs(K).max()):
        return "its matrix is not symmetric"
    values = np.linalg.eigvalsh((K + K.T) / 2)
    if values[0] < -NOISE * N * max(values[-1], 1.0):
        return f"its matrix has a negative eigenvalue, {values[0]:.3g}"
    across = kernel.gram(Points(X[:5], X))
    if across.shape != (5, N) or not np.allclose(across, K[:5], rtol=CLOSE, atol=NOISE):
        return "its matrix of some rows with all rows differs from that part of the whole matrix"
    return ""


def unrepeatable_matrix(cls: type[Kernel]) -> str:
    """Return whether a matrix differs the second time, or the rows are changed."""
    (X, _), kernel = rows(), some_kernel(cls)
    points, before = Points(X), X.copy()
    first = kernel.gram(points).copy()
    kernel.gram(points)[:] = 0.0  # callers may change what they get
    if not np.array_equal(kernel.gram(points), first):
        return "gives another matrix the second time; gram must return a new array"
    return "" if np.array_equal(X, before) else "changes the rows"


def wrong_grids(cls: type[Kernel]) -> str:
    """Return what is wrong with the default grids, and whether an impossible parameter is accepted."""
    names = list(inspect.signature(cls).parameters)
    if set(cls.grids) != set(names):
        return f"needs a default grid for each parameter: {', '.join(names)}"
    kernel = some_kernel(cls)
    if cls.of(kernel.parameters) != kernel:
        return "is not the same kernel when it is made from its own parameters"
    for name in names:
        for value in (-1.0, 0.0, float("nan")):
            try:
                cls.of({**kernel.parameters, name: value})
            except ConfigError:
                continue
            return f"accepts {name} = {value:g}; keep Kernel's __post_init__"
    return ""


def kernel_oracle(cls: type[Kernel]) -> str:
    """Return whether a kernel differs from ``oracle_<class>(x, z, **parameters)`` of two rows."""
    (X, _), kernel = rows(), some_kernel(cls)
    own = kernel.parameters
    return differs_from_oracle(
        cls, lambda o: (kernel.gram(Points(X)), [[o(x, z, **own) for z in X] for x in X])
    )


def undocumented_kernel(cls: type[Kernel]) -> str:
    """Return what a reader of ``kselect list kernels`` misses."""
    text = vars(cls).get("__doc__") or ""
    own = len(text) >= SHORTEST and not text.startswith(f"{cls.__name__}(")  # dataclass writes that
    return "" if own else "has no docstring; its first line is shown by kselect list"


# --- learners ---------------------------------------------------------------------------------------


def targets_of(learner: Learner) -> Array:
    """Return labels, or numbers for a learner of regressions only."""
    X, y = rows()
    return y if "classification" in learner.tasks else X[:, 0] + 0.1 * y


def learner_path(learner: Learner) -> Path:
    """Return a path of a learner on the small problem with a Gaussian kernel."""
    return learner.path(small_problem(some_kernel(KERNELS["gaussian"]), targets_of(learner)))


def wrong_path(learner: Learner) -> str:
    """Return what is wrong with the shapes and the repetition of a path's answers, and with its coefficients."""
    if learner.lacks(AnyPath):
        return f"its class of paths lacks {WORDS[AnyPath]}: decision, held_out and fit"
    path, folds = learner_path(learner), Folds.from_numbers(fold_numbers())
    K = path.problem.K.copy()
    for what, found in (("decision", path.decision()), ("held_out", path.held_out(folds))):
        if np.shape(found) != (len(RIDGES), N):
            return f"{what} has the shape {np.shape(found)}, not {(len(RIDGES), N)}"
    if not np.array_equal(path.held_out(folds), learner_path(learner).held_out(folds)):
        return "gives other held-out predictions the second time"
    fitted = np.array([path.fit().decision(i, K) for i in range(len(RIDGES))])
    if not np.allclose(fitted, path.decision(), rtol=0, atol=CLOSE):
        return "its coefficients do not give its decision values"
    return "" if np.array_equal(path.problem.K, K) else "changes the kernel matrix"


def wrong_held_out(learner: Learner) -> str:
    """Return whether held-out predictions differ from the predictions of a model trained without the fold."""
    kernel, (X, _), y = some_kernel(KERNELS["gaussian"]), rows(), targets_of(learner)
    lams, folds = np.array(RIDGES), Folds.from_numbers(fold_numbers())
    whole = Problem(X, y, kernel, kernel.gram(Points(X)), lams, "per-fold")
    held = learner.path(whole).held_out(folds)
    for F in folds.members:
        rest = np.setdiff1d(np.arange(N), F)
        K = kernel.gram(Points(X[rest]))
        other = learner.path(Problem(X[rest], y[rest], kernel, K, lams, "per-fold"))
        across = kernel.gram(Points(X[F], X[rest]))
        slow = np.array([other.fit().decision(i, across) for i in range(len(lams))])
        if not np.allclose(held[:, F], slow, rtol=0, atol=CLOSE):
            apart = np.abs(held[:, F] - slow).max()
            return f"its held-out predictions differ from retraining by up to {apart:.3g}"
    return ""


def wrong_weights(learner: Learner) -> str:
    """Return whether a learner that takes weights differs from itself on repeated rows."""
    if not learner.weighted:
        return ""
    (X, _), y, counts = rows(), targets_of(learner), 1 + np.arange(N) % 3
    again, numbers = np.repeat(np.arange(N), counts), fold_numbers()
    kernel, lams = some_kernel(KERNELS["gaussian"]), np.array(RIDGES)
    K, weights = kernel.gram(Points(X)), Weights(counts.astype(np.float64))
    once = learner.path(Problem(X, y, kernel, K, lams, weights=weights))
    often = learner.path(Problem(X[again], y[again], kernel, K[np.ix_(again, again)], lams))
    held = often.held_out(Folds.from_numbers(numbers[again]))
    pairs = (
        ("decision values", once.decision(), often.decision()),
        ("held-out predictions", once.held_out(Folds.from_numbers(numbers)), held),
    )
    for what, mine, repeated in pairs:
        if not np.allclose(mine[:, again], repeated, rtol=0, atol=CLOSE):
            return f"its {what} with weights are not those of repeated rows"
    return ""


def learner_oracle(learner: Learner) -> str:
    """Return whether decision values differ from ``oracle_<function>(problem)``."""
    path = learner_path(learner)
    return differs_from_oracle(learner, lambda o: (path.decision(), o(path.problem)))


# --- searches and figures ---------------------------------------------------------------------------


def wrong_solution(search: ContinuousSearch) -> str:
    """Return what is wrong with the solution of a search on the small problem, or with its repetition."""
    unknown = [name for name in search.criteria if name not in CRITERIA]
    if unknown or not search.criteria:
        return f"minimises no known criterion ({', '.join(unknown) or 'none named'})"
    criterion = CRITERIA[search.criteria[0]]
    folds = FOLDS if criterion.takes_folds else None
    params = tuple(sorted(criterion.defaults.items()))
    method = Method("X", criterion.name, folds, params, kernel="gaussian")
    (X, y), ridges = rows(), LamGrid((0.1,), "select")
    lssvm = Choice("lssvm", ())

    def solve() -> Any:
        own = TrainingContext(
            X, y[None], "classification", (), ridges, lssvm, "fixed", partial(stream, 0)
        )
        return search.function(KnownSolutions(own), method, **search.defaults)

    first, second = solve(), solve()
    if not isinstance(first, Solution):
        return f"returns {type(first).__name__}, not a Solution"
    if not (np.isfinite(first.theta).all() and np.isfinite([first.lam, first.value]).all()):
        return "returns a solution that is not a number"
    same = np.array_equal(first.theta, second.theta) and first.value == second.value
    return "" if same else "returns another solution the second time"


def wrong_figure(kind: Any) -> str:
    """Return which function a kind of figure lacks."""
    lacking = [
        n for n in ("read", "methods", "keep", "show") if not callable(getattr(kind, n, None))
    ]
    return f"lacks {', '.join(lacking)}; derive it from FigureBase" if lacking else ""


def undocumented_figure(kind: Any) -> str:
    """Return whether the docstring lacks the form in which a config writes the figure."""
    form = "``{" in (vars(kind).get("__doc__") or "")
    return (
        "" if form else "its docstring does not show how a config writes it, as in ``{kind: ...}``"
    )
