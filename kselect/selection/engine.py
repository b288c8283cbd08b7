"""Kernel and ridge for somebody's own rows: the paths and criteria of an experiment, without its stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kselect.criteria import CRITERIA
from kselect.errors import ConfigError, DataError, TrialError
from kselect.grids import LARGEST_SEARCH, show_number
from kselect.kernels import Kernel, Points
from kselect.kernels.nystrom import draw_landmarks, nystrom_columns
from kselect.learners import Dual, Problem, find_learner
from kselect.learners.base import RidgeMode
from kselect.model.experiment import Method
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.numerics.memory import available_memory, gib
from kselect.numerics.streams import stream
from kselect.search.grid import best, evaluate, reason

# Distances, the kernel, its eigenvectors and LAPACK's workspace, in n-by-n matrices of doubles.
MATRICES_SHARED = 1
MATRICES_PER_WORKER = 6


@dataclass(frozen=True)
class Request:
    """What to choose from and by what."""

    learner: str
    kernels: tuple[Kernel, ...]
    lams: tuple[float, ...]
    method: Method
    ridge: RidgeMode = "fixed"
    nystrom: int | None = None
    n_jobs: int = 1
    seed: int = 0
    learner_params: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class Selection:
    """The scores over the grid, the best place, and the fit there: one dual for each target.

    ``seconds_fit`` is next to nothing: the search has fitted every candidate already.
    """

    request: Request
    scores: Array
    kernel: Kernel
    lam: float
    score: float
    position: tuple[int, int]
    duals: tuple[Dual, ...]
    landmarks: Index | None
    seconds: float
    seconds_fit: float

    @property
    def edges(self) -> list[str]:
        """What of the choice lies on the edge of its grid, in words; a grid of one value has no edge."""
        found = []
        same = [k for k in self.request.kernels if k.name == self.kernel.name]
        for name, value in self.kernel.parameters.items():
            values = sorted({k.parameters[name] for k in same})
            found += edge(name, value, values)
        return found + edge("lam", self.lam, sorted(self.request.lams))


def edge(name: str, value: float, values: Sequence[float]) -> list[str]:
    """``['tau = 256 is the largest of its grid']``, or nothing."""
    if len(values) < 2 or value not in (values[0], values[-1]):
        return []
    end = "smallest" if value == values[0] else "largest"
    return [f"{name} = {show_number(value)} is the {end} of its grid: widen it"]


def select(X: Array, targets: Array, request: Request, folds: Folds | None) -> Selection:
    """Score every kernel and ridge and keep the best.

    ``targets`` is (q, n): one row in a regression or for two classes, one a class (-1, +1) for more; their
    scores are averaged. A criterion without folds takes ``folds`` None.
    """
    check(request, len(X), folds)
    rng = stream(request.seed, "landmarks")
    landmarks = None if request.nystrom is None else draw_landmarks(len(X), request.nystrom, rng)
    started = perf_counter()
    points = Points(X) if landmarks is None else Points(X, X[landmarks])

    failures: dict[tuple[Kernel, float], str] = {}

    def visit(kernel: Kernel) -> tuple[Array, list[Dual]]:
        return score_what_can(kernel, points, landmarks, targets, request, folds, failures)

    with one_blas_thread():
        warm(points, request.kernels)
        found = list(in_threads(visit, request.kernels, request.n_jobs))
    scores = np.array([values for values, _ in found])
    if not np.isfinite(scores).any():
        why = failures.get((request.kernels[0], request.lams[0]), "infinite")
        first = "; ".join(filter(None, (request.kernels[0].text, f"lam={request.lams[0]:g}")))
        raise TrialError(f"no kernel and ridge has a finite score; at {first}: {why}")
    choice = best(scores)
    searched = perf_counter()
    duals = tuple(at_ridge(dual, choice.ridge) for dual in found[choice.kernel][1])
    return Selection(
        request,
        scores,
        request.kernels[choice.kernel],
        request.lams[choice.ridge],
        choice.score,
        (choice.kernel, choice.ridge),
        duals,
        landmarks,
        searched - started,
        perf_counter() - searched,
    )


def score_what_can(
    kernel: Kernel,
    points: Points,
    landmarks: Index | None,
    targets: Array,
    request: Request,
    folds: Folds | None,
    failures: dict[tuple[Kernel, float], str],
) -> tuple[Array, list[Dual]]:
    """``score_kernel``; where that fails, ridge by ridge: one without a number is infinite, so not chosen."""
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            return score_kernel(kernel, points, landmarks, targets, request, folds)
    except (TrialError, np.linalg.LinAlgError, FloatingPointError) as error:
        why = reason(error)
    if len(request.lams) == 1:
        failures[kernel, request.lams[0]] = why
        no_fit = Dual(np.zeros((1, len(points.Z))), np.zeros(1))
        return np.array([np.inf]), [no_fit] * len(targets)
    ones = [replace(request, lams=(lam,)) for lam in request.lams]
    found = [
        score_what_can(kernel, points, landmarks, targets, one, folds, failures) for one in ones
    ]
    duals = [
        Dual(np.concatenate([d.alpha for d in fits]), np.concatenate([d.bias for d in fits]))
        for fits in zip(*(duals for _, duals in found), strict=True)
    ]
    return np.concatenate([scores for scores, _ in found]), duals


def score_kernel(
    kernel: Kernel,
    points: Points,
    landmarks: Index | None,
    targets: Array,
    request: Request,
    folds: Folds | None,
) -> tuple[Array, list[Dual]]:
    """The mean score over the targets for every ridge, and each target's fit; one factor serves them all."""
    make_path = partial(find_learner(request.learner).path, **dict(request.learner_params))
    lams = np.array(request.lams)
    if landmarks is None:
        K, columns = kernel.gram(points), None
    else:
        K, columns = np.empty((0, 0)), nystrom_columns(kernel, points, landmarks)
    path = make_path(Problem(points.X, targets[0], kernel, K, lams, request.ridge, columns))
    scores, duals = [], []
    for y in targets:
        path = path if y is targets[0] else path.retarget(y)
        scores.append(evaluate(request.method, path, lambda _: require(folds)))
        duals.append(path.dual())
    return np.mean(scores, axis=0), duals


def require(folds: Folds | None) -> Folds:
    """The folds of a criterion that has some."""
    if folds is None:
        raise ConfigError("this criterion needs folds")
    return folds


def at_ridge(dual: Dual, ridge: int) -> Dual:
    """The fit at one ridge alone."""
    return Dual(dual.alpha[[ridge]].copy(), dual.bias[[ridge]].copy())


def warm(points: Points, kernels: Sequence[Kernel]) -> None:
    """What kernels share is computed before threads would compute it twice."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            for kind in {type(k) for k in kernels}:
                kind.shared(points)
    except FloatingPointError:
        raise DataError("the features are too large: their products overflow; scale them") from None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread for each of our own threads."""
    with threadpool_limits(1):
        yield


def in_threads(
    visit: Callable[[Kernel], tuple[Array, list[Dual]]], kernels: Sequence[Kernel], n_jobs: int
) -> Iterator[tuple[Array, list[Dual]]]:
    """``map`` over kernels; threads are enough, as LAPACK releases the interpreter's lock."""
    if n_jobs == 1:
        yield from map(visit, kernels)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs, prefer="threads", return_as="generator")
    yield from parallel(delayed(visit)(kernel) for kernel in kernels)


def check(request: Request, n: int, folds: Folds | None) -> None:
    """What cannot work is said before the first matrix."""
    candidates = len(request.kernels) * len(request.lams)
    if candidates > LARGEST_SEARCH:
        raise ConfigError(
            f"{candidates} kernels times ridges are too many: {LARGEST_SEARCH} at most"
        )
    criterion = CRITERIA[request.method.criterion]
    names = {k.name for k in request.kernels}
    if criterion.kernels is not None and not names <= criterion.kernels:
        raise ConfigError(
            f"{request.method.label} works with the kernel {', '.join(sorted(criterion.kernels))} only"
        )
    if criterion.learners is not None and request.learner not in criterion.learners:
        raise ConfigError(
            f"{request.method.label} works with the learner {', '.join(sorted(criterion.learners))} only"
        )
    if request.nystrom is not None and not find_learner(request.learner).low_rank:
        raise ConfigError(f"the learner {request.learner} does not work with Nystrom columns")
    if folds is not None and folds.n != n:
        raise DataError(f"the folds are of {folds.n} rows, the data has {n}")
    if request.nystrom is None:
        check_memory(n, request.n_jobs)


def check_memory(n: int, n_jobs: int) -> None:
    """Refuse what would not fit, before allocating it."""
    needed = 8 * n**2 * (MATRICES_SHARED + MATRICES_PER_WORKER * n_jobs)
    there = available_memory()
    if needed > there:
        raise DataError(
            f"{n} rows need {gib(needed)} of memory for n-by-n matrices with {n_jobs} worker(s); "
            f"{gib(there)} are free; approximate the kernel by c columns: --nystrom 500 (nystrom=500)"
        )
