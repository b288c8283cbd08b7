"""The theory of kernel stability, measured: the variance of k-CV against beta, and beta's growth with n."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kselect.core.experiment import FigureContext
from kselect.core.method import Choice, Method, Setting
from kselect.core.table import Column, Group, Table, Values
from kselect.criteria import PROBES
from kselect.grids import show_power
from kselect.kernels.gaussian import Gaussian
from kselect.learners import LEARNERS
from kselect.report import style
from kselect.report.elements import File, Passage
from kselect.report.figures.base import FigureBase, FigureReader
from kselect.report.ticks import scale_axis
from kselect.report.words import title_setting
from kselect.report.writers import write_csv
from kselect.stats.samples import select
from kselect.stats.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Canvas

KEYS = ("criterion", "tau", "lam", "shares", "datasets", "uniform", "uniform-tau")
# The two probes, and the parameter of the first.
BETA, UNIFORM, SHARE = "beta", "uniform-stability", "share"
# The label of the second probe for a learner without its bias.
UNBIASED = "uniform-stability without bias"
# The slope of this loss is at most 1, as the theorem of Bousquet and Elisseeff requires.
LOSS = "hinge"
# Inches of a panel.
PANEL, HEIGHT = 1.6, 1.7
GROWTH = (
    Column("data set", align="left"),
    *(Column(name) for name in ("n", "narrowest", "middle", "widest")),
    Column("rho(beta, variance)", format=".2f"),
    Column("splits"),
)
NUMBERS = (
    Column("data set", "dataset", align="left"),
    Column(csv="n_train"),
    Column("tau", "tau", show_power),
    Column(csv="share"),
    Column("beta", "beta", ".3g"),
    Column(csv="variance"),
    Column(csv="rho"),
    Column("uniform stability", "uniform_stability", ".3g"),
    Column("without bias", "uniform_stability_without_bias", ".3g"),
    Column("bound", "bound", ".3g"),
    Column("bound by beta", "bound_by_beta", ".3g"),
    Column(csv="runs"),
)


@dataclass(frozen=True)
class Theory(FigureBase, kind="theory"):
    """``{kind: theory, criterion: 5-CV, tau: 2^-15:2^15, shares: [0.25, 0.5, 1], lam: 1}``.

    ``shares`` of the training rows show how beta grows. Uniform stability is estimated on the data sets ``uniform``
    for the widths ``uniform_taus``.
    """

    LISTED: ClassVar[str] = ""
    REQUIRED: ClassVar[str] = "criterion"

    criterion: str
    taus: tuple[float, ...]
    lam: float
    shares: tuple[float, ...]
    datasets: tuple[str, ...]
    uniform: tuple[str, ...] = ()
    uniform_taus: tuple[float, ...] = ()

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read a figure whose criterion is a method with folds.

        The learners of uniform stability must have fits without single rows.
        """
        config.check_keys(*KEYS)
        context, written = config.context, config.written
        label = str(written.get("criterion", ""))
        if label not in context.methods or context.methods[label].folds is None:
            config.wrong(("criterion",), f"{label!r} is not a method with folds")
        uniform = config.datasets("uniform") if "uniform" in written else ()
        for dataset in (d for d in uniform if d in context.learners):
            learner = LEARNERS.find(context.learners[dataset].name)
            problems = [*PROBES[UNIFORM].misfits(UNIFORM, learner, ())]
            if learner.loss != LOSS:
                problems = [f"the bound is that of the {LOSS} loss; see the kind square-stability"]
            for words in problems:
                place = written["uniform"].index(dataset)
                config.wrong(("uniform", place), f"{dataset}: {words}")
        return cls(
            name,
            label,
            config.positive("tau"),
            config.lam(),
            config.positive("shares"),
            config.datasets(),
            uniform,
            config.positive("uniform-tau") if "uniform" in written else (),
        )

    def methods(self, context: FigureContext) -> Iterable[Method]:
        """Return per width the criterion's score, beta on each share of the rows, and uniform stability.

        Uniform stability is estimated for the learner as it is, and without its bias: the theorems have none.
        """
        base = context.methods[self.criterion]
        for tau in self.taus if self.datasets else ():
            kernel = Gaussian(tau)
            at = replace(base, part=self.name, lam=self.lam, fixed=kernel, datasets=self.datasets)
            yield at
            probe = replace(at, label=BETA, criterion=BETA, folds=None)
            yield from (replace(probe, params=((SHARE, share),)) for share in self.shares)
            if tau not in self.uniform_taus or not self.uniform:
                continue
            probe = replace(probe, label=UNIFORM, criterion=UNIFORM, datasets=self.uniform)
            probe = replace(probe, params=(("loss", LOSS),))
            yield probe
            for learner in dict.fromkeys(context.learners[name] for name in self.uniform):
                if dict(learner.params).get("bias") is True:
                    params = tuple(sorted((dict(learner.params) | {"bias": False}).items()))
                    without = (("classification", Choice(learner.name, params)),)
                    yield replace(probe, label=UNBIASED, scored_by=without)

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield the figure, and the tables of beta's growth and of uniform stability."""
        found = study.once(study_theory, self)
        lam = title_setting(Setting(value=self.lam, unit=study.experiment.lam.unit))
        yield from style.show_figure(
            self.name,
            lambda width: draw_theory(found, width),
            "Variance of cross-validation against kernel stability, one panel per data set",
            describe(self, found, lam),
            sum_up(self, found),
        )
        rows = tuple(row for one in found for row in one.rows(self.shares))
        yield File(f"tables/{self.name}.csv", write_csv(Table(self.name, NUMBERS, (Group(rows),))))
        yield Passage("figures", (growth_table(self, found), *uniform_tables(self, found)))


# Numbers


@dataclass(frozen=True)
class StabilityAtWidth:
    """Statistics over splits at one Gaussian width.

    Attributes
    ----------
    betas
        The mean beta on each share of the training rows.
    variance
        The variance of the score.
    uniform, unbiased
        The mean estimate of uniform stability, with the learner's bias and without; NaN if it was not requested.
    """

    tau: float
    betas: tuple[float, ...]
    variance: float
    uniform: float
    unbiased: float
    runs: int


@dataclass(frozen=True)
class DataSetStability:
    """One data set: its widths, its training rows, n lam, and Spearman's correlation of beta and variance."""

    dataset: str
    widths: tuple[StabilityAtWidth, ...]
    n_train: int
    n_lam: float
    correlation: float

    def bound(self, scale: float = 1.0) -> float:
        """Return ``scale / (2 n lam)``, a bound on uniform stability without a bias, for a loss of slope 1.

        In Bousquet and Elisseeff (2002), ``scale = max K_ii``, which is 1 for a Gaussian. beta is at least that, so
        that it can replace it.
        """
        return scale / (2.0 * self.n_lam)

    def exponents(self, shares: tuple[float, ...]) -> tuple[float, ...]:
        """Return per width the slope of log beta over log n between the first and the last share.

        It is 0 for K = I and 1/2 if all entries of K are 1.
        """
        span = math.log(shares[-1] / shares[0])
        return tuple(math.log(w.betas[-1] / w.betas[0]) / span for w in self.widths)

    def rows(self, shares: tuple[float, ...]) -> Iterator[Values]:
        """Yield the rows of the table: one per width and share."""
        for w in self.widths:
            for share, beta in zip(shares, w.betas, strict=True):
                yield (
                    *(self.dataset, self.n_train, w.tau, share, beta, w.variance),
                    *(self.correlation, w.uniform, w.unbiased),
                    *(self.bound(), self.bound(w.betas[-1]), w.runs),
                )


def study_theory(study: Study, figure: Theory) -> tuple[DataSetStability, ...]:
    """Compute the numbers of each data set that the figure names, even without records."""
    mine = select(study.records, study.experiment, figure.name)
    mine = mine[mine["status"] == "ok"]
    made = mine["made_by"]
    rows = mine.assign(
        tau=[m.fixed.parameters["tau"] if m and m.fixed else math.nan for m in made],
        share=[float(dict(m.params).get(SHARE, math.nan)) if m else math.nan for m in made],
    )
    found = []
    for dataset in figure.datasets:
        here = rows[rows["dataset"] == dataset]
        every = (study_width(here[here["tau"] == tau], tau, figure) for tau in figure.taus)
        widths = tuple(w for w in every if w is not None)
        n_train = int(here["n_train"].iloc[0]) if len(here) else 0
        correlation = spearman([w.betas[-1] for w in widths], [w.variance for w in widths])
        lam = study.experiment.lam
        n_lam = 1.0 / (2.0 * figure.lam) if lam.unit == "C" else figure.lam
        n_lam *= n_train if lam.unit == "lam" else 1
        found.append(DataSetStability(dataset, widths, n_train, n_lam, correlation))
    return tuple(found)


def study_width(rows: pd.DataFrame, tau: float, figure: Theory) -> StabilityAtWidth | None:
    """Compute the means and the variance at one width; None below two splits, which have no variance."""
    probes = rows["criterion"].isin([BETA, UNIFORM])
    scores = rows[~probes]["score"]
    betas = rows[rows["criterion"] == BETA]
    means = [betas[betas["share"] == s]["score"].mean() for s in figure.shares]
    if len(scores) < 2 or any(math.isnan(m) for m in means):
        return None
    unbiased = rows[rows["method"] == UNBIASED]["score"]
    uniform = rows[(rows["criterion"] == UNIFORM) & (rows["method"] != UNBIASED)]["score"]
    return StabilityAtWidth(
        tau,
        tuple(map(float, means)),
        float(scores.var(ddof=1)),
        float(uniform.mean()) if len(uniform) else math.nan,
        float(unbiased.mean()) if len(unbiased) else math.nan,
        len(scores),
    )


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the correlation of ranks; NaN below three pairs, or if all values of one side are equal."""
    from scipy.stats import spearmanr

    if len(xs) < 3 or len(set(xs)) < 2 or len(set(ys)) < 2:
        return math.nan
    return float(spearmanr(xs, ys).statistic)


# Words


def sum_up(figure: Theory, found: Iterable[DataSetStability]) -> str:
    """Return the title: on how many data sets the variance rises with beta."""
    known = [one.correlation for one in found if not math.isnan(one.correlation)]
    if not known:
        return ""
    return (
        f"The variance of {figure.criterion} over splits rises with beta on {sum(rho > 0 for rho in known)} of "
        f"{len(known)} data sets (Spearman's rho > 0)"
    )


def describe(figure: Theory, found: Iterable[DataSetStability], lam: str) -> str:
    """Return the caption, with what the theory predicts and how many data sets agree."""
    known = [one.correlation for one in found if not math.isnan(one.correlation)]
    return (
        f"Each point is a Gaussian width at {lam}: the variance of the {figure.criterion} score over splits "
        "against beta = max ||K - K^i||, the mean over splits. The line goes from the narrowest width (hollow) to "
        "the widest. Theorems 5 and 6 bound that variance by a term that grows with beta. rho is Spearman's "
        f"correlation over the widths; it is positive on {sum(rho > 0 for rho in known)} of {len(known)} data sets."
    )


def growth_table(figure: Theory, found: Iterable[DataSetStability]) -> Table:
    """Return the table of beta with its exponent of n: the narrowest, a middle and the widest Gaussian."""
    rows: list[Values] = []
    for one in found:
        if not one.widths:
            rows.append((one.dataset, *[None] * (len(GROWTH) - 1)))
            continue
        exponents = one.exponents(figure.shares)
        places = [round(share * (len(exponents) - 1)) for share in (0.0, 0.5, 1.0)]
        cells = [f"{one.widths[i].betas[-1]:.3g} ({exponents[i]:.2f})" for i in places]
        runs = max(w.runs for w in one.widths)
        rows.append((one.dataset, one.n_train, *cells, one.correlation, runs))
    smallest = f"{100 * figure.shares[0]:g} %" if figure.shares else ""
    caption = (
        f"How beta grows with n: beta, and in parentheses the exponent of n between {smallest} of the training "
        "rows and all of them, for the narrowest, a middle and the widest Gaussian. If K = I, beta = 1 for every n "
        "(exponent 0); if all entries are 1, beta is nearly sqrt(n) (exponent 1/2), and beta/n decreases as "
        "1/sqrt(n). The term that RKS and k-CVKS add, (eta/n) beta (Theorem 7), tends to zero for an exponent "
        "below 1."
    )
    return Table(f"{figure.name}-growth", GROWTH, (Group(tuple(rows)),), (caption,))


def uniform_tables(figure: Theory, found: Iterable[DataSetStability]) -> Iterator[Table]:
    """Yield the table of uniform stability with beta and the bounds, if uniform stability was estimated."""
    rows = []
    for one in found:
        widths = [w for w in one.widths if not (math.isnan(w.uniform) and math.isnan(w.unbiased))]
        # The last share is the whole training part.
        count = len(figure.shares)
        rows += list(replace(one, widths=tuple(widths)).rows(figure.shares))[count - 1 :: count]
    if rows:
        caption = (
            "Uniform stability (Remark 1), estimated by training without each row in turn: the largest change of "
            "the hinge loss at a training row, the mean over splits; for the learner as it is, and without its "
            "bias. The bound holds without a bias: kappa^2 / (2 n lam), kappa^2 = max K_ii = 1 (Bousquet and "
            "Elisseeff 2002), if n lam stays when a row leaves. A row that leaves with a ridge of its own, "
            "(n - 1) lam, can exceed it a little. As beta is at least kappa^2, beta / (2 n lam) is also a bound, "
            "but a looser one. We do not have the constants of the paper's own theorem."
        )
        yield Table(f"{figure.name}-uniform", NUMBERS, (Group(tuple(rows)),), (caption,))


# Drawing


def draw_theory(found: Sequence[DataSetStability], width: float) -> Canvas:
    """Draw one panel per data set, each with its own axes; the narrowest width is hollow."""
    canvas, axes = style.lay_out(len(found), width, PANEL, HEIGHT, 0.5)
    shade = style.SERIES[0]
    for one, ax in zip(found, axes, strict=True):
        rho = "" if math.isnan(one.correlation) else f"\nrho = {one.correlation:.2f}"
        ax.set_title(one.dataset + rho)
        points = [(w.betas[-1], w.variance) for w in one.widths if w.variance > 0]
        if not points:
            style.say_no_data(ax)
            ax.set_xticks([])
            continue
        xs, ys = zip(*points, strict=True)
        ax.plot(xs, ys, color=shade, marker="o", markersize=2.8, linewidth=0.8)
        hollow: dict[str, Any] = {"markersize": 5, "markerfacecolor": style.PAPER}
        ax.plot(xs[:1], ys[:1], color=shade, marker="o", **hollow)
        for axis, values in ((ax.xaxis, xs), (ax.yaxis, ys)):
            scale_axis(ax, axis, values)
        style.tidy_up(ax)
    style.label_canvas(canvas, "beta", "variance over splits")
    return canvas
