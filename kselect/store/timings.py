"""The measured seconds, in results/<experiment>/timing/<data set>.json: one file per data set."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kselect.core.experiment import Experiment
from kselect.core.job import protocol_of
from kselect.core.method import TABLE, Method
from kselect.criteria import CRITERIA
from kselect.datasets.dataset import Source
from kselect.errors import ConfigError, StoreError
from kselect.formats import TIMING
from kselect.store.jobs import Store

# A short selection is repeated up to so many times, and the fastest counts, as in timeit.
REPEATS = 5


@dataclass(frozen=True)
class Seconds:
    """CPU and wall seconds of a whole selection, extrapolated from a ``share`` of its pieces.

    ``fits`` are the CPU seconds of the trainings among them, None if they were not told apart.
    """

    cpu: float
    wall: float
    share: float
    repeats: int = 1
    fits: float | None = None

    @property
    def whole(self) -> bool:
        """Return whether nothing is extrapolated."""
        return self.share >= 1.0

    @property
    def without_fits(self) -> float | None:
        """Return the CPU seconds without the trainings, None if they were not told apart."""
        return None if self.fits is None else self.cpu - self.fits


@dataclass(frozen=True)
class TimedMethod:
    """One method on one data set: the seconds of both algorithms, and the difference of their scores."""

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
        """Return whether it need not be measured again: same parameters, no failure, no smaller budget."""
        whole = all(s is None or s.whole for s in (self.paper, self.ours))
        same = (self.method, self.params) == (method.label, timed_text(method))
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
    cells: tuple[TimedMethod, ...] = ()

    def cell(self, label: str) -> TimedMethod | None:
        """Return the cell of a method, or None."""
        return next((c for c in self.cells if c.method == label), None)

    def put(self, cell: TimedMethod) -> Timings:
        """Add a cell, or replace the cell of the same method."""
        others = tuple(c for c in self.cells if c.method != cell.method)
        return replace(self, cells=(*others, cell))


def timed_text(method: Method) -> str:
    """Return the parameters of a method, with the checksum of the plug-in that provides its criterion."""
    plugin = CRITERIA.plugins.get(method.criterion)
    own = f"plug-in={plugin.sha256[:12]}" if plugin else ""
    return ";".join(filter(None, (method.text, own)))


def timed_methods(experiment: Experiment, dataset: str) -> tuple[Method, ...]:
    """Return one criterion per column, with the experiment's own loss; figures and probes are not timed."""
    first: dict[str, Method] = {}
    for method in experiment.methods_on(dataset):
        if method.part == TABLE and not (method.at or method.estimator):
            first.setdefault(method.label, method)
    return tuple(first.values())


def read_timings(store: Store, dataset: str) -> Timings | None:
    """Read the timings of a data set, None without a file; a file of another form is a StoreError."""
    path = store.folder / f"timing/{dataset}.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        TIMING.check(path, data.pop("version"), data.pop("kselect", None))
        cells = []
        for cell in data.pop("cells"):
            pair = {k: Seconds(**cell[k]) if cell[k] else None for k in ("paper", "ours")}
            cells.append(TimedMethod(**{**cell, **pair}))
        return Timings(cells=tuple(cells), **data)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            f"{path}: not a timing file ({error}); delete it, or measure again (kselect time --force)"
        ) from None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from None


def read_all(experiment: Experiment, store: Store) -> list[Timings]:
    """Read the timings of the experiment's data sets, with any parameters and of any version, in its order."""
    return [t for name in experiment.datasets if (t := read_timings(store, name))]


def keep_current(experiment: Experiment, timings: Iterable[Timings]) -> list[Timings]:
    """Return the timings without cells whose parameters the experiment no longer has."""
    found = []
    for one in timings:
        wanted = {(m.label, timed_text(m)) for m in timed_methods(experiment, one.dataset)}
        cells = tuple(c for c in one.cells if (c.method, c.params) in wanted)
        found.append(replace(one, cells=cells))
    return [t for t in found if t.cells]


def check_same(experiment: Experiment, source: Source | None, old: Timings, store: Store) -> None:
    """Refuse timings of another config, split, data file or version."""
    if source and old.data_sha256 != source.sha256:
        what = f"rests on another file of {old.dataset}"
    elif old.protocol != protocol_of(experiment, old.dataset, old.data_sha256):
        what = "was measured with another config"
    elif old.split != experiment.splits[0]:
        what = f"was measured on split {old.split}, not {experiment.splits[0]}"
    else:
        return
    path = store.folder / f"timing/{old.dataset}.json"
    raise ConfigError(f"{path}: {what}; choose another --output, or --force to measure it again")
