"""The grid search equals brute force; ties, infinite scores, failures, and edges of the grid."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import best_in, numbered, problem_of, rows, side_of

from kselect.core.grid_point import BestPoint, GridPoint, SearchFailure
from kselect.core.method import SELECTED, LamGrid, Method
from kselect.core.record import significant
from kselect.criteria import CRITERIA
from kselect.criteria.bif import NEAR_IDENTITY
from kselect.errors import TrialError
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import LEARNERS, Fit, Path, Problem
from kselect.learners.krr_lssvm import SquareLossPath
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.search.grid import (
    Best,
    Edge,
    KernelScores,
    edges_of,
    evaluate,
    score_kernels,
    search_grid,
)
from kselect.search.training_context import TrainingContext

X, Y = rows(14)
KERNELS: tuple[Kernel, ...] = (
    *(Gaussian(2.0**p) for p in range(-2, 5, 2)),
    Polynomial(2),
    Linear(),
)
LAMS = np.array([1e-3, 1e-2, 1e-1, 1.0])


def folds_of(k: int) -> Folds:
    """Return the same folds for the same number."""
    return numbered(np.random.default_rng(k), 14, k, False)


def side(
    kernels: Sequence[Kernel] = KERNELS, points: Array = X, lams: Any = LAMS
) -> TrainingContext:
    """Return the LSSVM on the rows."""
    return side_of(kernels, points, Y, tuple(lams), given_folds=folds_of)


EACH = LamGrid(tuple(LAMS), "fixed").settings()


def method(criterion: str, label: str = "", folds: int | None = None, **params: Any) -> Method:
    """Return a column."""
    return Method(label or criterion, criterion, folds, tuple(sorted(params.items())))


CV = method("k-CV", "4-CV", 4, average="folds", loss="squared")
KS = method("k-KS", "4-KS", 4, average="folds", eta=2.0, loss="squared")
ELOO = method("ELOO", form="press", slope=10.0)


def by_retraining(criterion: str) -> Callable[[int, int], float]:
    """Return the score of a place by retraining every model."""
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
    """The choice equals that of a double loop with retraining."""
    values = np.array([v.scores[column] for v in score_kernels(side(), (column,))])
    score = by_retraining(column.criterion)
    expected = np.array([[score(k, r) for r in range(4)] for k in range(len(KERNELS))])
    # The worst system is the polynomial kernel's: cond < 1e6, so 10 n eps cond < 1e-7 at most.
    np.testing.assert_allclose(values, expected, rtol=1e-7)
    lowest, second = np.sort(expected, axis=None)[:2]
    assert second - lowest > 1e-6
    found = search_grid(side(), {column: (SELECTED, *EACH)})
    kernel, ridge = oracles.grid_search(score, len(KERNELS), 4)
    best = best_in(found, column)
    assert best.point == GridPoint(KERNELS[kernel], LAMS[ridge])
    assert (best.score, best.excluded) == (values[kernel, ridge], ())
    for ridge, setting in enumerate(EACH):
        kernel, _ = oracles.grid_search(lambda k, _: score(k, ridge), len(KERNELS), 1)  # noqa: B023
        one = best_in(found, column, setting)
        assert (one.point, one.score) == (
            GridPoint(KERNELS[kernel], LAMS[ridge]),
            values[kernel, ridge],
        )


def test_duals_are_the_fits_of_their_places() -> None:
    """The duals equal those of the learner's own path at the chosen kernel and ridge."""
    for setting in EACH:
        found = best_in(search_grid(side(), {ELOO: (setting,)}), ELOO, setting)
        whole = SquareLossPath(problem_of(found.point.kernel, X, Y, LAMS), bias=True).fit()
        (dual,) = found.fits
        np.testing.assert_array_equal(dual.alpha[0], whole.alpha[setting.position])
        assert dual.bias.tolist() == [whole.bias[setting.position]]


Fake = Callable[[Path], Array]
SCORES = st.lists(
    st.lists(st.sampled_from([1.0, 2.0, 3.0, np.inf]), min_size=3, max_size=3),
    min_size=1,
    max_size=4,
)


def visited(rows_of: list[list[float]]) -> list[KernelScores]:
    """Return kernels with these scores."""
    blank = Fit(np.zeros((3, 14)), np.zeros(3))
    return [
        KernelScores(k, {ELOO: np.array(r)}, {ELOO: {}}, (blank,), {ELOO: 0.0})
        for k, r in zip(KERNELS, rows_of, strict=False)
    ]


@given(SCORES)
def test_ties_and_infinities(rows_of: list[list[float]]) -> None:
    """The first of equal scores wins, kernels in the outer loop; infinity is never chosen."""
    best = Best(SELECTED)
    for visit in visited(rows_of):
        best.update(side(lams=LAMS[:3]), visit, ELOO)
    found = best.result()
    if np.isinf(rows_of).all():
        assert isinstance(found, SearchFailure)
        return
    kernel, ridge = oracles.grid_search(lambda k, r: rows_of[k][r], len(rows_of), 3)
    assert isinstance(found, BestPoint)
    assert found.point == GridPoint(KERNELS[kernel], LAMS[ridge])
    assert found.score == np.min(rows_of)


def test_infinite_at_one_ridge_only(fake: Callable[[Fake], Method]) -> None:
    """A ridge without a finite score has no choice; the other ridges have one."""
    column = fake(lambda p: np.where(p.problem.lams == LAMS[0], np.inf, 1.0))
    found = search_grid(side(), {column: EACH})
    first = found[column, EACH[0]]
    assert first == SearchFailure(
        "no kernel and ridge has a finite score; at tau=0.25;lam=0.001: infinite score"
    )
    assert all(isinstance(found[column, s], BestPoint) for s in EACH[1:])


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fake], Method]:
    """Return a user-defined criterion as a method."""

    def make(function: Fake) -> Method:
        entry = replace(CRITERIA["BR"], name="fake", function=function, parameters=())
        monkeypatch.setitem(CRITERIA, "fake", entry)
        return method("fake")

    return make


def test_infinite_scores_are_excluded(fake: Callable[[Fake], Method]) -> None:
    """A candidate with an infinite score is skipped and counted; the method does not fail."""
    column = fake(lambda p: np.where(np.isin(p.problem.lams, LAMS[[0, 2]]), np.inf, p.problem.lams))
    found = best_in(search_grid(side(), {column: (SELECTED,)}), column)
    assert (found.point, found.score) == (GridPoint(KERNELS[0], LAMS[1]), LAMS[1])
    assert len(found.excluded) == 2 * len(KERNELS)
    assert {why for _, why in found.excluded} == {"infinite score"}


def test_a_guard_is_a_reason() -> None:
    """Candidates near K = I are excluded with the guard's name; the others are unchanged."""
    bif, free = (method("BIF-k-CV", f"at {c:g}", 4, identity=c) for c in (0.1, 0.0))
    narrow = side((Gaussian(1e-4), *KERNELS))
    found = search_grid(narrow, {bif: (SELECTED,), free: (SELECTED,)})
    guarded, unguarded = best_in(found, bif), best_in(found, free)
    at_narrow = [(GridPoint(Gaussian(1e-4), lam), NEAR_IDENTITY) for lam in LAMS]
    assert [e for e in guarded.excluded if e[0].kernel == Gaussian(1e-4)] == at_narrow
    assert NEAR_IDENTITY not in {why for _, why in unguarded.excluded}


def test_a_guard_is_a_reason_ridge_by_ridge(fake: Callable[[Fake], Method]) -> None:
    """The guard is also named if another ridge fails, so that there is no common path."""

    def function(path: Path) -> Array:
        if (path.problem.lams == LAMS[0]).any():
            raise TrialError("not here")
        return np.where(path.problem.lams == LAMS[1], np.inf, 1.0)

    column = fake(function)
    acts = lambda path, **_: {"a guard": path.problem.lams == LAMS[1]}  # noqa: E731
    CRITERIA["fake"] = replace(CRITERIA["fake"], guards=acts)
    found = best_in(search_grid(side(), {column: (SELECTED,)}), column)
    why = ["not here", "a guard"] * len(KERNELS)
    assert [reason for _, reason in found.excluded] == why


def raises(error: Exception) -> Fake:
    """Return a criterion that fails at the second kernel and at one ridge of the first."""

    def function(path: Path) -> Array:
        first, second = KERNELS[:2]
        if path.problem.kernel == second:
            raise error
        if path.problem.kernel == first and LAMS[0] in path.problem.lams:
            raise error
        return np.full(len(path.problem.lams), 1.0)

    return function


WHYS = [
    (raises(TrialError("no such thing")), "no such thing"),
    (raises(np.linalg.LinAlgError("Singular\n matrix")), "LinAlgError: Singular matrix"),
]


@pytest.mark.parametrize(("function", "why"), WHYS)
def test_a_candidate_that_fails_is_excluded_by_name(
    fake: Callable[[Fake], Method], function: Fake, why: str
) -> None:
    """The others remain candidates, and other methods keep their scores."""
    column = fake(function)
    found = search_grid(side(), {column: (SELECTED,), CV: (SELECTED,)})
    mine = best_in(found, column)
    assert mine.point == GridPoint(KERNELS[0], LAMS[1])
    assert mine.excluded == (
        (GridPoint(KERNELS[0], LAMS[0]), why),
        *((GridPoint(KERNELS[1], lam), why) for lam in LAMS),
    )
    alone, together = best_in(search_grid(side(), {CV: (SELECTED,)}), CV), best_in(found, CV)
    assert (alone.point, alone.score) == (together.point, together.score)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda p: p.problem.lams * np.nan, "fake is not a number"),
        (lambda p: p.problem.lams - np.inf, "fake is not a number"),
        (
            lambda p: p.problem.lams / 0.0,
            "FloatingPointError: divide by zero encountered in divide",
        ),
        (
            lambda p: np.exp(p.problem.lams + 1e3),
            "FloatingPointError: overflow encountered in exp",
        ),
    ],
)
def test_a_method_without_a_candidate_fails(
    fake: Callable[[Fake], Method], function: Fake, why: str
) -> None:
    """It fails with the reason of the first candidate; other methods are not affected."""
    column = fake(function)
    found = search_grid(side(), {column: (SELECTED,), ELOO: (SELECTED,)})
    start = "no kernel and ridge has a finite score; at tau=0.25;lam=0.001: "
    assert found[column, SELECTED] == SearchFailure(start + why)
    assert isinstance(found[ELOO, SELECTED], BestPoint)


@pytest.mark.parametrize("error", [ZeroDivisionError, MemoryError])
def test_another_error_is_raised(fake: Callable[[Fake], Method], error: type[Exception]) -> None:
    """A programming error keeps its traceback; memory that runs out says nothing about a candidate."""
    column = fake(raises(error("mistake")))
    with pytest.raises(error):
        search_grid(side(), {column: (SELECTED,)})


@pytest.mark.parametrize(
    ("points", "kernel", "why"),
    [
        (X * 1e200, Polynomial(2), "at degree=2;lam=0.001: FloatingPointError: overflow"),
        (X * 1e200, Linear(), "at lam=0.001: FloatingPointError: overflow"),
        (X * 1e200, Gaussian(1.0), "at tau=1;lam=0.001: FloatingPointError: overflow"),
        (X, Polynomial(5000), "at degree=5000;lam=0.001: FloatingPointError: overflow"),
    ],
)
def test_kernel_that_overflows(points: Array, kernel: Kernel, why: str) -> None:
    """Every method fails with the reason, without a warning or NaN."""
    found = search_grid(side((kernel,), points), {CV: (SELECTED,), ELOO: (SELECTED,)})
    for result in found.values():
        assert isinstance(result, SearchFailure)
        assert why in result.reason


def test_degrees_1_2_300_leave_a_choice() -> None:
    """Overflowing kernels are excluded, and the method chooses from the others."""
    kernels = (Polynomial(1), Polynomial(2), Polynomial(300))
    found = best_in(search_grid(side(kernels, 100 * X), {CV: (SELECTED,)}), CV)
    assert {point.kernel for point, _ in found.excluded} == {Polynomial(300)}


@pytest.mark.parametrize("lam", [0.0, 1e-323, 1e-300, 1e-20, 1e-10])
def test_singular_kernel(lam: float) -> None:
    """Rank one and a tiny ridge give finite scores or a named failure, without a warning."""
    one = side((Linear(),), np.ones((14, 1)), [lam])
    found = search_grid(one, {CV: (SELECTED,), ELOO: (SELECTED,)})
    for result in found.values():
        if isinstance(result, BestPoint):
            assert np.isfinite(result.score)
        if lam == 0.0:
            assert isinstance(result, SearchFailure)
            assert "singular kernel" in result.reason


def test_threads_find_the_same() -> None:
    """Visits arrive in the order of the kernels, whatever thread finishes first."""
    one, two = (search_grid(side(), {CV: (SELECTED, *EACH)}, n_jobs=n) for n in (1, 2))
    for cell in one:
        found, other = best_in(one, *cell), best_in(two, *cell)
        assert (found.point, found.score) == (other.point, other.score)


@pytest.mark.parametrize("learner", ["lssvm", "krr", "smooth-hinge"])
def test_no_matrix_outlives_the_search(learner: str) -> None:
    """No criterion leaves a reference cycle that keeps n-by-n matrices alive."""
    X = stream(0, "gone").normal(size=(30, 2))
    y = np.sign(X[:, 0])
    kernel, lams = Gaussian(1.0), np.array([0.1, 1.0])
    K = kernel.gram(Points(X))
    folds = draw_folds(30, 5, stream(0, "folds"))
    path = LEARNERS[learner].path(Problem(X, y, kernel, K, lams))
    for name, criterion in CRITERIA.items():
        label = criterion.label(5) if criterion.takes_folds else name
        if list(criterion.misfits(label, LEARNERS[learner], ["gaussian"])):
            continue
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


GRIDS = st.lists(st.integers(-12, 12), min_size=1, max_size=6, unique=True)


@given(GRIDS, GRIDS, st.data())
def test_against_sorting(taus: list[int], lams: list[int], data: st.DataObject) -> None:
    """An edge is the first or last value of a sorted grid of at least two values."""
    widths, ridges = [2.0**e for e in taus], [10.0**e for e in lams]
    tau, lam = data.draw(st.sampled_from(widths)), data.draw(st.sampled_from(ridges))
    expected = []
    for axis, name, value, grid in (
        ("kernel", "tau", tau, sorted(widths)),
        ("lam", "lam", lam, sorted(ridges)),
    ):
        if len(grid) > 1 and value == grid[0]:
            expected.append((axis, name, value, "smallest"))
        if len(grid) > 1 and value == grid[-1]:
            expected.append((axis, name, value, "largest"))
    found = edges_of([Gaussian(w) for w in widths], ridges, Gaussian(tau), lam)
    assert [(e.axis, e.parameter, e.value, e.end) for e in found] == expected


def test_the_grid_of_a_kernel_is_that_of_its_kind() -> None:
    kernels: list[Kernel] = [Gaussian(0.5), Gaussian(8.0), Polynomial(2), Polynomial(9), Linear()]
    assert [e.text for e in edges_of(kernels, (1.0,), Polynomial(9), 1.0)] == [
        "degree=9 is the largest of its grid"
    ]
    assert edges_of(kernels, (1.0,), Linear(), 1.0) == ()
    assert edges_of(kernels, (1.0,), Gaussian(2.0), 1.0) == ()


def test_a_kernel_with_two_parameters_has_two_grids() -> None:
    @dataclass(frozen=True)
    class Two(Kernel):
        a: float
        b: float

    kernels = [Two(a, b) for a in (1.0, 2.0, 3.0) for b in (5.0, 6.0)]
    assert edges_of(kernels, (), Two(2.0, 6.0), 1.0) == (Edge("kernel", "b", 6.0, "largest"),)
    assert len(edges_of(kernels, (), Two(1.0, 5.0), 1.0)) == 2


@pytest.mark.parametrize("lam", [1 / 3, significant(1 / 3)])
def test_a_recorded_ridge_is_still_the_smallest(lam: float) -> None:
    (edge,) = edges_of([], (7.0, 1 / 3, 1.0), Gaussian(1.0), lam)
    assert (edge.axis, edge.end) == ("lam", "smallest")


def test_a_continuous_choice_has_no_edge() -> None:
    """A choice that a continuous search found is on no edge."""
    assert edges_of([Gaussian(1.0), Gaussian(4.0)], (0.1, 1.0), Gaussian(0.3), 0.5) == ()
