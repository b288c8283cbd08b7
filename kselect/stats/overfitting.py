"""A criterion's values at its best beside the test errors there, split by split."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kselect.stats.learned import learned_records
from kselect.stats.samples import FACTORS, UNITS
from kselect.stats.study import Study


@dataclass(frozen=True)
class Cloud:
    """One column on one data set: scores and errors by split, in the data set's unit."""

    method: str
    scores: tuple[float, ...]
    errors: tuple[float, ...]
    unit: str

    @property
    def mean(self) -> tuple[float, float]:
        """The mean score and the mean error; NaN without any."""
        count = len(self.errors) or math.nan
        return math.fsum(self.scores) / count, math.fsum(self.errors) / count


def clouds(study: Study, dataset: str, labels: Iterable[str]) -> list[Cloud]:
    """Every column on a data set; one without numbers is empty."""
    table = study.once(learned_records)
    here = table[table["dataset"] == dataset]
    metric = str(here["metric"].iloc[0]) if len(here) else "zero-one"
    found = []
    for label in labels:
        rows = here[(here["method"] == label) & here["score"].notna() & here["error"].notna()]
        errors = FACTORS[metric] * rows["error"].to_numpy(float)  # type: ignore[index]
        scores = rows["score"].to_numpy(float).tolist()
        found.append(Cloud(label, tuple(scores), tuple(errors.tolist()), UNITS[metric]))  # type: ignore[index]
    return found
