"""Statistics of learned widths, and their box plots."""

from __future__ import annotations

import numpy as np
import pytest
from printed_flkl import paper, row

from kselect.report.elements import Passage
from kselect.report.figures import FIGURES
from kselect.report.figures.widths import (
    LearnedWidths,
    WidthsFigure,
    draw_single_widths,
    draw_widths,
    learned_widths,
)
from kselect.report.style import WIDE
from kselect.stats.study import Study


def test_statistics_of_learned_widths() -> None:
    values = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 2.0]])
    one = LearnedWidths("d", "m", values)
    assert one.variation == pytest.approx(np.median([np.std([1, 3], ddof=1) / 2, 0.0]))
    assert one.weak_share == 0.0
    assert LearnedWidths("d", "m", np.ones((1, 4))).weak_share == 0.5
    assert np.isnan(LearnedWidths("d", "m", np.empty((0, 0))).variation)


def test_widths_of_no_splits_have_an_empty_panel() -> None:
    """A panel without data has no feature axis; the panel next to it keeps its own."""
    none = LearnedWidths("splice", "ARD-XVAL", np.empty((0, 0)))
    some = LearnedWidths("splice", "ARD-FLKL", np.array([[1.0, 2.0], [1.5, 1.0]]))
    canvas = draw_widths([[none, some]], WIDE)
    empty, full = canvas.axes
    assert "no data" in [t.get_text() for t in empty.texts]
    assert len(empty.get_xticks()) == 0
    assert len(full.get_xticks()) > 0


def test_methods_with_one_width_have_a_box_per_data_set() -> None:
    """One panel per method; data sets without numbers have no box."""
    rows = [
        [LearnedWidths(name, m, np.array([[1.0], [2.0]])) for m in ("RBF-XVAL", "RBF-FLKL")]
        for name in ("heart", "thyroid")
    ]
    rows.append([LearnedWidths("image", m, np.empty((0, 0))) for m in ("RBF-XVAL", "RBF-FLKL")])
    canvas = draw_single_widths(rows, WIDE)
    assert [ax.get_title() for ax in canvas.axes] == ["RBF-XVAL", "RBF-FLKL"]
    for ax in canvas.axes:
        assert [t.get_text() for t in ax.get_xticklabels()] == ["heart", "thyroid"]
    (empty,) = draw_single_widths([[LearnedWidths("image", "m", np.empty((0, 0)))]], WIDE).axes
    assert "no data" in [t.get_text() for t in empty.texts]


def test_a_gaussian_width_is_a_theta() -> None:
    """``theta = 1 / (2 tau)``; a kernel of infinite tau has theta 0. The figure has a panel per method."""
    spec, _ = paper()
    made = [row("heart", s, "RBF-XVAL", 1.0, f"tau={tau}") for s, tau in enumerate(("0.25", "inf"))]
    found = Study(spec, made)
    np.testing.assert_array_equal(learned_widths(found, "heart", "RBF-XVAL").values, [[2.0], [0.0]])
    figure = WidthsFigure("width", ("RBF-XVAL", "RBF-FLKL"), ("heart", "thyroid"))
    pictures = [
        e
        for p in FIGURES["widths"].show(figure, found)
        if isinstance(p, Passage)
        for e in p.elements
    ]
    assert "one box per data set" in pictures[0].caption
