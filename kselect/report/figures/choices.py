"""Where the choices fell on the grid of kernels and lams: a small map for every data set and method.

All maps are drawn in inches on one pair of axes, as matplotlib needs a minute to lay out hundreds of small axes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kselect.grids import show_power
from kselect.kernels import Kernel
from kselect.report import style
from kselect.report.elements import Element, File, Heading, Passage
from kselect.report.sections import section
from kselect.report.words import LAM, mark_label, stem
from kselect.stats.diagnostics import count_choices
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

INSIDE, EDGE = style.SERIES[0], style.SERIES[1]
# Inches: the gap between maps, and the largest and smallest width of a map.
GAP, MOST, LEAST = 0.14, 1.3, 0.62
# Inches per letter of a name, so that no name runs into the next.
LETTER = 0.075
HEAD, LINE_OF_TEXT, BETWEEN = 0.22, 0.17, 0.12
# The opacity of the smallest share that is drawn.
FAINTEST = 0.35
# Letters per inch in the text below the maps.
CHARACTERS = 15
# Cells between two families of kernels.
BETWEEN_FAMILIES = 1.0
GridIndex = tuple[int, int]
Box = tuple[float, float, float, float]
Corner = tuple[float, float]


@section("choices")
def show(study: Study) -> Iterator[File | Passage]:
    """Yield one figure per loss, behind a line except for the experiment's own loss."""
    reconstructed = study.reconstructed  # a figure is drawn again if what it uses has changed
    experiment = study.experiment
    families, lams = families_of(experiment.kernels), len(experiment.lam.values)
    for loss in experiment.losses:
        maps = study.once(choice_maps, loss)
        if not maps:
            continue
        caption, axes = describe(study, loss, maps, families)
        own = loss == experiment.loss
        if own and len(experiment.losses) > 1:
            title: tuple[Element, ...] = (Heading(f"With the {loss} loss"),)
            yield Passage("edges", title)
        yield from style.show_figure(
            stem("choices", study, loss),
            lambda width, maps=maps, axes=axes: draw_choices(  # type: ignore[misc]
                maps, families, lams, reconstructed, axes, width
            ),
            f"Maps of the grid with the choices of every method under the {loss} loss",
            caption,
            "" if own else f"Where the choices fell with the {loss} loss",
            "edges",
        )


# Numbers


@dataclass(frozen=True)
class KernelFamily:
    """Kernels of one name, which stand side by side on the grid, with the position of the first."""

    name: str
    start: int
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True)
class ChoiceMap:
    """The choices of one method on one data set.

    ``shares`` maps a grid point (position of the kernel, position of lam) to the share of the splits that chose
    it; if lam is fixed, the shares of each lam add up to one. ``edges`` are the points at an edge of the
    grid. ``choices`` counts all choices, ``beyond`` the choices that are not on the grid.
    """

    dataset: str
    method: str
    shares: Mapping[GridIndex, float]
    edges: frozenset[GridIndex]
    choices: int
    beyond: int


def families_of(kernels: Sequence[Kernel]) -> tuple[KernelFamily, ...]:
    """Group kernels of the same name, in the order of the config; sort each group in ascending order."""
    found, start = [], 0
    for name in dict.fromkeys(k.name for k in kernels):
        mine = [k for k in kernels if k.name == name]
        mine.sort(key=lambda k: (*k.parameters.values(),))
        found.append(KernelFamily(name, start, tuple(mine)))
        start += len(mine)
    return tuple(found)


def choice_maps(study: Study, loss: str) -> tuple[ChoiceMap, ...]:
    """Return the maps of each data set; a method that never chooses a grid point has no map."""
    experiment = study.experiment
    kernels = [k for family in families_of(experiment.kernels) for k in family.kernels]
    positions: dict[Kernel | None, int] = {k: i for i, k in enumerate(kernels)}
    fixed = experiment.lam.mode == "fixed"
    maps = {}
    for (dataset, label), points in study.once(count_choices, loss).items():
        counts, of_lam, edges = Counter[GridIndex](), Counter[int](), set()
        for point, count in points.items():
            if point.kernel is None or point.lam is None:
                continue
            place = (positions[point.kernel], point.lam)
            counts[place] += count
            of_lam[point.lam] += count
            edges |= {place} if point.edges else set()
        total = counts.total()
        shares = {
            place: count / (of_lam[place[1]] if fixed else total)
            for place, count in sorted(counts.items())
        }
        every = points.total()
        maps[dataset, label] = ChoiceMap(
            dataset, label, shares, frozenset(edges), every, every - total
        )
    drawn = {m.method for m in maps.values() if m.shares}
    labels = [label for label in study.comparison(loss).methods if label in drawn]
    places = ((d, label) for d in experiment.datasets for label in labels)
    return tuple(maps[place] for place in places if place in maps)


# Words


def describe(
    study: Study, loss: str, maps: Sequence[ChoiceMap], families: Sequence[KernelFamily]
) -> tuple[str, str]:
    """Return the caption, and the text below the maps: what is across (kernels) and upwards (lams).

    Kernels of several parameters are only counted.
    """
    grid = study.experiment.lam
    axes: list[tuple[str, list[float]]] = []
    for family in families:
        names, count = list(family.kernels[0].parameters), len(family.kernels)
        if len(names) == 1:
            values = [k.parameters[names[0]] for k in family.kernels]
            axes.append((f"{family.name}, {names[0]}", values))
        else:
            axes.append((f"{family.name}, {count} kernel{'s' * (count != 1)}", []))
    texts = []
    for name, values in (*axes, (grid.unit.replace("lam", LAM), sorted(grid.values))):
        ends = " to ".join(
            show_power(value) for value in dict.fromkeys((*values[:1], *values[-1:]))
        )
        ends += f" ({len(values)} values)" if values[1:] else ""
        texts.append(f"{name} = {ends}" if values else name)
    drawn, beyond = {m.method for m in maps}, sum(m.beyond for m in maps)
    known = drawn | study.experiment.estimators
    missing = [m for m in study.comparison(loss).methods if m not in known]
    left_out = f" Not shown, as they do not search the grid: {', '.join(missing)}." * bool(missing)
    left_out += f" {beyond} choices of the other methods are not on the grid." if beyond else ""
    caption = (
        "Where the choices fell: each frame is the grid; the text below the maps names its axes. The darker a "
        f"cell, the more {'splits at that lam' if grid.mode == 'fixed' else 'splits'} chose it. Orange cells lie "
        "at an edge of the grid, so that the optimum may lie outside, blue ones inside."
    )
    below = f"across {', then '.join(texts[:-1])}; upwards {texts[-1]}"
    return f"{caption}{left_out}", f"{below}; orange: at an edge of the grid"


# Drawing


@dataclass(frozen=True)
class MapLayout:
    """The measures of a figure in inches.

    Attributes
    ----------
    named_left
        Whether the name of a data set stands to the left of its maps, not above them.
    start, step
        Where the first map of a line begins, and the distance to the next one.
    per_line
        The number of maps in a line.
    cell
        Width and height of a grid point.
    columns, height
        Where the cells of each kernel begin in a map (families are one cell apart), and the height of a map.
    """

    named_left: bool
    start: float
    per_line: int
    step: float
    cell: tuple[float, float]
    families: tuple[KernelFamily, ...]
    lams: int
    columns: tuple[float, ...]
    height: float


def plan_layout(
    families: tuple[KernelFamily, ...],
    lams: int,
    datasets: Sequence[str],
    methods: Sequence[str],
    width: float,
) -> MapLayout:
    """Put all maps of a data set in one line next to its name if they fit, else in lines below it."""
    longest_set, longest_method = (max(map(len, x), default=0) for x in (datasets, methods))
    count, names = max(1, len(methods)), LETTER * longest_set + GAP
    least = max(LEAST, LETTER * longest_method)
    named_left = width >= style.WIDE and (width - names) / count - GAP >= least
    start = names if named_left else 0.02
    room = width - start
    per_line = count if named_left else min(count, max(1, int(room / (least + GAP))))
    across = min(MOST, room / per_line - GAP)
    cells = sum(len(f.kernels) for f in families) + BETWEEN_FAMILIES * (len(families) - 1)
    cell = across / cells
    # Neither a thread for few lams nor a tower for few kernels.
    high = min(max(cell, 0.3 / lams), 1.0 / lams)
    columns = tuple(
        cell * (f.start + i + BETWEEN_FAMILIES * place)
        for place, f in enumerate(families)
        for i in range(len(f.kernels))
    )
    return MapLayout(
        named_left,
        start,
        per_line,
        across + GAP,
        (cell, high),
        families,
        lams,
        columns,
        high * lams,
    )


def draw_choices(
    maps: Sequence[ChoiceMap],
    families: tuple[KernelFamily, ...],
    lams: int,
    names: Mapping[str, str],
    axes: str,
    width: float,
) -> Canvas:
    """Draw one row of maps per data set; ``axes`` is the text below them."""
    from matplotlib.figure import Figure as Canvas

    methods = list(dict.fromkeys(m.method for m in maps))
    datasets = list(dict.fromkeys(m.dataset for m in maps))
    layout = plan_layout(families, lams, datasets, methods, width)
    label = 0.0 if layout.named_left else LINE_OF_TEXT
    line = layout.height + label + BETWEEN
    block = ceil(len(methods) / layout.per_line) * line + (0.0 if layout.named_left else HEAD)
    corners = []  # the upper left one of each map
    for one in maps:
        down, across = divmod(methods.index(one.method), layout.per_line)
        top = HEAD + datasets.index(one.dataset) * block + down * line + label
        corners.append((layout.start + across * layout.step, top))
    words = wrap(axes, int(CHARACTERS * width))
    maps_end = max([HEAD, *(y for _, y in corners)]) + layout.height
    height = maps_end + LINE_OF_TEXT * (len(words) + 1)
    canvas = Canvas(figsize=(width, height))
    ax = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_xlim(0.0, width)
    ax.set_ylim(height, 0.0)
    ax.set_axis_off()
    draw_maps(ax, maps, corners, layout)
    write_names(ax, maps, corners, layout, names, width)
    ax.text(0.0, maps_end + 0.1, "\n".join(words), fontsize=8, color=style.SOFT, va="top")
    return canvas


def draw_maps(
    ax: Axes, maps: Sequence[ChoiceMap], corners: Sequence[Corner], layout: MapLayout
) -> None:
    """Draw a frame per family, and the grid points that were chosen: darker if chosen more often.

    All boxes of one style form one path, as a page of maps has thousands.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    width, height = layout.cell
    frames = [
        (x + layout.columns[f.start], y, width * len(f.kernels), layout.height)
        for x, y in corners
        for f in layout.families
    ]
    cells: dict[tuple[str, float], list[Box]] = {}
    for one, (x, y) in zip(maps, corners, strict=True):
        for (kernel, lam), share in one.shares.items():
            opacity = round(FAINTEST + (1.0 - FAINTEST) * share, 2)
            look = (EDGE if (kernel, lam) in one.edges else INSIDE, opacity)
            top = y + height * (layout.lams - 1 - lam)
            cells.setdefault(look, []).append((x + layout.columns[kernel], top, width, height))
    thin: dict[str, Any] = {"facecolor": "none", "edgecolor": style.SOFT, "linewidth": 0.6}
    drawn = [(thin, frames)] if frames else []
    drawn += [
        ({"facecolor": look, "linewidth": 0.0}, found) for look, found in sorted(cells.items())
    ]
    for style_of_boxes, found in drawn:
        outlines = [
            Path([(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)]) for x, y, w, h in found
        ]
        path = Path.make_compound_path(*outlines)
        ax.add_patch(PathPatch(path, clip_on=False, **style_of_boxes))


def write_names(
    ax: Axes,
    maps: Sequence[ChoiceMap],
    corners: Sequence[Corner],
    layout: MapLayout,
    names: Mapping[str, str],
    width: float,
) -> None:
    """Write data sets to the left of their maps or above them, and methods above the maps."""
    named: set[str] = set()
    for one, (x, y) in zip(maps, corners, strict=True):
        if not layout.named_left or one.dataset == maps[0].dataset:
            label = mark_label(one.method, names)
            ax.text(x, y - 0.05, label, fontsize=8 if layout.named_left else 7, va="bottom")
        if one.dataset in named:
            continue
        named.add(one.dataset)
        if layout.named_left:
            ax.text(0.0, y + layout.height / 2, one.dataset, fontsize=9, va="center")
        else:
            above = y - LINE_OF_TEXT - 0.07
            ax.text(0.02, above, one.dataset, fontsize=9, fontweight="bold", va="bottom")
            ax.plot([0.0, width], [above - 0.2] * 2, color=style.LINE, linewidth=0.6)
