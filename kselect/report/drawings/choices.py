"""Where the choices fell: a small map of the grid for every data set and column.

All are drawn in inches on one pair of axes, as hundreds of small ones take a minute to lay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kselect.report.panels import WIDE
from kselect.report.schemes import LINE, SERIES, SOFT
from kselect.report.words import mark_label
from kselect.stats.choices import ChoiceMap, Family

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

INSIDE, EDGE = SERIES[0], SERIES[1]
GAP, MOST, LEAST = 0.14, 1.3, 0.62
# Inches for a letter of a name, so that none runs into the next.
LETTER = 0.075
HEAD, LINE_OF_TEXT, BETWEEN = 0.22, 0.17, 0.12
# A share of nothing is not drawn; the least that is drawn can be seen.
FAINTEST = 0.35
# Letters of the words below, to an inch.
CHARACTERS = 15
BETWEEN_FAMILIES = 1.0
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Layout:
    """The measures of one figure, in inches: maps in lines of so many, each of so many cells."""

    width: float
    beside: bool
    start: float
    per_line: int
    step: float
    cell: tuple[float, float]
    families: tuple[Family, ...]
    lams: int

    @property
    def map_height(self) -> float:
        """The height of a map."""
        return self.cell[1] * self.lams

    def column(self, kernel: int) -> float:
        """Where the cells of a kernel begin; kinds of kernels stand a cell apart."""
        before = sum(1 for f in self.families[1:] if kernel >= f.start)
        return self.cell[0] * (kernel + BETWEEN_FAMILIES * before)

    @property
    def map_width(self) -> float:
        """The width of a map."""
        return columns_of(self.families) * self.cell[0]


def columns_of(families: Sequence[Family]) -> float:
    """The width of a map in cells."""
    return sum(len(f.kernels) for f in families) + BETWEEN_FAMILIES * (len(families) - 1)


def plan(
    families: tuple[Family, ...],
    lams: int,
    datasets: Sequence[str],
    methods: Sequence[str],
    width: float,
) -> Layout:
    """All maps of a data set in one line beside its name where they fit, else in lines below it."""
    count, names = max(1, len(methods)), LETTER * longest(datasets) + GAP
    least = max(LEAST, LETTER * longest(methods))
    beside = width >= WIDE and (width - names) / count - GAP >= least
    start = names if beside else 0.02
    room = width - start
    per_line = count if beside else min(count, max(1, int(room / (least + GAP))))
    across = min(MOST, room / per_line - GAP)
    cell = across / columns_of(families)
    # A map of few ridges is not a thread, and one of few kernels no tower.
    high = min(max(cell, 0.3 / lams), 1.0 / lams)
    return Layout(width, beside, start, per_line, across + GAP, (cell, high), families, lams)


def longest(names: Sequence[str]) -> int:
    """The letters of the longest name."""
    return max(map(len, names), default=0)


def draw_choices(
    maps: Sequence[ChoiceMap],
    families: tuple[Family, ...],
    lams: int,
    names: Mapping[str, str],
    axes: str,
    width: float,
) -> Canvas:
    """Every data set is a row of maps, one for each column; ``axes`` says below them what the grid is."""
    from matplotlib.figure import Figure as Canvas

    methods = list(dict.fromkeys(m.method for m in maps))
    datasets = list(dict.fromkeys(m.dataset for m in maps))
    layout = plan(families, lams, datasets, methods, width)
    spots = list(place(maps, methods, layout))
    words = wrap(axes, int(CHARACTERS * width))
    maps_end = max([HEAD, *(y for _, _, y in spots)]) + layout.map_height
    height = maps_end + LINE_OF_TEXT * (len(words) + 1)
    canvas = Canvas(figsize=(width, height))
    ax = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_xlim(0.0, width)
    ax.set_ylim(height, 0.0)
    ax.set_axis_off()
    if spots:
        draw_frames(ax, [(x, y) for _, x, y in spots], layout)
    draw_cells(ax, spots, layout)
    write_names(ax, spots, layout, names)
    ax.text(0.0, maps_end + 0.1, "\n".join(words), fontsize=8, color=SOFT, va="top")
    return canvas


def place(
    maps: Sequence[ChoiceMap], methods: Sequence[str], layout: Layout
) -> Iterator[tuple[ChoiceMap, float, float]]:
    """Each map with the upper left corner of its frame."""
    by_dataset: dict[str, list[ChoiceMap]] = {}
    for one in maps:
        by_dataset.setdefault(one.dataset, []).append(one)
    lines = ceil(len(methods) / layout.per_line)
    label = 0.0 if layout.beside else LINE_OF_TEXT
    line = layout.map_height + label + BETWEEN
    block = lines * line + (0.0 if layout.beside else HEAD)
    for row, mine in enumerate(by_dataset.values()):
        for one in mine:
            down, across = divmod(methods.index(one.method), layout.per_line)
            x = layout.start + across * layout.step
            yield one, x, HEAD + row * block + down * line + label


def draw_frames(ax: Axes, corners: Sequence[tuple[float, float]], layout: Layout) -> None:
    """The edge of the grid, a frame for each kind of kernel."""
    boxes = [
        (x + layout.column(f.start), y, layout.cell[0] * len(f.kernels), layout.map_height)
        for x, y in corners
        for f in layout.families
    ]
    draw_boxes(ax, boxes, facecolor="none", edgecolor=SOFT, linewidth=0.6)


def draw_cells(ax: Axes, spots: Sequence[tuple[ChoiceMap, float, float]], layout: Layout) -> None:
    """The points that were chosen, the stronger the more often, in another colour at an edge of the grid."""
    boxes: dict[tuple[str, float], list[Box]] = {}
    for one, x, y in spots:
        for c in one.cells:
            top = y + layout.cell[1] * (layout.lams - 1 - c.lam)
            look = (EDGE if c.edge else INSIDE, round(FAINTEST + (1.0 - FAINTEST) * c.share, 2))
            box = (x + layout.column(c.kernel), top, *layout.cell)
            boxes.setdefault(look, []).append(box)
    for look, mine in sorted(boxes.items()):
        draw_boxes(ax, mine, facecolor=look, linewidth=0.0)


def draw_boxes(ax: Axes, boxes: Sequence[Box], **style: Any) -> None:
    """Boxes of one look as one path: a page of maps has thousands."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    outlines = [Path([*corners_of(box), corners_of(box)[0]]) for box in boxes]
    ax.add_patch(PathPatch(Path.make_compound_path(*outlines), clip_on=False, **style))


def corners_of(box: Box) -> list[tuple[float, float]]:
    """The four corners of a box."""
    x, y, across, down = box
    return [(x, y), (x + across, y), (x + across, y + down), (x, y + down)]


def write_names(
    ax: Axes,
    spots: Sequence[tuple[ChoiceMap, float, float]],
    layout: Layout,
    names: Mapping[str, str],
) -> None:
    """Data sets at the left or above, columns above their maps."""
    named: set[str] = set()
    first = spots[0][0].dataset if spots else ""
    for one, x, y in spots:
        label = mark_label(one.method, names)
        if not layout.beside or one.dataset == first:
            ax.text(x, y - 0.05, label, fontsize=8 if layout.beside else 7, va="bottom")
        if one.dataset in named:
            continue
        named.add(one.dataset)
        if layout.beside:
            ax.text(0.0, y + layout.map_height / 2, one.dataset, fontsize=9, va="center")
        else:
            above = y - LINE_OF_TEXT - 0.07
            ax.text(0.02, above, one.dataset, fontsize=9, fontweight="bold", va="bottom")
            ax.plot([0.0, layout.width], [above - 0.2] * 2, color=LINE, linewidth=0.6)
