"""The texts of figures: 8 points in both widths, none cut, none over another, none under a curve."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from legibility import problems
from matplotlib.figure import Figure
from synthetic import full_experiment, full_records, study

from kselect.report import style
from kselect.report.figures.overfitting import Overfitting, draw_overfitting
from kselect.report.figures.rank_diagram import draw_posteriors, draw_ranks
from kselect.report.sections import FIGURES, SECTIONS
from kselect.report.style import NARROW, SIZE, WIDE, add_title, render
from kselect.stats.ranks import Posterior, rank

Draw = Callable[[float], Figure]


def bad(width: float) -> Figure:
    """Draw everything that must not be."""
    canvas = Figure(figsize=(width, 2.0))
    ax = canvas.add_axes((0.1, 0.1, 0.8, 0.8))
    ax.plot([0, 1], [0, 1])
    ax.text(0.5, 0.5, "under")
    ax.text(0.5, 0.52, "small", fontsize=7)
    canvas.text(0.98, 0.5, "at the side")
    return canvas


def test_problems_are_found() -> None:
    found = problems(bad, NARROW)
    assert "'small' has 7 pt" in found
    assert "'at the side' is cut" in found
    assert "'under' overlaps 'small'" in found
    assert "'under' lies on a curve" in found


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_figure_of_a_paper_is_legible(width: float, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[tuple[str, Draw, str]] = []

    def keep(
        name: str, draw: Draw, alt: str, caption: str, title: str = "", *_: Any, **__: Any
    ) -> Any:
        found.append((name, draw, title))
        return iter(())

    monkeypatch.setattr(style, "show_figure", keep)
    spec = full_experiment(datasets=("heart", "liver-disorders", "sonar"), splits=(0, 1))
    shown = study(spec, full_records(spec))
    for show in SECTIONS.values():
        list(show(shown))
    for figure in spec.figures:
        list(FIGURES[figure.kind].show(figure, shown))
    assert [name for name, *_ in found if name != "choices-zero-one"] == [
        "choices", "eta-sweep", "eta-sweep-errors",
    ]  # fmt: skip
    for name, draw, title in found:
        assert title, name
        assert problems(draw, width, title) == [], name


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_rankings_and_over_fitting_are_legible(width: float) -> None:
    labels = ("RBF-XVAL", "ARD-FLKL", "MKL-separate (lit.)", "IKL-products (lit.)")
    ranks = rank(np.array([[1.0, 2, 3, 4], [2, 1, 4, 3], [1, 3, 2, 4]]), ("a", "b", "c"))
    assert problems(lambda w: draw_ranks(labels, {"ours": ranks}, w), width, "A title") == []
    pairs = [Posterior(a, labels[3], 0.3, 0.4, 0.3) for a in labels[:3]]
    assert problems(lambda w: draw_posteriors(pairs, w), width) == []
    methods = tuple(labels[:2])
    points = {i: ([0.125, 0.15, 0.175], [10.0, 12.0, 11.5]) for i in (0, 1)}
    found = dict.fromkeys(("flare_solar", "waveform-generated", "image", "b"), ("%", points))
    figure = Overfitting("f", methods, tuple(found))
    assert problems(lambda w: draw_overfitting(figure, found, w), width, "A title") == []


def test_a_title_stands_above_the_canvas_in_lines_of_its_width() -> None:
    """The file is higher than the canvas by the lines of the title; the legend stays where it was."""

    def draw(title: str) -> Callable[[], Figure]:
        return lambda: add_title(Figure(figsize=(NARROW, 1.0)), title)

    def height(title: str) -> float:
        svg = render(draw(title), ("svg",))["svg"].decode()
        return float(svg.partition('height="')[2].partition("pt")[0])

    words = "Of 12 data sets and 34 methods, 50 % do what they have been said to do"
    (text,) = draw(words)().texts
    assert text.get_text().replace("\n", " ").replace("\xa0", " ") == words
    assert "50\xa0%" in text.get_text()
    assert text.get_fontsize() == pytest.approx(10.0)  # matplotlib's own; STYLE makes it SIZE
    assert 72 == height("") < height("Short") < height(words) < 72 + 5 * SIZE


def test_a_legend_keeps_its_distance_from_the_panels_below_a_title() -> None:
    def distance(title: str) -> float:
        """Return how far the first mark of the legend is above the first corner of the panel."""

        def draw() -> Figure:
            canvas, _ = style.lay_out(1, NARROW, NARROW, 1.5)
            style.label_canvas(canvas, looks=[style.look(0)], labels=["5-CV"])
            return add_title(canvas, title)

        svg = render(draw, ("svg",))["svg"].decode()
        marks = re.search(r'id="legend_1".*? d="M [\d.]+ ([\d.]+)', svg, re.DOTALL)
        corner = re.search(r'id="axes_1".*? d="M [\d.]+ ([\d.]+)', svg, re.DOTALL)
        assert marks
        assert corner
        return float(corner[1]) - float(marks[1])

    assert distance("A title") == pytest.approx(distance(""), abs=0.05)
