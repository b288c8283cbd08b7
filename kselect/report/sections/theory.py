"""The theory of kernel stability, measured: the variance of k-CV against beta, and beta's growth with n."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Any

from kselect.core.experiment import FigureContext
from kselect.core.method import Choice, Method
from kselect.core.table import DASH
from kselect.criteria import PROBES
from kselect.errors import ConfigError, nearest
from kselect.grids import parse_grid
from kselect.kernels.gaussian import Gaussian
from kselect.learners import find_learner
from kselect.report.blocks import Block, File, Grid, Shown, Text
from kselect.report.drawings.theory import draw_theory
from kselect.report.formats import tidy
from kselect.report.panels import show_figure
from kselect.report.sections.base import Wrong, figure, read_datasets, read_list
from kselect.report.sections.sweep import at_ridge, read_lam
from kselect.stats.study import Study
from kselect.stats.theory import (
    BETA,
    SHARE,
    UNBIASED,
    UNIFORM,
    Panel,
    Theory,
    Width,
    rising,
    study_theory,
)

KEYS = ("criterion", "tau", "lam", "shares", "datasets", "uniform", "uniform-tau")
HEAD = (
    *("dataset", "n_train", "tau", "share", "beta", "variance", "rho"),
    *("uniform_stability", "uniform_stability_without_bias", "bound", "bound_by_beta", "runs"),
)
# A loss that its slope bounds by 1, as Bousquet and Elisseeff's theorem takes it.
LOSS = "hinge"
BIAS = "bias"
# Widths that the table shows, of those that are there: the narrowest, in the middle, the widest.
SHOWN = (0.0, 0.5, 1.0)


@figure("theory")
class TheoryFigure:
    """``{kind: theory, criterion: 5-CV, tau: 2^-15:2^15, shares: [0.25, 0.5, 1], lam: 1}``."""

    def read(
        self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
    ) -> Theory:
        """The criterion is a column with folds; ``uniform`` names data sets for uniform stability."""
        for key in written:
            if key not in KEYS:
                wrong((key,), f"unknown key; valid: {', '.join(KEYS)}")
        label = str(written.get("criterion", ""))
        if label not in columns.methods or columns.first(label).folds is None:
            wrong(("criterion",), f"{label!r} is no column with folds")
        some = "uniform" in written
        uniform = read_uniform(written, columns, wrong) if some else ()
        return Theory(
            name,
            label,
            read_values("tau", written, wrong),
            read_lam(written, columns, wrong),
            read_values("shares", written, wrong),
            read_datasets(written, columns, wrong),
            uniform,
            read_values("uniform-tau", written, wrong) if some else (),
        )

    def methods(self, figure: Theory, columns: FigureContext) -> Iterable[Method]:
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
                yield from uniform_methods(at, figure, columns)

    def keep(self, figure: Theory, labels: frozenset[str]) -> Theory | None:
        """Nothing without its column."""
        return figure if figure.criterion in labels else None

    def show(self, figure: Theory, study: Study) -> Shown:
        """The figure, and the table of beta's growth."""
        panels = study.once(study_theory, figure)
        shown = show_figure(
            figure.name,
            lambda width: draw_theory(panels, width),
            "Variance of cross-validation against kernel stability, one panel per data set",
            describe(figure, panels, at_ridge(study, figure.lam)),
        )
        table = Block("figures", (Text(explain(figure)), Grid(*grow(panels, figure))))
        uniform = Block("figures", tuple(show_uniform(panels)))
        files = [*shown.files, File(f"tables/{figure.name}.csv", to_csv(panels, figure))]
        return Shown(files, [*shown.blocks, table, uniform])


def read_uniform(
    written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
) -> tuple[str, ...]:
    """The data sets of uniform stability, whose learner must have fits without single rows."""
    names = read_list("uniform", written, wrong)
    for i, name in enumerate(names):
        if name in columns.learners:
            learner = find_learner(columns.learners[name].name)
            for words in PROBES[UNIFORM].misfits(UNIFORM, learner, ()):
                wrong(("uniform", i), f"{name}: {words}")
        elif not columns.narrowed:
            wrong(
                ("uniform", i), f"{name!r} is not under datasets{nearest(name, columns.datasets)}"
            )
    return tuple(name for name in names if name in columns.datasets)


def uniform_methods(at: Method, figure: Theory, columns: FigureContext) -> Iterable[Method]:
    """The learner's own uniform stability, and that without its bias: the theorems have none."""
    probe = replace(
        at,
        label=UNIFORM,
        criterion=UNIFORM,
        folds=None,
        params=(("loss", LOSS),),
        datasets=figure.uniform,
    )
    yield probe
    for learner in dict.fromkeys(columns.learners[name] for name in figure.uniform):
        if dict(learner.params).get(BIAS) is True:
            params = tuple(sorted((dict(learner.params) | {BIAS: False}).items()))
            without = (("classification", Choice(learner.name, params)),)
            yield replace(probe, label=UNBIASED, scored_by=without)


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


def describe(figure: Theory, panels: Sequence[Panel], ridge: str) -> str:
    """What is seen, and what the theory expects."""
    found, known = rising(panels)
    return (
        f"Each point is a Gaussian width at {ridge}: the variance of the {figure.criterion} score over splits "
        "against beta = max ||K - K^i||, the mean over splits. The line goes from the narrowest width, hollow, to "
        "the widest. Theorems 5 and 6 bound that variance by a term that grows with beta. rho is Spearman's "
        f"correlation along the widths; it is positive on {found} of {known} data sets."
    )


def explain(figure: Theory) -> str:
    """What the table says, and what the theory expects."""
    smallest = f"{100 * figure.shares[0]:g} %" if figure.shares else ""
    return (
        f"How beta grows with n: beta, and the exponent of n in it between {smallest} of the training rows and all "
        "of them, at the narrowest, a middle and the widest Gaussian. Where K = I, beta = 1 whatever n is "
        "(exponent 0); where all entries are 1, it is nearly sqrt(n) (1/2), and beta/n falls as 1/sqrt(n). What "
        "RKS and k-CVKS add, (eta/n) beta (Theorem 7), tends to zero for an exponent below 1."
    )


def grow(
    panels: Sequence[Panel], figure: Theory
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The head and the rows of that table."""
    head = ("data set", "n", "narrowest", "middle", "widest", "rho(beta, variance)", "splits")
    rows = []
    for panel in panels:
        found = panel.exponents(figure.shares) if panel.widths else ()
        if not found:
            rows.append((panel.dataset, *[DASH] * (len(head) - 1)))
            continue
        cells = [show_at(panel, found, place) for place in SHOWN]
        runs = str(max(w.runs for w in panel.widths))
        rho = DASH if isnan(panel.correlation) else f"{panel.correlation:.2f}"
        rows.append((panel.dataset, str(panel.n_train), *cells, rho, runs))
    return head, tuple(rows)


def show_at(panel: Panel, exponents: Sequence[float], place: float) -> str:
    """beta and its exponent at one of the widths."""
    i = round(place * (len(exponents) - 1))
    return f"{panel.widths[i].betas[-1]:.3g} ({exponents[i]:.2f})"


def show_uniform(panels: Sequence[Panel]) -> Iterable[Text | Grid]:
    """Uniform stability against beta and the bounds, where it was estimated."""
    rows = tuple(
        uniform_row(p, w)
        for p in panels
        for w in p.widths
        if not (isnan(w.uniform) and isnan(w.unbiased))
    )
    if rows:
        yield Text(
            "Uniform stability (Remark 1), estimated by training without each row in turn: the largest change of "
            "the hinge loss at a training row, the mean over splits; of the learner as it is, and without its "
            "bias. The bound holds without a bias: kappa^2 / (2 n lam), kappa^2 = max K_ii = 1 (Bousquet and "
            "Elisseeff 2002). As beta is at least kappa^2, beta / (2 n lam) is a bound, too, and a looser one. The "
            "constants of the paper's own theorem are not at hand."
        )
        yield Grid(
            (
                *("data set", "tau", "beta", "uniform stability", "without bias"),
                *("bound", "bound by beta"),
            ),
            rows,
        )


def uniform_row(panel: Panel, width: Width) -> tuple[str, ...]:
    """One width: a dash for what was not asked for."""
    numbers = (
        *(width.betas[-1], width.uniform, width.unbiased),
        *(panel.bound(), panel.bound(width.betas[-1])),
    )
    shown = (DASH if isnan(number) else f"{number:.3g}" for number in numbers)
    return (panel.dataset, f"{width.tau:g}", *shown)


def to_csv(panels: Sequence[Panel], figure: Theory) -> str:
    """Every number of the figure and its tables."""
    lines = (
        [
            *(p.dataset, p.n_train, tidy.number(w.tau), tidy.number(share), tidy.number(beta)),
            *map(tidy.number, (w.variance, p.correlation, w.uniform, w.unbiased)),
            *(tidy.number(p.bound()), tidy.number(p.bound(w.betas[-1])), w.runs),
        ]
        for p in panels
        for w in p.widths
        for share, beta in zip(figure.shares, w.betas, strict=True)
    )
    return tidy.write_lines(HEAD, lines)
