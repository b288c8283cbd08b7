"""The lowest test error that any choice could reach: a probe that looks at the test rows.

No method may choose like that. The table shows which printed errors cannot be reached under a protocol: those
below the lowest test error of all grid points, on the mean over splits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from kselect.core.experiment import FigureContext
from kselect.core.method import Method
from kselect.core.table import Column, Group, Measure, Table, Values
from kselect.report.elements import Details, File, Heading, Passage
from kselect.report.figures.base import FigureBase, FigureReader
from kselect.report.words import describe_fewer, describe_protocol, title_setting
from kselect.report.writers import table_files
from kselect.stats.samples import read_samples, select
from kselect.stats.study import Study

LABEL, CRITERION = "best on test", "test-error"
COLUMNS = (
    Column("data set", align="left"),
    Column(csv="dataset"),
    Column("setting", align="left"),
    Column(csv="setting"),
    Column("best on test (looks at the test rows)", align="measure"),
    *(Column(csv=name) for name in ("best_on_test", "sd", "runs")),
    Column("lowest published"),
    Column(csv="published"),
    Column("its method", "method", align="left"),
    Column("standard errors above", "standard_errors", "+.1f"),
    Column("reachable", "reachable"),
)
# The place of the printed setting in a row.
SETTING = 2


@dataclass(frozen=True)
class BestOnTest(FigureBase, kind="best-on-test"):
    """``{kind: best-on-test, datasets: [heart]}``: the lowest test error of all grid points on each split."""

    LISTED: ClassVar[str] = ""

    datasets: tuple[str, ...]

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read the data sets; a config without a grid has no grid points."""
        config.check_keys("datasets")
        if not config.context.lam.values:
            config.wrong((), "needs a grid of kernels and lam")
        return cls(name, config.datasets())

    def methods(self, context: FigureContext) -> Iterable[Method]:
        """Return the probe."""
        if self.datasets:
            yield Method(
                *(LABEL, CRITERION, None, ()),
                part=self.name,
                datasets=self.datasets,
                on_test=True,
            )

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield the table."""
        experiment, rows = study.experiment, tuple(lowest_errors(study, self))
        below = [row[1] for row in rows if row[-1] == "no"]
        # A selected ridge has no title; then the column would be empty.
        titled = any(row[SETTING] for row in rows)
        columns = tuple(
            column if titled or i != SETTING else replace(column, heading="")
            for i, column in enumerate(COLUMNS)
        )
        found = f" Printed below it: {', '.join(map(str, below))}." if below else ""
        table = Table(
            self.name,
            columns,
            (Group(rows),),
            (
                "The lowest test error of all grid points, chosen on the test rows of each split: mean ± standard "
                "deviation over splits. No method may choose so; none can be lower on these splits. Next to it, "
                f"the lowest mean that the paper prints.{found} {describe_protocol(experiment, experiment.loss)}",
            ),
        )
        yield from table_files(table, of=study.experiment.name)
        yield Passage(
            "published", (Heading("Best on test"), Details("Looks at the test rows", (table,)))
        )


def lowest_errors(study: Study, figure: BestOnTest) -> Iterator[Values]:
    """Yield a row for each data set and setting: the probe, and the lowest printed mean of the paper's methods."""
    experiment = study.experiment
    units = study.comparison(experiment.loss).units
    samples = read_samples(select(study.records, experiment, figure.name), experiment)
    for dataset in figure.datasets:
        for setting in experiment.lam.settings():
            sample = samples.get((setting, dataset, LABEL))
            show = "{:.2f}".format if units.get(dataset) == "%" else "{:.4g}".format
            printed = [
                row
                for row in study.published
                if row.dataset == dataset and row.setting.text == setting.text
            ]
            lowest = min(printed, key=lambda row: row.mean, default=None)
            mean, sd, runs = (sample.mean, sample.sd, sample.runs) if sample else (math.nan,) * 3
            error = sd / math.sqrt(runs) if sample and runs else math.nan
            above = (lowest.mean - mean) / error if lowest and error > 0 else math.nan
            known = lowest is not None and not math.isnan(mean)
            few = describe_fewer([int(runs)], len(experiment.splits)) if sample and runs else ""
            yield (
                *(dataset + few, dataset, title_setting(setting), setting.text),
                *(Measure(mean, sd, digits_of(sd)), mean, sd, runs),
                *((show(lowest.mean), lowest.mean, lowest.method) if lowest else (None,) * 3),
                *(above, ("yes" if lowest.mean >= mean else "no") if known and lowest else None),
            )


def digits_of(sd: float) -> int:
    """Return the decimals that show two digits of a deviation, two at least."""
    return 2 if not sd > 0 else max(2, 1 - math.floor(math.log10(sd)))
