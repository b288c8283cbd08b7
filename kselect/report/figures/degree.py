"""Kernel stability over the degree of a polynomial kernel, which tcyb2018 argues to grow (remark 8)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Self

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.core.table import Column, Group, Table, Values
from kselect.grids import show_number
from kselect.kernels.polynomial import Polynomial
from kselect.report import style
from kselect.report.elements import Details, File, Passage
from kselect.report.figures.base import FigureBase, FigureReader
from kselect.report.writers import table_files
from kselect.stats.samples import select
from kselect.stats.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

BETA = "beta"
# Data set -> degree -> mean beta over splits.
Betas = dict[str, dict[float, float]]


@dataclass(frozen=True)
class Degree(FigureBase, kind="degree"):
    """``{kind: degree, degree: 1:10, datasets: [heart]}``: beta of each polynomial kernel."""

    LISTED: ClassVar[str] = ""

    degrees: tuple[float, ...]
    datasets: tuple[str, ...]

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read whole degrees."""
        config.check_keys("degree", "datasets")
        degrees = config.positive("degree", 2)
        if any(not degree.is_integer() for degree in degrees):
            config.wrong(("degree",), "must be whole numbers")
            degrees = ()
        if not config.context.lam.values:
            config.wrong((), "needs a grid of lam, at whose first value it is computed")
        return cls(name, degrees, config.datasets())

    def methods(self, context: FigureContext) -> Iterable[Method]:
        """Return beta of each degree; no ridge changes it."""
        probe = Method(BETA, BETA, None, (("share", 1.0),), part=self.name, datasets=self.datasets)
        probe = replace(probe, lam=context.lam.values[0] if context.lam.mode == "fixed" else None)
        for degree in self.degrees if self.datasets else ():
            yield replace(probe, fixed=Polynomial(degree))

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield the curves and their numbers."""
        found = mean_betas(study, self)
        rows: tuple[Values, ...] = tuple(
            (dataset, *(betas.get(degree) for degree in self.degrees), grows(betas))
            for dataset, betas in found.items()
        )
        columns = (
            Column("data set", "dataset", align="left"),
            *(Column(show_number(d), f"degree_{show_number(d)}", ".3g") for d in self.degrees),
            Column("grows throughout", "grows"),
        )
        caption = "beta = max ||K - K^i|| of the kernel (1 + x.x')^d over the degree d: means over splits."
        table = Table(self.name, columns, (Group(rows),), (caption,))
        yield from table_files(table, of=study.experiment.name)
        yield from style.show_figure(
            self.name,
            lambda width: draw_degrees(found, width),
            "Kernel stability over the degree, one curve per data set",
            f"{caption} Remark 8 of tcyb2018 expects it to grow rapidly, so that a penalty of beta avoids large "
            "degrees.",
            sum_up(found),
        )
        yield Passage("figures", (Details("All numbers", (table,)),))


def mean_betas(study: Study, figure: Degree) -> Betas:
    """Return the mean beta of each data set and degree that has records."""
    mine = select(study.records, study.experiment, figure.name)
    mine = mine[mine["status"] == "ok"]
    made = mine["made_by"]
    degrees = [m.fixed.parameters["degree"] if m and m.fixed else math.nan for m in made]
    means = mine.assign(degree=degrees).groupby(["dataset", "degree"])["score"].mean()
    return {
        dataset: {d: float(means[dataset, d]) for d in figure.degrees if (dataset, d) in means}
        for dataset in figure.datasets
    }


def grows(betas: dict[float, float]) -> str | None:
    """Return whether beta grows from each degree to the next; None without two degrees."""
    values = list(betas.values())
    steps = [a < b for a, b in pairwise(values)]
    return None if not steps else "yes" if all(steps) else "no"


def sum_up(found: Betas) -> str:
    """Return the title: on how many data sets beta grows with every degree."""
    known = [answer for betas in found.values() if (answer := grows(betas))]
    if not known:
        return ""
    return f"beta grows with every degree on {known.count('yes')} of {len(known)} data sets"


def draw_degrees(found: Betas, width: float) -> Canvas:
    """Draw one curve per data set on a log axis."""
    canvas, (ax,) = style.lay_out(1, width, width, 3.4)
    looks = [style.look(i) | {"marker": style.look(i // 3)["marker"]} for i, _ in enumerate(found)]
    for look, betas in zip(looks, found.values(), strict=True):
        ax.plot(list(betas), list(betas.values()), linewidth=1.0, markersize=3, **look)
    if any(found.values()):
        ax.set_yscale("log")
        style.tidy_up(ax)
    else:
        style.say_no_data(ax)
    style.label_canvas(canvas, "degree", "beta", looks, list(found), int(width / 1.35))
    return canvas
