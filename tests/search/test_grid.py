"""The grid: brute force chooses the same, ties, infinities and failures are what they are said to be."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import numbered, problem_of, rows

from kselect.criteria import CRITERIA
from kselect.errors import TrialError
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.linear import Linear
from kselect.kernels.polynomial import Polynomial
from kselect.learners import Path, Problem, find_learner
from kselect.learners.square_loss import SquareLossPath
from kselect.model.experiment import Method
from kselect.numerics.folds import Folds, draw_folds
from kselect.numerics.linalg import Array
from kselect.numerics.streams import stream
from kselect.search.grid import Choice, Scores, best, best_at, evaluate, search_grid

X, Y = rows(14)
KERNELS: tuple[Kernel, ...] = (
    *(Gaussian(2.0**p) for p in range(-2, 5, 2)),
    Polynomial(2),
    Linear(),
)
LAMS = np.array([1e-3, 1e-2, 1e-1, 1.0])


def folds_of(k: int) -> Folds:
    """The folds of a number, always the same."""
    return numbered(np.random.default_rng(k), 14, k, False)


def path_at(kernel: Kernel) -> Path:
    """The LSSVM on the rows."""
    return SquareLossPath(problem_of(kernel, X, Y, LAMS), bias=True)


def method(criterion: str, label: str = "", folds: int | None = None, **params: Any) -> Method:
    """A column."""
    return Method(label or criterion, criterion, folds, tuple(sorted(params.items())))


CV = method("k-CV", "4-CV", 4, average="folds", loss="squared")
KS = method("k-KS", "4-KS", 4, average="folds", eta=2.0, loss="squared")
ELOO = method("ELOO", form="press", slope=10.0)


def by_retraining(criterion: str) -> Callable[[int, int], float]:
    """The score of a place, every model trained anew."""
    members = folds_of(4).members

    def score(kernel: int, ridge: int) -> float:
        k: Any = KERNELS[kernel]
        entry = {
            "gaussian": lambda: oracles.gaussian(k.tau),
            "polynomial": lambda: oracles.polynomial(int(k.degree)),
            "linear": oracles.linear,
        }[k.name]()
        K = oracles.gram(entry, X, X)
        if criterion == "ELOO":
            held = oracles.leave_one_out(K, Y, LAMS[ridge], True)
            return float(np.mean((Y - held) ** 2))
        held = oracles.held_out(K, Y, members, LAMS[ridge], True, False)
        value = oracles.mean_of_folds((Y - held) ** 2, members)
        return value + (2.0 / 14 * oracles.stability(K) if criterion == "k-KS" else 0.0)

    return score


@pytest.mark.parametrize("column", [CV, KS, ELOO], ids=lambda m: m.label)
def test_choice_is_that_of_brute_force(column: Method) -> None:
    """A double loop with retraining; the scores agree far better than the two best places differ."""
    found = search_grid(KERNELS, path_at, (column,), folds_of)
    assert not found.failures
    values = found.values[column]
    score = by_retraining(column.criterion)
    expected = np.array([[score(k, r) for r in range(4)] for k in range(len(KERNELS))])
    # The worst system is the polynomial kernel's: cond < 1e6, so 10 n eps cond < 1e-7 at most.
    np.testing.assert_allclose(values, expected, rtol=1e-7)
    lowest, second = np.sort(expected, axis=None)[:2]
    assert second - lowest > 1e-6
    place = oracles.grid_search(score, len(KERNELS), 4)
    assert (best(values).kernel, best(values).ridge) == place
    for ridge in range(4):
        kernel, _ = oracles.grid_search(lambda k, _: score(k, ridge), len(KERNELS), 1)  # noqa: B023
        assert best_at(values, ridge) == Choice(kernel, ridge, values[kernel, ridge])
    assert len(found.duals) == len(KERNELS)


def test_duals_are_the_fits_of_their_kernels() -> None:
    """Position by position."""
    found = search_grid(KERNELS, path_at, (ELOO,), folds_of)
    for kernel, dual in zip(KERNELS, found.duals, strict=True):
        np.testing.assert_array_equal(dual.alpha, path_at(kernel).dual().alpha)


SCORES = st.lists(
    st.lists(st.sampled_from([1.0, 2.0, 3.0, np.inf]), min_size=3, max_size=3),
    min_size=1,
    max_size=4,
)


@given(SCORES)
def test_ties_and_infinities(rows_of: list[list[float]]) -> None:
    """The first of equal ones, kernels outside; plus infinity is never chosen."""
    scores = np.array(rows_of)
    if np.isinf(scores).all():
        with pytest.raises(TrialError, match="no kernel and ridge of the grid has a finite score"):
            best(scores)
        return
    place = oracles.grid_search(lambda k, r: rows_of[k][r], len(rows_of), 3)
    choice = best(scores)
    assert (choice.kernel, choice.ridge) == place
    assert choice.score == scores.min()


def test_infinite_at_one_ridge_only() -> None:
    """A ridge without a finite score has no choice, the others have."""
    scores = np.array([[np.inf, 2.0], [np.inf, 1.0]])
    assert best_at(scores, 1) == Choice(1, 1, 1.0)
    with pytest.raises(TrialError, match="finite score"):
        best_at(scores, 0)


Fake = Callable[[Path], Array]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fake], Method]:
    """A criterion of one's own, as a method."""

    def make(function: Fake) -> Method:
        entry = replace(CRITERIA["BR"], name="fake", function=function, parameters=())
        monkeypatch.setitem(CRITERIA, "fake", entry)
        return method("fake")

    return make


def test_infinity_is_a_score(fake: Callable[[Fake], Method]) -> None:
    """A criterion's 'not this one' is skipped, not a failure."""
    column = fake(lambda p: np.array([np.inf, 1.0, np.inf, 2.0]))
    found = search_grid(KERNELS, path_at, (column,), folds_of)
    assert not found.failures
    assert best(found.values[column]) == Choice(0, 1, 1.0, excluded=2 * len(KERNELS))


def raises(error: Exception) -> Fake:
    """A criterion that fails at the second kernel."""

    def function(path: Path) -> Array:
        if path.problem.kernel == KERNELS[1]:
            raise error
        return np.zeros(len(LAMS))

    return function


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda p: np.array([1.0, np.nan, 1.0, 1.0]), "at tau=0.25: fake is not a number"),
        (lambda p: np.array([1.0, -np.inf, 1.0, 1.0]), "at tau=0.25: fake is not a number"),
        (raises(TrialError("no such thing")), "at tau=1: no such thing"),
        (
            raises(np.linalg.LinAlgError("Singular\n matrix")),
            "at tau=1: LinAlgError: Singular matrix",
        ),
        (raises(MemoryError("Unable to allocate")), "at tau=1: MemoryError: Unable to allocate"),
        (
            lambda p: p.problem.lams / 0.0,
            "at tau=0.25: FloatingPointError: divide by zero encountered in divide",
        ),
        (
            lambda p: np.exp(p.problem.lams + 1e3),
            "at tau=0.25: FloatingPointError: overflow encountered in exp",
        ),
    ],
)
def test_one_failure_leaves_the_others(
    fake: Callable[[Fake], Method], function: Fake, why: str
) -> None:
    """A named reason for the one, the same scores as ever for the rest."""
    column = fake(function)
    found = search_grid(KERNELS, path_at, (column, CV, ELOO), folds_of)
    assert found.failures == {column: why}
    assert set(found.values) == {CV, ELOO}
    alone = search_grid(KERNELS, path_at, (CV,), folds_of)
    np.testing.assert_array_equal(found.values[CV], alone.values[CV])


def test_a_mistake_in_the_code_is_no_failure(fake: Callable[[Fake], Method]) -> None:
    """Anything else keeps its traceback."""
    with pytest.raises(ZeroDivisionError):
        search_grid(KERNELS, path_at, (fake(raises(ZeroDivisionError("mistake"))),), folds_of)


def search_on(points: Array, kernels: tuple[Kernel, ...], lams: Any) -> Scores:
    """A search on other rows."""

    def path(kernel: Kernel) -> Path:
        return SquareLossPath(problem_of(kernel, points, Y, lams), bias=True)

    return search_grid(kernels, path, (CV, ELOO), folds_of)


@pytest.mark.parametrize(
    ("points", "kernel", "why"),
    [
        (X * 1e200, Polynomial(2), "at degree=2: FloatingPointError: overflow"),
        (X * 1e200, Linear(), "at : FloatingPointError: overflow"),
        (X * 1e200, Gaussian(1.0), "at tau=1: FloatingPointError: overflow"),
        (X, Polynomial(5000), "at degree=5000: FloatingPointError: overflow"),
    ],
)
def test_kernel_that_overflows(points: Array, kernel: Kernel, why: str) -> None:
    """Every method fails with the reason; no warning and no NaN goes on."""
    found = search_on(points, (kernel, kernel), LAMS)
    assert not found.values
    assert set(found.failures) == {CV, ELOO}
    assert all(text.startswith(why) for text in found.failures.values())


@pytest.mark.parametrize("lam", [0.0, 1e-323, 1e-300, 1e-20, 1e-10])
def test_singular_kernel(lam: float) -> None:
    """Rank one and a tiny ridge: finite scores or a named failure, no warning."""
    found = search_on(np.ones((14, 1)), (Linear(),), [lam])
    for values in found.values.values():
        assert np.isfinite(values).all()
    assert set(found.values) | set(found.failures) == {CV, ELOO}
    if lam == 0.0:
        assert all("singular kernel" in why for why in found.failures.values())
        assert set(found.failures) == {CV, ELOO}


@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_a_path_is_gone_with_the_search(learner: str) -> None:
    """No criterion leaves a cycle behind that keeps the n-by-n matrices until somebody collects garbage."""
    X = stream(0, "gone").normal(size=(30, 2))
    y = np.sign(X[:, 0])
    kernel, lams = Gaussian(1.0), np.array([0.1, 1.0])
    K = kernel.gram(Points(X))
    folds = draw_folds(30, 5, stream(0, "folds"))
    path = find_learner(learner).path(Problem(X, y, kernel, K, lams))
    for name, criterion in CRITERIA.items():
        label = criterion.label(5) if criterion.takes_folds else name
        params = tuple((p.name, p.default) for p in criterion.parameters)
        evaluate(
            Method(label, name, 5 if criterion.takes_folds else None, params), path, lambda _: folds
        )
    gone = weakref.ref(path)
    gc.disable()
    try:
        del path
        assert gone() is None
    finally:
        gc.enable()
