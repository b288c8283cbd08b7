"""The drawings of a ranking."""

from __future__ import annotations

import pytest

from kselect.report.figures.rank_diagram import draw_posteriors
from kselect.report.style import NARROW, WIDE
from kselect.stats.ranks import Posterior


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_pairs_are_bars_that_add_up_to_one(width: float) -> None:
    """Bars keep the order of the pairs; a narrow share has no number."""
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
