"""The papers' algorithms compute the same criteria for every learner, ridge mode and option."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from problems import BIAS, any_kernel, numbered, problem_of, rows
from threadpoolctl import threadpool_limits

from kselect.core.method import Method
from kselect.criteria import CRITERIA
from kselect.errors import TrialError
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners import LEARNERS
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.timing.paper import ALGORITHMS, TimedProblem, influence
from kselect.timing.paper import base as paper

N = 23
RIDGES = (0.02, 0.1, 0.7)
# Our guard is not part of the paper's algorithm.
FREE: dict[str, dict[str, Any]] = {"BIF-k-CV": {"identity": 0.0, "cap": math.inf}}
OTHERS: dict[str, tuple[Any, ...]] = {"eta": (0.0, 2.5), "slope": (3.0,), "order": (0, 1, 5)}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Use one thread, as the measurements do; on small problems more are slower."""
    with threadpool_limits(1):
        yield


def folds() -> Folds:
    """Return four folds of different sizes."""
    found = numbered(np.random.default_rng(3), N, 4, False)
    assert len({len(F) for F in found.members}) > 1
    return found


def options() -> Iterator[Any]:
    """Yield each criterion with its defaults, then with every other value of one parameter."""
    for name in ALGORITHMS:
        parameters = CRITERIA[name].parameters
        yield pytest.param(name, {}, id=name)
        for parameter in parameters:
            values = parameter.choices or OTHERS.get(parameter.name, ())
            for value in values:
                if parameter.name == "operator":
                    continue  # of the hinge loss only
                more = {"form": "smoothed"} if parameter.name == "slope" else {}
                yield pytest.param(name, {parameter.name: value, **more}, id=f"{name}-{value}")


def both(
    name: str, given: dict[str, Any], learner: str, kernel: Any, ridge: Any
) -> Iterator[Array]:
    """Yield the paper's scores, then ours."""
    X, y = rows(N)
    criterion = CRITERIA[name]
    params = {p.name: p.default for p in criterion.parameters} | FREE.get(name, {}) | given
    drawn = folds() if criterion.takes_folds else None
    order = np.random.default_rng(2).permutation(N)
    problem = problem_of(kernel, X, y, RIDGES, ridge=ridge, order=order)
    task = TimedProblem(X, y, BIAS.get(learner, False), ridge, drawn, params, order, 0.05)
    K = kernel.gram(Points(X))
    score = (ALGORITHMS if learner in BIAS else paper.HINGE)[name](task, kernel, K)
    yield np.array([score(lam) for lam in RIDGES])
    np.testing.assert_array_equal(K, kernel.gram(Points(X)))
    path = LEARNERS[learner].path(problem)
    yield criterion.function(path, *([drawn] if drawn else []), **params)


@pytest.mark.parametrize(("name", "given"), list(options()))
@pytest.mark.parametrize("learner", sorted(BIAS))
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_the_paper_computes_the_same_criterion(
    name: str, given: dict[str, Any], learner: str, ridge: str
) -> None:
    """Scores are equal up to rounding, for wide and narrow kernels and one of low rank."""
    # With a very narrow kernel, predictions are below the rounding error of y. Ours still have the right
    # sign; the paper's formula, y minus an error, has a random one.
    signs = given.get("loss") == "zero-one" or given.get("form") == "error"
    if list(CRITERIA[name].misfits(name, LEARNERS[learner], ["gaussian"])):
        pytest.skip(f"{name} does not support {learner}")
    narrow = [] if signs else [Gaussian(0.01)]
    kernels: list[Any] = [*narrow, Gaussian(0.5), Gaussian(64.0)]
    if CRITERIA[name].kernels is None:
        kernels.append(any_kernel("polynomial"))
    for kernel in kernels:
        theirs, ours = both(name, given, learner, kernel, ridge)
        np.testing.assert_allclose(theirs, ours, rtol=1e-10, atol=1e-13)


HINGE_OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("k-CV", {"loss": "hinge"}),
    ("k-CV", {"loss": "hinge", "average": "folds"}),
    ("k-FBIF", {"loss": "hinge"}),
    ("k-FBIF", {"loss": "hinge", "rhs": "nystrom"}),
    ("k-FBIF", {"loss": "hinge", "operator": "printed"}),
    ("k-FBIF", {"loss": "hinge", "order": 3, "c": 0.4}),
    ("k-FBIF", {"loss": "zero-one", "order": 0}),
    ("ER", {"loss": "hinge"}),
    ("ER", {"loss": "hinge", "t": 0.2, "eta": 32.0}),
]


@pytest.mark.parametrize(("name", "given"), HINGE_OPTIONS)
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
def test_the_same_for_the_smoothed_hinge(name: str, given: dict[str, Any], ridge: str) -> None:
    """The paper's Newton method gives the same scores for narrow and wide kernels."""
    for kernel in (Gaussian(0.01), Gaussian(0.5), Gaussian(64.0)):
        theirs, ours = both(name, given, "smooth-hinge", kernel, ridge)
        np.testing.assert_allclose(theirs, ours, rtol=1e-6, atol=1e-7)


def test_every_criterion_of_the_papers_table_has_its_algorithm() -> None:
    assert {"k-CV", "BIF-k-CV", "k-FBIF", "ELOO", "EP", "ER", "BR", "k-KS"} == set(ALGORITHMS)
    assert set(paper.HINGE) == {"k-CV", "k-FBIF", "ER"}
    assert set(ALGORITHMS) <= set(CRITERIA)
    assert all(LEARNERS[name] for name in paper.BIAS)


@pytest.mark.parametrize("registry", [ALGORITHMS, paper.HINGE])
@pytest.mark.parametrize("name", ["k-FBIF", "ER"])
def test_the_trainings_of_fbif_are_told_apart(name: str, registry: Any) -> None:
    """FBIF trains once per grid point; the seconds of its trainings are part of all its seconds."""
    X, y = rows(N)
    params = {p.name: p.default for p in CRITERIA[name].parameters} | {"loss": "squared"}
    task = TimedProblem(X, y, False, "fixed", folds(), params, h=0.05)
    with paper.Stopwatch() as whole:
        score = registry[name](task, Gaussian(1.0), Gaussian(1.0).gram(Points(X)))
        for lam in RIDGES:
            score(lam)
    assert task.fits.laps == (len(RIDGES) if name == "k-FBIF" else 0)
    assert 0.0 <= task.fits.wall < whole.wall
    assert TimedProblem(X, y, False, "fixed").fits is not task.fits


def test_an_eigenvalue_ratio_needs_a_target_that_varies() -> None:
    X, y = rows(N)
    params = {"loss": "squared", "t": 0.5, "eta": 1.0}
    task = TimedProblem(X, np.ones_like(y), False, "fixed", None, params)
    with pytest.raises(TrialError, match="a target that varies"):
        ALGORITHMS["ER"](task, Gaussian(1.0), np.eye(N))


def test_ridge_mode_and_bias_matter() -> None:
    """The comparison above is not trivial: ridge mode and bias change the scores."""
    one, _ = both("k-CV", {}, "lssvm", Gaussian(2.0), "fixed")
    two, _ = both("k-CV", {}, "lssvm", Gaussian(2.0), "per-fold")
    three, _ = both("k-CV", {}, "krr", Gaussian(2.0), "fixed")
    assert np.abs(one - two).max() > 1e-4
    assert np.abs(one - three).max() > 1e-4


def by_definition(K: Array, y: Array, F: Any, lam: float, order: int, bias: bool) -> Array:
    """Return the series of section 5 from the bordered operator L, term by term."""
    n, m = len(y), len(F)
    one, inside = np.ones(n), np.zeros(n)
    inside[F] = 1.0
    A = np.block([[K + n * lam * np.eye(n), one[:, None]], [one[None, :], np.zeros((1, 1))]])
    A = A if bias else A[:n, :n]
    x = np.linalg.solve(A, np.append(y, 0.0)[: len(A)])
    f, b = K @ x[:n], (x[n] if bias else 0.0)
    u, v = 2 * (y - f - b), np.full(n, 2.0)
    L = np.block(
        [
            [2 * lam * np.eye(n) + K * v / n, (K @ v / n)[:, None]],
            [(v / n)[None, :], np.array([[v.sum() / n]])],
        ]
    )
    L = L if bias else L[:n, :n]
    right = np.append(K @ (inside * u) / m - 2 * lam * f, (inside * u).sum() / m)
    total, eps = f + b, -m / (n - m)
    for s in range(1, order + 1):
        x = np.linalg.solve(L, right[: len(L)])
        h = x[:n] + (x[n] if bias else 0.0)
        total = total + eps**s * h / math.factorial(s)
        below = v @ h / n - v[F] @ h[F] / m
        right = (s + 1) * np.append(K @ (v * h) / n - K @ (inside * v * h) / m, below)
    found: Array = total[F]
    return found


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("order", [0, 1, 3, 8])
def test_one_inverse_gives_the_recursion(bias: bool, order: int) -> None:
    X, y = rows(N)
    K = Gaussian(1.5).gram(Points(X))
    task = TimedProblem(X, y, bias, "fixed", folds())
    found = influence.bouligand_held_out(task, K, 0.05, order)
    for F in folds().members:
        expected = by_definition(K, y, F, 0.05, order, bias)
        np.testing.assert_allclose(found[F], expected, rtol=1e-10, atol=1e-12)


def test_methods_without_an_algorithm_of_a_paper() -> None:
    """Other learners and criteria have no algorithm from a paper."""
    method = Method("5-CV", "k-CV", 5, ())
    assert paper.find_algorithm("lssvm", method) is ALGORITHMS["k-CV"]
    assert paper.find_algorithm("quadratic-svr", method) is None
    assert paper.find_algorithm("smooth-hinge", method) is influence.cross_validation_of_hinge
    assert paper.find_algorithm("smooth-hinge", replace(method, criterion="BIF-k-CV")) is None
    assert paper.find_algorithm("lssvm", replace(method, criterion="SPS")) is None


def test_indefinite_matrices_are_refused() -> None:
    X, y = rows(N)
    task = TimedProblem(
        X, y, True, "fixed", folds(), {"loss": "squared", "form": "press", "slope": 1.0}
    )
    for name in ("k-CV", "ELOO"):
        score = ALGORITHMS[name](task, Gaussian(1.0), -np.eye(N))
        with pytest.raises(TrialError, match="not positive definite"):
            score(1e-6)
    with pytest.raises(TrialError, match="needs folds"):
        ALGORITHMS["k-CV"](replace(task, drawn=None), Gaussian(1.0), np.eye(N))
