"""The decision surface of a method, and the errors over (lam, mu) among which it searched.

This is figure 1 of flkl2014.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from kselect.core.experiment import FigureContext
from kselect.core.method import Choice, Method
from kselect.datasets.fetch import Places, default_cache, resolve
from kselect.errors import KselectError
from kselect.kernels import Points
from kselect.kernels.ard import Ard
from kselect.kernels.base import read_parameters
from kselect.learners.lssvm_errors import LSSVMSolution
from kselect.numerics.linalg import Array
from kselect.report import style
from kselect.report.elements import File, Passage
from kselect.report.figures.base import FigureBase, FigureReader, good_records
from kselect.report.ticks import label_values, spread
from kselect.report.writers import numbers_file
from kselect.run.trial import load, prepare
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KEYS = ("at", "dataset", "split", "lam", "mu")
# The decision values are computed on a grid of this many points per side, this share wider than the data.
STEPS, MARGIN = 121, 0.06
LEVELS = 16
PANEL = 2.2  # inches
COLOURS = 256  # of the colour map


@dataclass(frozen=True)
class Surfaces(FigureBase, kind="surfaces"):
    """``{kind: surfaces, at: ARD-FLKL, dataset: synthetic, lam: 10^-2:10^2, mu: 10^-1:10^4}``.

    ``lams`` belong to the sum over rows: they are n times larger than in other experiments.
    """

    LISTED: ClassVar[str] = ""
    REQUIRED: ClassVar[str] = "at"

    at: str
    dataset: str
    split: int
    lams: tuple[float, ...]
    mus: tuple[float, ...]

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read a method with the search flkl, one data set, one split, and two grids of positive numbers."""
        config.check_keys("at", "dataset", "split", "lam", "mu")
        written, context = config.written, config.context
        label, dataset, split = written.get("at"), written.get("dataset"), written.get("split", 0)
        known = context.methods.get(str(label))
        if known is None or known.search is None or known.search.name != "flkl":
            config.wrong(("at",), "must be a method with search: flkl")
        if dataset not in context.datasets and not context.narrowed:
            config.wrong(("dataset",), "must be one of datasets")
        if isinstance(split, bool) or not isinstance(split, int) or split < 0:
            config.wrong(("split",), "must be a whole number, 0 or more")
        grids = [config.positive(key, fewest=2) for key in ("lam", "mu")]
        return cls(name, str(label), str(dataset), split, *grids)

    def methods(self, context: FigureContext) -> Iterable[Method]:
        """Return one method per point of the surface."""
        there = self.dataset in context.datasets
        return self.points(context.methods[self.at]) if there else ()

    def points(self, method: Method) -> Iterator[Method]:
        """Yield the methods that score the method at each lam and mu; mu varies fastest."""
        for lam, mu in product(self.lams, self.mus):
            yield replace(
                method,
                part=self.name,
                search=Choice("flkl-at", (("lam", lam), ("mu", mu))),
                datasets=(self.dataset,),
                splits=(self.split,),
            )

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield three panels: decision surface, held-out error, test error."""
        held_out, test = read_surfaces(study, self)
        best, kernel = end_of_search(study, self)
        decision = decide(study, self, best[0], kernel) if best and kernel else None

        def draw(width: float) -> Canvas:
            canvas, axes = style.lay_out(3, width, PANEL, 3.2)
            draw_decision(axes[0], decision)
            draw_surface(axes[1], "held-out squared error", self, held_out, best)
            draw_surface(axes[2], "test error (%)", self, test, best)
            return canvas

        yield from style.show_figure(
            self.name,
            draw,
            f"Decision surface of {self.at} on {self.dataset}, and errors over lam and mu",
            f"{self.at} on {self.dataset}, split {self.split}. Left: the decision surface with the training "
            "rows (features as scaled); middle and right: the mean squared held-out error that the search "
            "minimises, and the test error, over the two hyper-parameters; the ring marks the end of the search. "
            "lam is the one of the sum over rows, n times that of other experiments.",
            sum_up(self, test, best),
        )
        points = product(range(len(self.lams)), range(len(self.mus)))
        yield numbers_file(
            self.name,
            ("lam", "mu", "held_out_squared_error", "test_error"),
            (
                (self.lams[i], self.mus[j], float(held_out[i, j]), float(test[i, j]))
                for i, j in points
            ),
        )


# Numbers


@dataclass(frozen=True, eq=False)
class DecisionSurface:
    """Decision values over a grid of the plane, and the training rows with their labels."""

    x: Array
    y: Array
    values: Array
    rows: Array
    labels: Array


def read_surfaces(study: Study, figure: Surfaces) -> tuple[Array, Array]:
    """Return held-out error and test error in percent as (lams, mus), NaN without a record."""
    method = next(m for m in study.experiment.table if m.label == figure.at)
    rows = study.records
    rows = rows[(rows["part"] == figure.name) & (rows["status"] == "ok")]
    known = {
        str(p): (s, 100.0 * e)
        for p, s, e in zip(rows["params"], rows["score"], rows["error"], strict=True)
    }
    pairs = [known.get(m.text, (math.nan, math.nan)) for m in figure.points(method)]
    values = np.array(pairs).reshape(len(figure.lams), len(figure.mus), 2)
    return values[:, :, 0], values[:, :, 1]


def end_of_search(study: Study, figure: Surfaces) -> tuple[tuple[float, float] | None, Ard | None]:
    """Return (lam, mu) and the kernel where the search ended on the figure's split."""
    table = study.once(good_records)
    row = table[
        (table["dataset"] == figure.dataset)
        & (table["method"] == figure.at)
        & (table["split"] == figure.split)
    ]
    if row.empty:
        return None, None
    first = row.iloc[0]
    mu = read_parameters(str(first["tuned"])).get("mu", math.nan)
    widths = tuple(read_parameters(str(first["chosen"])).values())
    return (float(first["lam"]) * int(first["n_train"]), mu), Ard(widths)


def decide(study: Study, figure: Surfaces, lam: float, kernel: Ard) -> DecisionSurface | None:
    """Compute the decision surface of two features on a grid around the training rows.

    Return None if the data set is not available, or if its checksum differs from the records.
    """
    experiment = study.experiment
    info = experiment.info(figure.dataset)
    sums = {f.dataset: f.sha256 for f in study.facts.data}
    if info.features != 2 or len(kernel.theta) != 2:
        return None
    try:
        source = resolve(info, Places(default_cache(), offline=True))
        if sums.get(info.name, source.sha256) != source.sha256:
            return None
        data = load(info, source)
        parts = prepare(experiment, data, figure.split)
        fit = LSSVMSolution(kernel.gram(Points(parts.context.X)), parts.y_train, lam)
    except KselectError:
        return None
    low, high = parts.context.X.min(axis=0), parts.context.X.max(axis=0)
    pad = MARGIN * (high - low)
    x, y = (np.linspace(low[j] - pad[j], high[j] + pad[j], STEPS) for j in (0, 1))
    plane = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = kernel.gram(Points(plane, parts.context.X)) @ fit.alpha + fit.bias
    return DecisionSurface(x, y, values.reshape(STEPS, STEPS), parts.context.X, parts.y_train)


def sum_up(figure: Surfaces, test: Array, best: tuple[float, float] | None) -> str:
    """Return the title: the test error at the grid point nearest to the end of the search, and the lowest one."""
    if best is None or not np.isfinite(test).any():
        return ""
    i, j = (
        int(np.argmin(np.abs(np.log(np.array(grid) / at))))
        for grid, at in zip((figure.lams, figure.mus), best, strict=True)
    )
    there = f"has {test[i, j]:.1f} %" if np.isfinite(test[i, j]) else "has no"
    return f"The end of the search {there} test error; the lowest on the map is {np.nanmin(test):.1f} %"


def find_levels(values: Array) -> list[float]:
    """Return the levels at which a surface changes colour.

    Each colour covers the same share of the surface, so that a flat valley is visible. The list is empty
    without values.
    """
    known = values[np.isfinite(values)]
    if not known.size:
        return []
    found: list[float] = np.unique(np.quantile(known, np.linspace(0.0, 1.0, LEVELS))).tolist()
    return found if len(found) > 1 else []


# Drawing


def draw_decision(ax: Axes, decision: DecisionSurface | None) -> None:
    """Draw the decision value as shades, its zero line, and the rows."""
    ax.set_title("decision surface")
    if decision is None:
        style.say_no_data(ax)
        return
    ax.contourf(decision.x, decision.y, decision.values, levels=12, cmap="RdBu", alpha=0.6)
    ax.contour(
        decision.x, decision.y, decision.values, levels=[0.0], colors=style.INK, linewidths=1.2
    )
    for label, mark, i in ((-1.0, "o", 1), (1.0, "s", 0)):
        rows = decision.rows[decision.labels == label]
        ax.plot(
            rows[:, 0], rows[:, 1], mark, color=style.SERIES[i], markersize=2.6, markeredgewidth=0
        )
    ax.set_xlabel("first feature")
    ax.set_ylabel("second feature")


def draw_surface(
    ax: Axes, title: str, figure: Surfaces, values: Array, best: tuple[float, float] | None
) -> None:
    """Draw an error over lam and mu, with a ring where the search ended."""
    from matplotlib.colors import BoundaryNorm

    ax.set_title(title)
    levels = find_levels(values)
    if not levels:
        style.say_no_data(ax)
        return
    norm = BoundaryNorm(levels, COLOURS)
    drawn = ax.contourf(figure.mus, figure.lams, values, levels, cmap="cividis", norm=norm)
    ax.figure.colorbar(drawn, ax=ax, format="%.3g")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("mu")
    ax.set_ylabel(style.SYMBOLS["lam"])
    for axis, grid in ((ax.xaxis, figure.mus), (ax.yaxis, figure.lams)):
        shown, names = spread(len(grid), 4), label_values(grid)
        axis.set_ticks([grid[i] for i in shown], [names[i] for i in shown])
        axis.set_ticks([], minor=True)
    if best:
        ring: Any = {
            "markerfacecolor": "none",
            "markeredgecolor": "#d62728",
            "markeredgewidth": 1.8,
        }
        ax.plot([best[1]], [best[0]], "o", markersize=9, **ring)
        ax.set_xlim(min(figure.mus), max(figure.mus))
        ax.set_ylim(min(figure.lams), max(figure.lams))
