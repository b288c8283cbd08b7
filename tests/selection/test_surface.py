"""The picture of a criterion over its grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from kselect.errors import ConfigError
from kselect.kernels import KERNELS
from kselect.model.method import Choice
from kselect.model.place import Found, Place
from kselect.selection.engine import Request, Selection
from kselect.selection.request import make_kernels, make_lams, make_method
from kselect.selection.surface import compressed, draw_cells, draw_surface

MAGIC = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


def selection(scores: Any, kernel: str = "gaussian") -> Selection:
    """A selection with these scores."""
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
    return Selection(request, scores, Found(Place(kernel_, lam), best, ()), None, 0.0, 0.0)


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


def test_the_choice_is_marked() -> None:
    found = selection(WAVES)
    figure = Figure()
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw_cells(figure, axes, found)
    (mark,) = axes.lines
    row, column = found.position
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == ([column], [row])
    (image,) = axes.images
    np.testing.assert_array_equal(image.get_array(), WAVES)
    assert [t.get_text() for t in axes.get_xticklabels()] == ["1", "0.1", "0.01", "0.001"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["1", "2", "4"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("lam", "tau")
    assert axes.get_title() == f"5-CV, krr: tau={2**row}, lam={10.0**-column:g}"


def test_a_wide_range_is_shown_in_logs() -> None:
    shown, label = compressed(selection([[0.1, 100.0], [1.0, np.inf]]))
    np.testing.assert_allclose(shown, [[-1, 2], [0, np.nan]])
    assert label == "log10 of 5-CV"
    for scores in ([[0.1, 0.9]], [[-1.0, 100.0]], [[0.0, 100.0]]):
        shown, label = compressed(selection(scores))
        np.testing.assert_array_equal(shown, scores)
        assert label == "5-CV"


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
def test_what_cannot_be_written(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ConfigError, match=said):
        draw_surface(selection(WAVES), tmp_path / name)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kselect.selection.surface.write_whole", full)
    with pytest.raises(ConfigError, match=r"a\.png: No space left"):
        draw_surface(selection(WAVES), tmp_path / "a.png")


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(ConfigError, match="cannot be written to"):
        draw_surface(selection(WAVES), tmp_path / "a.png")
