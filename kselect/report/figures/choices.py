"""Where the choices fell on the grid of kernels and lams: one map per method, which counts over all data sets.

The panels are placed in inches: the size of a cell decides which counts have room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

from kselect.core.table import Values
from kselect.kernels import Kernel
from kselect.kernels.weighted import POWER
from kselect.report import style
from kselect.report.elements import File, Heading, Passage
from kselect.report.sections import section
from kselect.report.ticks import label_values, spread
from kselect.report.words import LAM, mark_label, stem
from kselect.report.writers import numbers_file
from kselect.stats.diagnostics import count_choices
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

INSIDE, EDGE = style.SERIES[0], style.SERIES[1]
# The opacities of a cell: text stays legible on the darkest one. They have a few steps only.
FAINTEST, DARKEST, SHADES = 0.12, 0.6, 8
# A count is written if it is at least this share of the method's choices, at an edge of the grid and inside.
WRITTEN_AT_EDGE, WRITTEN = 0.01, 0.03
# Cells between two families of kernels.
BETWEEN_FAMILIES = 2
# Inches: a digit, a letter, the room of a tick, and the gaps between panels.
DIGIT, LETTER, TICK, GAP = 0.075, 0.068, 0.4, 0.12
# Inches of a column and of a row of the grid, of the narrowest, widest and highest panel, and below all panels.
CELL, ROW, NARROWEST, WIDEST, HIGHEST, BOTTOM = 0.078, 0.15, 2.05, 3.25, 1.1, 0.36
COLUMNS = ("dataset", "method", "kernel", "parameters")
GridIndex = tuple[int, int]


@section("choices")
def show(study: Study) -> Iterator[File | Passage]:
    """Yield one figure per loss, behind a line except for the experiment's own loss."""
    reconstructed = study.reconstructed  # a figure is drawn again if what it uses has changed
    experiment = study.experiment
    grid = make_grid(study)
    for loss in experiment.losses:
        maps = study.once(choice_maps, loss)
        if not maps:
            continue
        name, own = stem("choices", study, loss), loss == experiment.loss
        if own and len(experiment.losses) > 1:
            yield Passage("edges", (Heading(f"With the {loss} loss"),))
        columns = (*COLUMNS, grid.unit.replace(" ", "_"), "splits", "at_edge")
        yield numbers_file(name, columns, (row for one in maps for row in one.rows(grid)))
        yield from style.show_figure(
            name,
            lambda width, maps=maps: draw_choices(  # type: ignore[misc]
                maps, grid, reconstructed, width
            ),
            f"Maps of the grid with the choices of every method under the {loss} loss",
            describe(study, loss, maps, grid),
            sum_up(maps, reconstructed),
            "" if own else f"Where the choices fell with the {loss} loss",
            "edges",
        )


@dataclass(frozen=True)
class KernelFamily:
    """Kernels of one metric, which stand side by side on the grid, with the position of the first."""

    name: str
    start: int
    kernels: tuple[Kernel, ...]

    @property
    def parameter(self) -> str:
        """Return the only parameter that has a grid; nothing if there is none, or several."""
        names = [name for name in self.kernels[0].parameters if name != POWER]
        return names[0] if len(names) == 1 else ""

    @property
    def values(self) -> list[float]:
        """Return the values of the only parameter."""
        return [k.parameters[self.parameter] for k in self.kernels] if self.parameter else []


@dataclass(frozen=True)
class ChoiceGrid:
    """The grid of an experiment: its families of kernels, and its ridges in ascending order of lam."""

    families: tuple[KernelFamily, ...]
    ridges: tuple[float, ...]
    unit: str = "lam"

    @property
    def kernels(self) -> list[Kernel]:
        """Return the kernels of all families."""
        return [k for family in self.families for k in family.kernels]

    @property
    def columns(self) -> tuple[int, ...]:
        """Return the column of each kernel on the map: families are a few columns apart."""
        return tuple(
            family.start + i + BETWEEN_FAMILIES * place
            for place, family in enumerate(self.families)
            for i in range(len(family.kernels))
        )


@dataclass(frozen=True)
class ChoiceMap:
    """The choices of one method.

    ``counts`` maps a data set to its chosen grid points (position of the kernel, position of lam) with the number
    of splits, for a fixed lam of all its values. ``edges`` are the points at an edge of the grid. ``beyond``
    counts the choices that are not on the grid.
    """

    method: str
    counts: Mapping[str, Mapping[GridIndex, int]]
    edges: frozenset[GridIndex]
    beyond: int

    @property
    def total(self) -> Counter[GridIndex]:
        """Return the number of choices of each grid point over all data sets."""
        return sum((Counter(points) for points in self.counts.values()), Counter[GridIndex]())

    @property
    def at_edge(self) -> int:
        """Return the number of choices at an edge of the grid."""
        return sum(count for place, count in self.total.items() if place in self.edges)

    def rows(self, grid: ChoiceGrid) -> Iterator[Values]:
        """Yield a row for every data set and chosen grid point."""
        kernels = grid.kernels
        for dataset, points in self.counts.items():
            for (kernel, lam), count in sorted(points.items()):
                found = kernels[kernel]
                chosen = (found.name, found.text, grid.ridges[lam])
                yield (dataset, self.method, *chosen, count, (kernel, lam) in self.edges)


def make_grid(study: Study) -> ChoiceGrid:
    """Return the grid of an experiment; a large C is a small lam."""
    lam = study.experiment.lam
    ridges = sorted(lam.values, reverse=lam.unit == "C")
    return ChoiceGrid(families_of(study.experiment.kernels), tuple(ridges), lam.unit)


def families_of(kernels: Sequence[Kernel]) -> tuple[KernelFamily, ...]:
    """Group kernels of the same metric, in the order of the config; sort each group in ascending order."""
    found, start = [], 0
    for metric in dict.fromkeys(k.metric for k in kernels):
        mine = [k for k in kernels if k.metric == metric]
        mine.sort(key=lambda k: (*k.parameters.values(),))
        name, power = mine[0].name, mine[0].parameters.get(POWER)
        name += f" ({POWER} {power:g})" if power else ""
        found.append(KernelFamily(name, start, tuple(mine)))
        start += len(mine)
    return tuple(found)


def choice_maps(study: Study, loss: str) -> tuple[ChoiceMap, ...]:
    """Return the map of each method; a method that never chooses a grid point has none."""
    experiment = study.experiment
    positions: dict[Kernel, int] = {k: i for i, k in enumerate(make_grid(study).kernels)}
    known = study.once(count_choices, loss)
    maps = []
    for label in study.comparison(loss).methods:
        counts, edges, beyond = {}, set[GridIndex](), 0
        for dataset in experiment.datasets:
            found = Counter[GridIndex]()
            for point, count in known.get((dataset, label), {}).items():
                if point.kernel is None or point.lam is None:
                    beyond += count
                    continue
                place = (positions[point.kernel], point.lam)
                found[place] += count
                edges |= {place} if point.edges else set()
            if found:
                counts[dataset] = dict(sorted(found.items()))
        if counts:
            maps.append(ChoiceMap(label, counts, frozenset(edges), beyond))
    return tuple(maps)


def sum_up(maps: Sequence[ChoiceMap], names: Mapping[str, str]) -> str:
    """Return the title: the share of the choices at an edge of the grid, and the method with most of them."""
    every = sum(one.total.total() for one in maps)
    at_edge = sum(one.at_edge for one in maps)
    if not at_edge:
        return f"None of {every} choices lies at an edge of the grid"
    share, most = max(((m.at_edge / m.total.total(), m) for m in maps), key=lambda pair: pair[0])
    return (
        f"{percent(at_edge / every)} of {every} choices lie at an edge of the grid (orange), most often those of "
        f"{mark_label(most.method, names)} ({percent(share)})"
    )


def percent(share: float) -> str:
    """Return a share in whole percent, with one digit below one percent; only all is 100 %."""
    whole = min(100 * share, 99.0) if share < 1 else 100.0
    return f"{whole:.0f} %" if share >= 0.01 else f"{whole:.1g} %"


def describe(study: Study, loss: str, maps: Sequence[ChoiceMap], grid: ChoiceGrid) -> str:
    """Return the caption: the axes, the marks, and what is not shown."""
    axes = [
        f"{f.name} {f.parameter} = {describe_ends(f.values)}"
        if f.parameter
        else f"{len(f.kernels)} {f.name} kernel{'s' * (len(f.kernels) != 1)}"
        for f in grid.families
    ]
    upwards = f"{grid.unit.replace('lam', LAM)} = {describe_ends(grid.ridges)}"
    beyond, known = sum(m.beyond for m in maps), study.experiment.estimators
    known |= {m.method for m in maps}
    missing = [m for m in study.comparison(loss).methods if m not in known]
    left_out = f" Not shown, as they do not search the grid: {', '.join(missing)}." * bool(missing)
    left_out += f" {beyond} choices of the other methods are not on the grid." if beyond else ""
    return (
        f"Where the choices fell: one map of the grid per method, across {', then '.join(axes)}, upwards "
        f"{upwards}. A number counts the splits of all data sets that chose the cell; the darker the cell, the "
        "more. Orange cells lie at an edge of the grid, so that the optimum may lie outside, blue ones inside. A "
        "frame is open where the grid continues with values that were never chosen. The CSV has all counts; the "
        f"map those from {percent(WRITTEN)} of the method's choices on ({percent(WRITTEN_AT_EDGE)} at an edge), "
        f"where there is room.{left_out}"
    )


def describe_ends(values: Sequence[float]) -> str:
    """Return the first and the last value, and how many there are; nothing without a value."""
    if not values:
        return ""
    shown = [label.strip("$").replace("{", "").replace("}", "") for label in label_values(values)]
    return f"{shown[0]} to {shown[-1]} ({len(values)} values)" if values[1:] else shown[0]


@dataclass(frozen=True)
class MapLayout:
    """The part of the grid that is drawn, from ``first`` to ``last``, and the measures of a figure in inches.

    It ends one column and one lam after the chosen ones. ``across`` maps stand side by side, in ``rows`` rows.
    """

    first: GridIndex
    last: GridIndex
    left: float
    width: float
    height: float
    across: int
    rows: int

    @property
    def cells(self) -> GridIndex:
        """Return the number of columns and of lams that are drawn."""
        return self.last[0] - self.first[0] + 1, self.last[1] - self.first[1] + 1

    @property
    def total(self) -> float:
        """Return the height of the canvas."""
        return self.rows * (self.height + style.LINE_HEIGHT + GAP) + BOTTOM


def plan_layout(grid: ChoiceGrid, maps: Sequence[ChoiceMap], width: float) -> MapLayout:
    """Choose which part of the grid is drawn, how many maps stand side by side, and their size."""
    chosen = [(grid.columns[k], lam) for m in maps for k, lam in m.total]
    ends = (max(grid.columns, default=0), len(grid.ridges) - 1)
    first = tuple(max(min(p[i] for p in chosen) - 1, 0) for i in (0, 1))
    last = tuple(min(max(p[i] for p in chosen) + 1, ends[i]) for i in (0, 1))
    columns, lams = (b - a + 1 for a, b in zip(first, last, strict=True))
    longest = max(len(describe_ends([ridge])) for ridge in grid.ridges)
    left = LETTER * longest + 2 * style.LINE_HEIGHT
    panel = min(WIDEST, max(NARROWEST, CELL * columns))
    fitting = max(1, int((width - left + GAP) / (panel + GAP)))
    across = ceil(len(maps) / ceil(len(maps) / fitting))
    each = (width - left + GAP) / across - 2 * GAP
    height = max(min(HIGHEST, ROW * lams), 2 * ROW)
    rows = ceil(len(maps) / across)
    return MapLayout((first[0], first[1]), (last[0], last[1]), left, each, height, across, rows)


def draw_choices(
    maps: Sequence[ChoiceMap], grid: ChoiceGrid, names: Mapping[str, str], width: float
) -> Canvas:
    """Draw one map per method, with its number of choices at an edge in its title."""
    from matplotlib.figure import Figure as Canvas

    layout = plan_layout(grid, maps, width)
    canvas = Canvas(figsize=(width, layout.total))
    for i, one in enumerate(maps):
        down, across = divmod(i, layout.across)
        x = layout.left + across * (layout.width + 2 * GAP)
        y = layout.total - (down + 1) * (layout.height + style.LINE_HEIGHT + GAP) + GAP
        box = (x / width, y / layout.total, layout.width / width, layout.height / layout.total)
        ax = canvas.add_axes(box)
        draw_frame(ax, grid, layout, across == 0, i + layout.across >= len(maps))
        draw_cells(ax, one, grid)
        for words, place in written_counts(one, grid, layout).items():
            ax.text(*place, words[1], ha="center", va="center_baseline")
        label = mark_label(one.method, names)
        ax.set_title(f"{label}: {one.at_edge} of {one.total.total()} at an edge", pad=3)
    label_axes(canvas, grid, layout)
    return canvas


def label_axes(canvas: Canvas, grid: ChoiceGrid, layout: MapLayout) -> None:
    """Write the kernels below the maps, and the ridge to their left."""
    symbol = style.SYMBOLS.get
    across = [f"{f.name} {symbol(f.parameter, f.parameter or 'kernels')}" for f in grid.families]
    width = layout.left + layout.across * (layout.width + 2 * GAP) - GAP
    middle = (layout.left + width - GAP) / 2 / width
    label = ", then ".join(across)
    if LETTER * len(label) > 2 * (1 - middle) * width:
        label = f"{len(across)} families, named in the caption"
    canvas.text(middle, 0.03 / layout.total, label, ha="center", va="bottom")
    up = grid.unit.replace("lam", style.SYMBOLS["lam"])
    halfway = (layout.total + BOTTOM) / 2 / layout.total
    canvas.text(0.04 / width, halfway, up, rotation=90, ha="left", va="center")


def draw_frame(ax: Axes, grid: ChoiceGrid, layout: MapLayout, first: bool, lowest: bool) -> None:
    """Draw the frame of each family; it is open where the grid continues.

    The first map in a row has labels of the ridges, the lowest one of the kernels.
    """
    (left, low), (right, high) = layout.first, layout.last
    ax.set_xlim(left - 0.55, right + 0.55)
    ax.set_ylim(low - 0.55, high + 0.55)
    ax.spines[:].set_visible(False)
    places, labels = [], []
    for family in grid.families:
        start, count = grid.columns[family.start], len(family.kernels)
        box = (start - 0.5, -0.5, count, len(grid.ridges))
        style.add_boxes(ax, [box], facecolor="none", edgecolor=style.SOFT, linewidth=0.8)
        shown = [i for i in range(count) if family.parameter and left <= start + i <= right]
        room = int(layout.width * len(shown) / layout.cells[0] / TICK)
        texts = label_values(family.values)
        for i in spread(len(shown), min(max(2, room), 5)) if shown else ():
            places.append(start + shown[i])
            labels.append(texts[shown[i]] if lowest else "")
    ax.set_xticks(places, labels)
    rows = [low + i for i in spread(high - low + 1, 4)]
    names = label_values(grid.ridges)
    ax.set_yticks(rows, [names[i] if first else "" for i in rows])
    ax.tick_params(length=2)


def draw_cells(ax: Axes, one: ChoiceMap, grid: ChoiceGrid) -> None:
    """Draw the grid points that were chosen, darker if chosen more often; cells of one look form one path."""
    total, most = one.total, max(one.total.values())
    looks: dict[tuple[str, float], list[tuple[float, float, float, float]]] = {}
    for (kernel, lam), count in total.items():
        # Roots, so that a few splits stay visible next to many.
        depth = ceil(SHADES * sqrt(count / most)) / SHADES
        opacity = FAINTEST + (DARKEST - FAINTEST) * depth
        look = (EDGE if (kernel, lam) in one.edges else INSIDE, opacity)
        looks.setdefault(look, []).append((grid.columns[kernel] - 0.5, lam - 0.5, 1.0, 1.0))
    for shade, found in sorted(looks.items()):
        style.add_boxes(ax, found, facecolor=shade, linewidth=0.0)


def written_counts(
    one: ChoiceMap, grid: ChoiceGrid, layout: MapLayout
) -> dict[tuple[GridIndex, str], tuple[float, float]]:
    """Return the counts that matter and have room, those at an edge first, with their places on the map.

    A count that is wider than its cell may lie on cells next to it, but not on another count or the frame.
    """
    across, high = layout.width / layout.cells[0], layout.height / layout.cells[1]
    left, low = layout.first
    total, every = one.total, one.total.total()
    least = {True: WRITTEN_AT_EDGE * every, False: WRITTEN * every}
    found: dict[tuple[GridIndex, str], tuple[float, float]] = {}
    taken: list[tuple[float, float, float]] = []
    for place, count in sorted(total.items(), key=lambda i: (i[0] not in one.edges, -i[1], i[0])):
        text = str(count)
        half, tall = DIGIT * len(text) / 2 + 0.01, style.SIZE / 72 * 0.85
        x = min(max((grid.columns[place[0]] - left + 0.5) * across, half), layout.width - half)
        y = min(max((place[1] - low + 0.5) * high, tall / 2), layout.height - tall / 2)
        free = all(abs(x - a) >= half + b or abs(y - c) >= tall for a, b, c in taken)
        if count >= least[place in one.edges] and free:
            taken.append((x, half, y))
            found[place, text] = (x / across - 0.5 + left, y / high - 0.5 + low)
    return found
