"""The search by bounds: the grid's choice where bounds hold, and the grid itself where they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pytest
from problems import rows, side_of

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import SELECTED, Choice, LamGrid, Method, Setting
from kselect.errors import TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Polynomial
from kselect.learners.factor import factorise
from kselect.search import OVER_GRID, TrainingContext, minimum
from kselect.search.minimum import find_minimum, prunes, search_pruned

TAUS = 2.0 ** np.arange(-9, 10, 3)
LAMS = tuple(2.0 ** np.arange(-9, 4, 3))
OWN = [("smooth-hinge", "hinge"), ("krr", "squared")]


def side(learner: str = "smooth-hinge", n: int = 30, **more: Any) -> TrainingContext:
    X, y = rows(n)
    kernels = more.pop("kernels", [Gaussian(float(tau)) for tau in TAUS])
    return side_of(kernels, X, more.pop("y", y), LAMS, learner=learner, **more)


def k_cv(loss: str, folds: int = 4, **more: Any) -> Method:
    params = {"loss": loss, "average": "points", **more}
    return Method(f"{folds}-CV", "k-CV", folds, tuple(sorted(params.items())))


def found(results: Any, method: Method) -> BestPoint:
    one = results[method, SELECTED]
    assert isinstance(one, BestPoint)
    return one


@pytest.mark.parametrize("ridge", ["per-fold", "fixed"])
@pytest.mark.parametrize(("learner", "loss"), OWN)
def test_it_finds_what_the_grid_finds(learner: str, loss: str, ridge: Any) -> None:
    """Place, score and fit, for several numbers of folds at once."""
    one = side(learner, ridge=ridge)
    demand = {k_cv(loss, k): (SELECTED,) for k in (3, 4, 7)}
    pruned, grid = search_pruned(one, demand), OVER_GRID["grid"](one, demand)
    assert pruned.keys() == grid.keys()
    for method in demand:
        a, b = found(pruned, method), found(grid, method)
        assert a.point == b.point
        assert a.score == pytest.approx(b.score, abs=1e-10)
        np.testing.assert_allclose(a.fits[0].alpha, b.fits[0].alpha, rtol=1e-6, atol=1e-7)


def test_the_score_is_that_of_retraining() -> None:
    """KRR, every model trained anew."""
    one, method = side("krr"), k_cv("squared")
    best = found(search_pruned(one, {method: (SELECTED,)}), method)
    K, y = one.problem(best.point.kernel).K, one.targets[0]
    held = oracles.held_out(K, y, one.folds(4).members, best.point.lam, False, False)
    assert best.score == pytest.approx(np.mean((y - held) ** 2))


def test_kernels_without_a_width_start_in_the_middle() -> None:
    """And are all there."""
    one = side("krr", kernels=[Polynomial(float(d)) for d in (1, 2, 3)])
    demand = {k_cv("squared"): (SELECTED,)}
    point = found(search_pruned(one, demand), k_cv("squared")).point
    assert point == found(OVER_GRID["grid"](one, demand), k_cv("squared")).point


@pytest.mark.parametrize(
    ("changed", "method"),
    [
        ({}, k_cv("zero-one")),
        ({}, k_cv("hinge", average="folds")),
        ({}, Method("GCV", "GCV", None, ())),
        ({}, replace(k_cv("hinge"), scored_by=(("classification", Choice("krr")),))),
        ({"ridges": LamGrid(LAMS, "fixed")}, k_cv("hinge")),
        ({"learner": "lssvm"}, k_cv("squared")),
        ({"learner": "krr", "y": np.ones((2, 30))}, k_cv("squared")),
        ({"learner": "krr", "landmarks": np.array([0, 3, 4])}, k_cv("squared")),
    ],
)
def test_what_the_bounds_do_not_know(changed: dict[str, Any], method: Method) -> None:
    """Another loss, average, criterion, learner, a fixed ridge, several targets, columns."""
    assert not prunes(side(**changed), method)


def test_the_rest_is_searched_on_the_grid() -> None:
    """Beside it, and a fixed ridge too."""
    one = side()
    other = k_cv("zero-one")
    results = search_pruned(one, {k_cv("hinge"): (SELECTED,), other: (SELECTED,)})
    assert len(results) == 2
    same = OVER_GRID["grid"](one, {other: (SELECTED,)})
    assert found(results, other).score == found(same, other).score
    fixed = side(ridges=LamGrid(LAMS, "fixed"))
    at = Setting(2, LAMS[2])
    point = search_pruned(fixed, {k_cv("hinge"): (at,)})[k_cv("hinge"), at]
    assert isinstance(point, BestPoint)
    assert point.point.lam == LAMS[2]


def test_a_newton_step_is_exact_for_the_square_loss_alone() -> None:
    """The same minimum serves both columns; the hinge's is searched on the grid."""
    newton = Method("4-Newton", "k-Newton", 4, k_cv("squared").params)
    results = search_pruned(side("krr"), {k_cv("squared"): (SELECTED,), newton: (SELECTED,)})
    assert found(results, newton) is found(results, k_cv("squared"))
    assert not prunes(side(), replace(newton, params=k_cv("hinge").params))


@pytest.mark.parametrize("broken", ["select_exactly", "fit_at"])
def test_a_failure_leaves_it_to_the_grid(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which then names what has none."""

    def fail(*_: Any, **__: Any) -> Any:
        raise TrialError("no factor")

    monkeypatch.setattr(minimum, broken, fail)
    one, method = side(), k_cv("hinge")
    assert find_minimum(one, 4) is None
    assert found(search_pruned(one, {method: (SELECTED,)}), method).score > 0


def test_a_candidate_that_fails_is_named_by_the_grid() -> None:
    """A target whose square overflows has no error anywhere: every candidate is excluded, and the method fails."""
    y = rows(30)[1] * 1e200
    result = search_pruned(side("krr", y=y), {k_cv("squared"): (SELECTED,)})
    assert isinstance(result[k_cv("squared"), SELECTED], SearchFailure)


def test_little_of_it_is_trained() -> None:
    """What the search is for."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(120, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    kernels = [Gaussian(float(tau)) for tau in 2.0 ** np.arange(-9, 10)]
    one = side_of(kernels, X, y, LAMS, learner="smooth-hinge")
    best = find_minimum(one, 4)
    assert best is not None
    assert best.work.folds < 0.3 * len(kernels) * len(LAMS) * 4


def test_searches_share_the_factors_that_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same places with and without; nothing is kept afterwards."""
    one, gcv = side("krr"), Method("GCV", "GCV", None, ())
    demand = dict.fromkeys((k_cv("squared", 3), k_cv("squared", 4), gcv), (SELECTED,))
    made: list[int] = []

    def counted(K: Any) -> Any:
        made.append(len(K))
        return factorise(K)

    for module in ("search.minimum", "learners.matrix"):
        monkeypatch.setattr(f"kselect.{module}.factorise", counted)
    shared = search_pruned(one, demand)
    assert len(made) == len(TAUS)
    assert not one.factors
    made.clear()
    monkeypatch.setattr(minimum, "ROOM", 2 * 8 * one.n**2)
    some = search_pruned(one, demand)
    assert len(made) > len(TAUS)
    for method in demand:
        assert found(shared, method).point == found(some, method).point
        np.testing.assert_allclose(
            found(shared, method).fits[0].alpha, found(some, method).fits[0].alpha, rtol=1e-9
        )
