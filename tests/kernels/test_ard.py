"""The ARD kernel: its definition, features on any scale, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import gram
from oracles_flkl import ard

from kselect.errors import ConfigError
from kselect.kernels.ard import Ard, LaplacianArd
from kselect.kernels.base import KERNELS, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.laplacian import Laplacian


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_definition(d: int, seed: int) -> None:
    """The matrix is the definition entry by entry, also with thetas of zero."""
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(7, d)), rng.normal(size=(4, d))
    theta = rng.exponential(size=d) * rng.integers(0, 2, size=d)
    K = Ard(tuple(theta)).gram(Points(X, Z))
    np.testing.assert_allclose(K, gram(ard(theta), X, Z), rtol=1e-13)


def test_equal_thetas_are_the_gaussian_kernel() -> None:
    """Equal thetas ``1 / (2 tau)`` give the Gaussian kernel."""
    X = np.random.default_rng(0).normal(size=(9, 3))
    expected = Gaussian(2.0).gram(Points(X))
    np.testing.assert_allclose(Ard((0.25,) * 3).gram(Points(X)), expected, rtol=1e-12)


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_laplacian_definition(d: int, seed: int) -> None:
    """The Laplacian with a width per feature is its definition entry by entry; equal thetas are ``1 / width``."""
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(6, d)), rng.normal(size=(4, d))
    theta = rng.exponential(size=d) * rng.integers(0, 2, size=d)
    K = LaplacianArd(tuple(theta)).gram(Points(X, Z))
    expected = gram(lambda x, z: float(np.exp(-np.sum(theta * np.abs(x - z)))), X, Z)
    np.testing.assert_allclose(K, expected, rtol=1e-13)
    equal = LaplacianArd((0.25,) * d).gram(Points(X, Z))
    np.testing.assert_allclose(equal, Laplacian(4.0).gram(Points(X, Z)), rtol=1e-12)


def test_zero_ignores_a_feature_of_any_size() -> None:
    """A theta of zero ignores a feature of any size, even if its square overflows."""
    X = np.random.default_rng(0).normal(size=(6, 2))
    wild = np.column_stack([X[:, 0], 1e300 * X[:, 1]])
    np.testing.assert_array_equal(
        Ard((0.7, 0.0)).gram(Points(wild)), Ard((0.7,)).gram(Points(X[:, :1]))
    )
    np.testing.assert_array_equal(Ard((0.0, 0.0)).gram(Points(wild)), np.ones((6, 6)))


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e100])
def test_features_of_any_scale(scale: float) -> None:
    """A feature's scale is undone by ``theta / scale^2``, to the last digits."""
    X = np.random.default_rng(0).normal(size=(8, 2))
    K = Ard((0.3 / scale / scale, 0.4)).gram(Points(X * [scale, 1.0]))
    np.testing.assert_allclose(K, Ard((0.3, 0.4)).gram(Points(X)), rtol=1e-13)


def test_an_offset_costs_no_digits() -> None:
    """Integers stay exact with an offset of 1e9, because the kernel uses differences and not inner products."""
    X = np.random.default_rng(0).integers(-3, 4, size=(8, 2)).astype(float)
    kernel = Ard((0.25, 1.0))
    np.testing.assert_array_equal(kernel.gram(Points(X + 1e9)), kernel.gram(Points(X)))


def test_symmetric_with_a_diagonal_of_ones_and_no_subnormal_numbers() -> None:
    """The matrix is symmetric, its diagonal is 1, and no entry is subnormal, as LAPACK needs."""
    X = np.random.default_rng(0).normal(size=(12, 3)) * 10.0
    K = Ard((1.0, 2.0, 0.5)).gram(Points(X))
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), 1.0)
    assert K[K > 0.0].min() > 1e-100
    assert (K == 0.0).any()


def test_parameters_as_a_vector_and_as_text() -> None:
    """Theta is given as an array, as the text of records, and as the parameters that BR penalises."""
    kernel = Ard((0.5, 0.0))
    np.testing.assert_array_equal(kernel.vector(), [0.5, 0.0])
    assert kernel.text == "theta1=0.5;theta2=0"
    assert kernel.regularised() == (0.5, 0.0)
    assert hash(kernel) == hash(Ard((0.5, 0.0)))


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ((), "one number per feature, not none"),
        ((1.0, -0.5), "theta2 must be zero or a positive number, not -0.5"),
        ((float("nan"),), "theta1 must be zero or a positive number, not nan"),
        ((float("inf"),), "theta1 must be zero or a positive number, not inf"),
    ],
)
def test_refuses(theta: tuple[float, ...], message: str) -> None:
    """Numbers that are not widths are refused."""
    with pytest.raises(ConfigError, match=message):
        Ard(theta)


def test_refuses_the_wrong_number() -> None:
    """A kernel with too few or too many thetas for the features is refused."""
    with pytest.raises(ConfigError, match="2 thetas for rows of 3 features"):
        Ard((1.0, 1.0)).gram(Points(np.ones((4, 3))))


def test_registered_as_learned() -> None:
    """ARD is learned and has no grid, because the number of features is not known in advance."""
    assert KERNELS["ard"] is Ard
    assert Ard.learned
    assert not Ard.grids
