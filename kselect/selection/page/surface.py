"""The scores of the candidates: the best of each family, and the surface around the choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kselect.core.table import Column, Group, Table, Values
from kselect.grids import show_power
from kselect.kernels import Kernel
from kselect.kernels.ard import FeatureWidths
from kselect.numerics.linalg import Array
from kselect.report import style
from kselect.report.cells import show_short
from kselect.report.elements import Details, File, Notes, Paragraph, Passage
from kselect.report.ticks import spread
from kselect.report.writers import table_files
from kselect.selection.defaults import NEAR
from kselect.selection.result import Selection
from kselect.selection.surface import CHOICE, colour_scale, draw_border, nearly_best

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

CHAPTER = "choice"
# The ridges of the printed table, those around the choice, and the labels of an axis of the map.
MOST_RIDGES, MOST_LABELS = 15, 12
# Inches of a row of the map, and of what stands above and below the rows.
ROW, FRAME = 0.17, 1.2
GREY = "#c9ced4"
FAMILIES = (
    Column("kernel", "kernel", align="left"),
    Column("best parameters", "parameters", align="left"),
    Column("lam", "lam", show_short),
    Column("score", "score", ".5g"),
    Column("above the best", "above", lambda share: f"{100 * share:.2g} %"),
    Column("averaged fits", "averaged"),
    Column("scored", "scored"),
    Column("candidates", "candidates"),
)


def show_scores(found: Selection, of: str) -> Iterator[File | Passage]:
    """Yield the best of each family, the map of the chosen family, and its scores as a table."""
    if found.kernel.learned:
        yield from show_learned(found, of)
        return
    yield from show_families(found, of)
    rows = family_rows(found)
    scores = found.scores[rows]
    kernels = [found.request.kernels[i] for i in rows]
    name, label = found.kernel.name, found.request.method.label
    near = int(nearly_best(known(scores)).sum())
    count = scores.size - int(np.isposinf(scores).sum())
    yield from style.show_figure(
        "surface",
        lambda width: draw_map(found, rows, width),
        f"Map of {label} over the parameters of the {name} kernel and lam",
        f"{label} for every candidate of the {name} kernel, on a colour scale that ends where the criterion is far "
        f"from its best value. The ring marks the choice, the outline the candidates within {100 * NEAR:g} % of "
        f"it. {describe_gaps(found, rows)}",
        f"{near} of {count} candidates of the {name} kernel are within {100 * NEAR:g} % of the best",
        chapter=CHAPTER,
        numbers="scores",
    )
    table = surface_table(found, rows)
    every = Table("scores", score_columns(found), (Group(tuple(score_rows(found))),))
    yield from table_files(table, of=of, tidy=every)
    summary = f"The scores of the {len(kernels)} {name} kernels as a table"
    yield Passage(CHAPTER, (Details(summary, (table,)),))


def known(scores: Array) -> Array:
    """Return the scores with NaN for those that are infinite."""
    return np.where(np.isfinite(scores), scores, np.nan)


def describe_gaps(found: Selection, rows: list[int]) -> str:
    """Return which candidates have no score, and why; empty if all have one."""
    scores = found.scores[rows]
    missing, failed = int(np.isnan(scores).sum()), int(np.isinf(scores).sum())
    words = []
    if missing and found.work:
        words.append(
            f"The search by bounds left out {missing} candidates without a score, since they cannot be the best: "
            "leave out --search pruned to score them."
        )
    elif missing:
        words.append(f"{missing} candidates were not looked at within the time limit.")
    if failed:
        beyond = ", or lie where only the grid of other kernels was extended" if found.grown else ""
        words.append(f"{failed} candidates have no finite score{beyond}.")
    return " ".join(words)


def family_rows(found: Selection) -> list[int]:
    """Return the positions of the kernels of the chosen family, in the order of the grid."""
    name = found.kernel.name
    return [i for i, kernel in enumerate(found.request.kernels) if kernel.name == name]


def parameters_of(kernel: Kernel) -> str:
    """Return the parameters of a kernel: ``width = 4``."""
    return ", ".join(f"{name} = {show_short(value)}" for name, value in kernel.parameters.items())


# --- tables -----------------------------------------------------------------------------------------


def show_families(found: Selection, of: str) -> Iterator[File | Passage]:
    """Yield the table of the families, the best one first."""
    request, scores = found.request, known(found.scores)
    members = [one.point for one in found.members]
    rows: list[tuple[float, Values]] = []
    for name in request.families:
        own = [i for i, kernel in enumerate(request.kernels) if kernel.name == name]
        part = scores[own]
        counts = (
            sum(p.kernel.name == name for p in members),
            int(np.isfinite(part).sum()),
            part.size,
        )
        if not counts[1]:
            rows.append((np.inf, (name, None, None, None, None, *counts)))
            continue
        i, j = divmod(int(np.nanargmin(part)), part.shape[1])
        score, kernel = float(part[i, j]), request.kernels[own[i]]
        above = (score - found.score) / abs(found.score) if found.score else None
        shown = float(found.shown_scores[own[i], j])
        line = name, parameters_of(kernel), request.lams[j], shown, above, *counts
        rows.append((score, line))
    rows.sort(key=lambda one: one[0])
    what = "error (1 minus the metric)" if request.method.scorer else "score"
    caption = (
        f"The best candidate of each kernel by {request.method.label}; how far its {what} lies above that of the "
        "choice, how many of the averaged fits have this kernel, and how many of its candidates were scored.",
    )
    table = Table("families", FAMILIES, (Group(tuple(line for _, line in rows)),), caption)
    yield from table_files(table, of=of)
    yield Passage(CHAPTER, (table,))


def score_columns(found: Selection) -> tuple[Column, ...]:
    """Return the columns of the CSV of all scores."""
    names = dict.fromkeys(n for kernel in found.request.kernels for n in kernel.parameters)
    first = ("kernel", *names, "lam", "score", "averaged")
    return tuple(Column(csv=name, csv_format=".17g") for name in first)


def score_rows(found: Selection) -> Iterator[Values]:
    """Yield a row per candidate; a score that is not known is missing."""
    request, members = found.request, {one.point for one in found.members}
    names = dict.fromkeys(n for kernel in request.kernels for n in kernel.parameters)
    pairs = {(p.kernel, p.lam) for p in members}
    for kernel, row in zip(request.kernels, known(found.shown_scores).tolist(), strict=True):
        for lam, score in zip(request.lams, row, strict=True):
            values = (kernel.parameters.get(name) for name in names)
            yield (kernel.name, *values, lam, score, (kernel, lam) in pairs)


def surface_table(found: Selection, rows: list[int]) -> Table:
    """Return the scores of the chosen family for the ridges around the choice."""
    lams, (_, best) = found.request.lams, found.position
    first = max(0, min(best - MOST_RIDGES // 2, len(lams) - MOST_RIDGES))
    shown = range(first, min(len(lams), first + MOST_RIDGES))
    heading = (
        "lam"
        if len(found.kernel.parameters) != 1
        else f"{next(iter(found.kernel.parameters))} / lam"
    )
    columns = (
        Column(heading, align="left"),
        *(Column(show_short(lams[j]), "", ".4g") for j in shown),
    )
    scores = known(found.shown_scores)
    lines: tuple[Values, ...] = tuple(
        (row_label(found.request.kernels[i]), *(float(scores[i, j]) for j in shown)) for i in rows
    )
    less = f" The CSV has all {len(lams)} ridges." if len(shown) < len(lams) else ""
    caption = (
        f"{found.request.method.label} of the {found.kernel.name} kernel, one column per lam.{less}"
    )
    return Table("scores", columns, (Group(lines),), (caption,))


def row_label(kernel: Kernel) -> str:
    """Return the values of a kernel's parameters."""
    return ", ".join(map(show_short, kernel.parameters.values())) or kernel.name


# --- the map ----------------------------------------------------------------------------------------


def draw_map(found: Selection, rows: list[int], width: float) -> Canvas:
    """Draw ridges from left to right and kernels from bottom to top, with the choice and its near ties."""
    scores, lams = known(found.scores[rows]), found.request.lams
    canvas, (ax,) = style.lay_out(1, width, width, FRAME + ROW * max(6, len(rows)))
    norm, beyond = colour_scale(scores)
    ax.set_facecolor(GREY)
    edges = [np.arange(size + 1) - 0.5 for size in scores.shape]
    cells = ax.pcolormesh(edges[1], edges[0], scores, cmap="cividis", norm=norm, edgecolors="none")
    bar = canvas.colorbar(cells, ax=ax, extend="max" if beyond else "neither", pad=0.02)
    even = (np.geomspace if norm.vmin > 0 else np.linspace)(norm.vmin, norm.vmax, 4)
    bar.set_ticks(even.tolist(), labels=[show_score(found, v) for v in even])
    bar.minorticks_off()
    draw_border(ax, nearly_best(scores))
    row, column = rows.index(found.position[0]), found.position[1]
    ring: dict[str, Any] = {"mfc": "none", "mec": CHOICE, "mew": 1.8}
    ax.plot([column], [row], "o", ms=8, **ring)
    labels = [row_label(found.request.kernels[i]) for i in rows]
    label_axis(ax, "y", labels, max(6, len(rows)))
    label_axis(ax, "x", [show_power(lam) for lam in lams], MOST_LABELS if width > 5 else 6)
    ax.set_xlabel(style.SYMBOLS["lam"])
    names = [style.SYMBOLS.get(name, name) for name in found.kernel.parameters]
    ax.set_ylabel(", ".join(names) or "kernel")
    return canvas


def show_score(found: Selection, score: float) -> str:
    """Return a score of the search as it is shown, with three digits."""
    scorer = found.request.method.scorer
    return f"{score if scorer is None else float(scorer.as_scores(np.array(score))):.3g}"


def label_axis(ax: Axes, which: str, labels: list[str], most: int) -> None:
    """Label at most ``most`` cells of an axis."""
    places = spread(len(labels), most)
    axis = ax.yaxis if which == "y" else ax.xaxis
    axis.set_ticks(places, [labels[i] for i in places])
    axis.set_ticks([], minor=True)


# --- learned kernels --------------------------------------------------------------------------------


def show_learned(found: Selection, of: str) -> Iterator[File | Passage]:
    """Yield the parameters of a learned kernel, the largest first: no grid of candidates was scored."""
    kernel, label = found.kernel, found.request.method.label
    if isinstance(kernel, FeatureWidths):
        return  # the chapter on relevances has them
    yield Passage(
        CHAPTER,
        (Paragraph(f"{label} was minimised over all weights of the kernels and over lam."),),
    )
    columns = Column("kernel", "kernel", align="left"), Column("weight", "weight", ".4g")
    order = sorted(kernel.parameters.items(), key=lambda pair: -pair[1])
    table = Table(
        "weights", columns, (Group(tuple(order)),), ("The weight of each kernel in the sum.",)
    )
    yield from table_files(table, of=of)
    yield Passage(CHAPTER, (table,))


def notes_passage(chapter: str, lines: tuple[str, ...]) -> Iterator[Passage]:
    """Yield a list of sentences if there are any."""
    if lines:
        yield Passage(chapter, (Notes(lines),))
