"""Records: one line of records.csv each, with what a method chose on a split and the test error of that choice."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from kselect.core.experiment import Experiment
from kselect.core.grid_point import BestPoint, EstimatorFit, SearchFailure
from kselect.core.method import SELECTED, Method, Setting, show
from kselect.datasets.registry import Task
from kselect.errors import quoted

RecordKey = tuple[str, str, str, str]
METRICS: dict[Task, str] = {"classification": "zero-one", "regression": "mse"}
Status = Literal["ok", "failed"]
DIGITS = 12
LARGEST_ERROR = 1e150  # deviations and t-tests need the square of an error
LARGEST_COUNT = 2**53
MOST_NAMES = 3


@dataclass(frozen=True)
class Record:
    """One line of records.csv.

    ``error`` is the share of wrong labels (metric zero-one), the mean squared error (mse), or the error of a scorer
    that the metric names, such as ``1 - roc_auc``. The value of a probe
    stands in ``score``, and it has no error. ``excluded`` counts the candidates that could not be chosen, and
    ``exclusions`` names the reasons. ``state`` says how a continuous search ended, or what an estimator warned of.
    Numbers have twelve significant digits: further digits are rounding errors that differ between machines.
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
    metric: str
    n_train: int
    n_test: int
    status: Status
    reason: str
    tuned: str = ""
    exclusions: str = ""
    state: str = ""

    @property
    def key(self) -> RecordKey:
        """Return what identifies it within its job."""
        return (self.part, self.method, self.params, self.setting)


def check_values(record: Record) -> None:
    """Raise a ValueError if a number or a name of a record is impossible."""
    if not is_metric(record.metric):
        raise ValueError(f"unknown metric {quoted(record.metric)}")
    if record.status not in get_args(Status):
        raise ValueError(f"unknown status {quoted(record.status)}")
    for name in ("lam", "score", "error"):
        value = getattr(record, name)
        if value is not None and not math.isfinite(value):
            raise ValueError(f"{name} is {value}")
    largest = 1.0 if record.metric == METRICS["classification"] else LARGEST_ERROR
    if record.error is not None and not 0 <= record.error <= largest:
        raise ValueError(f"error is {record.error:g}")
    tested = record.error is not None
    for name, least in (("split", 0), ("excluded", 0), ("n_train", tested), ("n_test", tested)):
        if not least <= getattr(record, name) <= LARGEST_COUNT:
            raise ValueError(f"{name} is {quoted(getattr(record, name))}")


def metric_of(experiment: Experiment, task: Task) -> str:
    """Return the name of the error on the test rows of an experiment's data sets."""
    return experiment.scorer.error_name if experiment.scorer else METRICS[task]


def is_metric(name: str) -> bool:
    """Return whether a name is that of a metric of ours or of an error of scikit-learn's scorers."""
    if name in METRICS.values():
        return True
    from kselect.numerics.scorers import error_names

    return name in error_names()


COLUMNS = tuple(f.name for f in fields(Record))


def record_keys(experiment: Experiment, method: Method) -> tuple[RecordKey, ...]:
    """Return the keys of all records of a method within one job."""
    return tuple(
        (method.part, method.label, method.text, s.text) for s in experiment.settings_of(method)
    )


def significant(value: float) -> float:
    """Round a number to the digits that records keep."""
    return float(f"{value:.{DIGITS}g}")


@dataclass(frozen=True)
class RecordMaker:
    """The fields that all records of one job share, with the function that makes a record."""

    dataset: str
    split: int
    metric: str
    n_train: int
    n_test: int

    def record(
        self,
        method: Method,
        setting: Setting,
        found: BestPoint | SearchFailure,
        error: float | None = None,
        no_score: str = "",
    ) -> Record:
        """Return the record of a method under a setting.

        ``no_score`` is the reason why a criterion has no finite score at a grid point whose score is only reported.
        The method has not failed then.
        """
        shared: dict[str, Any] = {
            **vars(self),
            "part": method.part,
            "method": method.label,
            "criterion": method.criterion,
            "params": method.text,
            "loss": method.loss,
            "setting": setting.text,
        }
        if isinstance(found, SearchFailure):
            shared |= {"kernel": "", "chosen": "", "lam": None, "score": None, "error": None}
            return Record(**shared, excluded=0, status="failed", reason=found.reason)
        point = found.point
        return Record(
            **shared,
            kernel=point.kernel.name,
            chosen=point.kernel.text,
            lam=significant(point.lam),
            score=None if no_score else significant(found.score),
            error=None if error is None else significant(error),
            excluded=len(found.excluded),
            status="ok",
            reason=no_score,
            tuned=";".join(f"{k}={v:g}" for k, v in point.tuned),
            exclusions=describe_exclusions(found) if found.excluded else "",
            state=found.state,
        )

    def estimator_record(self, method: Method, found: EstimatorFit, error: float) -> Record:
        """Return the record of an estimator: it has no kernel and no lam, but a point of its own grid."""
        return replace(
            self.record(method, SELECTED, SearchFailure("")),
            chosen=";".join(f"{name}={show(value)}" for name, value in found.chosen),
            score=None if found.score is None else significant(found.score),
            error=significant(error),
            excluded=len(found.excluded),
            status="ok",
            exclusions=describe_reasons(found.excluded) if found.excluded else "",
            state=found.warnings,
        )


# One reason with its count; the names in brackets contain no brackets.
DESCRIBED = re.compile(r"(\d+): (.*?) \([^()]*\)(?:; |$)")


def describe_exclusions(found: BestPoint) -> str:
    """Return each reason with its count and its first candidates: ``12: no factor (degree=9;lam=0.1, ...)``."""
    return describe_reasons((point.text, reason) for point, reason in found.excluded)


def describe_reasons(excluded: Iterable[tuple[str, str]]) -> str:
    """Return each reason with its count and the names of its first candidates."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in excluded:
        by_reason.setdefault(reason, []).append(name)
    return "; ".join(
        f"{len(names)}: {reason} ({', '.join(names[:MOST_NAMES])}{', ...' * (len(names) > MOST_NAMES)})"
        for reason, names in by_reason.items()
    )


def count_exclusions(described: str) -> dict[str, int]:
    """Read the count of each reason back from the text of ``describe_exclusions``."""
    return {reason: int(count) for count, reason in DESCRIBED.findall(described)}
