"""One row of the results: what a method chose on a split, and the test error of that choice."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from kselect.model.experiment import Experiment, Method

Cell = tuple[str, str, str, str]
Metric = Literal["zero-one", "mse"]
METRICS: dict[str, Metric] = {"classification": "zero-one", "regression": "mse"}


@dataclass(frozen=True)
class Record:
    """A tidy record; ``error`` is a proportion for the metric zero-one, a mean square for mse.

    ``excluded`` counts the candidates with an infinite score: what a criterion's guard took out. A probe's
    value stands under ``score``, and it has no error.
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

    @property
    def cell(self) -> Cell:
        """Where it belongs within its job."""
        return (self.part, self.method, self.params, self.setting)


COLUMNS = tuple(f.name for f in fields(Record))


def cells_of(experiment: Experiment, method: Method) -> tuple[Cell, ...]:
    """The cells of a job that a method fills."""
    return tuple(
        (method.part, method.label, method.text, name) for name, _ in experiment.cells(method)
    )


@dataclass(frozen=True)
class Sizes:
    """How errors are counted, and on how many rows."""

    metric: Metric
    n_train: int
    n_test: int


def record(
    dataset: str, split: int, method: Method, setting: str, sizes: Sizes, fields: dict[str, Any]
) -> Record:
    """A record of one method at one setting; ``fields`` are those of the choice or of the failure."""
    return Record(
        dataset=dataset,
        split=split,
        part=method.part,
        method=method.label,
        criterion=method.criterion,
        params=method.text,
        loss=method.loss,
        setting=setting,
        metric=sizes.metric,
        n_train=sizes.n_train,
        n_test=sizes.n_test,
        **fields,
    )


def chosen_fields(experiment: Experiment, kernel: int, ridge: int) -> dict[str, Any]:
    """What was chosen, by its place in the grid."""
    found = experiment.kernels[kernel]
    lam = experiment.lam.values[ridge]
    return {"kernel": found.name, "chosen": found.text, "lam": lam, "status": "ok", "reason": ""}


def failed_fields(why: str) -> dict[str, Any]:
    """No choice, and why."""
    nothing = dict.fromkeys(("lam", "score", "error"))
    failed = {"excluded": 0, "status": "failed", "reason": why}
    return {"kernel": "", "chosen": "", **nothing, **failed}
