"""What figures show, read off the canvas: where axes end, what is full or hollow, and where names stand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Polynomial
from kselect.report.drawings.agreement import APART, draw_agreement, spread_out
from kselect.report.drawings.choices import EDGE, INSIDE, corners_of, draw_choices
from kselect.report.drawings.discrepancy import draw_discrepancy
from kselect.report.drawings.posteriors import draw_posteriors
from kselect.report.drawings.sweep import draw_gaps
from kselect.report.panels import NARROW, WIDE, columns_in
from kselect.report.sections.widths import make_canvas as make_boxes
from kselect.stats.choices import Cell, ChoiceMap, families
from kselect.stats.discrepancy import Panel as Followed
from kselect.stats.discrepancy import Track
from kselect.stats.learned import Learned
from kselect.stats.outliers import Point as Compared
from kselect.stats.ranks import Posterior
from kselect.stats.sweeps import Curve, Curves, Gap, Level, Panel, Point


def texts(canvas: Figure) -> list[str]:
    """Every text in the panels."""
    return [t.get_text() for ax in canvas.axes for t in (ax.title, *ax.texts)]


def test_a_difference_that_is_far_off_does_not_take_the_scale() -> None:
    """k-CV has a standard deviation of 2: the axis ends near 4, and says where the curve goes."""
    gaps = (Gap(0.5, -1.0, 0.5, True), Gap(1.0, 0.5, 1.0, False), Gap(2.0, 30.0, 3.0, True))
    curve = Curve("5-KS", tuple(Point(g.x, 20.0, 2.0) for g in gaps), gaps)
    panel = Panel("heart", "%", (curve,), (Level("5-CV", 20.0, 2.0),))
    canvas = draw_gaps(Curves(("5-KS",), (("5-CV", 0),), (panel,)), "eta", (1.0,), {}, WIDE)
    (ax,) = canvas.axes
    low, high = ax.get_ylim()
    assert -low == high == pytest.approx(4.48)
    assert "up to +30" in texts(canvas)
    full = {
        float(line.get_ydata()[0]): line.get_markerfacecolor() == line.get_color()
        for line in ax.lines
        if line.get_linestyle() == "None" and len(line.get_xdata())
    }
    assert (full[-1.0], full[0.5]) == (True, False)


def test_discrepancies_share_an_axis_and_are_counted() -> None:
    """Roots of 1e-6 and 1e-2 over 1: 0.1 % and 10 %."""
    tracks = [Track("5-CV", ((1.0, 0.04), (3.0, v)), (), 0.1, 1.0, {3.0: 2}) for v in (1e-6, 1e-2)]
    panels = [
        Followed("heart", (tracks[0],)),
        Followed("sonar", tuple(tracks)),
        Followed("mpg", ()),
    ]
    canvas = draw_discrepancy(("5-CV", "10-CV"), panels, 3, {}, WIDE)
    assert texts(canvas) == ["heart: 1 of 1", "sonar: 1 of 2", "mpg", "no data"]
    assert len({ax.get_ylim() for ax in canvas.axes}) == 1


def test_names_stand_apart_and_inside() -> None:
    for wanted in ([0.99, 0.98, 0.97], [0.02, 0.01, 0.0], [1.2], [], [0.5] * 9):
        found = spread_out(wanted)
        assert all(a - b > APART - 1e-9 for a, b in itertools.pairwise(found))
        assert all(-1e-9 <= y <= 1 + 1e-9 for y in found)


def test_far_cells_are_named_and_stay_on_the_axis() -> None:
    points = [
        Compared("fourclass", "5-CV", "%", 18.0, 0.007, "beyond 4"),
        Compared("fourclass", "EP", "%", 20.0, 0.02, "beyond 4"),
        Compared("heart", "EP", "%", 20.0, 1.5, "beyond 4"),
        Compared("mpg", "5-CV", "MSE", 8.0, 1.01, "within 2"),
    ]
    canvas = draw_agreement(points, {"EP": "rebuilt"}, NARROW)
    named = [t for t in texts(canvas) if ":" in t]
    assert named == ["heart, EP†: 1.5", "fourclass, 2 cells: 0.007"]
    low, high = canvas.axes[0].get_ylim()
    for line in canvas.axes[0].lines:
        assert low <= min(line.get_ydata()) <= high
    assert len(canvas.axes) == 2


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_maps_have_their_cells_where_the_grid_has_them(width: float) -> None:
    kinds = families((Gaussian(1.0), Gaussian(2.0), Polynomial(2)))
    cells = (Cell(0, 1, 1.0, True), Cell(2, 0, 0.5, False))
    maps = [ChoiceMap("heart", "5-CV", cells, 2, 0), ChoiceMap("sonar", "EP", cells, 2, 0)]
    canvas = draw_choices(maps, kinds, 2, {"EP": ""}, "across and upwards", width)
    frames, inside, edge = (list(boxes(p)) for p in canvas.axes[0].patches)
    assert {"heart", "sonar", "5-CV", "across and upwards"} <= set(texts(canvas))
    assert (len(frames), len(inside), len(edge)) == (4, 2, 2)  # a frame for each kind of kernel
    gaussian, polynomial = frames[:2]
    assert edge[0][:2] == pytest.approx(gaussian[:2])  # the upper left corner
    assert inside[0][2:] == pytest.approx(polynomial[2:])  # the lower right one
    assert gaussian[2] < polynomial[0]
    colours = [to_hex(p.get_facecolor()) for p in canvas.axes[0].patches[1:]]
    assert colours == [INSIDE, EDGE]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_names_of_columns_do_not_run_into_each_other(width: float) -> None:
    kinds = families((Gaussian(1.0), Gaussian(2.0)))
    labels = [f"{name}-{learner}" for name in ("ARD", "RBF") for learner in ("FLKL", "XVAL")]
    labels = [f"{label}-LSSVM-{i}" for label in labels for i in range(3)]
    maps = [ChoiceMap("a-data-set-with-a-long-name", x, (), 1, 0) for x in labels]
    canvas = draw_choices(maps, kinds, 2, {}, "axes", width)
    canvas.draw_without_rendering()
    drawn = [t for t in canvas.axes[0].texts if t.get_text() != "axes"]
    extents = [t.get_window_extent() for t in drawn]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(extents, 2))
    assert all(e.x1 <= canvas.bbox.x1 for e in extents)


def boxes(patch: Any) -> Iterator[tuple[float, float, float, float]]:
    """Left, top, right and bottom of each box."""
    for polygon in patch.get_path().to_polygons():
        xs, ys = polygon.T
        yield xs.min(), ys.min(), xs.max(), ys.max()


def to_hex(colour: Any) -> str:
    """A colour without its opacity."""
    from matplotlib.colors import to_hex as convert

    return convert(colour[:3])


def test_panels_are_as_even_as_they_can_be() -> None:
    assert [columns_in(9.6, n, 1.7) for n in (0, 1, 5, 6, 9, 10)] == [1, 1, 5, 3, 5, 5]
    assert columns_in(1.0, 4, 1.7) == 1
    assert corners_of((0, 0, 1, 2)) == [(0, 0), (1, 0), (1, 2), (0, 2)]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_pairs_are_bars_that_add_up_to_one(width: float) -> None:
    """Methods at both ends in the order that came in; a share without room has no number."""
    found = (Posterior("a", "b", 0.25, 0.74, 0.01), Posterior("a", "c", 0.0, 0.0, 1.0))
    canvas = draw_posteriors(found, width)
    (ax,) = canvas.axes
    canvas.draw_without_rendering()
    lengths = [bar.get_width() for bar in ax.patches]
    assert lengths == pytest.approx([0.25, 0.74, 0.01, 0.0, 0.0, 1.0])
    assert [bar.get_x() + bar.get_width() for bar in ax.patches][2::3] == pytest.approx([1.0, 1.0])
    assert [t.get_text() for t in ax.texts] == ["0.25", "0.74", "1.00"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "a"]
    (other,) = ax.child_axes
    assert [t.get_text() for t in other.get_yticklabels()] == ["b", "c"]
    first, second = (ax.transData.transform((0, row))[1] for row in (0, 1))
    assert first > second


def test_widths_of_no_splits_have_an_empty_panel() -> None:
    """No axis of features where none were learned; the column beside it keeps its own."""
    none = Learned("splice", "ARD-XVAL", (), np.empty((0, 0)))
    some = Learned("splice", "ARD-FLKL", (0, 1), np.array([[1.0, 2.0], [1.5, 1.0]]))
    canvas = make_boxes([[none, some]], WIDE)
    empty, full = canvas.axes
    assert "no data" in [t.get_text() for t in empty.texts]
    assert len(empty.get_xticks()) == 0
    assert len(full.get_xticks()) > 0
