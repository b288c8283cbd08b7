"""The picture of a criterion over its grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from kselect.core.grid_point import BestPoint, GridPoint
from kselect.core.method import Choice
from kselect.errors import KselectError
from kselect.kernels import KERNELS
from kselect.selection.engine import Selection
from kselect.selection.request import Request, make_kernels, make_lams, make_method
from kselect.selection.surface import borders, colour_scale, draw_cells, draw_surface, nearly_best

MAGIC = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


def selection(scores: Any, kernel: str = "gaussian") -> Selection:
    """Return a selection with these scores."""
    scores = np.array(scores, dtype=float)
    kernels, ridges = scores.shape
    grid = [2.0**i for i in range(kernels)]
    request = Request(
        Choice("krr"),
        make_kernels(
            kernel,
            {k: v for k, v in {"tau": grid, "degree": grid}.items() if k in KERNELS[kernel].grids},
        ),
        make_lams([10.0**-i for i in range(ridges)]),
        make_method("5-CV", None, {}, True),
    )
    row, column = divmod(int(scores.argmin()), ridges)
    place = (row, column)
    best = float(scores[place])
    kernel_, lam = request.kernels[row], request.lams[column]
    return Selection(request, scores, BestPoint(GridPoint(kernel_, lam), best, ()), None, 0.0, 0.0)


WAVES = 0.5 + 0.3 * np.cos(np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("kind", MAGIC)
@pytest.mark.parametrize(
    ("scores", "kernel"),
    [
        (WAVES, "gaussian"),
        ([[0.5]], "linear"),
        ([[0.5, 0.2]], "polynomial"),
        (np.tile(WAVES, (5, 3)) * 1e6, "gaussian"),
        ([[0.5, np.inf], [-3.0, 2.0]], "gaussian"),
    ],
    ids=["small", "one", "row", "large", "infinite"],
)
def test_files(tmp_path: Path, kind: str, scores: Any, kernel: str) -> None:
    path = draw_surface(selection(scores, kernel), tmp_path / f"a.{kind}")
    assert path.read_bytes().startswith(MAGIC[kind])
    assert [p.name for p in tmp_path.iterdir()] == [f"a.{kind}"]


def test_a_file_name_is_no_formula(tmp_path: Path) -> None:
    """A dollar sign in a file name does not start a formula."""
    path = draw_surface(selection(WAVES), tmp_path / "a.png", "my $x^{$.csv")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_choice_is_marked() -> None:
    found = selection(WAVES)
    figure = Figure()
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw_cells(figure, axes, found, "prices.csv")
    (mark,) = axes.lines
    row, column = found.position
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == ([column], [row])
    (image,) = axes.images
    np.testing.assert_array_equal(image.get_array(), WAVES)
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1", "0.1", "0.01", "0.001"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["1", "2", "4"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("lam", "tau")
    assert axes.get_title() == f"prices.csv\n5-CV, krr: tau={2**row}, lam={10.0**-column:g}"
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["the choice", "within 5 % of the best"]


def test_a_spike_does_not_take_the_colours() -> None:
    """A spike does not widen the colour scale, which ends at ten times the best score."""
    scores = np.array([[0.1, 0.2, 0.15], [0.5, 21_500.0, 0.5]])
    norm, beyond = colour_scale(scores)
    assert (norm.vmin, norm.vmax, beyond) == (0.1, pytest.approx(1.0), True)
    assert norm(0.2) - norm(0.1) > 0.3
    worse = colour_scale(np.array([[0.1, 30.0], [40.0, 50.0]]))
    assert (worse[0].vmax, worse[1]) == (35.0, True)
    assert colour_scale(np.array([[0.1, 0.4]]))[1] is False


def test_scores_that_are_not_positive_have_no_logs() -> None:
    norm, beyond = colour_scale(np.array([[-3.0, -1.0, -2.0, 500.0, np.nan]]))
    assert (norm.vmin, norm.vmax, beyond) == (-3.0, 0.0, True)
    for flat in ([[0.0, 0.0]], [[2.0, 2.0]], [[-1.0]]):
        norm, beyond = colour_scale(np.array(flat))
        assert norm.vmin < norm.vmax
        assert not beyond


def test_scores_within_5_percent_are_marked() -> None:
    near = nearly_best(np.array([[1.0, 1.04, 1.06], [np.nan, 2.0, 3.0]]))
    np.testing.assert_array_equal(near, [[True, True, False], [False, False, False]])
    near = nearly_best(np.array([[-10.0, -9.6, -9.4, 0.0, 5.0]]))
    np.testing.assert_array_equal(near, [[True, False, False, False, False]])


def test_borders_are_the_sides_between_inside_and_outside() -> None:
    """Two cells in the lower left corner have two sides below and two above."""
    inside = np.array([[True, True, False], [False, False, False]])
    below = [((x - 0.5, y), (x + 0.5, y)) for y in (-0.5, 0.5) for x in (0, 1)]
    assert borders(inside) == below
    assert borders(inside.T) == [((-0.5, -0.5), (0.5, -0.5)), ((-0.5, 1.5), (0.5, 1.5))]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.gif", "a.gif: the name must end in .png, .pdf or .svg"),
        ("a", "must end in"),
        ("no/a.png", "there is no folder"),
        ("file/a.png", "there is no folder"),
        ("folder.png", "that is a folder"),
    ],
)
def test_unwritable_files_are_reported(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(KselectError, match=said):
        draw_surface(selection(WAVES), tmp_path / name)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kselect.files.write_whole", full)
    with pytest.raises(KselectError, match=r"a\.png: No space left"):
        draw_surface(selection(WAVES), tmp_path / "a.png")


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(KselectError, match="no permission to write to the folder"):
        draw_surface(selection(WAVES), tmp_path / "a.png")
