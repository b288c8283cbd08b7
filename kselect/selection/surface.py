"""Plots of a selection: the criterion over kernel parameter and ridge, or the relevances of a learned kernel."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kselect.errors import ConfigError, brief
from kselect.files import require_writable, write_named
from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.kernels.ard import FeatureWidths
from kselect.numerics.linalg import Array

if TYPE_CHECKING:
    from kselect.selection.result import Selection

INCHES_PER_CELL = 0.42
KINDS = ("png", "pdf", "svg")
CHOICE, NEARLY, NO_SCORE = "#d62728", "#ffffff", "#c9ced4"
MOST_BARS = 40
# A score within this share of the best is nearly as good.
NEAR = 0.05
# The colours reach to this multiple of the best, or to the median if it is larger; the rest has one colour.
REACH = 10.0


def draw_surface(found: Selection, path: Path, data: str = "", names: Sequence[str] = ()) -> Path:
    """Draw the selection as PNG, PDF or SVG: one cell per candidate, or one bar per feature of a learned kernel.

    ``data`` is the first line of the title; ``names`` are the names of the features.
    """
    kind = check_plot(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, columns = found.scores.shape
    if found.kernel.learned:
        rows = min(len(found.kernel.parameters), MOST_BARS)
    size = (2.9 + INCHES_PER_CELL * max(columns, 7), 2.0 + 0.75 * INCHES_PER_CELL * max(rows, 6))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if found.kernel.learned:
        draw_bars(axes, found, data, names)
    else:
        draw_cells(figure, axes, found, data)
    target = io.BytesIO()
    figure.savefig(target, format=kind, dpi=150)
    write_named(path, target.getvalue(), "--plot ")
    return path


def check_plot(path: Path) -> str:
    """Return the file type that a name asks for; refuse a path that cannot be written."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise ConfigError(f"--plot {path}: the name must end in .png, .pdf or .svg")
    require_writable(path, "--plot")
    return kind


# --- the surface ------------------------------------------------------------------------------------


def draw_cells(figure: Any, axes: Any, found: Selection, data: str) -> None:
    """Draw ridges from left to right and kernels from bottom to top, and mark the choice and its near ties."""
    scores = np.where(np.isfinite(found.scores), found.scores, np.nan)
    norm, beyond = colour_scale(scores)
    axes.set_facecolor(NO_SCORE)
    image = axes.imshow(scores, aspect="auto", origin="lower", cmap="cividis", norm=norm)
    bar = figure.colorbar(image, ax=axes, extend="max" if beyond else "neither")
    bar.set_label(found.request.method.label)
    # Plain numbers at five places, also if the bar spans less than a decade.
    even = (np.geomspace if norm.vmin > 0 else np.linspace)(norm.vmin, norm.vmax, 5)
    bar.set_ticks(even, labels=[f"{v:.3g}" for v in even])
    bar.minorticks_off()
    draw_border(axes, nearly_best(scores))
    request = found.request
    several = len(request.families) > 1
    names = [row_name(k, several) for k in request.kernels]
    axes.set_xticks(range(len(request.lams)), map(show_number, request.lams), rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("lam")
    named = "" if several else ", ".join(found.kernel.parameters)
    axes.set_ylabel(named or "kernel")
    row, column = found.position
    axes.plot([column], [row], "o", ms=11, mfc="none", mec=CHOICE, mew=2.2, label="the choice")
    add_legend(figure, axes, missing=bool(np.isnan(scores).any()))
    name = found.kernel.name if several else ""
    best = ", ".join(filter(None, (name, found.kernel.text, f"lam={show_number(found.lam)}")))
    heading = f"{found.request.method.label}, {found.request.learner.name}: {best}"
    axes.set_title("\n".join(filter(None, (data, heading))), fontsize=10, parse_math=False)


def row_name(kernel: Kernel, several: bool) -> str:
    """Return the values of a kernel's parameters, with its name if there are several kernels."""
    values = ";".join(f"{v:.4g}" for v in kernel.parameters.values())
    return " ".join(filter(None, (kernel.name if several or not values else "", values)))


def colour_scale(scores: Array) -> tuple[Any, bool]:
    """Return the colour scale, and whether some scores lie beyond its end.

    The scale is logarithmic if all scores are positive, so that ratios count. It is clipped, so that a spike or a
    poor half of the grid does not give the whole basin one colour.
    """
    from matplotlib.colors import LogNorm, Normalize

    low, high, middle = (float(f(scores)) for f in (np.nanmin, np.nanmax, np.nanmedian))
    if low > 0:
        end = min(high, max(REACH * low, middle))
        return LogNorm(low, end if end > low else 1.01 * low), high > end
    end = min(high, low + 2.0 * (middle - low)) if middle > low else high
    return Normalize(low, end if end > low else low + 1.0), high > end


def nearly_best(scores: Array) -> Array:
    """Return the mask of candidates within 5 % of the best score.

    If the best score is not positive, the margin is 5 % of the distance to the median.
    """
    low = float(np.nanmin(scores))
    margin = NEAR * (low if low > 0 else float(np.nanmedian(scores)) - low)
    return np.asarray(scores <= low + margin)


def draw_border(axes: Any, inside: Array) -> None:
    """Draw the outline of the cells in a mask, along cell sides: no score is known between cells."""
    from matplotlib.collections import LineCollection

    segments = [*borders(inside), *(tuple((y, x) for x, y in s) for s in borders(inside.T))]
    # White on black, visible at both ends of the colour scale.
    for colour, width in (("#000000", 2.6), (NEARLY, 1.4)):
        lines = LineCollection(segments, colors=colour, linewidths=width, clip_on=False)
        axes.add_collection(lines, autolim=False)


def borders(inside: Array) -> list[tuple[tuple[float, float], ...]]:
    """Return the horizontal sides between cells inside and outside a mask, as ((x, y), (x, y)) of imshow."""
    closed = np.pad(inside.astype(int), ((1, 1), (0, 0)))
    rows, columns = np.nonzero(np.diff(closed, axis=0))
    return [
        ((x - 0.5, y - 0.5), (x + 0.5, y - 0.5))
        for y, x in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def add_legend(figure: Any, axes: Any, missing: bool) -> None:
    """Explain the ring, the outline, and grey cells if there are any."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.patheffects import withStroke

    outline = [withStroke(linewidth=2.6, foreground="#000000")]
    label = f"within {100 * NEAR:g} % of the best"
    near = Line2D([], [], color=NEARLY, lw=1.4, path_effects=outline, label=label)
    handles: list[Any] = [*axes.get_legend_handles_labels()[0], near]
    handles += [Patch(color=NO_SCORE, label="no score")] if missing else []
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8, frameon=False)


# --- relevances -------------------------------------------------------------------------------------


def draw_bars(axes: Any, found: Selection, data: str, names: Sequence[str]) -> None:
    """Draw the relevance of each feature, or the weight of each kernel of a sum, as a bar, the largest on top."""
    kernel, what = found.kernel, "share of all widths (%)"
    if isinstance(kernel, FeatureWidths):
        shares = 100.0 * kernel.relevances()
        every = [brief(names[j]) if names else f"feature {j + 1}" for j in range(len(shares))]
    else:
        shares, what = np.array(list(kernel.parameters.values())), "weight"
        every = [brief(name) for name in kernel.parameters]
    order = sorted(range(len(shares)), key=lambda j: -shares[j])[:MOST_BARS]
    axes.barh(range(len(order)), shares[order], color="#0072B2", height=0.7)
    labels = [every[j] for j in order]
    # Names are plain text: a dollar sign must not start a formula.
    axes.set_yticks(range(len(order)), labels, parse_math=False)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(what)
    more = f", the first {MOST_BARS} of {len(shares)}" if len(shares) > MOST_BARS else ""
    heading = f"{found.request.method.label}, {kernel.name} kernel{more}"
    axes.set_title("\n".join(filter(None, (data, heading))), fontsize=10, parse_math=False)
