"""Measurement of the missing cells: one process, one BLAS thread, one method at a time.

A selection over a grid is measured whole, or within a budget on an evenly spread part of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from kselect import __version__
from kselect.core.experiment import Experiment
from kselect.core.job import protocol_of
from kselect.core.method import Method
from kselect.datasets.dataset import Source
from kselect.errors import ConfigError, StoreError, TrialError
from kselect.formats import TIMING
from kselect.numerics.linalg import Array
from kselect.run.signals import OutOfTime, at_most
from kselect.search.grid import NUMERICAL, reason
from kselect.store.jobs import Store
from kselect.store.timings import (
    REPEATS,
    Seconds,
    TimedMethod,
    Timings,
    check_same,
    read_timings,
    timed_methods,
    timed_text,
)
from kselect.timing.paper.base import Stopwatch, find_algorithm
from kselect.timing.selections import (
    OurSelection,
    PaperSelection,
    Piece,
    TimedSelection,
    Training,
    as_published,
    is_pruned,
    learner_of,
    search_all_values,
    select_pruned,
)

# A short selection is repeated within this time.
REPEAT_SECONDS = 1.0
# Prepared widths stay in memory up to this size; beyond it they are prepared again.
KEPT_BYTES = 512 * 2**20
# The criteria whose paper counts their cost without the training, which is timed separately.
FITTED = frozenset({"k-FBIF"})


@dataclass(frozen=True)
class TimingSettings:
    """The budget per algorithm in wall seconds, the environment's digest, and whether to measure again."""

    budget: float
    environment: str
    force: bool = False


def pending(
    experiment: Experiment, sources: Mapping[str, Source], store: Store, settings: TimingSettings
) -> dict[str, tuple[Method, ...]]:
    """Return the methods without a cell of each data set; refuse cells of another config."""
    found = {}
    for name, source in sources.items():
        methods = timed_methods(experiment, name)
        old = None if settings.force else read_timings(store, name)
        if old:
            check_same(experiment, source, old, store)
            cells = {cell.method: cell for cell in old.cells}
            methods = tuple(
                m
                for m in methods
                if m.label not in cells
                or not cells[m.label].serves(m, settings.budget)
                or is_incomplete(experiment, cells[m.label], m, name, settings.budget)
            )
        if methods:
            found[name] = methods
    return found


def is_incomplete(
    experiment: Experiment, cell: TimedMethod, method: Method, dataset: str, budget: float
) -> bool:
    """Return whether a cell lacks the paper's algorithm, or its fits, which earlier versions did not measure.

    The paper's search took longer than the cell's budget; only a larger one can help.
    """
    if method.search:
        return cell.paper is None and cell.budget < budget and as_published(method) is not None
    if not find_algorithm(learner_of(experiment, dataset, method).name, method):
        return False
    return cell.paper is None or (method.criterion in FITTED and cell.paper.fits is None)


def check_kept(
    whole: Experiment, sources: Mapping[str, Source], store: Store, settings: TimingSettings
) -> None:
    """Refuse other cells of the same tables if they were measured with another config."""
    for name in whole.datasets:
        if not (settings.force and name in sources) and (old := read_timings(store, name)):
            check_same(whole, sources.get(name), old, store)


def measure_missing(
    experiment: Experiment,
    sources: Mapping[str, Source],
    wanted: Mapping[str, tuple[Method, ...]],
    store: Store,
    settings: TimingSettings,
    say: Callable[[str], None],
) -> None:
    """Measure every wanted cell; write each at once and report it in a line."""
    total, done = sum(map(len, wanted.values())), 0
    for name, methods in wanted.items():
        for cell in measure_dataset(experiment, name, sources[name], methods, store, settings):
            done += 1
            ways = [("paper's", cell.paper), ("ours", cell.ours)]
            shown = [f"{way} {'' if s.whole else '~'}{s.cpu:.3g} s" for way, s in ways if s]
            text = f"failed: {cell.failure}" if cell.failure else ", ".join(shown)
            say(f"{done}/{total} {name}, {cell.method}: {text}")


def measure_dataset(
    experiment: Experiment,
    name: str,
    source: Source,
    methods: tuple[Method, ...],
    store: Store,
    settings: TimingSettings,
) -> Iterator[TimedMethod]:
    """Measure the cells of one data set; if its split cannot be used, all of them fail."""
    training: Training | None = None
    why, shape = "", (0, 0)
    try:
        training = Training.of(experiment, name, source)
        shape = training.shape
    except TrialError as error:
        why = str(error)
    protocol = protocol_of(experiment, name, source.sha256)
    timings = Timings(name, experiment.splits[0], *shape, protocol, source.sha256)
    try:
        if old := read_timings(store, name):
            check_same(experiment, source, old, store)
            timings = old
    except (ConfigError, StoreError):
        if not settings.force:
            raise
    for method in methods:
        cell = empty_cell(method, settings, why)
        timings = timings.put(measure_cell(training, method, cell) if training else cell)
        head = {"version": TIMING.newest, "kselect": __version__}
        store.write(f"timing/{name}.json", {**head, **asdict(timings)})
        yield timings.cells[-1]


def empty_cell(method: Method, settings: TimingSettings, failure: str = "") -> TimedMethod:
    """Return a cell without seconds."""
    names = (method.label, method.criterion, method.folds, timed_text(method))
    return TimedMethod(*names, None, None, None, settings.budget, settings.environment, failure)


def measure_cell(training: Training, method: Method, empty: TimedMethod) -> TimedMethod:
    """Measure both algorithms, each within the budget, and compare their scores."""
    budget = empty.budget

    def whole(run: Callable[[Training, Method], Array], what: Method) -> tuple[Seconds, Array]:
        return measure(lambda: time_whole(lambda: run(training, what)), budget)

    try:
        if method.search:
            ours, scores = whole(search_all_values, method)
            if (rival := as_published(method)) is None:
                return replace(empty, ours=ours)
            try:
                with at_most(budget):
                    paper, theirs = whole(search_all_values, rival)
            except OutOfTime:
                return replace(empty, ours=ours)
        else:
            if is_pruned(training, method):
                ours, scores = whole(select_pruned, method)
            else:
                ours, scores = measure(
                    lambda: sweep(OurSelection(training, method), budget), budget
                )
            algorithm = find_algorithm(training.learner(method).name, method)
            if algorithm is None:
                return replace(empty, ours=ours)
            selection = PaperSelection(training, method, algorithm)
            paper, theirs = measure(lambda: sweep(selection, budget), budget)
    except NUMERICAL as error:
        return replace(empty, failure=reason(error))
    return replace(empty, paper=paper, ours=ours, difference=difference(theirs, scores))


def measure(run: Callable[[], tuple[Seconds, Array]], budget: float) -> tuple[Seconds, Array]:
    """Return the seconds and scores (widths, ridges) of a run; repeat a short run and take the fastest."""
    found, scores = run()
    shortest, spent, repeats = found, found.wall, 1
    while found.whole and repeats < REPEATS and spent + found.wall < min(REPEAT_SECONDS, budget):
        found, _ = run()
        spent, repeats = spent + found.wall, repeats + 1
        if found.whole and found.cpu < shortest.cpu:
            shortest = found
    return replace(shortest, repeats=repeats), scores


def time_whole(run: Callable[[], Array]) -> tuple[Seconds, Array]:
    """Time a selection that cannot be cut into pieces; it may exceed the budget."""
    with Stopwatch() as watch:
        scores = run()
    return Seconds(watch.cpu, watch.wall, 1.0), scores


def sweep(selection: TimedSelection, budget: float) -> tuple[Seconds, Array]:
    """Time the grid once, or the pieces that start within the budget in wall seconds, at least one.

    The other pieces are extrapolated from the mean, and their scores are NaN.
    """
    experiment, (rows, _) = selection.training.experiment, selection.training.shape
    widths = len(selection.training.parts.context.kernels)
    scores = np.full(
        (widths, selection.pieces, len(experiment.lam.values) // selection.pieces), np.nan
    )
    start, preparing, scoring = Stopwatch(), Stopwatch(), Stopwatch()
    keep = 8 * rows**2 * widths <= KEPT_BYTES
    kept: dict[int, Piece] = {}
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        with start:
            selection.start()
        for width, piece in grid_order(widths, selection.pieces):
            if width not in kept:
                if not keep:
                    kept.clear()
                with preparing:
                    kept[width] = selection.width(width)
            with scoring:
                found = kept[width](piece)
            scores[width, piece] = found
            if start.wall + preparing.wall + scoring.wall >= budget:
                break
    pieces = widths * selection.pieces
    laps = ((start, 1), (preparing, widths), (scoring, pieces))
    cpu = math.fsum(watch.cpu * n / watch.laps for watch, n in laps)
    wall = math.fsum(watch.wall * n / watch.laps for watch, n in laps)
    fits = selection.fits.cpu * pieces / scoring.laps if selection.fits.laps else None
    seconds = Seconds(cpu, wall, scoring.laps / pieces, fits=fits)
    return seconds, scores.reshape(widths, -1)


def grid_order(widths: int, pieces: int) -> Iterator[tuple[int, int]]:
    """Yield every (width, piece) once; each round has every width, with another piece (a Latin square)."""
    across, along = even_order(widths), even_order(pieces)
    for turn in range(pieces):
        for place, width in enumerate(across):
            yield width, along[(turn + place) % pieces]


def even_order(n: int) -> list[int]:
    """Sort 0..n-1 with reversed bits as the key, so that every prefix is spread evenly."""
    bits = max(1, math.ceil(math.log2(max(n, 1))))
    return sorted(range(n), key=lambda i: int(f"{i:0{bits}b}"[::-1], 2))


def difference(one: Array, other: Array) -> float | None:
    """Return the largest relative difference of two algorithms' finite scores, None without any.

    Infinite scores are left out: a criterion's guard is not part of the paper's algorithm.
    """
    both = np.isfinite(one) & np.isfinite(other)
    if not both.any():
        return None
    gaps = np.abs(one[both] - other[both])
    sizes = np.maximum(np.abs(one[both]), np.abs(other[both]))
    return float(np.max(gaps / np.where(sizes > 0, sizes, 1.0)))
