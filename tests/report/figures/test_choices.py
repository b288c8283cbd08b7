"""The distribution of choices over the grid, and its maps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from synthetic import TAUS, experiment, record, study, texts

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid
from kselect.core.record import Record, significant
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.report.figures.choices import (
    EDGE,
    INSIDE,
    ChoiceMap,
    choice_maps,
    describe,
    draw_choices,
    families_of,
)
from kselect.report.style import NARROW, WIDE

SELECT = LamGrid((0.1, 1.0, 10.0), "select")


def choice(label: str, split: int, kernel: Any, lam: float, **more: Any) -> Record:
    place = {"kernel": kernel.name, "chosen": kernel.text, "lam": lam, "setting": "selected"}
    return record("heart", split, label, 0.1, **(place | more))


def maps(spec: Experiment, *records: Record) -> tuple[ChoiceMap, ...]:
    return choice_maps(study(spec, records), "squared")


def test_shares_by_hand() -> None:
    rows = [choice("5-CV", s, TAUS[5], 1.0) for s in range(3)]
    rows.append(choice("5-CV", 3, TAUS[0], 10.0))
    (found,) = maps(experiment(lam=SELECT), *rows)
    assert (found.dataset, found.method, found.choices, found.beyond) == ("heart", "5-CV", 4, 0)
    assert (found.shares, found.edges) == ({(0, 2): 0.25, (5, 1): 0.75}, {(0, 2)})


def test_under_a_fixed_ridge_each_has_its_own_shares() -> None:
    spec = experiment(lam=LamGrid((1.0, 0.1), "fixed"))
    rows = [choice("5-CV", s, TAUS[4 + s], 0.1, setting="lam=0.1") for s in (0, 1)]
    rows.append(choice("5-CV", 0, TAUS[4], 1.0, setting="lam=1"))
    (found,) = maps(spec, *rows)
    assert (found.shares, found.edges) == ({(4, 0): 0.5, (4, 1): 1.0, (5, 0): 0.5}, frozenset())


def test_a_kernel_without_a_parameter_is_counted() -> None:
    """The text below the maps counts the kernels of a family without one parameter, and needs no values."""
    spec = experiment(kernels=(Gaussian(1.0), Linear()), lam=SELECT)
    found = study(spec, [choice("5-CV", 0, Linear(), 1.0)])
    families = families_of(spec.kernels)
    _, below = describe(found, "squared", found.once(choice_maps, "squared"), families)
    assert below.startswith("across gaussian, tau = 1, then linear, 1 kernel; upwards")


def test_kinds_of_kernels_are_side_by_side_and_ascending() -> None:
    """A config may list one kind after the other, descending."""
    kernels = (Polynomial(3), Polynomial(2), Gaussian(9.0), Gaussian(1.0), Gaussian(3.0))
    polynomial, gaussian = families_of(kernels)
    assert [k.text for k in polynomial.kernels] == ["degree=2", "degree=3"]
    assert (gaussian.start, [k.text for k in gaussian.kernels]) == (2, ["tau=1", "tau=3", "tau=9"])
    rows = [choice("5-CV", s, kernels[s], 1.0) for s in (0, 3, 4)]
    (found,) = maps(experiment(kernels=kernels, lam=SELECT), *rows)
    assert [kernel for kernel, _ in found.shares] == [1, 2, 3]
    assert {kernel for kernel, _ in found.edges} == {1, 2}


def test_a_continuous_search_has_no_map() -> None:
    """5-KS has no place on the grid and is left out; 5-CV is counted once."""
    spec = experiment(lam=SELECT)
    rows = [choice("5-KS", s, Gaussian(3.21), 0.123) for s in (0, 1)]
    rows += [choice("5-CV", 0, TAUS[5], 1.0), choice("5-CV", 1, TAUS[5], 0.123)]
    (found,) = maps(spec, *rows)
    assert (found.method, found.choices, found.beyond) == ("5-CV", 2, 1)
    assert (found.shares, found.edges) == ({(5, 1): 1.0}, frozenset())
    assert maps(spec, rows[0]) == ()
    assert maps(spec) == ()


def test_a_ridge_in_units_of_n_lam_and_the_digits_of_a_record() -> None:
    spec = experiment(lam=LamGrid((1 / 3, 1.0, 9.0), "select", "n lam"))
    (found,) = maps(spec, choice("5-CV", 0, TAUS[5], significant(1 / 3 / 70)))
    assert (found.shares, found.edges) == ({(5, 0): 1.0}, {(5, 0)})


def test_failures_are_not_counted_as_choices() -> None:
    rows = [record("heart", 0, "5-CV", None, setting="selected"), choice("5-CV", 1, TAUS[5], 1.0)]
    (found,) = maps(experiment(lam=SELECT), *rows)
    assert found.choices == 1


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_cells_of_the_map_are_at_their_grid_points(width: float) -> None:
    kinds = families_of((Gaussian(1.0), Gaussian(2.0), Polynomial(2)))
    found: Any = ({(0, 1): 1.0, (2, 0): 0.5}, frozenset({(0, 1)}), 2, 0)
    maps = [ChoiceMap("heart", "5-CV", *found), ChoiceMap("sonar", "EP", *found)]
    canvas = draw_choices(maps, kinds, 2, {"EP": ""}, "across and upwards", width)
    frames, inside, edge = (list(boxes(p)) for p in canvas.axes[0].patches)
    assert {"heart", "sonar", "5-CV", "across and upwards"} <= set(texts(canvas))
    assert (len(frames), len(inside), len(edge)) == (4, 2, 2)  # one frame per kind of kernel
    gaussian, polynomial = frames[:2]
    assert edge[0][:2] == pytest.approx(gaussian[:2])  # the upper left corner
    assert inside[0][2:] == pytest.approx(polynomial[2:])  # the lower right corner
    assert gaussian[2] < polynomial[0]
    colours = [to_hex(p.get_facecolor()) for p in canvas.axes[0].patches[1:]]
    assert colours == [INSIDE, EDGE]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_names_of_columns_do_not_overlap(width: float) -> None:
    kinds = families_of((Gaussian(1.0), Gaussian(2.0)))
    labels = [f"{name}-{learner}" for name in ("ARD", "RBF") for learner in ("FLKL", "XVAL")]
    labels = [f"{label}-LSSVM-{i}" for label in labels for i in range(3)]
    maps = [ChoiceMap("a-data-set-with-a-long-name", x, {}, frozenset(), 1, 0) for x in labels]
    canvas = draw_choices(maps, kinds, 2, {}, "axes", width)
    canvas.draw_without_rendering()
    drawn = [t for t in canvas.axes[0].texts if t.get_text() != "axes"]
    extents = [t.get_window_extent() for t in drawn]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(extents, 2))
    assert all(e.x1 <= canvas.bbox.x1 for e in extents)


def boxes(patch: Any) -> Iterator[tuple[float, float, float, float]]:
    """Return the left, top, right and bottom of each box."""
    for polygon in patch.get_path().to_polygons():
        xs, ys = polygon.T
        yield xs.min(), ys.min(), xs.max(), ys.max()


def to_hex(colour: Any) -> str:
    """Return a colour without its opacity."""
    from matplotlib.colors import to_hex as convert

    return convert(colour[:3])
