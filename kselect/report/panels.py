"""What figures share: panels on a grid, colours, and files that are the same bytes for the same numbers."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kselect.report.blocks import Block, File, Picture, Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")  # Okabe and Ito
MARKERS = ("o", "s", "^", "D", "v", "P")
GREEK = ("alpha", "beta", "delta", "eta", "lam", "tau")
# Without these matplotlib writes its version and the time into the files.
METADATA: Mapping[str, dict[str, Any]] = {
    "pdf": {"Creator": "kselect", "Producer": "kselect", "CreationDate": None},
    "png": {"Software": None},
}


def show_figure(name: str, make_canvas: Callable[[], Canvas], alt: str, caption: str) -> Shown:
    """A figure as its files and as a picture on the page."""
    files = render(make_canvas)
    picture = Picture(files["png"], alt, caption)
    return Shown(
        [File(f"figures/{name}.{kind}", content) for kind, content in files.items()],
        [Block("figures", (picture,))],
    )


def render(make_canvas: Callable[[], Canvas]) -> dict[str, bytes]:
    """``pdf`` and ``png`` -> the file's bytes; no timestamp goes in."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with rc_context({"pdf.fonttype": 42, "font.size": 9.0, "axes.linewidth": 0.6}):
        canvas = make_canvas()
        FigureCanvasAgg(canvas)
        return {kind: save(canvas, kind) for kind in METADATA}


def save(canvas: Canvas, kind: str) -> bytes:
    """One file's bytes."""
    stream = io.BytesIO()
    canvas.savefig(stream, format=kind, dpi=150, metadata=METADATA[kind])
    return stream.getvalue()


def lay_out(
    count: int, columns: int, width: float, height: float, sharex: bool = False
) -> tuple[Canvas, list[Axes]]:
    """A canvas of inches with so many axes, the surplus ones of its last row switched off."""
    from matplotlib.figure import Figure as Canvas

    rows = math.ceil(count / columns) or 1
    canvas = Canvas(figsize=(width, height), layout="constrained")
    axes = canvas.subplots(rows, columns, squeeze=False, sharex=sharex).flatten().tolist()
    for ax in axes[count:]:
        ax.set_axis_off()
    return canvas, axes[:count]


def say_no_data(ax: Axes) -> None:
    """An empty panel says so."""
    ax.text(0.5, 0.5, "no data", transform=ax.transAxes, ha="center", va="center", color="0.4")
    ax.set_yticks([])


def tidy_up(ax: Axes) -> None:
    """Faint horizontal lines, and no frame above and to the right."""
    ax.grid(axis="y", linewidth=0.4, color="0.9")
    ax.spines[["top", "right"]].set_visible(False)


def colour(i: int) -> str:
    """The colour of the i-th curve."""
    return COLOURS[i % len(COLOURS)]


def marker(i: int) -> str:
    """The marker of the i-th curve."""
    return MARKERS[i % len(MARKERS)]


def symbol(parameter: str) -> str:
    """A Greek letter where the parameter is named after one."""
    names = {"lam": "lambda"}
    return rf"$\{names.get(parameter, parameter)}$" if parameter in GREEK else parameter
