"""Factors of ``K + gamma I`` equal the dense inverse; the choice between the three factors."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from kselect.errors import TrialError
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear
from kselect.learners.factor import (
    EPS,
    Factor,
    ScatteredFactor,
    ThinFactor,
    factorise,
)
from kselect.learners.spectral import SpectralFactor
from kselect.learners.tridiagonal import CholeskyFactor, TridiagonalFactor
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array

GAMMAS = np.array([1e-3, 0.5, 20.0])


def rows(n: int, d: int) -> Array:
    return stream(0, "factor", n, d).normal(size=(n, d))


def with_close_pairs() -> Array:
    """Return rows far apart, except for five that have a near neighbour."""
    X = 100.0 * np.arange(40.0)[:, None] + np.zeros((40, 2))
    X[[3, 9, 15, 21, 27]] = X[[4, 10, 16, 22, 28]] + 0.5
    return X


KERNELS = {
    "spectral": (Gaussian(1.0).gram(Points(rows(40, 4))), SpectralFactor),
    "tridiagonal": (Gaussian(1.0).gram(Points(rows(40, 4))), TridiagonalFactor),
    "near singular": (Gaussian(60.0).gram(Points(rows(40, 4))), TridiagonalFactor),
    "cholesky": (Gaussian(1.0).gram(Points(rows(40, 4))), CholeskyFactor),
    "thin": (Gaussian(50.0).gram(Points(rows(60, 1))), ThinFactor),
    "linear": (Linear().gram(Points(rows(50, 3))), ThinFactor),
    "identity": (np.eye(30), ScatteredFactor),
    "scattered": (Gaussian(1.0).gram(Points(with_close_pairs())), ScatteredFactor),
}


@pytest.fixture(params=KERNELS)
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Array, Factor]:
    K, kind = KERNELS[request.param]
    if kind is TridiagonalFactor:
        monkeypatch.setattr("kselect.learners.tridiagonal.REDUCED", 1)
    factor = factorise(K, 3 if kind is CholeskyFactor else None)
    assert type(factor) is kind
    return K, factor


def tolerance(K: Array) -> float:
    """Return ``n eps cond``, the relative error of a backward stable solution."""
    worst = (np.linalg.norm(K, 2) + GAMMAS.min()) / GAMMAS.min()
    return float(10 * len(K) * EPS * worst)


def inverses(K: Array) -> Array:
    return np.array([np.linalg.inv(K + g * np.eye(len(K))) for g in GAMMAS])


def test_the_choice_depends_on_what_is_asked_for() -> None:
    """For products with vectors only, the tridiagonal form serves smaller matrices."""
    K = Gaussian(4.0).gram(Points(rows(200, 6)))
    assert type(factorise(K)) is SpectralFactor
    alone = factorise(K, blocks=False)
    assert type(alone) is TridiagonalFactor
    assert not alone.blocks_expected
    assert type(factorise(K[:60, :60], blocks=False)) is SpectralFactor
    scattered = factorise(Gaussian(1.0).gram(Points(with_close_pairs())), blocks=False)
    assert isinstance(scattered, ScatteredFactor)
    assert scattered.inner is not None


def test_solve_and_diagonal_are_those_of_the_inverse(case: tuple[Array, Factor]) -> None:
    K, factor = case
    v = stream(0, "v").normal(size=len(K))
    G = inverses(K)
    scale = np.linalg.norm(G, ord=2, axis=(1, 2)) * np.linalg.norm(v)
    for expected in (False, True):
        factor.blocks_expected = expected
        off = np.abs(factor.solve(GAMMAS, v) - G @ v).max(axis=1) / scale
        assert off.max() <= tolerance(K)
        each = factor.solve(GAMMAS, np.tile(v, (len(GAMMAS), 1)))
        assert (np.abs(each - G @ v).max(axis=1) / scale).max() <= tolerance(K)
    diagonal = np.diagonal(G, axis1=1, axis2=2)
    assert np.abs(factor.diagonal(GAMMAS) / diagonal - 1).max() <= tolerance(K) * 10


@pytest.mark.parametrize("formed", [0, 10**9])
def test_products_of_several_vectors_and_of_folds(
    case: tuple[Array, Factor], formed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several vectors at every ridge; and vectors of folds, each with a ridge per fold or with one for all."""
    monkeypatch.setattr("kselect.learners.tridiagonal.FORMED", formed)
    K, factor = case
    factor.blocks_expected = False
    n, folds = len(K), (slice(0, 7), slice(7, 20), slice(20, len(K)))
    V, G = stream(0, "V").normal(size=(2, n)), inverses(K)
    scale = np.linalg.norm(G, ord=2, axis=(1, 2)).max() * np.linalg.norm(V)
    off = factor.solve_several(GAMMAS, V) - np.einsum("rij,qj->qri", G, V)
    assert np.abs(off).max() <= tolerance(K) * scale
    for places in (np.array([[0, 0, 0], [2, 2, 2]]), np.array([[0, 1, 2], [1, 1, 0]])):
        found = factor.solve_within(GAMMAS[places], np.array([V, -2.0 * V]), folds)
        for i, of_fold in enumerate(places):
            for place, F in zip(of_fold, folds, strict=True):
                want = (1.0, -2.0)[i] * V[:, F] @ G[place][F, F]
                assert np.abs(found[i][:, F] - want).max() <= tolerance(K) * scale


def test_blocks_are_those_of_the_inverse(case: tuple[Array, Factor]) -> None:
    K, factor = case
    F = np.sort(stream(0, "F").permutation(len(K))[: len(K) // 3])
    for gamma, G, block in zip(GAMMAS, inverses(K), factor.blocks(F, GAMMAS), strict=True):
        assert block.flags.f_contiguous
        assert np.abs(np.tril(block - gamma * G[np.ix_(F, F)])).max() <= tolerance(K)


@pytest.mark.parametrize("small", [0, 10**9])
def test_a_stack_equals_the_blocks(
    case: tuple[Array, Factor], small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kselect.learners.spectral.TINY_PRODUCT", small)
    K, factor = case
    folds = stream(0, "F").permutation(len(K))[: len(K) // 3 * 3].reshape(3, -1)
    for gammas in (
        GAMMAS,
        2.0 ** np.arange(-4, 12),
        np.array([2.0**40]),
        2.0 ** np.array([-4, 48]),
    ):
        stack = factor.stack(folds, gammas)
        for fold, F in zip(stack, folds, strict=True):
            for block, want in zip(fold, factor.blocks(F, gammas), strict=True):
                assert np.abs(np.tril(block - want)).max() <= 10 * len(K) * EPS


@pytest.mark.parametrize("formed", [0, 10**9])
def test_few_blocks_need_no_compiled_code(formed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A factor that serves vectors gives the same blocks, bit for bit, without importing numba."""
    K, _ = KERNELS["tridiagonal"]
    F = np.array([2, 3, 5, 7, 11])
    found = list(TridiagonalFactor(K).blocks(F, GAMMAS))
    for m in ("kselect.numerics.bidiagonal", "kselect.numerics.compiled", "numba"):
        monkeypatch.setitem(sys.modules, m, None)
    monkeypatch.setattr("kselect.learners.tridiagonal.FORMED", formed)
    factor = TridiagonalFactor(K)
    factor.blocks_expected = False
    for some in ([1], [2, 0], [0, 1, 2]):
        blocks = list(factor.blocks(F, GAMMAS[some]))
        assert np.array_equal(blocks, [found[i] for i in some])
    order = np.arange(len(K))[::-1]
    (turned,) = factor.reordered(order).blocks(order[F], GAMMAS[:1])
    assert np.abs(np.tril(turned - found[0])).max() <= tolerance(K)


def test_a_reordered_factor_equals_that_of_reordered_rows(case: tuple[Array, Factor]) -> None:
    K, factor = case
    order = stream(0, "order").permutation(len(K))
    other, v = factor.reordered(order), stream(0, "v").normal(size=len(K))
    np.testing.assert_allclose(other.solve(GAMMAS, v[order]), factor.solve(GAMMAS, v)[:, order])
    np.testing.assert_allclose(other.diagonal(GAMMAS), factor.diagonal(GAMMAS)[:, order])
    F = np.arange(len(K) // 2)
    for found, want in zip(other.blocks(F, GAMMAS), factor.blocks(order[F], GAMMAS), strict=True):
        np.testing.assert_allclose(found, want, atol=1e-12)
    A, a, c = other.modes(GAMMAS)
    G = K.take(order, 0).take(order, 1)
    S = np.array([G @ np.linalg.inv(G + gamma * np.eye(len(G))) for gamma in GAMMAS])
    assert np.abs((A * c[:, None]) @ A.T - S).max() <= tolerance(K)
    assert a.shape == (A.shape[1],)


def test_a_block_without_a_row_of_the_core() -> None:
    K, _ = KERNELS["scattered"]
    F = np.array([0, 1, 2])
    for gamma, block in zip(GAMMAS, factorise(K).blocks(F, GAMMAS), strict=True):
        assert np.array_equal(block, gamma / (1 + gamma) * np.eye(3))


def test_eigenvalues(case: tuple[Array, Factor]) -> None:
    K, factor = case
    s = factor.eigenvalues
    assert len(s) == len(K)
    assert (np.diff(s) <= 0).all()
    expected = np.linalg.eigvalsh(K)[::-1]
    assert np.abs(s - expected).max() <= 10 * len(K) * EPS * max(1.0, expected[0])


def test_entries_just_above_rounding_belong_to_the_core() -> None:
    K = np.eye(20)
    K[7, 8] = K[8, 7] = 1e-13
    for size, core in ((1e-13, [7, 8]), (1e-18, [])):
        K[7, 8] = K[8, 7] = size
        factor = factorise(K)
        assert isinstance(factor, ScatteredFactor)
        assert factor.core.tolist() == core


def test_a_full_kernel_has_no_core() -> None:
    assert not isinstance(factorise(Gaussian(1.0).gram(Points(rows(20, 2)))), ScatteredFactor)
    most = np.eye(20)
    most[1:, 1:] += 0.5  # only the first row has no neighbours
    assert isinstance(factorise(most), SpectralFactor)


def test_pivoted_cholesky_reproduces_a_kernel_of_low_rank() -> None:
    K, _ = KERNELS["thin"]
    factor = factorise(K)
    assert isinstance(factor, ThinFactor)
    assert factor.B.shape[1] < 30
    assert np.abs(factor.B @ factor.B.T - K).max() <= len(K) * EPS


def test_a_leading_block_of_low_rank_does_not_end_the_factorisation() -> None:
    """The first rows are all equal, the others far apart."""
    X = np.zeros((40, 1))
    X[30:, 0] = 50.0 * np.arange(1, 11)
    K = Gaussian(1.0).gram(Points(X))
    factor = factorise(K)
    assert isinstance(factor, ThinFactor)
    assert factor.B.shape[1] == 11
    v = np.ones(40)
    assert factor.solve(GAMMAS, v) == pytest.approx(inverses(K) @ v, rel=1e-9)


def test_without_a_ridge_a_thin_factor_is_singular() -> None:
    factor = factorise(KERNELS["linear"][0])
    with pytest.raises(TrialError, match="singular"):
        factor.solve(np.zeros(1), np.ones(50))


def test_vectors_with_one_entry_take_a_column_with_the_same_bits() -> None:
    """A row that is zero, or has two entries, is multiplied."""
    K = Gaussian(4.0).gram(Points(rows(40, 3)))
    factor = TridiagonalFactor(K)
    factor.blocks_expected = True
    rng = np.random.default_rng(0)
    single = np.zeros((5, 40))
    single[np.arange(5), [3, 3, 0, 39, 17]] = rng.normal(size=5)
    gammas = np.array([0.1, 0.2, 0.1, 1.0, 3.0])
    expected = single @ factor.across.T
    np.testing.assert_array_equal(factor._along(single), expected)
    for other in (np.zeros((2, 40)), np.vstack([single[:1] + single[2:3], np.zeros((1, 40))])):
        np.testing.assert_array_equal(factor._along(other), other @ factor.across.T)
    solved = factor.solve(gammas, single)
    for gamma, v, found in zip(gammas, single, solved, strict=True):
        np.testing.assert_allclose(
            found, np.linalg.solve(K + gamma * np.eye(40), v), rtol=1e-9, atol=1e-12
        )
