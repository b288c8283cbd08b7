"""Probes at work: paths made again at the places where columns have their best, one alive at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kselect.kernels import Kernel
from kselect.learners import Path
from kselect.model.experiment import Experiment, Method
from kselect.model.records import chosen_fields, failed_fields
from kselect.numerics.folds import Folds
from kselect.search.grid import NUMERICAL, Choice, evaluate, reason

PathAt = Callable[[Kernel, Sequence[float]], Path]


@dataclass(frozen=True)
class Sight:
    """A probe, and the place that it looks at; a text is the reason why there is none."""

    method: Method
    setting: str
    place: Choice | str


def look(
    experiment: Experiment,
    sights: Iterable[Sight],
    path_at: PathAt,
    folds: Callable[[int], Folds],
) -> Iterator[tuple[Sight, dict[str, Any]]]:
    """Each sight with the fields of its record, in the order of their places."""
    here: tuple[int, int] | None = None
    path: Path | None = None
    for sight in sorted(sights, key=place_of):
        if isinstance(sight.place, str):
            yield sight, failed_fields(sight.place)
            continue
        kernel, ridge = place_of(sight)
        if path is None or here != (kernel, ridge):
            here = (kernel, ridge)
            path = path_at(experiment.kernels[kernel], [experiment.lam.values[ridge]])
        yield sight, seen(experiment, sight, path, folds)


def place_of(sight: Sight) -> tuple[int, int]:
    """Kernel and ridge, for sorting."""
    place = sight.place
    return (-1, -1) if isinstance(place, str) else (place.kernel, place.ridge)


def seen(
    experiment: Experiment, sight: Sight, path: Path, folds: Callable[[int], Folds]
) -> dict[str, Any]:
    """The fields of a probe's record: its value stands under ``score``, and it has no error."""
    try:
        value = float(evaluate(sight.method, path, folds)[0])
    except NUMERICAL as error:
        return failed_fields(reason(error))
    chosen = chosen_fields(experiment, *place_of(sight))
    return {**chosen, "score": value, "error": None, "excluded": 0}
