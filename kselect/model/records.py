"""One row of the results: what a method chose on a split, and the test error of that choice."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Literal

from kselect.datasets.registry import Task
from kselect.model.experiment import Experiment
from kselect.model.method import Method, Setting
from kselect.model.place import Failure, Found, Place

Cell = tuple[str, str, str, str]
Metric = Literal["zero-one", "mse"]
METRICS: dict[Task, Metric] = {"classification": "zero-one", "regression": "mse"}
DIGITS = 12
MOST_NAMES = 3


@dataclass(frozen=True)
class Record:
    """A tidy record; ``error`` is a proportion for the metric zero-one, a mean square for mse.

    ``excluded`` counts the candidates that could not be chosen, and ``exclusions`` names the reasons. A probe's
    value stands under ``score``, and it has no error. ``state`` is how a continuous search ended. Numbers
    have twelve significant digits: more would be rounding that differs between machines.
    """

    dataset: str
    split: int
    part: str
    method: str
    criterion: str
    params: str
    loss: str
    setting: str
    kernel: str
    chosen: str
    lam: float | None
    score: float | None
    error: float | None
    excluded: int
    metric: Metric
    n_train: int
    n_test: int
    status: Literal["ok", "failed"]
    reason: str
    tuned: str = ""
    exclusions: str = ""
    state: str = ""

    @property
    def cell(self) -> Cell:
        """Where it belongs within its job."""
        return (self.part, self.method, self.params, self.setting)


COLUMNS = tuple(f.name for f in fields(Record))


def cell_of(method: Method, setting: Setting) -> Cell:
    """The cell that a method fills under a setting."""
    return (method.part, method.label, method.text, setting.text)


def cells_of(experiment: Experiment, method: Method) -> tuple[Cell, ...]:
    """The cells of a job that a method fills."""
    return tuple(cell_of(method, s) for s in experiment.settings_of(method))


def significant(value: float) -> float:
    """The number rounded to the digits that records keep."""
    return float(f"{value:.{DIGITS}g}")


@dataclass(frozen=True)
class Row:
    """What the records of a job share: the split, how errors are counted, and on how many rows."""

    dataset: str
    split: int
    metric: Metric
    n_train: int
    n_test: int

    def record(self, method: Method, setting: Setting, found: Found, error: float | None) -> Record:
        """A record of a place that was found."""
        place = found.place
        return self._record(
            method,
            setting,
            kernel=place.kernel.name,
            chosen=place.kernel.text,
            lam=significant(place.lam),
            score=significant(found.score),
            error=None if error is None else significant(error),
            excluded=len(found.excluded),
            status="ok",
            reason="",
            tuned=";".join(f"{k}={v:g}" for k, v in place.tuned),
            exclusions=describe_exclusions(found),
            state=found.state,
        )

    def without_score(self, method: Method, setting: Setting, place: Place, reason: str) -> Record:
        """A record of a place that a criterion could not choose, or would not: no failure of the method."""
        nothing = self.record(method, setting, Found(place, 0.0, ()), None)
        return replace(nothing, score=None, reason=reason)

    def failure(self, method: Method, setting: Setting, failure: Failure) -> Record:
        """A record of a method that found nothing."""
        nothing = dict.fromkeys(("lam", "score", "error"))
        return self._record(
            method,
            setting,
            kernel="",
            chosen="",
            **nothing,
            excluded=0,
            status="failed",
            reason=failure.reason,
        )

    def _record(self, method: Method, setting: Setting, **more: object) -> Record:
        return Record(
            dataset=self.dataset,
            split=self.split,
            part=method.part,
            method=method.label,
            criterion=method.criterion,
            params=method.text,
            loss=method.loss,
            setting=setting.text,
            metric=self.metric,
            n_train=self.n_train,
            n_test=self.n_test,
            **more,  # type: ignore[arg-type]
        )


# One reason with its count; the names in brackets hold none themselves.
DESCRIBED = re.compile(r"(\d+): (.*?) \([^()]*\)(?:; |$)")


def describe_exclusions(found: Found) -> str:
    """``12: no factor (degree=9;lam=0.1, ...)``: each reason with its count and the first that it names."""
    by_reason: dict[str, list[str]] = {}
    for place, reason in found.excluded:
        by_reason.setdefault(reason, []).append(place.text)
    return "; ".join(
        f"{len(names)}: {reason} ({', '.join(names[:MOST_NAMES])}{', ...' * (len(names) > MOST_NAMES)})"
        for reason, names in by_reason.items()
    )


def count_exclusions(described: str) -> dict[str, int]:
    """How many candidates each reason took out, read back from such a description."""
    return {reason: int(count) for count, reason in DESCRIBED.findall(described)}
