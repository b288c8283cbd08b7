"""The look of all figures: panels, colours for light and dark pages, and reproducible files.

A figure is drawn in light colours. Its SVG also carries a style sheet with the dark ones, which a viewer
without a dark mode ignores.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kselect.numerics.memory import few_collections
from kselect.report.elements import LATER, Details, File, Passage, Picture
from kselect.report.pdf_fonts import plain_fonts
from kselect.report.unchanged import DRAWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Inches: a page of text, and a column of a page with two, which also fits the screen of a telephone.
WIDE, NARROW = 6.9, 3.3
# The size of all texts in points, and the inches of a line of text and of a letter of a title.
SIZE, LINE_HEIGHT, LETTER = 8.0, 0.155, 0.07
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
# The marks of one curve, and the style of one of them.
MARKS = re.compile(rb'(<g(?: clip-path="[^"]*")?)>((?:\s*<use [^>]*/>){2,})')
STYLED = re.compile(rb' style="([^"]*)"/>')
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
    "font.size": SIZE,
    "axes.titlesize": SIZE,
    "axes.labelsize": SIZE,
    "xtick.labelsize": SIZE,
    "ytick.labelsize": SIZE,
    "legend.fontsize": SIZE,
    "figure.titlesize": SIZE,
    "figure.labelsize": SIZE,
    "pdf.fonttype": 42,
    "svg.hashsalt": "kselect",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.facecolor": "none",
    "axes.linewidth": 0.6,
    # matplotlib would look for room above the ticks each time it draws; no figure here has ticks at the top.
    "axes.titley": 1.0,
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
    title: str = "",
    folded: str = "",
    chapter: str = "figures",
    numbers: str = "",
) -> Iterator[File | Passage]:
    """Yield the files of a figure in the widths of a page and of a column, and its picture in a chapter.

    ``draw`` makes the canvas for a width in inches: a narrow one shows the panels below each other, not
    smaller. ``title`` stands above the panels and says what the figure shows. If ``folded`` is given, the page
    shows only that line until the reader opens it. ``numbers`` is the table with the numbers, by default the
    table of the same name.
    """

    def titled(width: float) -> Canvas:
        return add_title(draw(width), title)

    drawing = DRAWN.get().begin(titled, (render_wide, render_narrow))
    if drawing.waits:
        yield LATER
    files = drawing.files()
    for kind in ("pdf", "png", "svg"):
        yield File(f"figures/{name}.{kind}", files[kind])
    for kind in ("pdf", "svg"):
        yield File(f"figures/{name}-narrow.{kind}", files[f"narrow.{kind}"])
    table = f"tables/{numbers or name}.csv"
    words = f"{title}. {alt}" if title else alt
    picture = Picture(files["svg"], files["narrow.svg"], words, caption, name, table)
    yield Passage(chapter, (Details(folded, (picture,)) if folded else picture,))


def render_wide(draw: Callable[[float], Canvas]) -> dict[str, bytes]:
    """Return the files of a figure in the width of a page."""
    return render(lambda: draw(WIDE), METADATA)


def render_narrow(draw: Callable[[float], Canvas]) -> dict[str, bytes]:
    """Return the PDF and the SVG of a figure in the width of a column."""
    found = render(lambda: draw(NARROW), ("pdf", "svg"))
    return {f"narrow.{kind}": content for kind, content in found.items()}


def add_title(canvas: Canvas, title: str) -> Canvas:
    """Add room above a canvas that has not been laid out yet, and write a title there, in lines of its width."""
    if not title:
        return canvas
    width, height = canvas.get_size_inches()
    lines = wrap(title.replace(" %", "\N{NO-BREAK SPACE}%"), int(width / LETTER))
    whole = height + LINE_HEIGHT * (len(lines) + 0.4)
    share = height / whole
    canvas.set_size_inches(width, whole)
    engine: Any = canvas.get_layout_engine()
    if engine is not None:
        left, bottom, across, up = engine.get()["rect"]
        engine.set(rect=(left, bottom * share, across, up * share))
    else:
        for ax in canvas.axes:
            left, bottom, across, up = ax.get_position().bounds
            ax.set_position((left, bottom * share, across, up * share))
        for text in canvas.texts:
            text.set_y(text.get_position()[1] * share)
    place = (0.03 / width, 1.0 - 0.03 / whole)
    canvas.text(*place, "\n".join(lines), fontweight="bold", va="top", linespacing=1.2)
    return canvas


def render(
    make_canvas: Callable[[], Canvas], kinds: Mapping[str, Any] | tuple[str, ...]
) -> dict[str, bytes]:
    """Return the bytes of each kind of file (``pdf``, ``png``, ``svg``), without a timestamp.

    The positions in an SVG are cut to hundredths of a point: matplotlib writes millionths, half of the file. A
    style sheet for dark pages is inserted.
    """
    from matplotlib import rc_context

    with rc_context(STYLE), few_collections(), plain_fonts():
        canvas = make_canvas()
        settle(canvas)
        files = {kind: print_file(canvas, kind) for kind in kinds}
    if "svg" in files:
        svg = POSITIONS.sub(lambda found: DIGITS.sub(rb"\1", found[0]), files["svg"])
        svg = MARKS.sub(share_style, svg)
        end = svg.index(b">", svg.index(b"<svg ")) + 1
        files["svg"] = svg[:end] + SHEET + svg[end:]
    return files


def settle(canvas: Canvas) -> None:
    """Lay out a canvas once: all files show the same arrangement, and this takes longer than drawing."""
    arrange(canvas)
    engine: Any = canvas.get_layout_engine()
    if engine is not None:
        _, bottom, _, up = engine.get()["rect"]
        # A legend moves below the title; the layout leaves room only for one without an anchor.
        for legend in canvas.legends:
            legend.set_bbox_to_anchor((0.0, 0.0, 1.0, bottom + up), canvas.transFigure)
    canvas.set_layout_engine("none")


def arrange(canvas: Canvas) -> None:
    """Place the panels of a canvas that has a layout."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(canvas)  # it knows the widths of letters
    for ax in canvas.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if not axis.get_label_text():  # matplotlib looks for room even for an empty label
                axis.set_label_coords(0.5, 0.5)
    engine = canvas.get_layout_engine()
    if engine is not None:
        engine.execute(canvas)


def share_style(found: re.Match[bytes]) -> bytes:
    """Return a group of equal marks with their style written once, at the group."""
    styles = STYLED.findall(found[2])
    if len(set(styles)) != 1 or len(styles) < found[2].count(b"<use "):
        return bytes(found[0])
    marks = re.sub(rb"\n +", b"\n", STYLED.sub(b"/>", found[2]))
    return b"".join((found[1], b' style="', styles[0], b'">', marks))


def print_file(canvas: Canvas, kind: str) -> bytes:
    """Return a file of a canvas that has been laid out; ``savefig`` would lay it out again for each file."""
    from matplotlib.backends import backend_agg, backend_pdf, backend_svg

    printers: dict[str, Any] = {
        "pdf": backend_pdf.FigureCanvasPdf,
        "png": backend_agg.FigureCanvasAgg,
        "svg": backend_svg.FigureCanvasSVG,
    }
    # An SVG has no background, so that it fits light and dark pages.
    canvas.set_dpi(200)  # printing changes it
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
        canvas.supxlabel(across)
        canvas.supylabel("\n".join(wrap(up, int(canvas.get_figheight() / LETTER))))
    if labels:
        canvas.legend(
            [Line2D([], [], **{"markersize": 4, "linewidth": 1.2, **look}) for look in looks],
            labels,
            loc="outside upper center",
            ncols=max(1, min(len(labels), columns)),
            frameon=False,
        )


def add_boxes(ax: Axes, boxes: Sequence[tuple[float, float, float, float]], **look: Any) -> None:
    """Add boxes (left, lower end, width, height) of one look as one path, which keeps a file small."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    outlines = [
        Path([(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)]) for x, y, w, h in boxes
    ]
    ax.add_patch(PathPatch(Path.make_compound_path(*outlines), **look))


def look(i: int) -> dict[str, Any]:
    """Return the colour and the marker of the i-th curve."""
    return {"color": SERIES[i % len(SERIES)], "marker": MARKERS[i % len(MARKERS)]}
