"""A criterion's surface over the kernel's parameter and the ridge: the choice, and what is nearly as good."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kselect.errors import ConfigError
from kselect.files import write_whole
from kselect.grids import show_number
from kselect.numerics.linalg import Array
from kselect.selection.relevances import MOST, draw_bars

if TYPE_CHECKING:
    from kselect.selection.engine import Selection

INCHES_A_CELL = 0.42
KINDS = ("png", "pdf", "svg")
CHOICE, NEARLY, NOTHING = "#d62728", "#ffffff", "#c9ced4"
# A score within this share of the best is nearly as good.
NEAR = 0.05
# The colours reach to this multiple of the best, or to the median where that is further; the rest has one colour.
REACH = 10.0


def draw_surface(found: Selection, path: Path, data: str = "", names: Sequence[str] = ()) -> Path:
    """One coloured cell a candidate: ridges across, kernels up. PNG, PDF or SVG.

    A learned kernel is drawn as bars, each with the name of its feature.
    """
    kind = check_plot(path)
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, columns = found.scores.shape
    if found.kernel.learned:
        rows = min(len(found.kernel.parameters), MOST)
    size = (2.9 + INCHES_A_CELL * max(columns, 7), 2.0 + 0.75 * INCHES_A_CELL * max(rows, 6))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if found.kernel.learned:
        draw_bars(axes, found, data, names)
    else:
        draw_cells(figure, axes, found, data)
    target = io.BytesIO()
    figure.savefig(target, format=kind, dpi=150)
    try:
        write_whole(path, target.getvalue())
    except OSError as error:
        raise ConfigError(f"--plot {path}: {error.strerror}") from None
    return path


def check_plot(path: Path) -> str:
    """The kind of file that a name asks for; what cannot be written is said before the search."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise ConfigError(f"--plot {path}: the name must end in .png, .pdf or .svg")
    folder = path.parent
    if path.is_dir():
        raise ConfigError(f"--plot {path}: that is a folder")
    if not folder.is_dir():
        raise ConfigError(f"--plot {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"--plot {path}: the folder {folder} cannot be written to")
    return kind


def draw_cells(figure: Any, axes: Any, found: Selection, data: str) -> None:
    """The cells, a bar that explains them, a line around what is nearly as good, and a ring around the choice."""
    scores = np.where(np.isfinite(found.scores), found.scores, np.nan)
    norm, beyond = colour_scale(scores)
    axes.set_facecolor(NOTHING)
    image = axes.imshow(scores, aspect="auto", origin="lower", cmap="cividis", norm=norm)
    bar = figure.colorbar(image, ax=axes, extend="max" if beyond else "neither")
    bar.set_label(found.request.method.label)
    few_ticks(bar)
    draw_border(axes, nearly_best(scores))
    name_axes(axes, found)
    row, column = found.position
    axes.plot([column], [row], "o", ms=11, mfc="none", mec=CHOICE, mew=2.2, label="the choice")
    add_legend(figure, axes, missing=bool(np.isnan(scores).any()))
    best = ", ".join(filter(None, (found.kernel.text, f"lam={show_number(found.lam)}")))
    heading = f"{found.request.method.label}, {found.request.learner.name}: {best}"
    axes.set_title("\n".join(filter(None, (data, heading))), fontsize=10, parse_math=False)


def colour_scale(scores: Array) -> tuple[Any, bool]:
    """Logs where all scores are positive, so that ratios count; and whether some lie beyond its end.

    One spike, or a half of the grid that is hopeless, does not make one colour of the basin.
    """
    from matplotlib.colors import LogNorm, Normalize

    low, high, middle = (float(f(scores)) for f in (np.nanmin, np.nanmax, np.nanmedian))
    if low > 0:
        end = min(high, max(REACH * low, middle))
        return LogNorm(low, end if end > low else 1.01 * low), high > end
    end = min(high, low + 2.0 * (middle - low)) if middle > low else high
    return Normalize(low, end if end > low else low + 1.0), high > end


def nearly_best(scores: Array) -> Array:
    """Which candidates are within 5 % of the best; where that is not positive, of the way to the median."""
    low = float(np.nanmin(scores))
    margin = NEAR * (low if low > 0 else float(np.nanmedian(scores)) - low)
    return np.asarray(scores <= low + margin)


def draw_border(axes: Any, inside: Array) -> None:
    """The outline of some cells, along the cells: nothing is known between them."""
    from matplotlib.collections import LineCollection

    segments = [*borders(inside), *(tuple((y, x) for x, y in s) for s in borders(inside.T))]
    # Dark below white, to be seen on either end of the colours.
    for colour, width in (("#000000", 2.6), (NEARLY, 1.4)):
        lines = LineCollection(segments, colors=colour, linewidths=width, clip_on=False)
        axes.add_collection(lines, autolim=False)


def borders(inside: Array) -> list[tuple[tuple[float, float], ...]]:
    """The horizontal sides of cells that have an outside above or below, as ((x, y), (x, y)) of imshow."""
    closed = np.pad(inside.astype(int), ((1, 1), (0, 0)))
    rows, columns = np.nonzero(np.diff(closed, axis=0))
    return [
        ((x - 0.5, y - 0.5), (x + 0.5, y - 0.5))
        for y, x in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def name_axes(axes: Any, found: Selection) -> None:
    """The parameters of the kernels and the ridges, each at its row or column."""
    request = found.request
    names = [";".join(map(show_number, k.parameters.values())) or k.name for k in request.kernels]
    axes.set_xticks(range(len(request.lams)), map(show_number, request.lams), rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("lam")
    axes.set_ylabel(", ".join(found.kernel.parameters) or "kernel")


def few_ticks(bar: Any) -> None:
    """Plain numbers at some places of the bar, also where it spans less than a decade."""
    low, high = bar.norm.vmin, bar.norm.vmax
    even = np.geomspace(low, high, 5) if low > 0 else np.linspace(low, high, 5)
    bar.set_ticks(even, labels=[f"{v:.3g}" for v in even])
    bar.minorticks_off()


def add_legend(figure: Any, axes: Any, missing: bool) -> None:
    """What the ring, the line and a grey cell are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.patheffects import withStroke

    outline = [withStroke(linewidth=2.6, foreground="#000000")]
    handles: list[Any] = [
        *axes.get_legend_handles_labels()[0],
        Line2D(
            [],
            [],
            color=NEARLY,
            lw=1.4,
            path_effects=outline,
            label=f"within {100 * NEAR:g} % of the best",
        ),
    ]
    handles += [Patch(color=NOTHING, label="no number")] if missing else []
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
