"""The decision surface of a column, and the errors over (lam, mu) among which it chose (flkl2014, figure 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.errors import ConfigError
from kselect.grids import parse_grid
from kselect.report.blocks import Shown
from kselect.report.panels import colour, columns_in, lay_out, say_no_data, show_figure
from kselect.report.schemes import INK
from kselect.report.sections.base import Wrong, figure
from kselect.stats.study import Study
from kselect.stats.surfaces import Decision, Seen, Surfaces, levels, see

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

PANEL = 3.0
COLOURS = 256  # of the colour map
KEYS = ("at", "dataset", "split", "lam", "mu")


@figure("surfaces")
class SurfacesFigure:
    """``{kind: surfaces, at: ARD-FLKL, dataset: synthetic, lam: 10^-2:10^2, mu: 10^-1:10^4}``."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
    ) -> Surfaces:
        """A column of the first level, one data set, one split, two grids of positive numbers."""
        for key in written:
            if key not in KEYS:
                wrong((key,), f"unknown key; valid: {', '.join(KEYS)}")
        label, dataset, split = written.get("at"), written.get("dataset"), written.get("split", 0)
        known = columns.methods.get(str(label))
        if known is None or known[0].search is None or known[0].search.name != "flkl":
            wrong(("at",), "must be a column with search: flkl")
        if dataset not in columns.datasets and not columns.narrowed:
            wrong(("dataset",), "must be one of datasets")
        if isinstance(split, bool) or not isinstance(split, int) or split < 0:
            wrong(("split",), "must be a whole number, 0 or more")
        grids = [read_grid(key, written, wrong) for key in ("lam", "mu")]
        return Surfaces(name, str(label), str(dataset), split, *grids)

    def methods(self, figure: Surfaces, columns: FigureContext) -> Iterable[Method]:
        """One per point of the surface."""
        there = figure.dataset in columns.datasets
        return figure.methods(columns.first(figure.at)) if there else ()

    def keep(self, figure: Surfaces, labels: frozenset[str]) -> Surfaces | None:
        """With its column, or not at all."""
        return figure if figure.at in labels else None

    def show(self, figure: Surfaces, study: Study) -> Shown:
        """Three panels: decision, held-out error, test error."""
        found = see(study, figure)
        return show_figure(
            figure.name,
            lambda width: make_canvas(figure, found, width),
            f"Decision surface of {figure.at} on {figure.dataset}, and errors over lam and mu",
            f"{figure.at} on {figure.dataset}, split {figure.split}. Left: the decision surface with the training "
            "rows (features as scaled); middle and right: the mean squared held-out error that the search "
            "minimises, and the test error, over the two hyper-parameters; the ring is where the search ended. "
            "lam is the ridge of the sum over rows, n times that of other experiments.",
        )


def read_grid(key: str, written: Mapping[str, Any], wrong: Wrong) -> tuple[float, ...]:
    """Two positive numbers at least."""
    try:
        values = parse_grid(written.get(key, ""))
    except ConfigError as error:
        wrong((key,), str(error))
        return (1.0,)
    if len(values) < 2 or min(values) <= 0:
        wrong((key,), "must be a grid of two positive numbers or more")
    return values


def make_canvas(figure: Surfaces, found: Seen, width: float) -> Canvas:
    """Three panels, side by side where there is room."""
    from matplotlib.colors import BoundaryNorm

    across = columns_in(width, 3, PANEL)
    canvas, axes = lay_out(3, across, width, 3.2 * ceil(3 / across))
    draw_decision(axes[0], found.decision)
    for ax, values, title in (
        (axes[1], found.held_out, "held-out squared error"),
        (axes[2], found.test, "test error (%)"),
    ):
        ax.set_title(title, fontsize=9.5)
        steps = levels(values)
        if not steps:
            say_no_data(ax)
            continue
        norm = BoundaryNorm(steps, COLOURS)
        drawn = ax.contourf(figure.mus, figure.lams, values, steps, cmap="cividis", norm=norm)
        canvas.colorbar(drawn, ax=ax, format="%.3g")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("mu")
        ax.set_ylabel("lam")
        if found.best:
            ax.plot(
                *([found.best[1]], [found.best[0]], "o"),
                markersize=9,
                markerfacecolor="none",
                markeredgecolor="#d62728",
                markeredgewidth=1.8,
            )
            ax.set_xlim(min(figure.mus), max(figure.mus))
            ax.set_ylim(min(figure.lams), max(figure.lams))
    return canvas


def draw_decision(ax: Axes, decision: Decision | None) -> None:
    """Shades of the decision value, its zero line, and the rows."""
    ax.set_title("decision surface", fontsize=9.5)
    if decision is None:
        say_no_data(ax)
        return
    ax.contourf(decision.x, decision.y, decision.values, levels=12, cmap="RdBu", alpha=0.6)
    ax.contour(decision.x, decision.y, decision.values, levels=[0.0], colors=INK, linewidths=1.2)
    for label, mark, i in ((-1.0, "o", 1), (1.0, "s", 0)):
        rows = decision.rows[decision.labels == label]
        ax.plot(rows[:, 0], rows[:, 1], mark, color=colour(i), markersize=2.6, markeredgewidth=0)
    ax.set_xlabel("first feature")
    ax.set_ylabel("second feature")
