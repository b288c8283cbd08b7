"""The contract of everything registered: what a criterion, kernel, learner, search or kind of figure must fulfil.

Each check is a function of a part that returns what is wrong, or an empty text. ``kselect check`` runs them on a
plug-in, ``kselect run`` on the parts of a plug-in before any work, and the tests on all parts of the package. A part
may bring an oracle, the slow definition: ``oracle_<name>`` in the same module, with the name of its function or class
in lower case.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kselect.core.method import Choice, LamGrid, Method
from kselect.criteria import CRITERIA, Criterion
from kselect.errors import ConfigError, TrialError
from kselect.grids import parse_grid
from kselect.kernels import KERNELS, Kernel, Points
from kselect.learners import LEARNERS, Learner, Path, Problem
from kselect.learners.base import WORDS, SquareLoss
from kselect.learners.base import Path as AnyPath
from kselect.numerics.folds import Folds, stream
from kselect.numerics.linalg import Array
from kselect.plugins import companion, in_words, line_in, registered_by
from kselect.registry import Parameter, Part, Plugin, file_of, line_of
from kselect.search.continuous import ContinuousSearch, KnownSolutions, Solution
from kselect.search.training_context import TrainingContext

N, FOLDS = 18, 4
RIDGES = (0.05, 0.2, 0.8)
CLOSE = 1e-6  # relative; trainers stop at 1e-8 of the targets' scale
NOISE = 1e-9  # negative eigenvalues of a kernel matrix, relative to the largest
SHORTEST = 10  # characters of a summary
Check = Callable[[Any], str]


@dataclass(frozen=True)
class Finding:
    """The result of one check of a part; ``text`` is empty if it holds.

    A ``needed`` check must hold before the part computes numbers. The others ask for what readers need.
    """

    place: str
    part: str
    check: str
    text: str
    needed: bool

    @property
    def line(self) -> str:
        """The finding in one line, as in ``mine.py:12: criterion LOO-median: ...``."""
        return f"{self.place}: {self.part}: {self.text}"


def findings(kind: str, name: str, item: Any) -> Iterator[Finding]:
    """Yield the result of every check of a part; checks after a broken needed one would repeat it."""
    for check, (function, needed) in CHECKS[kind].items():
        place = f"{file_of(item)}:{line_of(item)}"
        try:
            text = function(item)
        except Exception as error:
            if line := line_in(error, file_of(item)):
                place = f"{file_of(item)}:{line}"
            text = in_words(error)
        yield Finding(place, f"{kind} {name}", check, text, needed)
        if text and needed:
            return


def broken_parts(plugin: Plugin) -> Iterator[str]:
    """Yield one line for each part of a plug-in that cannot compute numbers."""
    for part in registered_by(plugin):
        yield from (f.line for f in findings(*part) if f.text and f.needed)


# --- a small problem --------------------------------------------------------------------------------


def rows(n: int = N, d: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """Return points of two overlapping classes."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.4 * y[:, None], y


def some_kernel(cls: type[Kernel]) -> Kernel:
    """Return the kernel in the middle of its default grids."""
    grids = {name: parse_grid(grid) for name, grid in cls.grids.items()}
    return cls.of({name: grid[len(grid) // 2] for name, grid in grids.items()})


def fold_numbers() -> Array:
    """Return the fold of each row; the folds differ in size."""
    rng = np.random.default_rng(3)
    first = np.append(np.arange(FOLDS), rng.integers(FOLDS, size=N - FOLDS))
    return np.asarray(rng.permutation(first))


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


# --- criteria and probes ----------------------------------------------------------------------------


def wrong_scores(criterion: Criterion, path: Path | None = None) -> str:
    """Return what is wrong with the type, shape and range of the scores."""
    found = score(criterion, path or first_path(criterion))
    if not isinstance(found, np.ndarray) or found.dtype != np.float64:
        return f"returns {type(found).__name__}, not an array of float64, one score per ridge"
    if found.shape != (len(RIDGES),):
        return f"returns scores of the shape {found.shape}, not one per ridge, {(len(RIDGES),)}"
    if np.isnan(found).any() or np.isneginf(found).any():
        return "returns a score that is not a number, nan or -inf"
    return ""


def unrepeatable(criterion: Criterion, make: Callable[[], Path] | None = None) -> str:
    """Return whether the scores differ on the same path, or on a new path of the same problem."""
    make = make or partial(first_path, criterion)
    path = make()
    found = score(criterion, path)
    for again, where in ((path, "the same path"), (make(), "a new path of the same problem")):
        if not np.array_equal(score(criterion, again), found):
            return f"returns other scores the second time, on {where}"
    return ""


def modified(criterion: Criterion, path: Path | None = None) -> str:
    """Return what a criterion changes of the problem, or of the results of others on the path."""
    path = path or first_path(criterion)
    folds = Folds.from_numbers(fold_numbers())
    problem = copy.deepcopy(path.problem)

    def answers() -> list[Array]:
        return [path.decision(), path.held_out(folds), path.fit().alpha]

    before = [a.copy() for a in answers()]
    score(criterion, path, folds)
    for name in ("X", "y", "K", "lams"):
        if not np.array_equal(getattr(path.problem, name), getattr(problem, name)):
            return f"changes the {name} of the problem"
    same = all(np.array_equal(a, b) for a, b in zip(answers(), before, strict=True))
    return "" if same else "changes predictions or coefficients of the path"


class Watched:
    """A path that notes which of its methods are asked."""

    def __init__(self, path: Path) -> None:
        self._path, self.asked = path, set[str]()

    def __getattr__(self, name: str) -> Any:
        if name != "problem":
            self.asked.add(name)
        return getattr(self._path, name)


def learner_ignored(criterion: Criterion) -> str:
    """Return whether a criterion asks nothing of the learner, so that it would score any learner alike."""
    if criterion.need is SquareLoss:
        return ""
    watched = Watched(first_path(criterion))
    score(criterion, watched)
    need = criterion.need.__name__
    return "" if watched.asked else (
        f"is annotated {need}, but asks nothing of the path except its problem: it would score every learner alike; "
        "annotate path: SquareLoss if it is meant for the square loss"
    )


def depends_on_order(criterion: Criterion) -> str:
    """Return whether the order of the rows changes a score."""
    order = np.random.default_rng(8).permutation(N)
    numbers, path = fold_numbers(), first_path(criterion)
    learner = next(n for n in ("lssvm", *sorted(LEARNERS)) if fits_somewhere(criterion, n))
    other = small_path(learner, path.problem.kernel.name, order)
    one = score(criterion, path, Folds.from_numbers(numbers))
    two = score(criterion, other, Folds.from_numbers(numbers[order]))
    same = np.allclose(one, two, rtol=CLOSE, atol=CLOSE)
    return "" if same else "gives other scores if the rows are in another order"


def fits_somewhere(criterion: Criterion, learner: str) -> bool:
    """Return whether a criterion works with a learner and some kernel."""
    return any(fits(criterion, learner, k) for k, cls in KERNELS.items() if not cls.learned)


def alternatives(parameter: Parameter) -> list[Any]:
    """Return values of a parameter that differ from its default."""
    if parameter.choices:
        return [c for c in parameter.choices if c != parameter.default]
    if parameter.switch:
        return [not parameter.default]
    return [parameter.default * 2 + 1 if parameter.whole else parameter.default / 16 + 0.01]


def ignored_option(criterion: Criterion) -> str:
    """Return a parameter that changes no score; a guard's parameter may do so.

    A parameter may have an effect only with another value of a choice; a value may be refused.
    """
    path = first_path(criterion)
    choices = [{p.name: v} for p in criterion.parameters if p.choices for v in alternatives(p)]

    def changes(name: str, value: Any, context: Mapping[str, Any]) -> bool:
        base = score(criterion, path, **context)
        try:
            return not np.array_equal(score(criterion, path, **{**context, name: value}), base)
        except TrialError:
            return True

    for parameter in criterion.parameters if criterion.guards is None else ():
        contexts = [{}, *(c for c in choices if parameter.name not in c)]
        values = alternatives(parameter)
        if not any(changes(parameter.name, v, c) for c in contexts for v in values):
            return f"ignores its parameter {parameter.name}"
    return ""


def ignored_folds(criterion: Criterion) -> str:
    """Return whether other folds give the same scores."""
    if not criterion.takes_folds:
        return ""
    path, numbers = first_path(criterion), fold_numbers()
    one, two = (score(criterion, path, Folds.from_numbers(f)) for f in (numbers, numbers[::-1]))
    return "takes folds, but gives the same scores with others" if np.array_equal(one, two) else ""


def differs_from_oracle(item: Any, found: Callable[[Callable[..., Any]], tuple[Any, Any]]) -> str:
    """Return whether a part differs from the oracle in its module; an absent oracle is no difference."""
    oracle = companion(item, "oracle")
    if oracle is None:
        return ""
    fast, slow = (np.asarray(v, dtype=np.float64) for v in found(oracle))
    if fast.shape != slow.shape:
        return f"has the shape {fast.shape}, its oracle {slow.shape}"
    if np.allclose(fast, slow, rtol=CLOSE, atol=CLOSE, equal_nan=True):
        return ""
    return f"differs from its oracle by up to {np.abs(fast - slow).max():.3g}"


def criterion_oracle(criterion: Criterion) -> str:
    """Return whether a criterion differs from ``oracle_<function>(path[, folds])``."""
    own = (Folds.from_numbers(fold_numbers()),) if criterion.takes_folds else ()
    path = first_path(criterion)
    return differs_from_oracle(criterion, lambda o: (score(criterion, path), o(path, *own)))


def undocumented(part: Part) -> str:
    """Return what a reader of ``kselect list`` misses."""
    if len(part.summary) < SHORTEST:
        return "has no docstring; its first line is shown by kselect list"
    return "" if part.paper else "has no paper; write paper='none' if there is none"


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
    """Return whether held-out predictions differ from those of a model that is trained without the fold."""
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
    lacking = [n for n in ("read", "methods", "keep", "show") if not callable(getattr(kind, n, None))]
    return f"lacks {', '.join(lacking)}; derive it from FigureBase" if lacking else ""


def undocumented_figure(kind: Any) -> str:
    """Return whether the docstring lacks the form in which a config writes the figure."""
    form = "``{" in (vars(kind).get("__doc__") or "")
    return "" if form else "its docstring does not show how a config writes it, as in ``{kind: ...}``"


OF_CRITERIA: Mapping[str, tuple[Check, bool]] = {
    "one finite score per ridge": (wrong_scores, True),
    "the same scores again": (unrepeatable, True),
    "nothing modified": (modified, True),
    "asks the learner": (learner_ignored, True),
    "order of rows": (depends_on_order, True),
    "every parameter matters": (ignored_option, False),
    "folds matter": (ignored_folds, False),
    "oracle": (criterion_oracle, True),
    "docstring and paper": (undocumented, False),
}
CHECKS: Mapping[str, Mapping[str, tuple[Check, bool]]] = {
    "criterion": OF_CRITERIA,
    # A probe is not minimised; it may show a property of the kernel matrix.
    "probe": {k: v for k, v in OF_CRITERIA.items() if v[0] is not learner_ignored},
    "kernel": {
        "grids and refusals": (wrong_grids, True),
        "matrix": (wrong_matrix, True),
        "the same matrix again": (unrepeatable_matrix, True),
        "oracle": (kernel_oracle, True),
        "docstring": (undocumented_kernel, False),
    },
    "learner": {
        "path": (wrong_path, True),
        "held-out predictions": (wrong_held_out, True),
        "oracle": (learner_oracle, True),
        "docstring and paper": (undocumented, False),
    },
    "search": {
        "solution": (wrong_solution, True),
        "docstring and paper": (undocumented, False),
    },
    "kind of figure": {
        "functions": (wrong_figure, True),
        "docstring": (undocumented_figure, False),
    },
}
