"""Timings <-> results/<experiment>/timing/<data set>.json: one file a data set, written after each cell."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from kselect.core.experiment import Experiment
from kselect.core.job import protocol_of
from kselect.core.method import Method
from kselect.datasets.dataset import Source
from kselect.errors import ConfigError, StoreError
from kselect.store.jobs import Store
from kselect.timing.measure import Seconds

TIMING_VERSION = 1


@dataclass(frozen=True)
class Cell:
    """One method on one data set: the seconds of both ways, and how far apart their scores are."""

    method: str
    criterion: str
    folds: int | None
    params: str
    paper: Seconds | None
    ours: Seconds | None
    difference: float | None
    budget: float
    environment: str
    failure: str = ""

    def serves(self, method: Method, budget: float) -> bool:
        """Whether it is what would be measured: the same parameters, no failure, no smaller budget."""
        whole = all(s is None or s.whole for s in (self.paper, self.ours))
        same = (self.method, self.params) == (method.label, method.text)
        return same and not self.failure and (whole or self.budget >= budget)


@dataclass(frozen=True)
class Timings:
    """The cells of one data set; ``protocol`` identifies what they were measured on."""

    dataset: str
    split: int
    rows: int
    features: int
    protocol: str
    data_sha256: str
    cells: tuple[Cell, ...] = ()

    def cell(self, label: str) -> Cell | None:
        """The cell of a method, None where there is none."""
        return next((c for c in self.cells if c.method == label), None)

    def put(self, cell: Cell) -> Timings:
        """With this cell in the place of an older one."""
        others = tuple(c for c in self.cells if c.method != cell.method)
        return replace(self, cells=(*others, cell))


def file_name(dataset: str) -> str:
    """Below the results folder."""
    return f"timing/{dataset}.json"


def read_timings(store: Store, dataset: str) -> Timings | None:
    """A data set's timings, None where there are none; a file that holds something else is a StoreError."""
    path = store.folder / file_name(dataset)
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            f"{path}: not a timing of this version ({error}); delete it, or use --force"
        ) from None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from None


def parse(data: dict[str, Any]) -> Timings:
    """The inverse of ``asdict``; another version's file is a ValueError."""
    if data.pop("version") != TIMING_VERSION:
        raise ValueError("written by another version")
    cells = tuple(parse_cell(cell) for cell in data.pop("cells"))
    return Timings(cells=cells, **data)


def parse_cell(data: dict[str, Any]) -> Cell:
    """One cell."""
    paper, ours = (Seconds(**data.pop(k)) if data[k] else data.pop(k) for k in ("paper", "ours"))
    return Cell(paper=paper, ours=ours, **data)


def write_timings(store: Store, timings: Timings) -> None:
    """The file of a data set, whole."""
    store.write_json(file_name(timings.dataset), {"version": TIMING_VERSION, **asdict(timings)})


def check_same(experiment: Experiment, source: Source | None, old: Timings, store: Store) -> None:
    """Timings of another config, split, data file or version are not mixed in."""
    if source and old.data_sha256 != source.sha256:
        what = f"rests on another file of {old.dataset}"
    elif old.protocol != protocol_of(experiment, old.dataset, old.data_sha256):
        what = "was measured with another config"
    elif old.split != experiment.splits[0]:
        what = f"was measured on split {old.split}, not {experiment.splits[0]}"
    else:
        return
    path = store.folder / file_name(old.dataset)
    raise ConfigError(f"{path}: {what}; choose another --output, or --force to measure it again")
