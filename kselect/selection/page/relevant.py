"""Which columns matter: the relevances by permutation of the held-out rows, and those that the kernel learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kselect.core.table import Column, Group, Table, Values
from kselect.errors import ConfigError, TrialError, brief
from kselect.kernels.ard import FeatureWidths
from kselect.report import style
from kselect.report.elements import File, Paragraph, Passage
from kselect.report.writers import table_files
from kselect.selection.held_out import HeldOut
from kselect.selection.own_data import OwnData
from kselect.selection.page.permutation import PermutedColumns, permuted_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

CHAPTER = "relevances"
MOST_BARS = 20
# A column is called relevant if its loss is beyond this many standard errors.
CLEAR = 2.0
BAR = 0.165


def show_relevances(data: OwnData, held_out: HeldOut, of: str) -> Iterator[File | Passage]:
    """Yield the figure and the table of the relevances."""
    try:
        found = permuted_columns(held_out, data.preparation.column_of_feature)
    except (ConfigError, TrialError) as error:
        yield Passage(CHAPTER, (Paragraph(f"No relevances by permutation: {error}."),))
        return
    names = [brief(data.preparation.schema.columns[i].name) for i in found.columns.tolist()]
    measure = held_out.quality.measure
    clear = np.flatnonzero(found.drops > CLEAR * found.errors)
    title = (
        f"{names[clear[0]]} matters most: shuffled, it costs {found.drops[clear[0]]:.2g} of the {measure}"
        if len(clear)
        else f"No column costs more of the {measure} than {CLEAR:g} standard errors if it is shuffled"
    )
    rest = f" The {found.left_out} columns that predict the target worst on their own were not shuffled."
    fewer = f" {found.rows} of {found.tested} held-out rows were used."
    caption = (
        f"How much {measure} the held-out predictions lose if the values of a column are shuffled among the "
        f"held-out rows of a fold ({found.repeats} time{'s' * (found.repeats > 1)}). The fits have not seen these "
        "rows. Columns that carry the same information stand in for each other, so that each of them looks less "
        "relevant than all together. Kernel, ridge, scaling and weights of features are those found on all rows."
        + (rest if found.left_out else "")
        + (fewer if found.rows < found.tested else "")
    )
    yield from style.show_figure(
        "relevances",
        lambda width: draw_bars(found, names, measure, width),
        f"Loss of {measure} by shuffling each column",
        f"{caption} Bars: the largest {min(len(names), MOST_BARS)}; lines: one standard error over rows.",
        title,
        chapter=CHAPTER,
    )
    table = relevance_table(data, held_out, found, names)
    yield from table_files(table, of=of)
    yield Passage(CHAPTER, (table,))


def relevance_table(
    data: OwnData, held_out: HeldOut, found: PermutedColumns, names: list[str]
) -> Table:
    """Return the relevances with the R2 of each single column, and the widths of an ARD kernel, if known."""
    of_feature, request = data.preparation.column_of_feature, held_out.selection.request
    kernel = held_out.selection.kernel
    columns = [
        Column("column", "column", align="left"),
        Column("kind", "kind", align="left"),
        Column(f"loss of {held_out.quality.measure}", "loss", ".4f"),
        Column("standard error", "error", ".4f"),
    ]
    more: list[np.ndarray] = []
    if request.relevances:
        columns.append(Column("R2 alone", "alone", ".3f"))
        more.append(np.array(request.relevances))
    if isinstance(kernel, FeatureWidths):
        columns.append(Column("share of the widths", "share", lambda x: f"{100 * x:.1f} %"))
        more.append(np.asarray(kernel.relevances()))
    rows: list[Values] = []
    for i, (column, name) in enumerate(zip(found.columns.tolist(), names, strict=True)):
        own = np.flatnonzero(of_feature == column)
        extra = [float(v[own].max()) for v in more]
        kind = data.preparation.schema.columns[column].kind
        rows.append((name, kind, float(found.drops[i]), float(found.errors[i]), *extra))
    words = (f"What the {held_out.quality.measure} loses without the information of each column.",)
    return Table("relevances", tuple(columns), (Group(tuple(rows)),), words)


def draw_bars(found: PermutedColumns, names: list[str], measure: str, width: float) -> Canvas:
    """Draw the loss of each column as a bar with its standard error, the largest on top."""
    count = min(len(names), MOST_BARS)
    canvas, (ax,) = style.lay_out(1, width, width, 0.5 + BAR * max(count, 3))
    ax.barh(
        range(count), found.drops[:count], xerr=found.errors[:count], height=0.7, color=style.SERIES[0],
        error_kw={"elinewidth": 1.0, "ecolor": style.INK},
    )  # fmt: skip
    ax.axvline(0.0, color=style.SOFT, linewidth=0.8)
    # Names are plain text: a dollar sign must not start a formula.
    ax.set_yticks(range(count), names[:count], parse_math=False)
    ax.set_ylim(count - 0.4, -0.6)
    ax.set_xlabel(f"loss of {measure}")
    ax.grid(axis="x", linewidth=0.5, color=style.LINE)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return canvas
