"""What is still to be measured, and measuring it: one process, one BLAS thread, one method at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from kselect.core.experiment import Experiment
from kselect.core.job import protocol_of
from kselect.core.method import TABLE, Method
from kselect.datasets.dataset import Source
from kselect.errors import ConfigError, StoreError, TrialError
from kselect.numerics.linalg import Array
from kselect.search.engine import NUMERICAL, reason
from kselect.store.jobs import Store
from kselect.timing.cells import Cell, Timings, check_same, read_timings, write_timings
from kselect.timing.measure import Seconds, difference, measure, measure_whole
from kselect.timing.moved import Moved
from kselect.timing.paper.base import find_algorithm
from kselect.timing.selections import Bounded, Ours, Paper, Training, scoring, training_part


@dataclass(frozen=True)
class Settings:
    """How to measure."""

    budget: float
    environment: str
    force: bool = False


def timed_methods(experiment: Experiment, dataset: str) -> tuple[Method, ...]:
    """One method a column, under the experiment's own loss; figures and probes have no seconds."""
    mine = experiment.methods_on(dataset)
    first: dict[str, Method] = {}
    for method in mine:
        if method.part == TABLE and not method.at:
            first.setdefault(method.label, method)
    return tuple(first.values())


def pending(
    experiment: Experiment, sources: Mapping[str, Source], store: Store, settings: Settings
) -> dict[str, tuple[Method, ...]]:
    """Data set -> the methods that have no cell yet; what rests on another config is a ConfigError."""
    found = {}
    for name, source in sources.items():
        methods = timed_methods(experiment, name)
        old = None if settings.force else read_timings(store, name)
        if old:
            check_same(experiment, source, old, store)
            methods = tuple(m for m in methods if not is_there(old, m, settings.budget))
        if methods:
            found[name] = methods
    return found


def check_kept(
    whole: Experiment, sources: Mapping[str, Source], store: Store, settings: Settings
) -> None:
    """What the tables show beside what is measured now must rest on the same config too."""
    for name in whole.datasets:
        if not (settings.force and name in sources) and (old := read_timings(store, name)):
            check_same(whole, sources.get(name), old, store)


def is_there(timings: Timings, method: Method, budget: float) -> bool:
    """Whether a method need not be measured."""
    cell = timings.cell(method.label)
    return cell is not None and cell.serves(method, budget)


def run(
    experiment: Experiment,
    sources: Mapping[str, Source],
    wanted: Mapping[str, tuple[Method, ...]],
    store: Store,
    settings: Settings,
    say: Callable[[str], None],
) -> None:
    """Measure every wanted cell; each is written at once and told of in a line."""
    total, done = sum(map(len, wanted.values())), 0
    for name, methods in wanted.items():
        for cell in measure_dataset(experiment, name, sources[name], methods, store, settings):
            done += 1
            say(f"{done}/{total} {name}, {describe(cell)}")


def measure_dataset(
    experiment: Experiment,
    name: str,
    source: Source,
    methods: tuple[Method, ...],
    store: Store,
    settings: Settings,
) -> Iterator[Cell]:
    """The cells of one data set, each written when it is measured; a split that cannot be used fails them all."""
    training: Training | None = None
    why, shape = "", (0, 0)
    try:
        training = training_part(experiment, name, source)
        shape = training.shape
    except TrialError as error:
        why = str(error)
    timings = kept(experiment, name, source, store, settings) or Timings(
        name,
        experiment.splits[0],
        *shape,
        protocol_of(experiment, name, source.sha256),
        source.sha256,
    )
    for method in methods:
        cell = (
            measure_cell(training, method, settings) if training else failed(method, why, settings)
        )
        timings = timings.put(cell)
        write_timings(store, timings)
        yield cell


def kept(
    experiment: Experiment, name: str, source: Source, store: Store, settings: Settings
) -> Timings | None:
    """What is already there of a data set; measuring by force drops what rests on something else."""
    try:
        old = read_timings(store, name)
        if old:
            check_same(experiment, source, old, store)
    except (ConfigError, StoreError):
        if not settings.force:
            raise
        return None
    return old


def measure_cell(training: Training, method: Method, settings: Settings) -> Cell:
    """Both ways, one after the other, each within the budget; the scores are compared."""
    empty = failed(method, "", settings)
    if method.search:
        return measure_moved(Moved(training, method), empty)
    algorithm = find_algorithm(scoring(training, method).name, method)
    try:
        ours, scores = measure_ours(training, method, settings.budget)
        if algorithm is None:
            return replace(empty, ours=ours)
        paper, theirs = measure(Paper(training, method, algorithm), settings.budget)
    except NUMERICAL as error:
        return replace(empty, failure=reason(error))
    return replace(empty, paper=paper, ours=ours, difference=difference(theirs, scores))


def measure_moved(ours: Moved, empty: Cell) -> Cell:
    """A search through all values, and the paper's own for the same objective; neither can be cut into pieces."""
    try:
        seconds, scores = measure_whole(ours.run, empty.budget)
        found = replace(empty, ours=seconds)
        if rival := ours.as_published:
            paper, theirs = measure_whole(rival.run, empty.budget)
            found = replace(found, paper=paper, difference=difference(theirs, scores))
    except NUMERICAL as error:
        return replace(empty, failure=reason(error))
    return found


def measure_ours(training: Training, method: Method, budget: float) -> tuple[Seconds, Array]:
    """By bounds where the experiment searches so, else the whole surface."""
    bounded = Bounded(training, method)
    if bounded.applies:
        return measure_whole(bounded.run, budget)
    return measure(Ours(training, method), budget)


def failed(method: Method, why: str, settings: Settings) -> Cell:
    """A cell without seconds."""
    return Cell(
        method.label,
        method.criterion,
        method.folds,
        method.text,
        None,
        None,
        None,
        settings.budget,
        settings.environment,
        why,
    )


def describe(cell: Cell) -> str:
    """``5-CV: paper's 0.21 s, ours 0.05 s``."""
    if cell.failure:
        return f"{cell.method}: failed: {cell.failure}"
    ways = [("paper's", cell.paper), ("ours", cell.ours)]
    shown = [f"{name} {'' if s.whole else '~'}{s.cpu:.3g} s" for name, s in ways if s is not None]
    return f"{cell.method}: {', '.join(shown)}"
