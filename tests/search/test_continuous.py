"""Continuous searches: scores against retrained models, named failures, and feature units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles_flkl import Array, differences, fit, held_out_errors, kernel, kernel_stability
from problems import best_in
from problems_flkl import outer, rows

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import SELECTED, Choice, LamGrid, Method
from kselect.kernels import Points
from kselect.kernels.ard import Ard, LaplacianArd
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.laplacian import Laplacian
from kselect.numerics.folds import Folds, draw_folds
from kselect.numerics.scorers import find_scorer
from kselect.search import search
from kselect.search.continuous import (
    SEARCHES,
    KnownSolutions,
    Solution,
    Unit,
    kernel_of,
    search_continuously,
)
from kselect.search.flkl import beginning, first_level, outer_problem
from kselect.search.quasi_newton import rbf
from kselect.search.training_context import TrainingContext
from kselect.search.tuned import search_tuned

N, D = 50, 3


def side(X: Array, targets: Array, seed: int = 0) -> TrainingContext:
    """Return a training side without a grid."""
    folds = draw_folds(len(X), 5, np.random.default_rng(seed))
    return TrainingContext(
        X=X,
        targets=targets,
        task="classification",
        kernels=(Gaussian(1.0),),
        ridges=LamGrid((0.1,), "select"),
        learner=Choice("lssvm"),
        ridge="fixed",
        given_folds=lambda _: folds,
        stream=lambda *_: np.random.default_rng(0),
    )


def problem() -> TrainingContext:
    X, y = rows(N, D)
    return side(X / X.std(axis=0, ddof=1), y[None])


def method(criterion: str, search_name: str, kernel_name: str, **params: object) -> Method:
    k_cv = {"loss": "squared", "average": "points"}
    own = {"k-CV": k_cv, "ELOO": {"form": "press"}, "BR": {}, "k-KS": {**k_cv, "eta": 0.5}}
    folds = 5 if criterion in ("k-CV", "k-KS") else None
    given = tuple(sorted({**own[criterion], **params}.items()))
    choice = Choice(search_name, tuple(sorted(SEARCHES[search_name].defaults.items())))
    label = f"{kernel_name}-{criterion}-{search_name}"
    return Method(label, criterion, folds, given, search=choice, kernel=kernel_name)


def find(at: TrainingContext, one: Method) -> BestPoint:
    return best_in(search_continuously(at, {one: (SELECTED,)}), one)


def widths(found: BestPoint) -> Array:
    """Return the place's kernel as one theta per feature."""
    point = found.point.kernel
    return point.vector() if isinstance(point, Ard) else np.full(D, 0.5 / point.tau)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kernel_name", ["gaussian", "ard"])
@pytest.mark.parametrize("criterion", ["k-CV", "ELOO"])
def test_the_score_is_the_error_of_retrained_models(criterion: str, kernel_name: str) -> None:
    """The score is that of models retrained at the reported kernel and ridge."""
    at = problem()
    found = find(at, method(criterion, "quasi-newton", kernel_name))
    K = kernel(differences(at.X, at.X, one=False), widths(found))
    members = at.folds(5).members if criterion == "k-CV" else [np.array([i]) for i in range(N)]
    errors = held_out_errors(K, at.targets[0], N * found.point.lam, members)
    assert found.score == pytest.approx(np.mean(errors**2), rel=1e-7)
    assert found.state == "converged"


@pytest.mark.parametrize("kernel_name", ["gaussian", "ard"])
@pytest.mark.parametrize("name", ["flkl", "nelder-mead"])
def test_the_score_of_the_first_level(name: str, kernel_name: str) -> None:
    """FLKL's score is the k-fold error of models whose widths are learned within each fold."""
    at = problem()
    found = find(at, method("k-CV", name, kernel_name))
    (parameter, mu), start = found.point.tuned[0], widths(found)
    assert parameter == "mu"
    ard = kernel_name == "ard"
    u = np.log([N * found.point.lam, mu])
    error = outer(at.X, at.targets[0], at.folds(5), u, start if ard else start[:1], ard=ard)
    assert found.score == pytest.approx(error, rel=1e-3)


def test_a_point_of_the_surface() -> None:
    """A probe at the (lam, mu) found has the search's own error; elsewhere it is no lower."""
    at, best = problem(), find(problem(), method("k-CV", "flkl", "ard"))
    mu = dict(best.point.tuned)["mu"]

    def error(factor: float) -> float:
        point = Choice("flkl-at", (("lam", factor * N * best.point.lam), ("mu", mu)))
        one = method("k-CV", "flkl-at", "ard")
        return find(at, replace(one, search=point)).score

    assert error(1.0) == pytest.approx(best.score, rel=1e-3)
    assert min(error(0.1), error(10.0)) > best.score


def test_the_fit_is_that_of_the_place() -> None:
    at = problem()
    found = find(at, method("k-CV", "flkl", "ard"))
    K = kernel(differences(at.X, at.X, one=False), widths(found))
    alpha, bias = fit(K, at.targets[0], N * found.point.lam)
    np.testing.assert_allclose(found.fits[0].alpha[0], alpha, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.fits[0].bias[0], bias, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.point.kernel.gram(Points(at.X)), K, rtol=1e-12)


def test_bayesian_regularisation_counts_what_a_limit_holds() -> None:
    found = find(problem(), method("BR", "quasi-newton", "ard"))
    floor = min(widths(found))
    (name, held), _ = found.point.tuned[0], None
    assert name == "held"
    assert held >= sum(widths(found) == floor) - 1


def test_steps_is_an_option() -> None:
    few = method("k-CV", "quasi-newton", "ard")
    few = replace(few, search=Choice("quasi-newton", (("steps", 1),)))
    many = method("k-CV", "quasi-newton", "ard")
    assert find(problem(), few).score > find(problem(), many).score
    assert find(problem(), few).state == "iteration limit"


def test_solutions_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    real = SEARCHES["quasi-newton"].function.__globals__["minimise"]

    def counted(X: Array, y: Array, folds: Folds, **more: object) -> Solution:
        calls.append(0)
        found: Solution = real(X, y, folds, **more)
        return found

    monkeypatch.setitem(rbf.__globals__, "minimise", counted)
    known, one = KnownSolutions(problem()), method("k-CV", "quasi-newton", "ard")
    assert rbf(known, one) is rbf(known, replace(one, kernel="gaussian"))
    assert len(calls) == 1
    rbf(known, replace(one, kernel="laplacian"))
    assert len(calls) == 2


def test_a_grid_and_a_search_side_by_side() -> None:
    at = problem()
    grid = Method("5-CV", "k-CV", 5, (("average", "points"), ("loss", "squared")))
    moved = method("k-CV", "quasi-newton", "gaussian")
    both = search(at, {grid: (SELECTED,), moved: (SELECTED,)})
    alone = best_in(search_tuned(at, {grid: (SELECTED,)}), grid)
    one, other = best_in(both, grid), best_in(both, moved)
    assert (one.point, one.score) == (alone.point, alone.score)
    assert other.score < one.score


def three_targets() -> TrainingContext:
    """Return rows with three targets of different sizes."""
    X, y = rows(N, D)
    noise = np.random.default_rng(3).normal(size=(3, N))
    targets = np.stack([y, 2.0 * X[:, 1], np.cos(X[:, 0])]) + 0.3 * noise
    return side(X / X.std(axis=0, ddof=1), targets)


@pytest.mark.parametrize("kernel_name", ["ard", "laplacian-ard", "laplacian"])
@pytest.mark.parametrize("criterion", ["k-CV", "ELOO", "k-KS", "BR"])
def test_several_targets_share_one_kernel(criterion: str, kernel_name: str) -> None:
    """The score is the mean over targets of the criterion of models retrained at one kernel and ridge."""
    at = three_targets()
    found = find(at, method(criterion, "quasi-newton", kernel_name))
    K = found.point.kernel.gram(Points(at.X))
    folds = criterion in ("k-CV", "k-KS")
    members = at.folds(5).members if folds else [np.array([i]) for i in range(N)]
    lam = N * found.point.lam
    errors = np.stack([held_out_errors(K, y, lam, members) for y in at.targets])
    expected = float(np.mean(errors**2))
    if criterion == "k-KS":
        expected += 0.5 / N * kernel_stability(K)
    if criterion == "BR":
        eta = np.array(list(found.point.kernel.parameters.values()))
        eta = 1.0 / eta if kernel_name == "laplacian" else eta
        halves = 0.5 * N * np.mean(np.log(0.5 * np.sum(errors**2, axis=1)))
        expected = halves + 0.5 * len(eta) * np.log(0.5 * eta @ eta)
    assert found.score == pytest.approx(expected, rel=1e-6)
    for fit_of, y in zip(found.fits, at.targets, strict=True):
        alpha, bias = fit(K, y, lam)
        fitted = K @ fit_of.alpha[0] + fit_of.bias[0]
        np.testing.assert_allclose(fitted, K @ alpha + bias, rtol=0, atol=1e-6)


def test_scorers_are_refused() -> None:
    """A search without a formula for a scorer says so in one line."""
    at, one = problem(), method("k-CV", "quasi-newton", "ard")
    scored = replace(one, scorer=find_scorer("r2"))
    found = search_continuously(at, {scored: (SELECTED,)})[scored, SELECTED]
    assert found == SearchFailure("the kernel ard is learned without a scorer")


def test_a_repeated_target_changes_nothing() -> None:
    """The search of the same target three times over ends where the search of one ends."""
    X, y = rows(N, D)
    one = method("k-CV", "quasi-newton", "ard")
    single, triple = (find(side(X, np.stack([y] * q)), one) for q in (1, 3))
    assert triple.score == pytest.approx(single.score, rel=1e-5)
    np.testing.assert_allclose(widths(triple), widths(single), rtol=0.05, atol=1e-3)


@pytest.mark.parametrize("kernel_name", ["ard", "laplacian-ard"])
def test_the_first_level_of_several_targets(kernel_name: str) -> None:
    """FLKL's score for several targets is the error of models that learn one kernel for all in each fold."""
    at = three_targets()
    found = find(at, method("k-CV", "flkl", kernel_name))
    u = np.log([N * found.point.lam, found.point.tuned[0][1]])
    theta = np.array(list(found.point.kernel.parameters.values()))
    absolute = kernel_name == "laplacian-ard"
    error = outer(at.X, at.targets.T, at.folds(5), u, theta, ard=True, absolute=absolute)
    assert found.score == pytest.approx(error, rel=1e-3)


def bad(kind: str) -> TrainingContext:
    """Return awkward tables that a user may have."""
    X, y = rows(N, D)
    if kind == "a constant feature":
        X[:, 1] = 3.0
    elif kind == "duplicated rows":
        X, y = np.repeat(X[:25], 2, axis=0), np.repeat(y[:25], 2)
    elif kind == "two classes of one row":
        X, y = X[:2], np.array([1.0, -1.0])
    elif kind == "one row of a class":
        y = np.where(np.arange(N) == 7, 1.0, -1.0)
    elif kind == "more features than rows":
        X, y = np.random.default_rng(1).normal(size=(12, 30)), y[:12]
    elif kind == "features of scale 1e6":
        X = X * np.array([1e6, 1.0, 1e-6])
    elif kind == "equal rows":
        X = np.ones_like(X)
    elif kind == "an infinite feature":
        X[0, 0] = np.inf
    return side(X, y[None]) if len(X) >= 5 else tiny(X, y)


def tiny(X: Array, y: Array) -> TrainingContext:
    """Return fewer rows than folds."""
    found = side(np.repeat(X, 3, axis=0), np.repeat(y, 3)[None])
    halves = Folds.from_numbers(np.array([0, 1]))
    return replace(found, X=X, targets=y[None], given_folds=lambda _: halves)


NAMED = {"equal rows": "all rows are equal", "an infinite feature": "not a finite number"}


@pytest.mark.parametrize(
    "kind",
    [
        *("a constant feature", "duplicated rows", "two classes of one row", "one row of a class"),
        *("more features than rows", "features of scale 1e6", *NAMED),
    ],
)
@pytest.mark.parametrize(
    ("criterion", "name"),
    [("ELOO", "quasi-newton"), ("k-CV", "quasi-newton"), ("BR", "quasi-newton"), ("k-CV", "flkl")],
)
def test_bad_input_is_a_result_or_a_named_failure(kind: str, criterion: str, name: str) -> None:
    """Awkward input gives finite numbers or a named failure, and no warning."""
    one = method(criterion, name, "ard")
    found = search_continuously(bad(kind), {one: (SELECTED,)})[one, SELECTED]
    if isinstance(found, SearchFailure):
        assert len(found.reason) > 10
        assert NAMED.get(kind, "") in found.reason
        assert kind in NAMED or kind == "two classes of one row"
    else:
        assert kind not in NAMED
        assert np.isfinite(found.score)
        assert np.isfinite(found.fits[0].alpha).all()


def test_unsupported_problems_are_explained() -> None:
    """A problem that a search cannot minimise is refused with an explanation."""
    kind = SEARCHES["flkl"]
    assert kind.misfit(method("k-CV", "flkl", "ard")) == ""
    assert kind.misfit(method("ELOO", "flkl", "ard")) == "flkl minimises k-CV, not ELOO"
    assert "loss squared only, not hinge" in kind.misfit(
        method("k-CV", "flkl", "ard", loss="hinge")
    )
    assert "moves the kernel gaussian or laplacian or ard" in kind.misfit(
        method("k-CV", "flkl", "linear")
    )
    assert "not 'sum:linear'" in kind.misfit(method("k-CV", "flkl", "sum:linear"))


def test_kernels_of_a_width() -> None:
    """Width zero gives a kernel that ignores distances."""
    assert kernel_of("gaussian", np.array([0.125])) == Gaussian(4.0)
    flat = kernel_of("gaussian", np.array([0.0]))
    np.testing.assert_array_equal(flat.gram(Points(np.eye(3))), np.ones((3, 3)))
    assert kernel_of("ard", np.array([0.0, 1 / 3])) == Ard((0.0, 0.33333333))
    assert kernel_of("laplacian", np.array([0.125])) == Laplacian(8.0)
    assert kernel_of("laplacian-ard", np.array([0.0, 1 / 3])) == LaplacianArd((0.0, 0.33333333))


def test_z_scored_features_stay_as_they_are() -> None:
    """z-scored features are not rescaled."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    unit = Unit.of(X, X[:, 0])
    np.testing.assert_allclose(unit.X, X, rtol=1e-12, atol=1e-14)
    assert abs(unit.factor - 1.0) < 1e-12


def test_constant_features_are_left_out() -> None:
    """Constant features are dropped and get a theta of zero."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[:, 1] = 4.0
    unit = Unit.of(X, X[:, 0])
    assert unit.X.shape[1] == unit.widths(ard=True).size == 2
    theta = unit.outside(np.array([1.0, 2.0]), ard=True)
    np.testing.assert_allclose(theta * unit.factor, [1.0, 0.0, 2.0])
    np.testing.assert_allclose(unit.inside(theta, 2), [1.0, 2.0])


def test_one_width_for_all() -> None:
    """A common width is spread over the varying features and reported as one number."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    unit = Unit.of(X, X[:, 0])
    np.testing.assert_allclose(unit.inside(np.array([0.5]), 3), np.full(3, 0.5 * unit.factor))
    np.testing.assert_allclose(unit.outside(np.array([0.5]), ard=False), [0.5 / unit.factor])


@pytest.mark.parametrize("criterion", ["k-CV", "ELOO"])
def test_the_simplex_lowers_the_error_of_retrained_models(criterion: str) -> None:
    """Its score is the error at the reported kernel; it is below RBF's, from which it starts."""
    at = problem()
    found, rbf = (
        find(at, method(criterion, name, kernel_name))
        for name, kernel_name in (("simplex", "ard"), ("quasi-newton", "gaussian"))
    )
    K = kernel(differences(at.X, at.X, one=False), widths(found))
    members = at.folds(5).members if criterion == "k-CV" else [np.array([i]) for i in range(N)]
    errors = held_out_errors(K, at.targets[0], N * found.point.lam, members)
    assert found.score == pytest.approx(np.mean(errors**2), rel=1e-6)
    assert found.score < rbf.score
    few = method(criterion, "simplex", "ard")
    few = replace(few, search=Choice("simplex", (("evaluations", 2),)))
    assert rbf.score >= find(at, few).score > found.score
    assert find(at, few).state == "iteration limit"


def test_ard_starts_from_the_first_level_of_rbf() -> None:
    """lam, mu and the width of RBF-FLKL are the start of ARD-FLKL; RBF-FLKL itself starts from RBF-XVAL."""
    at = problem()
    known, ard = KnownSolutions(at), method("k-CV", "flkl", "ard")
    single = first_level(known, method("k-CV", "flkl", "gaussian"))
    start = outer_problem(known, ard)
    assert np.exp(start.u).tolist() == pytest.approx([single.lam, single.mu])
    assert start.theta == pytest.approx(np.full(D, single.theta[0]))
    begun = outer_problem(known, method("k-CV", "flkl", "gaussian"))
    assert np.exp(begun.u[0]) == pytest.approx(rbf(known, ard).lam)
    flat = replace(single, theta=np.zeros(1))
    unit = Unit.of(at.X, at.targets[0])
    _, theta = beginning(unit, unit.widths(ard=True), at.targets[0], flat)
    assert (theta > 0.0).all()
