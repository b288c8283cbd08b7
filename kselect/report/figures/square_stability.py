"""The stability of kernel ridge regression, measured next to the bounds of tcyb2018 (theorems 1, 3, 5 and 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from kselect.core.experiment import FigureContext
from kselect.core.method import Method, Setting
from kselect.core.table import Column, Group, Table, Values
from kselect.criteria import CRITERIA, PROBES
from kselect.grids import show_power
from kselect.kernels.gaussian import Gaussian
from kselect.learners import LEARNERS
from kselect.report.elements import File, Heading, Passage
from kselect.report.figures.base import FigureBase, FigureReader
from kselect.report.words import title_setting
from kselect.report.writers import table_files
from kselect.stats.samples import select
from kselect.stats.study import Study

KEYS = ("criterion", "tau", "lam", "datasets", "title")
BETA, CHANGE, UNIFORM, BOUND = "beta", "prediction-change", "uniform-stability", "square-bound"
RISK, RISK_CRITERION = "empirical risk", "RKS"
# The parameters of each probe, by the label that its records have.
PROBED = {
    BETA: (BETA, (("share", 1.0),)),
    CHANGE: (CHANGE, ()),
    UNIFORM: (UNIFORM, (("loss", "squared"),)),
    "bound 8": (BOUND, (("theorem", "8"),)),
    "bound 1": (BOUND, (("theorem", "1"),)),
}
COLUMNS = (
    Column("data set", "dataset", align="left"),
    Column("n", "n_train"),
    Column("tau", "tau", show_power),
    Column("beta", "beta", ".3g"),
    Column("change of predictions", "prediction_change", ".2g"),
    Column("bound (theorem 8)", "bound_8", ".2g"),
    Column("uniform stability", "uniform_stability", ".2g"),
    Column("bound (theorem 1)", "bound_1", ".2g"),
    Column("variance of k-CV", "variance", ".2g"),
    Column("bound (theorem 5)", "bound_5", ".2g"),
    Column("test error minus empirical risk (theorem 3)", "gap", ".2g"),
    Column("splits", "runs"),
)


@dataclass(frozen=True)
class SquareStability(FigureBase, kind="square-stability"):
    """``{kind: square-stability, criterion: 5-CV, tau: 2^-6:2^9:3, lam: 1, datasets: [bodyfat]}``."""

    LISTED: ClassVar[str] = ""
    REQUIRED: ClassVar[str] = "criterion"

    criterion: str
    taus: tuple[float, ...]
    lam: float
    folds: int
    datasets: tuple[str, ...]
    title: str = ""

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read a figure of a method with folds, on data sets whose learner has the square loss."""
        config.check_keys(*KEYS)
        context, label = config.context, config.label("criterion")
        folds = context.methods[label].folds if label else None
        if label and folds is None:
            config.wrong(("criterion",), f"{label} is not a method with folds")
        datasets = config.datasets()
        for dataset in (d for d in datasets if d in context.learners):
            learner = LEARNERS.find(context.learners[dataset].name)
            problems = [*PROBES[UNIFORM].misfits(UNIFORM, learner, ())]
            if learner.loss != "squared":
                problems.append(f"the theorems are for the square loss, not for {learner.name}")
            for words in problems[:1]:
                config.wrong(("datasets",), f"{dataset}: {words}")
        taus, lam, title = config.positive("tau"), config.lam(), config.text("title")
        return cls(name, label, taus, lam, folds or 0, datasets, title)

    def methods(self, context: FigureContext) -> Iterable[Method]:
        """Return per width the criterion, the empirical risk, and the probes."""
        base = context.methods[self.criterion]
        for tau in self.taus if self.datasets else ():
            kernel = Gaussian(tau)
            at = replace(base, part=self.name, lam=self.lam, fixed=kernel, datasets=self.datasets)
            yield at
            plain = replace(at, folds=None, tuned=(), scored_by=())
            risk = CRITERIA[RISK_CRITERION].defaults | {"eta": 0.0, "loss": "squared"}
            yield replace(
                plain, label=RISK, criterion=RISK_CRITERION, params=tuple(sorted(risk.items()))
            )
            for label, (criterion, params) in PROBED.items():
                yield replace(plain, label=label, criterion=criterion, params=params)

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield the table."""
        lam = title_setting(Setting(value=self.lam, unit=study.experiment.lam.unit))
        table = Table(
            self.name,
            COLUMNS,
            (Group(tuple(stability_rows(study, self))),),
            (
                f"Least squares without single rows at {lam}, means over splits. The change of predictions is the "
                "largest over left-out and predicted training rows; uniform stability is the same for the squared "
                f"loss. The variance is that of {self.criterion} over splits. The last number is the mean squared "
                "test error minus that on the training rows. The bounds have the constants of the paper's "
                "appendices, with M = max |y| and kappa = max K(x, x); theorem 5's is the square of theorem 1's "
                "for the rows outside a fold.",
            ),
        )
        yield from table_files(table, of=study.experiment.name)
        yield Passage("figures", (Heading(self.title or self.name), table))


def stability_rows(study: Study, figure: SquareStability) -> Iterator[Values]:
    """Yield a row for each data set and width that has records."""
    mine = select(study.records, study.experiment, figure.name)
    mine = mine[mine["status"] == "ok"]
    made = mine["made_by"]
    rows = mine.assign(tau=[m.fixed.parameters["tau"] if m and m.fixed else -1.0 for m in made])
    for dataset in figure.datasets:
        for tau in figure.taus:
            here = rows[(rows["dataset"] == dataset) & (rows["tau"] == tau)]
            if here.empty:
                continue
            means = here.groupby("method")["score"].mean()
            scores = here[here["method"] == figure.criterion]["score"]
            n = int(here["n_train"].iloc[0])
            outside = n - n / figure.folds
            one = means.get("bound 1")
            risk = here[here["method"] == RISK]
            gap = (risk["error"] - risk["score"]).mean()
            yield (
                *(dataset, n, tau, means.get(BETA), means.get(CHANGE), means.get("bound 8")),
                *(means.get(UNIFORM), one, float(scores.var(ddof=1))),
                None if one is None else float(one * (n - 1) / (outside - 1)) ** 2,
                *(float(gap), len(scores)),
            )
