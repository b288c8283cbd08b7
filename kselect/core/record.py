"""One row of the results: what a method chose on a split, and the test error of that choice."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Literal

from kselect.core.experiment import Experiment
from kselect.core.grid_point import BestPoint, GridPoint, SearchFailure
from kselect.core.method import Method, Setting
from kselect.datasets.registry import Task

RecordKey = tuple[str, str, str, str]
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
    def key(self) -> RecordKey:
        """Where it belongs within its job."""
        return (self.part, self.method, self.params, self.setting)


COLUMNS = tuple(f.name for f in fields(Record))


def record_key(method: Method, setting: Setting) -> RecordKey:
    """The cell that a method fills under a setting."""
    return (method.part, method.label, method.text, setting.text)


def record_keys(experiment: Experiment, method: Method) -> tuple[RecordKey, ...]:
    """The cells of a job that a method fills."""
    return tuple(record_key(method, s) for s in experiment.settings_of(method))


def significant(value: float) -> float:
    """The number rounded to the digits that records keep."""
    return float(f"{value:.{DIGITS}g}")


@dataclass(frozen=True)
class RecordBuilder:
    """What the records of a job share: the split, how errors are counted, and on how many rows."""

    dataset: str
    split: int
    metric: Metric
    n_train: int
    n_test: int

    def record(
        self, method: Method, setting: Setting, found: BestPoint, error: float | None
    ) -> Record:
        """A record of a place that was found."""
        point = found.point
        return self._record(
            method,
            setting,
            kernel=point.kernel.name,
            chosen=point.kernel.text,
            lam=significant(point.lam),
            score=significant(found.score),
            error=None if error is None else significant(error),
            excluded=len(found.excluded),
            status="ok",
            reason="",
            tuned=";".join(f"{k}={v:g}" for k, v in point.tuned),
            exclusions=describe_exclusions(found),
            state=found.state,
        )

    def without_score(
        self, method: Method, setting: Setting, point: GridPoint, reason: str
    ) -> Record:
        """A record of a place that a criterion could not choose, or would not: no failure of the method."""
        nothing = self.record(method, setting, BestPoint(point, 0.0, ()), None)
        return replace(nothing, score=None, reason=reason)

    def failure(self, method: Method, setting: Setting, failure: SearchFailure) -> Record:
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


def describe_exclusions(found: BestPoint) -> str:
    """``12: no factor (degree=9;lam=0.1, ...)``: each reason with its count and the first that it names."""
    by_reason: dict[str, list[str]] = {}
    for point, reason in found.excluded:
        by_reason.setdefault(reason, []).append(point.text)
    return "; ".join(
        f"{len(names)}: {reason} ({', '.join(names[:MOST_NAMES])}{', ...' * (len(names) > MOST_NAMES)})"
        for reason, names in by_reason.items()
    )


def count_exclusions(described: str) -> dict[str, int]:
    """How many candidates each reason took out, read back from such a description."""
    return {reason: int(count) for count, reason in DESCRIBED.findall(described)}
