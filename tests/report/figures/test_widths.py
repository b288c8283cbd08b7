"""Statistics of learned widths, and their box plots."""

from __future__ import annotations

import numpy as np
import pytest

from kselect.report.figures.widths import LearnedWidths, draw_widths
from kselect.report.style import WIDE


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
