"""Kernels against double loops, their refusals, and the requirements on every registered kernel."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import numpy as np
import oracles
import pytest
from experiments import message_of
from hypothesis import given
from hypothesis import strategies as st
from problems import any_kernel, rows

from kselect.errors import ConfigError
from kselect.kernels import KERNELS, Kernel, Points
from kselect.kernels.gaussian import HARMLESS, NEGLIGIBLE, Gaussian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.numerics.linalg import Array

EVERY = pytest.mark.parametrize("name", sorted(k for k in KERNELS if not KERNELS[k].learned))
SEEDS = st.integers(0, 2**32 - 1)


def two_sets(seed: int) -> tuple[Array, Array]:
    """Return two sets of rows with a row in common."""
    rng = np.random.default_rng(seed)
    d = rng.integers(1, 5)
    X, Z = rng.normal(size=(6, d)), rng.normal(size=(4, d))
    Z[0] = X[0]
    return X, Z


@given(SEEDS, st.integers(-10, 10))
def test_gaussian(seed: int, power: int) -> None:
    """``exp(-||x - z||^2 / (2 tau))``, square and rectangular.

    ``|x|^2 + |z|^2 - 2 x.z`` is off by (d + 3) eps of its terms, and the exponential's relative error is
    that of its argument: at most K (d + 3) eps (|x| + |z|)^2 / (2 tau); what is set to zero adds 2e-100.
    """
    X, Z = two_sets(seed)
    tau = 2.0**power
    for other in (X, Z):
        found = Gaussian(tau).gram(Points(X, None if other is X else other))
        expected = oracles.gram(oracles.gaussian(tau), X, other)
        size = (np.linalg.norm(X, axis=1)[:, None] + np.linalg.norm(other, axis=1)[None, :]) ** 2
        argument = (X.shape[1] + 3) * oracles.EPS * size / (2 * tau)
        larger = np.maximum(found, expected)
        bound = larger * (np.expm1(2 * argument) + 8 * oracles.EPS) + 2 * NEGLIGIBLE
        assert (np.abs(found - expected) <= bound).all()


@given(SEEDS, st.integers(1, 5))
def test_polynomial(seed: int, degree: int) -> None:
    """In ``(1 + x.z)^degree`` the base is off by (d + 1) eps (1 + |x||z|), the power by degree times that."""
    X, Z = two_sets(seed)
    for other in (X, Z):
        found = Polynomial(degree).gram(Points(X, other))
        size = 1 + np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(other, axis=1)[None, :]
        bound = 2 * degree * (X.shape[1] + 2) * oracles.EPS * size**degree
        assert (np.abs(found - oracles.gram(oracles.polynomial(degree), X, other)) <= bound).all()


@given(SEEDS)
def test_linear(seed: int) -> None:
    """The matrix is ``x.z``, off by d eps |x||z|."""
    X, Z = two_sets(seed)
    bound = 2 * X.shape[1] * oracles.EPS * np.linalg.norm(X, axis=1)[:, None]
    found = Linear().gram(Points(X, Z))
    off = np.abs(found - oracles.gram(oracles.linear(), X, Z))
    assert (off <= bound * np.linalg.norm(Z, axis=1)[None, :]).all()


@given(SEEDS, st.integers(-10, 10), st.integers(0, 2**30))
def test_gaussian_is_translation_invariant(seed: int, power: int, offset: int) -> None:
    """For exactly shifted rows, such as time stamps, the bound depends on distances, not on the rows' size."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-99, 100, size=(7, int(rng.integers(1, 5)))) / 16.0
    moved = X + rng.integers(-offset, offset + 1, size=X.shape[1])
    found = Gaussian(2.0**power).gram(Points(moved))
    expected = oracles.gram(oracles.gaussian(2.0**power), X, X)
    largest = max(np.square(x - z).sum() for x in X for z in X)
    argument = 16 * (X.shape[1] + 3) * oracles.EPS * largest / 2.0 ** (power + 1)
    bound = np.maximum(found, expected) * (np.expm1(argument) + 8 * oracles.EPS) + 2 * NEGLIGIBLE
    assert (np.abs(found - expected) <= bound).all()


@given(SEEDS, st.integers(-10, 10), st.floats(3.0, 9.0))
def test_gaussian_of_mixed_scales(seed: int, power: int, far: float) -> None:
    """Every entry is accurate to ``HARMLESS`` if some rows are close while others, or another feature, are far."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 3))
    X[:3] += 10.0**far
    if seed % 2:
        X[:, 2] = rng.choice([0.0, 10.0**far], size=9)
    for other in (X, X[4:]):
        found = Gaussian(2.0**power).gram(Points(X, None if other is X else other))
        expected = oracles.gram(oracles.gaussian(2.0**power), X, other)
        # A distance has up to six roundings; an entry above the cut-off of 2e-100 has an exponent below 231.
        bound = 1.01 * np.maximum(found, expected) * (6 * HARMLESS + 231 * 6 * oracles.EPS)
        assert (np.abs(found - expected) <= bound + 2 * NEGLIGIBLE).all()


def test_gaussian_diagonal_is_exactly_one() -> None:
    """The diagonal is exactly 1, also far from the origin, where a row's distance to itself would be rounding."""
    X, _ = rows(9)
    np.testing.assert_array_equal(np.diagonal(Gaussian(2.0**-10).gram(Points(X + 1e6))), 1.0)


def test_gaussian_cuts_off_negligible_entries() -> None:
    """No entry is between 0 and 2e-100; without such small entries, nothing is cut off."""
    X = np.arange(60.0)[:, None]
    K = Gaussian(1.0).gram(Points(X))
    assert K[K > 0].min() > 2 * NEGLIGIBLE
    assert (K == 0).any()
    far = np.log(1e-90) * -2.0
    near = Gaussian(1.0).gram(Points(np.array([[0.0], [np.sqrt(far)]])))
    assert near[0, 1] == pytest.approx(1e-90, rel=1e-12)


def test_raw_parameters_of_bayesian_regularisation() -> None:
    """BR penalises eta = 1 / (2 tau), the degree itself, or nothing."""
    assert Gaussian(4.0).regularised() == (0.125,)
    assert Polynomial(3).regularised() == (3.0,)
    assert Linear().regularised() == ()


@pytest.mark.parametrize(
    ("cls", "value", "words"),
    [
        (Gaussian, 0.0, "tau must be positive, not 0"),
        (Gaussian, -0.5, "tau must be positive, not -0.5"),
        (Gaussian, float("nan"), "tau must be positive, not nan"),
        (Polynomial, 0.0, "degree must be positive, not 0"),
        (Polynomial, 1.5, "degree must be a whole number, not 1.5"),
    ],
)
def test_refused_parameters(cls: type[Kernel], value: float, words: str) -> None:
    """A wrong parameter is refused in one line that names the parameter and the value."""
    assert message_of(ConfigError, cls, value) == words


def test_text_in_records() -> None:
    """The text of a kernel is the one in records."""
    assert Gaussian(2.0**-10).text == "tau=0.0009765625"
    assert Polynomial(3.0).text == "degree=3"
    assert Linear().text == ""


@EVERY
def test_symmetric_positive_semidefinite_and_fresh(name: str) -> None:
    """The matrix is symmetric and positive semidefinite up to rounding, and the caller may change it."""
    X, _ = rows(12)
    points = Points(X)
    K = any_kernel(name).gram(points)
    # The sums of a squared distance are taken in another order on the other side of the diagonal.
    assert (
        np.abs(K - K.T).max()
        <= oracles.STEPS * oracles.EPS * (1 + (X**2).sum(axis=1).max()) * K.max()
    )
    least = np.linalg.eigvalsh((K + K.T) / 2)[0]
    assert least >= -oracles.STEPS * 12 * oracles.EPS * oracles.norm(K)
    copy = K.copy()
    K[:] = -1.0
    np.testing.assert_array_equal(any_kernel(name).gram(points), copy)


@EVERY
def test_parameters_matter(name: str) -> None:
    """Another value of a parameter gives another matrix."""
    X, _ = rows(9)
    kernel = any_kernel(name)
    for field in fields(kernel):
        other = type(kernel)(**{**kernel.parameters, field.name: 3.0})
        assert np.abs(other.gram(Points(X)) - kernel.gram(Points(X))).max() > 1e-3


@EVERY
def test_registered_under_its_name(name: str) -> None:
    """A kernel is found by its ``name``, documented, frozen, and equal by value."""
    kernel = any_kernel(name)
    assert KERNELS[name] is type(kernel)
    assert kernel.name == name
    assert (type(kernel).__doc__ or "").partition("\n")[0].endswith((".", ")"))
    assert kernel == any_kernel(name)
    assert hash(kernel) == hash(any_kernel(name))
    for field in fields(kernel):
        with pytest.raises(FrozenInstanceError):
            setattr(kernel, field.name, 1.0)


def test_unknown_kernel_names_the_nearest() -> None:
    """An unknown kernel is refused with the nearest name."""
    with pytest.raises(ConfigError, match="unknown kernel 'gausian'; did you mean 'gaussian'"):
        KERNELS.find("gausian")


def test_base_has_no_gram() -> None:
    """A kernel without its own matrix fails with a message."""
    with pytest.raises(TypeError, match="Kernel has no Gram matrix"):
        Kernel().gram(Points(np.ones((2, 1))))


def test_points_are_computed_once() -> None:
    """Kernels of all parameters share distances and products, which are computed only when needed."""
    X, _ = rows(9)
    points = Points(X)
    Gaussian(1.0).gram(points)
    assert "inner_products" not in vars(points)
    distances = points.distances.squared
    before = distances.copy()
    Gaussian(4.0).gram(points)
    assert points.distances.squared is distances
    np.testing.assert_array_equal(distances, before)
    Polynomial(2).gram(points)
    products = points.inner_products
    Linear().gram(points)
    assert points.inner_products is products
    assert points.distances.largest == before.max()
    assert Points(X[:0], X).distances.largest == 0.0
