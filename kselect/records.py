"""One row of the results: what a method chose on a split, and the test error of that choice."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from kselect.experiment import Experiment, Method

Cell = tuple[str, str, str, str]


@dataclass(frozen=True)
class Record:
    """A tidy record; ``error`` is a proportion for the metric zero-one, a mean square for mse."""

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
    metric: Literal["zero-one", "mse"]
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
