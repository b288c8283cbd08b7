"""What cannot be read in a drawn figure: small letters, texts that overlap or are cut, texts under a curve."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from kselect.report.style import SIZE, STYLE, add_title, settle

# Pixels by which the boxes of two texts may touch: a box is a little larger than its letters.
TOUCH = 1.5


def problems(draw: Any, width: float, title: str = "") -> list[str]:
    """Draw a figure in a width, and return what is wrong with its texts."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with rc_context(STYLE):
        canvas = add_title(draw(width), title)
        FigureCanvasAgg(canvas)
        settle(canvas)
        canvas.draw_without_rendering()  # moves what the layout has moved
        return list(find_problems(canvas))


def find_problems(canvas: Figure) -> Iterator[str]:
    """Yield the problems of a canvas that has been laid out."""
    found = [(text, extent(text)) for text in shown_texts(canvas)]
    right, top = canvas.bbox.x1, canvas.bbox.y1
    for text, box in found:
        if text.get_fontsize() != SIZE:
            yield f"{text.get_text()!r} has {text.get_fontsize():g} pt"
        ends = (-box.x0, -box.y0, box.x1 - right, box.y1 - top)
        if max(ends) > TOUCH:
            yield f"{text.get_text()!r} is cut"
    for (a, box), (b, other) in combinations(found, 2):
        # The boxes of slanted texts overlap where their letters do not.
        slanted = a.get_rotation() % 90 and b.get_rotation() % 90
        if not slanted and shrunk(box).overlaps(shrunk(other)):
            yield f"{a.get_text()!r} overlaps {b.get_text()!r}"
    for ax in canvas.axes:
        for text in ax.texts:
            for line in ax.lines if text.get_text() else ():
                path = line.get_transform().transform_path(line.get_path())
                drawn = line.get_linestyle() != "None" and np.isfinite(path.vertices).all()
                if drawn and Path(path.vertices).intersects_bbox(shrunk(extent(text)), False):
                    yield f"{text.get_text()!r} lies on a curve"


def shown_texts(canvas: Figure) -> Iterator[Text]:
    """Yield the texts that are visible: no tick labels beyond the ends of their axes."""
    hidden = set()
    for ax in canvas.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for minor in (False, True):
                for tick in axis.get_minor_ticks() if minor else axis.get_major_ticks():
                    if not low <= tick.get_loc() <= high or not axis.get_visible() or not ax.axison:
                        hidden |= {tick.label1, tick.label2}
    for text in canvas.findobj(Text):
        if text.get_visible() and text.get_text().strip() and text not in hidden:
            yield text


def extent(text: Text) -> Bbox:
    """Return the box of a text, without the line that connects it with a point."""
    return Text.get_window_extent(text)


def shrunk(box: Bbox) -> Bbox:
    """Return a box without the margin by which boxes may touch."""
    return Bbox([[box.x0 + TOUCH, box.y0 + TOUCH], [box.x1 - TOUCH, box.y1 - TOUCH]])
