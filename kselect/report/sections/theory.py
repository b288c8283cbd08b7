"""The theory of kernel stability, measured: the variance of k-CV against beta, and beta's growth with n."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil, isnan
from typing import TYPE_CHECKING, Any

from kselect.errors import ConfigError
from kselect.grids import parse_grid
from kselect.kernels.gaussian import Gaussian
from kselect.model.experiment import Columns
from kselect.model.method import Method
from kselect.report.blocks import Block, File, Grid, Shown, Text
from kselect.report.formats import tidy
from kselect.report.panels import colour, columns_in, lay_out, say_no_data, show_figure, tidy_up
from kselect.report.sections.base import Wrong, figure, read_datasets, read_list
from kselect.report.sections.sweep import read_lam
from kselect.stats.study import Study
from kselect.stats.theory import BETA, SHARE, UNIFORM, Panel, Theory, study_theory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

KEYS = ("criterion", "tau", "lam", "shares", "datasets", "uniform", "uniform-tau")
HEAD = ("dataset", "n_train", "tau", "share", "beta", "variance", "uniform_stability", "runs")
# Widths that the table shows, of those that are there: the narrowest, in the middle, the widest.
SHOWN = (0.0, 0.5, 1.0)


@figure("theory")
class TheoryFigure:
    """``{kind: theory, criterion: 5-CV, tau: 2^-15:2^15, shares: [0.25, 0.5, 1], lam: 1}``."""

    def read(self, name: str, written: Mapping[str, Any], columns: Columns, wrong: Wrong) -> Theory:
        """The criterion is a column with folds; ``uniform`` names data sets for uniform stability."""
        for key in written:
            if key not in KEYS:
                wrong((key,), f"unknown key; valid: {', '.join(KEYS)}")
        label = str(written.get("criterion", ""))
        if label not in columns.methods or columns.first(label).folds is None:
            wrong(("criterion",), f"{label!r} is no column with folds")
        some = "uniform" in written
        uniform = read_list("uniform", written, wrong) if some else []
        return Theory(
            name,
            label,
            read_values("tau", written, wrong),
            read_lam(written, columns, wrong),
            read_values("shares", written, wrong),
            read_datasets(written, columns, wrong),
            tuple(d for d in uniform if d in columns.datasets),
            read_values("uniform-tau", written, wrong) if some else (),
        )

    def methods(self, figure: Theory, columns: Columns) -> Iterable[Method]:
        """At each width the column's score, beta on each share of the rows, and uniform stability."""
        base = columns.first(figure.criterion)
        for tau in figure.taus if figure.datasets else ():
            at = replace(
                base,
                part=figure.name,
                lam=figure.lam,
                fixed=Gaussian(tau),
                datasets=figure.datasets,
            )
            yield at
            for share in figure.shares:
                yield replace(at, label=BETA, criterion=BETA, folds=None, params=((SHARE, share),))
            if tau in figure.uniform_taus and figure.uniform:
                yield replace(
                    at,
                    label=UNIFORM,
                    criterion=UNIFORM,
                    folds=None,
                    params=(("loss", "hinge"),),
                    datasets=figure.uniform,
                )

    def keep(self, figure: Theory, labels: frozenset[str]) -> Theory | None:
        """Nothing without its column."""
        return figure if figure.criterion in labels else None

    def show(self, figure: Theory, study: Study) -> Shown:
        """The figure, and the table of beta's growth."""
        panels = study.once(study_theory, figure)
        shown = show_figure(
            figure.name,
            lambda width: draw(panels, width),
            "Variance of cross-validation against kernel stability, one panel per data set",
            f"Each point is a Gaussian width at n lam = {figure.lam:g}: the variance of the {figure.criterion} "
            "score over splits against beta = max ||K - K^i||, the mean over splits; the line goes from the "
            "narrowest width to the widest. Theorems 5 and 6 bound that variance by a term that grows with beta; "
            "rho is Spearman's correlation along the widths.",
        )
        table = Block("figures", (Text(explain(figure)), Grid(*grow(panels, figure))))
        uniform = Block("figures", tuple(show_uniform(panels, figure)))
        files = [*shown.files, File(f"tables/{figure.name}.csv", to_csv(panels, figure))]
        return Shown(files, [*shown.blocks, table, uniform])


def read_values(key: str, written: Mapping[str, Any], wrong: Wrong) -> tuple[float, ...]:
    """A grid of positive numbers."""
    try:
        found = parse_grid(written.get(key, ""))
        if min(found) <= 0:
            raise ConfigError("must be positive")
    except ConfigError as error:
        wrong((key,), str(error))
        return ()
    return found


def draw(panels: Sequence[Panel], width: float) -> Canvas:
    """Panels with logarithmic axes."""
    columns = columns_in(width, len(panels), 2.3)
    rows = ceil(len(panels) / columns) or 1
    canvas, axes = lay_out(len(panels), columns, width, 2.1 * rows + 0.5)
    for panel, ax in zip(panels, axes, strict=True):
        draw_panel(ax, panel)
    canvas.supxlabel("beta", fontsize=10)
    canvas.supylabel("variance over splits", fontsize=10)
    return canvas


def draw_panel(ax: Axes, panel: Panel) -> None:
    """The widths of one data set, from the narrowest on."""
    rho = "" if isnan(panel.correlation) else f"  rho = {panel.correlation:.2f}"
    ax.set_title(panel.dataset + rho, fontsize=9)
    points = [(w.betas[-1], w.variance) for w in panel.widths if w.variance > 0]
    if not points:
        say_no_data(ax)
        return
    ax.plot(*zip(*points, strict=True), color=colour(0), marker="o", markersize=2.8, linewidth=0.8)
    ax.set_xscale("log")
    ax.set_yscale("log")
    tidy_up(ax)


def explain(figure: Theory) -> str:
    """What the table says, and what the theory expects."""
    smallest = f"{100 * figure.shares[0]:g} %" if figure.shares else ""
    return (
        f"How beta grows with n: beta, and the exponent of n in it between {smallest} of the training rows and all "
        "of them, at the narrowest, a middle and the widest Gaussian. Where K = I, beta = 1 whatever n is "
        "(exponent 0); where all entries are 1, it is nearly sqrt(n) (1/2), and beta/n falls as 1/sqrt(n)."
    )


def grow(
    panels: Sequence[Panel], figure: Theory
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The head and the rows of that table."""
    head = ("data set", "n", "narrowest", "middle", "widest", "rho(beta, variance)", "splits")
    rows = []
    for panel in panels:
        found = panel.exponents(figure.shares) if panel.widths else ()
        cells = [show_at(panel, found, place) for place in SHOWN] if found else ["", "", ""]
        runs = str(max((w.runs for w in panel.widths), default=0))
        rho = "" if isnan(panel.correlation) else f"{panel.correlation:.2f}"
        rows.append((panel.dataset, str(panel.n_train), *cells, rho, runs))
    return head, tuple(rows)


def show_at(panel: Panel, exponents: Sequence[float], place: float) -> str:
    """beta and its exponent at one of the widths."""
    i = round(place * (len(exponents) - 1))
    return f"{panel.widths[i].betas[-1]:.3g} ({exponents[i]:.2f})"


def show_uniform(panels: Sequence[Panel], figure: Theory) -> Iterable[Text | Grid]:
    """Uniform stability against beta, where it was estimated."""
    rows = tuple(
        (
            p.dataset,
            f"{w.tau:g}",
            f"{w.betas[-1]:.3g}",
            f"{w.uniform:.3g}",
            f"{bound(p, figure):.3g}",
        )
        for p in panels
        for w in p.widths
        if not isnan(w.uniform)
    )
    if rows:
        yield Text(
            "Uniform stability (Remark 1), estimated by training without each row in turn: the largest change of "
            "the hinge loss at a training row, the mean over splits. The bound is that of Bousquet and Elisseeff "
            "(2002) for a learner without bias, kappa^2 / (2 n lam): the paper's own constants are not at hand."
        )
        yield Grid(("data set", "tau", "beta", "uniform stability", "bound"), rows)


def bound(panel: Panel, figure: Theory) -> float:
    """``kappa^2 / (2 n lam)``; a Gaussian has kappa = 1, and the config's lam is n lam."""
    return 1.0 / (2.0 * figure.lam)


def to_csv(panels: Sequence[Panel], figure: Theory) -> str:
    """Every number of the figure and its tables."""
    lines = (
        [
            *(p.dataset, p.n_train, tidy.number(w.tau), tidy.number(share), tidy.number(beta)),
            *(tidy.number(w.variance), tidy.number(w.uniform), w.runs),
        ]
        for p in panels
        for w in p.widths
        for share, beta in zip(figure.shares, w.betas, strict=True)
    )
    return tidy.write_lines(HEAD, lines)
