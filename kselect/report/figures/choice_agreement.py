"""How often methods choose the same kernel and lam as a reference method, and how far apart their scores are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kselect.core.table import Column, Group, Table
from kselect.report.elements import Details, File, Heading, Passage
from kselect.report.figures.base import FigureBase, FigureReader, good_records
from kselect.report.words import mark_label
from kselect.report.writers import table_files
from kselect.stats.study import Study

if TYPE_CHECKING:
    import pandas as pd

SPLIT = ["split", "setting"]
CHOICE = ["kernel", "chosen", "lam"]


def percent(share: float) -> str:
    """Return a proportion with three digits."""
    return f"{100 * share:.3g} %"


def signed(value: float) -> str:
    """Return a difference with its sign; 0 and -0 up to rounding are ``+0``."""
    return f"{round(value, 12) + 0.0:+.3g}"


COUNTS = (
    Column("method", align="left"),
    Column(csv="method"),
    Column("splits", "runs"),
    Column("same choice", "same"),
    Column("same kernel", "same_kernel"),
    Column("scores apart", "score_distance", percent),
    Column("at most", "score_distance_largest", percent),
)
COLUMNS = (
    Column("data set", "dataset", align="left"),
    *COUNTS,
    Column("test error", "error_difference", signed),
)


@dataclass(frozen=True)
class ChoiceAgreement(FigureBase, kind="likeness"):
    """``{kind: likeness, of: [5-FBIF, 5-Newton], against: 5-CV}``."""

    LISTED: ClassVar[str] = "of"
    REQUIRED: ClassVar[str] = "against"

    of: tuple[str, ...]
    against: str

    @classmethod
    def parse(cls, name: str, config: FigureReader) -> Self:
        """Read methods of the table."""
        config.check_keys("of", "against")
        return cls(name, config.labels("of"), config.label("against"))

    def show(self, study: Study) -> Iterator[File | Passage]:
        """Yield a table of the totals, and one of every data set behind a line."""
        found = study.once(compare_choices, self)
        each, every = ([one.row(study) for one in some] for some in (found, totals(found)))
        caption = (
            f"Compared with {self.against}, over the splits that both have: in how many the same kernel and lam "
            "are chosen, in how many the same kernel; the distance between the two lowest scores relative to that "
            f"of {self.against}, the median and the largest; the mean difference of the test errors, in % or as "
            "mean squared error."
        )
        table = Table(self.name, COLUMNS, (Group((*every, *each)),), (caption,))
        yield from table_files(
            table, of=study.experiment.name, tidy=Table(self.name, COLUMNS, (Group(tuple(each)),))
        )
        overview = Table(self.name, COUNTS, (Group(tuple(row[1:-1] for row in every)),))
        yield Passage(
            "tables",
            (
                Heading(f"The same choice as {self.against}?"),
                overview,
                Details("By data set", (table,)),
            ),
        )


# Numbers


@dataclass(frozen=True)
class AgreementCount:
    """One method on one data set, over the splits (and values of a fixed lam) that both methods have.

    Attributes
    ----------
    same, same_kernel
        The number of equal choices and of equal kernels among ``runs``.
    apart, largest
        Median and maximum of ``|s - e| / e``, where s and e are the lowest scores of both.
    error
        The mean difference of the test errors in the data set's unit, negative if the method is better.
    """

    dataset: str
    method: str
    runs: int
    same: int
    same_kernel: int
    apart: float
    largest: float
    error: float

    def row(self, study: Study) -> tuple[str | float | None, ...]:
        """Return the row of the table."""
        counts = (self.same, self.same_kernel) if self.runs else (None, None)
        label = mark_label(self.method, study.reconstructed)
        return (
            *(self.dataset, label, self.method, self.runs, *counts),
            *(self.apart, self.largest, self.error),
        )


def compare_choices(study: Study, figure: ChoiceAgreement) -> tuple[AgreementCount, ...]:
    """Compare each method on each data set; skip a data set if no split is shared."""
    good = study.once(good_records)

    def compare(dataset: str, label: str) -> AgreementCount:
        mine, other = (
            good[(good["dataset"] == dataset) & (good["method"] == column)]
            for column in (label, figure.against)
        )
        both = mine.merge(other, on=SPLIT, suffixes=("", "_other"))
        return count_agreement(dataset, label, both)

    names = study.experiment.datasets
    found = (compare(dataset, label) for dataset in names for label in figure.of)
    return tuple(one for one in found if one.runs)


def count_agreement(dataset: str, label: str, both: pd.DataFrame) -> AgreementCount:
    """Count equal choices in records that are matched by split and setting."""
    kernel, chosen, lam = (both[name] == both[f"{name}_other"] for name in CHOICE)
    scores = zip(both["score"].tolist(), both["score_other"].tolist(), strict=True)
    apart = [abs(s - e) / abs(e) for s, e in scores if e]
    factor = 100.0 if len(both) and (both["metric"] == "zero-one").all() else 1.0
    difference = (factor * (both["error"] - both["error_other"])).tolist()
    return AgreementCount(
        dataset,
        label,
        len(both),
        int((kernel & chosen & lam).sum()),
        int((kernel & chosen).sum()),
        statistics.median(apart) if apart else math.nan,
        max(apart, default=math.nan),
        math.fsum(difference) / len(difference) if difference else math.nan,
    )


def totals(found: Sequence[AgreementCount]) -> list[AgreementCount]:
    """Add up each method over all data sets: the sum of counts, the median of medians, no mean of errors."""
    every = []
    for label in dict.fromkeys(one.method for one in found):
        mine = [one for one in found if one.method == label]
        apart = [one.apart for one in mine if not math.isnan(one.apart)]
        largest = [one.largest for one in mine if not math.isnan(one.largest)]
        every.append(
            AgreementCount(
                "all",
                label,
                sum(one.runs for one in mine),
                sum(one.same for one in mine),
                sum(one.same_kernel for one in mine),
                statistics.median(apart) if apart else math.nan,
                max(largest, default=math.nan),
                math.nan,
            )
        )
    return every
