"""The distribution of choices over the grid, and its maps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from legibility import problems
from synthetic import TAUS, experiment, record, study, texts

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid
from kselect.core.record import Record, significant
from kselect.kernels.default_families import default_candidates
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.report.elements import File
from kselect.report.figures.choices import (
    EDGE,
    INSIDE,
    WRITTEN,
    WRITTEN_AT_EDGE,
    ChoiceGrid,
    ChoiceMap,
    choice_maps,
    describe,
    draw_choices,
    families_of,
    make_grid,
    plan_layout,
    show,
    sum_up,
    written_counts,
)
from kselect.report.style import NARROW, WIDE

SELECT = LamGrid((0.1, 1.0, 10.0), "select")


def choice(label: str, split: int, kernel: Any, lam: float, **more: Any) -> Record:
    place = {"kernel": kernel.name, "chosen": kernel.text, "lam": lam, "setting": "selected"}
    return record("heart", split, label, 0.1, **(place | more))


def maps(spec: Experiment, *records: Record) -> tuple[ChoiceMap, ...]:
    return choice_maps(study(spec, records), "squared")


def test_counts_by_hand() -> None:
    rows = [choice("5-CV", s, TAUS[5], 1.0) for s in range(3)]
    rows.append(choice("5-CV", 3, TAUS[0], 10.0))
    rows.append(replace(choice("5-CV", 0, TAUS[5], 1.0), dataset="sonar"))
    (found,) = maps(experiment(lam=SELECT), *rows)
    assert found.counts == {"heart": {(0, 2): 1, (5, 1): 3}, "sonar": {(5, 1): 1}}
    assert found.total == {(0, 2): 1, (5, 1): 4}
    assert (found.method, found.edges, found.at_edge, found.beyond) == ("5-CV", {(0, 2)}, 1, 0)


def test_the_title_counts_the_choices_at_an_edge() -> None:
    here = ChoiceMap("5-CV", {"heart": {(0, 0): 1, (1, 1): 9}}, frozenset({(0, 0)}), 0)
    there = ChoiceMap("EP", {"heart": {(0, 0): 5}, "sonar": {(1, 1): 5}}, frozenset({(0, 0)}), 0)
    inside = ChoiceMap("BR", {"heart": {(1, 1): 10}}, frozenset(), 0)
    assert sum_up([inside], {}) == "None of 10 choices lies at an edge of the grid"
    assert sum_up([here, there, inside], {"EP": "why"}) == (
        "20 % of 30 choices lie at an edge of the grid (orange), most often those of EP† (50 %)"
    )
    nearly = ChoiceMap("5-CV", {"heart": {(0, 0): 999, (1, 1): 1}}, frozenset({(0, 0)}), 0)
    assert "(99 %)" in sum_up([nearly], {})


def test_a_fixed_ridge_has_edges_of_the_kernels_only() -> None:
    spec = experiment(lam=LamGrid((1.0, 0.1), "fixed"))
    rows = [choice("5-CV", s, TAUS[4 + s], 0.1, setting="lam=0.1") for s in (0, 1)]
    rows.append(choice("5-CV", 0, TAUS[4], 1.0, setting="lam=1"))
    (found,) = maps(spec, *rows)
    assert (found.total, found.edges) == ({(4, 0): 1, (4, 1): 1, (5, 0): 1}, frozenset())


def test_a_kernel_without_a_parameter_is_counted() -> None:
    """The caption counts the kernels of a family without one parameter, and needs no values."""
    spec = experiment(kernels=(Gaussian(1.0), Linear()), lam=SELECT)
    found = study(spec, [choice("5-CV", 0, Linear(), 1.0)])
    drawn = found.once(choice_maps, "squared")
    words = describe(found, "squared", drawn, make_grid(found))
    assert "across gaussian tau = 1, then 1 linear kernel, upwards" in words
    canvas = draw_choices(drawn, make_grid(found), {}, WIDE)
    assert "gaussian $\\tau$, then linear kernels" in [t.get_text() for t in canvas.texts]


def test_kinds_of_kernels_are_side_by_side_and_ascending() -> None:
    """A config may list one kind after the other, descending."""
    kernels = (Polynomial(3), Polynomial(2), Gaussian(9.0), Gaussian(1.0), Gaussian(3.0))
    polynomial, gaussian = families_of(kernels)
    assert [k.text for k in polynomial.kernels] == ["degree=2", "degree=3"]
    assert (gaussian.start, [k.text for k in gaussian.kernels]) == (2, ["tau=1", "tau=3", "tau=9"])
    assert ChoiceGrid((polynomial, gaussian), (1.0,)).columns == (0, 1, 4, 5, 6)
    rows = [choice("5-CV", s, kernels[s], 1.0) for s in (0, 3, 4)]
    (found,) = maps(experiment(kernels=kernels, lam=SELECT), *rows)
    assert [kernel for kernel, _ in sorted(found.total)] == [1, 2, 3]
    assert {kernel for kernel, _ in found.edges} == {1, 2}


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_default_families_are_side_by_side(width: float) -> None:
    """Each power of the relevances has a grid of its own; a label that has no room refers to the caption."""
    kernels = default_candidates()
    spec = experiment(kernels=kernels, lam=SELECT)
    found = study(spec, [choice("5-CV", 0, kernels[14], 1.0)])
    grid = make_grid(found)
    assert [(f.name, f.parameter, len(f.kernels)) for f in grid.families] == [
        ("gaussian", "tau/median", 7),
        ("laplacian", "width/median", 6),
        ("weighted-laplacian (power 0.5)", "width/median", 6),
        ("weighted-laplacian (power 1)", "width/median", 6),
        ("weighted-gaussian (power 0.5)", "tau/median", 7),
    ]
    drawn = choice_maps(found, "squared")
    words = "then weighted-laplacian (power 1) width/median = 2^-1 to 2^4 (6 values)"
    assert words in describe(found, "squared", drawn, grid)
    canvas = draw_choices(drawn, grid, {}, width)
    canvas.draw_without_rendering()
    label = next(t for t in canvas.texts if "families" in t.get_text())
    assert label.get_text() == "5 families, named in the caption"
    box = label.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= canvas.bbox.width


def test_a_continuous_search_has_no_map() -> None:
    """5-KS has no place on the grid and is left out; 5-CV is counted once."""
    spec = experiment(lam=SELECT)
    rows = [choice("5-KS", s, Gaussian(3.21), 0.123) for s in (0, 1)]
    rows += [choice("5-CV", 0, TAUS[5], 1.0), choice("5-CV", 1, TAUS[5], 0.123)]
    (found,) = maps(spec, *rows)
    assert (found.method, found.total, found.beyond) == ("5-CV", {(5, 1): 1}, 1)
    assert maps(spec, rows[0]) == ()
    assert maps(spec) == ()


def test_a_ridge_in_units_of_n_lam_and_the_digits_of_a_record() -> None:
    spec = experiment(lam=LamGrid((1 / 3, 1.0, 9.0), "select", "n lam"))
    (found,) = maps(spec, choice("5-CV", 0, TAUS[5], significant(1 / 3 / 70)))
    assert (found.total, found.edges) == ({(5, 0): 1}, {(5, 0)})


def test_the_csv_names_a_large_c_where_lam_is_small() -> None:
    spec = experiment(lam=LamGrid((1.0, 4.0), "select", "C"))
    row = choice("5-CV", 0, TAUS[5], significant(1 / (2 * 70 * 4.0)))
    (found,) = maps(spec, row)
    grid = make_grid(study(spec, [row]))
    assert list(found.rows(grid)) == [("heart", "5-CV", "gaussian", "tau=0.03125", 4.0, 1, True)]


@pytest.mark.usefixtures("pictures_alone")
def test_the_numbers_of_the_maps_are_a_csv() -> None:
    spec = experiment(lam=SELECT)
    rows = [choice("5-CV", s, TAUS[5], 10.0) for s in (0, 1)]
    files = {f.name: f.content for f in show(study(spec, rows)) if isinstance(f, File)}
    assert files["tables/choices.csv"] == (
        "dataset,method,kernel,parameters,lam,splits,at_edge\n"
        "heart,5-CV,gaussian,tau=0.03125,10,2,true\n"
    )
    assert {name for name in files if name.startswith("figures/")} == {
        f"figures/choices{end}" for end in (".pdf", ".png", ".svg", "-narrow.pdf", "-narrow.svg")
    }


def test_failures_are_not_counted_as_choices() -> None:
    rows = [record("heart", 0, "5-CV", None, setting="selected"), choice("5-CV", 1, TAUS[5], 1.0)]
    (found,) = maps(experiment(lam=SELECT), *rows)
    assert found.total.total() == 1


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_cells_of_the_map_are_at_their_grid_points(width: float) -> None:
    grid = ChoiceGrid(families_of((Gaussian(1.0), Gaussian(2.0), Polynomial(2))), (0.1, 1.0))
    one = ChoiceMap("5-CV", {"heart": {(0, 1): 2, (2, 0): 1}}, frozenset({(0, 1)}), 0)
    canvas = draw_choices([one, replace(one, method="EP")], grid, {"EP": ""}, width)
    assert {"5-CV: 2 of 3 at an edge", "EP†: 2 of 3 at an edge"} <= set(texts(canvas))
    gaussian, polynomial, *cells = (p.get_path().get_extents() for p in canvas.axes[0].patches)
    assert (gaussian.x0, gaussian.x1, polynomial.x0, polynomial.x1) == (-0.5, 1.5, 3.5, 4.5)
    inside, edge = cells
    assert (inside.x0, inside.y0, edge.x0, edge.y0) == (3.5, -0.5, -0.5, 0.5)
    colours = [to_hex(p.get_facecolor()) for p in canvas.axes[0].patches[2:]]
    assert colours == [INSIDE, EDGE]


def test_only_the_part_of_the_grid_that_is_used_is_drawn() -> None:
    """The map ends one column and one lam after the last choice, and at the grid's own edge."""
    grid = ChoiceGrid(families_of(TAUS), tuple(2.0**e for e in range(16)))
    used = ChoiceMap("5-CV", {"heart": {(6, 0): 1, (9, 3): 1}}, frozenset(), 0)
    layout = plan_layout(grid, [used], WIDE)
    assert (layout.first, layout.last) == ((5, 0), (10, 4))


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_counts_that_matter_are_written_where_there_is_room(width: float) -> None:
    """No two counts overlap; what is left out is small, or overlaps one that is written."""
    draws = np.random.default_rng(0)
    grid = ChoiceGrid(families_of(TAUS), (0.1, 1.0, 10.0))
    places = [(int(k), int(lam)) for k, lam in draws.integers((0, 0), (21, 3), (40, 2))]
    counts = {
        place: int(count) for place, count in zip(places, draws.geometric(0.05, 40), strict=True)
    }
    one = ChoiceMap("5-CV", {"heart": counts}, frozenset(p for p in counts if p[0] == 0), 0)
    layout = plan_layout(grid, [one, one], width)
    written = written_counts(one, grid, layout)
    assert {place: str(one.total[place]) for place, _ in written} == dict(list(written))
    every = one.total.total()
    for place, text in written:
        assert int(text) >= every * (WRITTEN_AT_EDGE if place in one.edges else WRITTEN)
    missing = set(counts) - {place for place, _ in written}
    inch = layout.width / layout.cells[0]
    for place in missing:
        large = counts[place] >= every * (WRITTEN_AT_EDGE if place in one.edges else WRITTEN)
        near = [p for p, _ in written if p[1] == place[1] and abs(p[0] - place[0]) * inch < 0.3]
        assert near or not large
    canvas = draw_choices([one, one], grid, {}, width)
    assert sum(isinstance(t.get_text(), str) for t in canvas.axes[0].texts) == len(written)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_large_grid_is_legible(width: float) -> None:
    kernels = (*(Gaussian(2.0**e) for e in range(-15, 16)), *map(Polynomial, range(1, 11)))
    grid = ChoiceGrid(families_of(kernels), (0.1, 1.0, 10.0, 100.0), "n lam")
    counts = {(k, lam): 100 - k for k in (0, 1, 2, 20, 21, 22, 23, 40) for lam in range(2)}
    one = ChoiceMap("5-CVKS", {"heart": counts}, frozenset({(0, 1), (40, 1)}), 0)
    title = sum_up([one], {})
    assert len(written_counts(one, grid, plan_layout(grid, [one], width))) >= 6
    assert problems(lambda w: draw_choices([one] * 3, grid, {}, w), width, title) == []


def to_hex(colour: Any) -> str:
    """Return a colour without its opacity."""
    from matplotlib.colors import to_hex as convert

    return convert(colour[:3])
