"""The seconds of a selection: measured whole, or where that takes too long on an even part of the grid."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np

from kselect.numerics.linalg import Array
from kselect.timing.selections import Piece, Selection, keeps_widths

# A short selection is measured again, and the shortest counts, as timeit does.
REPEAT_SECONDS = 1.0
REPEATS = 5


@dataclass(frozen=True)
class Seconds:
    """CPU and wall seconds of a whole selection; ``share`` of its pieces were measured, the rest follows."""

    cpu: float
    wall: float
    share: float
    repeats: int = 1

    @property
    def whole(self) -> bool:
        """Whether nothing is extrapolated."""
        return self.share >= 1.0


class Watch:
    """Laps of CPU and wall time."""

    def __init__(self) -> None:
        self.cpu, self.wall, self.laps = 0.0, 0.0, 0

    def __enter__(self) -> Self:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cpu += time.process_time() - self._cpu
        self.wall += time.perf_counter() - self._wall
        self.laps += 1

    def for_laps(self, laps: int) -> tuple[float, float]:
        """CPU and wall seconds of so many laps, at the mean of those measured."""
        return self.cpu * laps / self.laps, self.wall * laps / self.laps


def even_order(n: int) -> list[int]:
    """0..n-1 so that any beginning of it is spread evenly: by the bits of each number read backwards."""
    bits = max(1, math.ceil(math.log2(max(n, 1))))
    return sorted(range(n), key=lambda i: int(f"{i:0{bits}b}"[::-1], 2))


def grid_order(widths: int, pieces: int) -> Iterator[tuple[int, int]]:
    """Every (width, piece) once: in each round every width, each time with another piece (a Latin square)."""
    across, along = even_order(widths), even_order(pieces)
    for turn in range(pieces):
        for place, width in enumerate(across):
            yield width, along[(turn + place) % pieces]


def measure(selection: Selection, budget: float) -> tuple[Seconds, Array]:
    """The seconds of a selection and its scores (widths, ridges), NaN where they were not computed.

    ``budget`` bounds the wall seconds: what is left then is extrapolated, a piece at the mean of those
    measured. At least one piece is.
    """
    return repeat(lambda: sweep(selection, budget), budget)


def measure_whole(run: Callable[[], Array], budget: float) -> tuple[Seconds, Array]:
    """The same of a selection that cannot be cut into pieces: it is measured whole, whatever it takes."""

    def once() -> tuple[Seconds, Array]:
        with Watch() as watch:
            scores = run()
        return Seconds(watch.cpu, watch.wall, 1.0), scores

    return repeat(once, budget)


def repeat(run: Callable[[], tuple[Seconds, Array]], budget: float) -> tuple[Seconds, Array]:
    """A short run several times, of which the shortest counts."""
    found, scores = run()
    shortest, spent, repeats = found, found.wall, 1
    while found.whole and repeats < REPEATS and spent + found.wall < min(REPEAT_SECONDS, budget):
        found, _ = run()
        spent, repeats = spent + found.wall, repeats + 1
        if found.whole and found.cpu < shortest.cpu:
            shortest = found
    return Seconds(shortest.cpu, shortest.wall, shortest.share, repeats), scores


def sweep(selection: Selection, budget: float) -> tuple[Seconds, Array]:
    """Once over the grid, or over as much of it as the budget allows."""
    experiment = selection.training.experiment
    widths = len(experiment.kernels)
    scores = np.full((widths, len(experiment.lam.values)), np.nan)
    start, preparing, scoring = Watch(), Watch(), Watch()
    keep = keeps_widths(selection)
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
            scores[width, selection.scores_of(piece)] = found
            if start.wall + preparing.wall + scoring.wall >= budget:
                break
    pieces = widths * selection.pieces
    laps = ((start, 1), (preparing, widths), (scoring, pieces))
    parts = [watch.for_laps(n) for watch, n in laps]
    cpu, wall = (math.fsum(part[i] for part in parts) for i in (0, 1))
    return Seconds(cpu, wall, scoring.laps / pieces), scores


def difference(one: Array, other: Array) -> float | None:
    """The largest relative difference of two ways' scores, where both have a finite one.

    Infinite scores are left out: a criterion's guard is not part of the paper's algorithm. None where
    there is nothing to compare.
    """
    both = np.isfinite(one) & np.isfinite(other)
    if not both.any():
        return None
    gaps = np.abs(one[both] - other[both])
    sizes = np.maximum(np.abs(one[both]), np.abs(other[both]))
    return float(np.max(gaps / np.where(sizes > 0, sizes, 1.0)))
