"""The look of all figures: panels, colours for light and dark pages, and reproducible files.

A figure is drawn in light colours. Its SVG also carries a style sheet with the dark ones, which a viewer
without a dark mode ignores.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kselect.report.elements import LATER, Details, File, Passage, Picture
from kselect.report.unchanged import DRAWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Inches: a page or sheet of paper, and the screen of a telephone (390 pixels wide).
WIDE, NARROW = 9.6, 3.7
INK, SOFT, LINE, PAPER = "#1b1f24", "#59636e", "#d5dae0", "#ffffff"
# The palette of Okabe and Ito, which everyone can tell apart; the dark page has the same hues, lighter.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
GOOD, FAIR, BAD = "#116329", "#b07a00", "#c2182f"
DARK = {
    INK: "#e3e7ec",
    SOFT: "#9aa4af",
    LINE: "#363d46",
    PAPER: "#14171b",
    **dict(
        zip(
            SERIES,
            ("#4fb3ea", "#f58b45", "#2fc49b", "#e39cc4", "#a3d8f7", "#f2bd4a"),
            strict=True,
        )
    ),
    GOOD: "#6fdd8b",
    FAIR: "#e3b341",
    BAD: "#ff8f86",
}
MARKERS = ("o", "s", "^", "D", "v", "P")
# The parameters that an axis names by their Greek letters.
SYMBOLS = {name: rf"$\{name}$" for name in ("alpha", "beta", "delta", "eta", "tau")}
SYMBOLS["lam"] = r"$\lambda$"
# The attributes that hold positions. The scale of a letter is a small number and keeps all its digits.
POSITIONS, DIGITS = re.compile(rb' (?:d|x|y)="[^"]+"'), re.compile(rb"(\.\d\d)\d+")
# One rule per colour, for fills and strokes.
RULES = "".join(
    f'[style*="{kind}: {light}"]{{{kind}:{dark}!important}}'
    for light, dark in DARK.items()
    for kind in ("fill", "stroke")
)
SHEET = f"\n<style>@media (prefers-color-scheme:dark){{{RULES}}}</style>".encode("ascii")
# By default matplotlib writes its version and the time into the files.
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


def show_figure(
    name: str,
    draw: Callable[[float], Canvas],
    alt: str,
    caption: str,
    folded: str = "",
    chapter: str = "figures",
    numbers: str = "",
) -> Iterator[File | Passage]:
    """Yield the PDF, PNG and SVG files of a figure, and its picture in a chapter of the page.

    ``draw`` makes the canvas for a width in inches: a narrow screen shows the panels below each other, not
    smaller. If ``folded`` is given, the page shows only that line until the reader opens it. ``numbers`` is the
    table with the numbers, by default the table of the same name.
    """

    drawing = DRAWN.get().begin(draw, render_figure)
    if drawing.waits:
        yield LATER
    files = drawing.files()
    for kind in ("pdf", "png", "svg"):
        yield File(f"figures/{name}.{kind}", files[kind])
    yield File(f"figures/{name}-narrow.svg", files["narrow"])
    table = f"tables/{numbers or name}.csv"
    picture = Picture(files["svg"], files["narrow"], alt, caption, name, table)
    yield Passage(chapter, (Details(folded, (picture,)) if folded else picture,))


def render_figure(draw: Callable[[float], Canvas]) -> dict[str, bytes]:
    """Return the files of a figure, among them the SVG for a narrow screen."""
    narrow = render(lambda: draw(NARROW), ("svg",))["svg"]
    return render(lambda: draw(WIDE), METADATA) | {"narrow": narrow}


def render(
    make_canvas: Callable[[], Canvas], kinds: Mapping[str, Any] | tuple[str, ...]
) -> dict[str, bytes]:
    """Return the bytes of each kind of file (``pdf``, ``png``, ``svg``), without a timestamp.

    The positions in an SVG are cut to hundredths of a point: matplotlib writes millionths, half of the file. A
    style sheet for dark pages is inserted.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with rc_context(STYLE):
        canvas = make_canvas()
        FigureCanvasAgg(canvas)
        # Lay out once: all files show the same arrangement, and this takes longer than drawing.
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")
        files = {kind: print_file(canvas, kind) for kind in kinds}
    if "svg" in files:
        svg = POSITIONS.sub(lambda found: DIGITS.sub(rb"\1", found[0]), files["svg"])
        end = svg.index(b">", svg.index(b"<svg ")) + 1
        files["svg"] = svg[:end] + SHEET + svg[end:]
    return files


def print_file(canvas: Canvas, kind: str) -> bytes:
    """Return a file of a canvas that has been laid out; ``savefig`` would lay it out again for each file."""
    from matplotlib.backends import backend_agg, backend_pdf, backend_svg

    printers: dict[str, Any] = {
        "pdf": backend_pdf.FigureCanvasPdf,
        "png": backend_agg.FigureCanvasAgg,
        "svg": backend_svg.FigureCanvasSVG,
    }
    # An SVG has no background, so that it fits light and dark pages.
    canvas.set_dpi(150)  # printing changes it
    canvas.set_facecolor("none" if kind == "svg" else PAPER)
    stream = io.BytesIO()
    getattr(printers[kind](canvas), f"print_{kind}")(stream, metadata=METADATA[kind])
    return stream.getvalue()


def lay_out(
    count: int,
    width: float,
    panel: float,
    height: float,
    more: float = 0.0,
    abreast: int | None = None,
    most: int | None = None,
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[Canvas, list[Axes]]:
    """Return a canvas of a width in inches with ``count`` panels, in rows of even length.

    Panels that stand side by side are at least ``panel`` inches wide. A row is ``height`` inches high, and the
    canvas ``more`` than its rows. ``abreast`` panels form a row if they fit (by default, all panels); no row has
    more than ``most``.
    """
    from matplotlib.figure import Figure as Canvas

    line = count if abreast is None else abreast
    fitting = max(1, min(line, int(width / panel), most or line))
    columns = math.ceil(line / math.ceil(line / fitting)) if line else 1
    rows = math.ceil(count / columns) or 1
    canvas = Canvas(figsize=(width, height * rows + more), layout="constrained")
    axes = canvas.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)
    found: list[Axes] = axes.flatten().tolist()
    for ax in found[count:]:
        ax.set_axis_off()
    # A shared axis is labelled in the last row only, so that a panel above a surplus one has no labels.
    for ax in found[max(0, count - columns) : count]:
        ax.tick_params(labelbottom=True)
    return canvas, found[:count]


def say_no_data(ax: Axes) -> None:
    """Mark a panel as empty."""
    ax.text(0.5, 0.5, "no data", transform=ax.transAxes, ha="center", va="center", color=SOFT)
    ax.set_yticks([])


def tidy_up(ax: Axes) -> None:
    """Draw faint horizontal lines, and no frame at the top and the right."""
    ax.grid(axis="y", linewidth=0.5, color=LINE)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def label_canvas(
    canvas: Canvas,
    across: str = "",
    up: str = "",
    looks: Sequence[Mapping[str, Any]] = (),
    labels: Sequence[str] = (),
    columns: int = 1,
) -> None:
    """Label the axes that all panels share, and add one legend above them: a line or marker for each label."""
    from matplotlib.lines import Line2D

    if across or up:
        canvas.supxlabel(across, fontsize=10)
        canvas.supylabel(up, fontsize=10)
    if labels:
        canvas.legend(
            [Line2D([], [], **{"markersize": 4, "linewidth": 1.2, **look}) for look in looks],
            labels,
            loc="outside upper center",
            ncols=max(1, min(len(labels), columns)),
            frameon=False,
        )


def look(i: int) -> dict[str, Any]:
    """Return the colour and the marker of the i-th curve."""
    return {"color": SERIES[i % len(SERIES)], "marker": MARKERS[i % len(MARKERS)]}
