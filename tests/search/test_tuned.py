"""Parameters tuned by an inner cross-validation equal a double loop and use training rows only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import best_in, side_of

from kselect.core.grid_point import BestPoint, SearchFailure
from kselect.core.method import SELECTED, LamGrid, Method
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.numerics.folds import draw_folds
from kselect.numerics.linalg import Array
from kselect.search.grid import Demand, Results, Search, search_grid
from kselect.search.training_context import TrainingContext
from kselect.search.tuned import search_tuned, tune

KERNELS: tuple[Kernel, ...] = tuple(Gaussian(2.0**p) for p in range(-3, 5))
LAMS = (1e-3, 1e-1)
ETAS = (0.03125, 1.0, 32.0, 1024.0)
PARAMS = (("average", "folds"), ("eta", 1.0), ("loss", "squared"))
TUNED = Method("3-KS", "k-KS", 3, PARAMS, tuned=(("eta", ETAS),))
PLAIN = Method("3-CV", "k-CV", 3, (("average", "folds"), ("loss", "squared")))
EACH = LamGrid(LAMS, "fixed").settings()


def two_moons(seed: int, n: int = 60) -> tuple[Array, Array]:
    """Return labels that need a kernel of the right width."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def side(seed: int = 0) -> TrainingContext:
    """Return a training side of 60 rows."""
    return side_of(KERNELS, *two_moons(seed), LAMS)


def by_double_loop(one: TrainingContext, setting: int | None) -> list[float]:
    """Return the inner error count of each eta, with a separate search on each inner fold."""
    totals = [0.0] * len(ETAS)
    inner = draw_folds(one.n, 3, one.stream("inner folds"))
    for number, F in enumerate(inner.members):
        part = one.part(np.setdiff1d(np.arange(one.n), F), f"inner {number}")
        for i, eta in enumerate(ETAS):
            method = TUNED.with_params(eta=eta)
            chosen = SELECTED if setting is None else EACH[setting]
            found = best_in(search_grid(part, {method: (chosen,)}), method, chosen)
            K = found.point.kernel.gram(Points(one.X[F], part.X))
            decision = found.fits[0].decision(0, K)
            totals[i] += float((one.targets[0, F] * decision <= 0).sum())
    return totals


@pytest.mark.parametrize("setting", [None, 0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_the_value_is_that_of_a_double_loop(seed: int, setting: int | None) -> None:
    """The first value with the fewest errors is chosen, and the whole side is searched with it."""
    one = side(seed)
    cell = SELECTED if setting is None else EACH[setting]
    totals = by_double_loop(one, setting)
    eta = ETAS[int(np.argmin(totals))]
    found = best_in(search_tuned(one, {TUNED: (cell,)}), TUNED, cell)
    assert found.point.tuned == (("eta", eta),)
    fixed = TUNED.with_params(eta=eta)
    expected = best_in(search_grid(one, {fixed: (cell,)}), fixed, cell)
    assert (found.point.kernel, found.point.lam) == (expected.point.kernel, expected.point.lam)
    assert found.score == expected.score


def test_values_differ_somewhere() -> None:
    """The tests above are not trivial: different sides choose different values of eta."""
    found = [search_tuned(side(seed), {TUNED: (SELECTED,)}) for seed in range(2)]
    assert len({best_in(results, TUNED).point.tuned for results in found}) > 1


def test_untuned_methods_are_not_affected() -> None:
    """Untuned methods have the same results in a search with tuned ones."""
    one = side()
    together = search_tuned(one, {TUNED: (SELECTED,), PLAIN: (SELECTED, *EACH)})
    alone = search_grid(one, {PLAIN: (SELECTED, *EACH)})
    for cell in alone:
        found, expected = best_in(together, *cell), best_in(alone, *cell)
        assert (found.point, found.score) == (expected.point, expected.score)
    assert tune(one, {}, 3, search_grid) == {}


def test_inner_search_does_not_see_its_test_fold() -> None:
    """A feature equal to the label in the inner test fold does not change the search."""
    one = side()
    F = draw_folds(one.n, 3, one.stream("inner folds")).members[0]
    X = np.column_stack([one.X, np.zeros(one.n)])
    X[F, 2] = 50 * one.targets[0, F]
    planted = replace(one, X=X)
    part = planted.part(np.setdiff1d(np.arange(one.n), F), "inner 0")
    assert (part.X[:, 2] == 0).all()
    sides = (part, one.part(np.setdiff1d(np.arange(one.n), F), "inner 0"))
    seen, blind = (best_in(search_grid(s, {PLAIN: (SELECTED,)}), PLAIN) for s in sides)
    assert seen.point == blind.point


def leaking(whole: TrainingContext) -> Search:
    """Return a search whose scores use all rows, including the inner fold."""

    def search(part: TrainingContext, demand: Demand) -> Results:
        other = search_grid(whole, demand)
        pairs = {cell: (found, other[cell]) for cell, found in search_grid(part, demand).items()}
        return {
            cell: replace(mine, score=theirs.score)
            for cell, (mine, theirs) in pairs.items()
            if isinstance(mine, BestPoint) and isinstance(theirs, BestPoint)
        }

    return search


def first_scores(search: Search, one: TrainingContext) -> list[float]:
    """Return the score of each parameter value on the first inner training part."""
    seen: list[list[float]] = []

    def watched(part: TrainingContext, demand: Demand) -> Results:
        found = search(part, demand)
        seen.append([f.score for f in found.values() if isinstance(f, BestPoint)])
        return found

    search_tuned(one, {TUNED: (SELECTED,)}, search=watched)
    return seen[0]


def test_a_planted_leak_is_caught() -> None:
    """Labels of an inner fold do not change its search; with a planted leak they do."""
    one = side()
    F = draw_folds(one.n, 3, one.stream("inner folds")).members[0]
    targets = one.targets.copy()
    targets[:, F] *= -1
    other = replace(one, targets=targets)
    assert first_scores(search_grid, one) == first_scores(search_grid, other)
    assert first_scores(leaking(one), one) != first_scores(leaking(other), other)


def test_a_value_without_finite_scores_is_not_chosen() -> None:
    """A value with infinite scores only is not chosen; if there is no other, the method fails."""
    some = replace(TUNED, tuned=(("eta", (float("inf"), 1.0)),))
    found = best_in(search_tuned(side(), {some: (SELECTED,)}), some)
    assert found.point.tuned == (("eta", 1.0),)
    none = replace(TUNED, tuned=(("eta", (float("inf"),)),))
    assert isinstance(search_tuned(side(), {none: (SELECTED,)})[none, SELECTED], SearchFailure)


def test_tune_folds_sets_the_number_of_inner_folds() -> None:
    """tune-folds sets the number of inner folds; two and six folds choose other values of eta."""
    two, six = (search_tuned(side(2), {TUNED: (SELECTED,)}, folds) for folds in (2, 6))
    assert best_in(two, TUNED).point.tuned != best_in(six, TUNED).point.tuned
