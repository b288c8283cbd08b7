"""What figures share: panels on a grid, colours, and files that are the same bytes for the same numbers."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kselect.report.blocks import Block, Element, File, Fold, Picture, Shown
from kselect.report.schemes import INK, LINE, PAPER, SERIES, SOFT, knows_the_dark, shorter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Inches: on the page and on paper, and on the screen of a telephone (of 390 pixels).
WIDE, NARROW = 9.6, 3.7
Draw = Callable[[float], "Canvas"]
MARKERS = ("o", "s", "^", "D", "v", "P")
GREEK = ("alpha", "beta", "delta", "eta", "lam", "tau")
# Without these matplotlib writes its version and the time into the files.
METADATA: Mapping[str, dict[str, Any]] = {
    "pdf": {"Creator": "kselect", "Producer": "kselect", "CreationDate": None},
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
}
STYLE: Any = {
    "font.size": 9.0,
    "pdf.fonttype": 42,
    "svg.hashsalt": "kselect",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.facecolor": "none",
    "axes.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}


def show_figure(name: str, draw: Draw, alt: str, caption: str, folded: str = "") -> Shown:
    """A figure as its files and as a picture on the page, behind a line of words where it is a quiet one.

    ``draw`` makes the canvas for a width in inches: on a narrow screen panels stand below each other, not smaller.
    """
    files, picture = draw_figure(name, draw, alt, caption)
    shown: Element = Fold(folded, (picture,)) if folded else picture
    return Shown(files, [Block("figures", (shown,))])


def draw_figure(name: str, draw: Draw, alt: str, caption: str) -> tuple[list[File], Picture]:
    """The files of a figure, and what the page shows of it."""
    wide, narrow = render(lambda: draw(WIDE), METADATA), render(lambda: draw(NARROW), ("svg",))
    files = [File(f"figures/{name}.{kind}", wide[kind]) for kind in ("pdf", "png")]
    return files, Picture(wide["svg"], narrow["svg"], alt, caption)


def render(
    make_canvas: Callable[[], Canvas], kinds: Mapping[str, Any] | tuple[str, ...]
) -> dict[str, bytes]:
    """``pdf``, ``png``, ``svg`` -> the file's bytes; no timestamp goes in."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with rc_context(STYLE):
        canvas = make_canvas()
        FigureCanvasAgg(canvas)
        # Laid out once: every file is of the same arrangement, and arranging takes longer than drawing.
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")
        return {kind: save(canvas, kind) for kind in kinds}


def save(canvas: Canvas, kind: str) -> bytes:
    """One file's bytes; an SVG has no ground of its own and fits light and dark pages."""
    stream = io.BytesIO()
    ground = "none" if kind == "svg" else PAPER
    canvas.savefig(stream, format=kind, dpi=150, facecolor=ground, metadata=METADATA[kind])
    return knows_the_dark(shorter(stream.getvalue())) if kind == "svg" else stream.getvalue()


def lay_out(
    count: int,
    columns: int,
    width: float,
    height: float,
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[Canvas, list[Axes]]:
    """A canvas of inches with so many axes, the surplus ones of its last row switched off."""
    from matplotlib.figure import Figure as Canvas

    rows = math.ceil(count / columns) or 1
    canvas = Canvas(figsize=(width, height), layout="constrained")
    axes = canvas.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)
    found: list[Axes] = axes.flatten().tolist()
    for ax in found[count:]:
        ax.set_axis_off()
    # A shared axis has its labels in the last row alone, which leaves out those above a surplus panel.
    for ax in found[max(0, count - columns) : count]:
        ax.tick_params(labelbottom=True)
    return canvas, found[:count]


def columns_in(width: float, count: int, panel: float) -> int:
    """How many panels of some inches stand side by side, so that the rows are as even as they can be."""
    most = max(1, min(count, int(width / panel)))
    return math.ceil(count / math.ceil(count / most)) if count else 1


def say_no_data(ax: Axes) -> None:
    """An empty panel says so."""
    ax.text(0.5, 0.5, "no data", transform=ax.transAxes, ha="center", va="center", color=SOFT)
    ax.set_yticks([])


def tidy_up(ax: Axes) -> None:
    """Faint horizontal lines, and no frame above and to the right."""
    ax.grid(axis="y", linewidth=0.5, color=LINE)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def colour(i: int) -> str:
    """The colour of the i-th curve."""
    return SERIES[i % len(SERIES)]


def marker(i: int) -> str:
    """The marker of the i-th curve."""
    return MARKERS[i % len(MARKERS)]


def symbol(parameter: str) -> str:
    """A Greek letter where the parameter is named after one."""
    names = {"lam": "lambda"}
    return rf"$\{names.get(parameter, parameter)}$" if parameter in GREEK else parameter
