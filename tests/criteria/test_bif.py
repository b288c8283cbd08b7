"""BIF-k-CV: its options, guards and probes, compared with the series by its definition."""

from __future__ import annotations

import numpy as np
import oracles
import oracles_series
import pytest
from problems import Case

from kselect.criteria.bif import bouligand_cross_validation, discrepancy, distance_to_identity, rate
from kselect.criteria.cross_validation import cross_validation
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import nystrom_columns
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import LEARNERS, Path, Problem
from kselect.numerics.folds import draw_folds, stream

LAMS = np.array([1e-4, 1e-2, 1.0])
RNG = stream(0, "bif")
X = RNG.normal(size=(43, 2))
Y = np.sign(X[:, 0] + 0.5 * RNG.normal(size=43))
FOLDS = draw_folds(43, 5, stream(0, "folds"))


def path_at(tau: float) -> Path:
    K = Gaussian(tau).gram(Points(X))
    return LEARNERS["lssvm"].path(Problem(X, Y, Gaussian(tau), K, LAMS, "per-fold"))


@pytest.mark.parametrize("order", [1, 3, 5])
@pytest.mark.parametrize("average", ["points", "folds"])
def test_the_definition(order: int, average: str) -> None:
    """The score is the loss of the series' predictions, fold by fold with dense hat matrices."""
    path = path_at(1.0)
    options = {"order": order, "identity": 0.0, "average": average}
    found = bouligand_cross_validation(path, FOLDS, **options)  # type: ignore[arg-type]
    K = Gaussian(1.0).gram(Points(X))
    for score, lam in zip(found, LAMS, strict=True):
        losses = np.empty(43)
        for F in FOLDS.members:
            predicted = oracles_series.series(K, Y, F, lam, True, order)
            losses[F] = oracles.losses("squared", Y[F], predicted)
        mean = oracles.mean_of_points if average == "points" else oracles.mean_of_folds
        assert score == pytest.approx(mean(losses, FOLDS.members), rel=1e-7)


def test_a_high_order_is_cross_validation() -> None:
    path = path_at(1.0)
    series = bouligand_cross_validation(path, FOLDS, order=300)
    exact = cross_validation(path, FOLDS)
    assert series[1:] == pytest.approx(exact[1:], rel=1e-9)
    third = bouligand_cross_validation(path, FOLDS)
    assert np.abs(third[1] / exact[1] - 1) > 1e-4


def test_the_guard_on_the_kernel_matrix() -> None:
    """Near K = I the score depends on the held-out labels: without the guard it would be chosen."""
    narrow = path_at(1e-3)
    free = bouligand_cross_validation(narrow, FOLDS, identity=0.0)
    assert free[0] < 0.1 < cross_validation(narrow, FOLDS)[0]
    assert np.isposinf(bouligand_cross_validation(narrow, FOLDS)).all()


@pytest.mark.parametrize("tau", [1e-3, 0.02, 0.1, 1.0])
def test_the_guard_excludes_kernels_up_to_its_limit(tau: float) -> None:
    """The guard excludes kernels up to its limit on the distance to I (the paper's footnote 2), and none beyond."""
    path = path_at(tau)
    distance = oracles.distance_to_identity(Gaussian(tau).gram(Points(X)))
    assert distance > 0
    at = bouligand_cross_validation(path, FOLDS, identity=distance * (1 + 1e-12))
    below = bouligand_cross_validation(path, FOLDS, identity=distance * (1 - 1e-9))
    assert np.isposinf(at).all()
    assert np.isfinite(below).all()


@pytest.mark.parametrize("kernel", [Polynomial(2), Linear()])
def test_the_guard_uses_cosines(kernel: Kernel) -> None:
    """The guard uses the cosines between rows, also on Nystrom columns; a row of zeros has no cosine."""
    rows = np.concatenate([X, np.zeros((1, 2))])
    K = kernel.gram(Points(rows))
    expected = oracles.distance_to_identity(K)
    dense = Problem(rows, np.append(Y, 1.0), kernel, K, LAMS)
    every = np.arange(len(rows) - 1)
    columns = nystrom_columns(kernel, Points(rows, rows[every]), every)
    low_rank = Problem(rows, dense.y, kernel, np.empty((0, 0)), LAMS, columns=columns)
    assert distance_to_identity(dense) == pytest.approx(expected, rel=1e-12)
    assert distance_to_identity(low_rank) == pytest.approx(expected, rel=1e-6)


def test_the_guard_on_the_rate() -> None:
    narrow = path_at(1e-3)
    free = bouligand_cross_validation(narrow, FOLDS, identity=0.0)
    guarded = bouligand_cross_validation(narrow, FOLDS, identity=0.0, cap=0.9)
    assert np.isposinf(guarded[0])
    assert np.isfinite(guarded[2])
    assert guarded[2] == free[2]


@pytest.mark.parametrize(
    "option",
    [{"order": 1}, {"cap": 0.1}, {"identity": 10.0}, {"loss": "zero-one"}, {"average": "folds"}],
)
def test_every_option_changes_the_score(option: dict[str, object]) -> None:
    path = path_at(0.5)
    usual = bouligand_cross_validation(path, FOLDS)
    other = bouligand_cross_validation(path, FOLDS, **option)  # type: ignore[arg-type]
    assert not np.array_equal(usual, other)


@pytest.mark.parametrize("order", [0, 1, 3, 7])
def test_mean_square_difference(labelled: Case, order: int) -> None:
    """The probe is the mean square difference of the order-t series to retraining, over all rows."""
    p, folds = labelled.problem, labelled.folds
    found = discrepancy(labelled.path(), folds, order=order)  # type: ignore[arg-type]
    for value, lam in zip(found, p.lams, strict=True):
        held = oracles.held_out(p.K, p.y, folds.members, lam, True, False)
        squares = [
            (oracles_series.series(p.K, p.y, F, lam, True, order) - held[F]) ** 2
            for F in folds.members
        ]
        assert value == pytest.approx(np.concatenate(squares).mean(), rel=1e-8)


def test_rate_is_the_largest_over_folds(labelled: Case) -> None:
    """The rate is ``max_F lambda_max(S_FF)``."""
    p = labelled.problem
    found = rate(labelled.path(), labelled.folds)  # type: ignore[arg-type]
    expected = [
        max(oracles_series.rate(p.K, F, lam, True) for F in labelled.folds.members)
        for lam in p.lams
    ]
    assert found == pytest.approx(expected, rel=1e-9)
