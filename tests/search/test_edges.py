"""What lies on the edge of a grid."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kselect.core.record import significant
from kselect.kernels import Kernel
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.search.edges import Edge, edges_of

GRIDS = st.lists(st.integers(-12, 12), min_size=1, max_size=6, unique=True)


@given(GRIDS, GRIDS, st.data())
def test_against_sorting(taus: list[int], lams: list[int], data: st.DataObject) -> None:
    """The definition: first or last of the sorted grid, where it has two values or more."""
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


def test_a_choice_from_no_grid_has_no_edge() -> None:
    """What a continuous search found lies between."""
    assert edges_of([Gaussian(1.0), Gaussian(4.0)], (0.1, 1.0), Gaussian(0.3), 0.5) == ()
