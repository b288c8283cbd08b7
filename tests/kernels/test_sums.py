"""Sums of kernels: their matrix, their names, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import gram

from kselect.errors import ConfigError
from kselect.kernels.base import Kernel, Points, read_parameters
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.laplacian import Laplacian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.kernels.sums import (
    Sum,
    WeightedMatrices,
    default_family,
    is_learned,
    is_sum,
    part_name,
    parts_of,
    sum_name,
)

PARTS: tuple[Kernel, ...] = (Gaussian(0.5), Laplacian(3.0), Polynomial(2.0), Linear())


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 3)), rng.normal(size=(4, 3))


def test_the_matrix_is_the_weighted_sum() -> None:
    """The matrix is ``sum_j mu_j k_j(x, z)`` entry by entry; what the parts share stays as it is."""
    X, Z = rows()
    mu, points = (0.1, 0.2, 0.3, 0.4), Points(X, Z)

    def one(x: np.ndarray, z: np.ndarray) -> float:
        near, bent = np.exp(-np.sum((x - z) ** 2)), np.exp(-np.sum(np.abs(x - z)) / 3.0)
        return float(0.1 * near + 0.2 * bent + 0.3 * (1.0 + x @ z) ** 2 + 0.4 * x @ z)

    expected = gram(one, X, Z)
    for _ in range(2):
        np.testing.assert_allclose(Sum(PARTS, mu).gram(points), expected, rtol=1e-13)


def test_weighted_matrices_of_a_search() -> None:
    """The search's matrix and slopes are those of the sum; its scales are the mean diagonal elements."""
    X, _ = rows()
    moved, mu = WeightedMatrices(PARTS, Points(X)), np.array([0.1, 0.2, 0.3, 0.4])
    K, M = Sum(PARTS, tuple(mu)).gram(Points(X)), np.random.default_rng(1).normal(size=(9, 9))
    each = [k.gram(Points(X)) for k in PARTS]
    np.testing.assert_allclose(moved.gram(mu), K, rtol=1e-13)
    np.testing.assert_allclose(moved.slopes(M, K), [np.sum(M * one) for one in each], rtol=1e-12)
    np.testing.assert_allclose(moved.scales, [np.mean(np.diagonal(one)) for one in each])
    nothing = WeightedMatrices([Linear()], Points(np.zeros((3, 2))))
    assert nothing.scales.tolist() == [1.0]


def test_names_give_the_kernels_back() -> None:
    """The parameters of a sum, as records and model files hold them, give the same kernel back."""
    found = Sum((Gaussian(1 / 3), Linear()), (0.25, 0.75))
    assert list(found.parameters) == ["gaussian(tau=0.3333333333333333)", "linear"]
    assert Sum.of(found.parameters) == found
    assert Sum.of(read_parameters(found.text)) == found
    assert part_name(Polynomial(2.0)) == "polynomial(degree=2)"


def test_parts_by_grids_and_by_families() -> None:
    """Brackets hold grids; a name without brackets is a family; repeated kernels count once."""
    families = {"gaussian": (Gaussian(7.0), Gaussian(8.0))}
    found = parts_of(
        "sum: gaussian(tau=1, 4,2^3), gaussian , polynomial(degree=1:2),linear",
        families.__getitem__,
    )
    expected = [Gaussian(1.0), Gaussian(4.0), Gaussian(8.0), Gaussian(7.0)]
    assert found == (*expected, Polynomial(1.0), Polynomial(2.0), Linear())
    assert len(default_family("gaussian")) == 15
    assert is_sum("sum:linear")
    assert not is_sum("summed")
    assert [is_learned(n) for n in ("sum:linear", "ard", "gaussian", "rbf")] == [
        True,
        True,
        False,
        False,
    ]


def test_the_name_of_a_sum_is_short_and_reads_back() -> None:
    """Kernels of one parameter share brackets; the name gives the same kernels."""
    kernels = (*PARTS[:2], Gaussian(1.0), Gaussian(0.25), Linear())
    name = sum_name(kernels)
    assert name == "sum:gaussian(tau=0.5),laplacian(width=3),gaussian(tau=1,0.25),linear"
    assert parts_of(name, default_family) == kernels


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sum", "'sum' names no kernels: write kernels after sum:"),
        ("sum:", "names no kernels"),
        ("sum:gaussian(tau=1", "'gaussian\\(tau=1' is not a kernel"),
        ("sum:gausian", "unknown kernel 'gausian'; did you mean 'gaussian'"),
        ("sum:ard,linear", "the kernel ard is learned itself"),
        ("sum:gaussian(width=1)", "the gaussian kernel has no parameter 'width'; valid: tau"),
        ("sum:gaussian()", "the parameter 'tau' is missing"),
        ("sum:gaussian(4)", "write a parameter, as in gaussian\\(tau=1\\)"),
        ("sum:gaussian(tau=x)", "gaussian\\(tau=x\\): tau: 'x' is not a number"),
        ("sum:gaussian(tau=0)", "tau must be positive, not 0"),
        ("sum:linear(tau=1)", "the linear kernel has no parameter 'tau'; it has no parameters"),
        ("sum:gaussian(tau=1:101)", "a sum of 101 kernels: 100 at most"),
    ],
)
def test_refuses(name: str, message: str) -> None:
    """A sum that names no kernels, or wrong ones, is refused in one line."""
    with pytest.raises(ConfigError, match=message) as refused:
        parts_of(name, default_family)
    assert "\n" not in str(refused.value)


def test_refuses_weights() -> None:
    """Weights are positive, one per kernel."""
    with pytest.raises(ConfigError, match="1 weights for a sum of 2 kernels"):
        Sum((Linear(), Gaussian(1.0)), (1.0,))
    with pytest.raises(ConfigError, match="the weight of linear must be a positive number, not 0"):
        Sum((Linear(),), (0.0,))
    with pytest.raises(ConfigError, match="the kernel gaussian of a sum lacks its parameters"):
        Sum.of({"gaussian": 1.0})
