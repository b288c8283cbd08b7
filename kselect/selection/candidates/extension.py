"""Grids that grow: where the choice lies on the boundary of a grid that nobody has given, look beyond it.

A grid grows by up to four values in each direction, while the best candidate lies on its boundary: one value of a
kernel parameter at a time, or four values of lam at once, because ridges share the factor of a kernel. It grows for
the kernels on the same features as the choice: a value of a kernel parameter is tried with every ridge, and values
of lam with all of these kernels. The other kernels have infinite scores at the new ridges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from kselect.errors import ConfigError, TrialError
from kselect.kernels import Kernel
from kselect.numerics.linalg import Array
from kselect.search.pruned_grid import Work
from kselect.selection.request import Request
from kselect.selection.result import Selection, axes_of
from kselect.selection.time_limit import Limit

STEPS = 4
LAM_AXIS = "lam"
# The digits of a new value, so that 1e-8 is not 1.0000000000000002e-08.
DIGITS = 12
# What shares a grid, the parameter, and whether it grows downwards.
Direction = tuple[object, str, bool]
Continued = Callable[[Request], Selection]


@dataclass(frozen=True)
class Beyond:
    """Values beyond the end of a parameter's grid, in steps; ``kernel`` is the one at the end, None for lam."""

    kernel: Kernel | None
    parameter: str
    low: bool
    values: tuple[float, ...]

    @property
    def direction(self) -> Direction:
        """The grid, and the direction in which it grows."""
        return self.kernel and self.kernel.metric, self.parameter, self.low

    @property
    def words(self) -> str:
        """``width of laplacian up to 64``."""
        whose = f"{self.parameter} of {self.kernel.name}" if self.kernel else self.parameter
        return f"{whose} {'down' if self.low else 'up'} to {self.values[-1]:.6g}"


def extended(found: Selection, run: Continued, limit: Limit) -> Selection:
    """Return the selection on grids that grow while the choice lies on their boundary and there is time."""
    taken: Counter[Direction] = Counter()
    reached: dict[Direction, str] = {}
    while not limit.over and (
        step := next((b for b in beyond(found) if taken[b.direction] < STEPS), None)
    ):
        taken[step.direction] += len(step.values)
        grown = grow(found, step, run)
        if grown is None:
            taken[step.direction] = STEPS
            continue
        found, reached[step.direction] = grown, step.words
    return replace(found, grown=tuple(reached.values()))


def beyond(found: Selection) -> Iterator[Beyond]:
    """Yield the next values of each growing grid at whose end the choice lies."""
    kernel, request = found.kernel, found.request
    for parameter, value, grid in axes_of(kernel, found.lam, request):
        if parameter not in request.growing or len(grid) < 2 or value not in (grid[0], grid[-1]):
            continue
        low = value == grid[0]
        near = grid[1] if low else grid[-2]
        whole = parameter in getattr(kernel, "whole", ())
        at = None if parameter == LAM_AXIS else kernel
        steps = range(1, 1 + (1 if at else STEPS))
        ahead = (
            value + i * (value - near) if whole else value * (value / near) ** i for i in steps
        )
        if values := tuple(float(f"{v:.{DIGITS}g}") for v in ahead if 0.0 < v < np.inf):
            yield Beyond(at, parameter, low, values)


def grow(found: Selection, step: Beyond, run: Continued) -> Selection | None:
    """Return the selection with more values of a parameter; None if no candidate there has a score."""
    request = found.request
    try:
        if step.kernel:
            new = list(changed_kernels(request, step.kernel, step))
            kernels = tuple(kernel for _, kernel in new)
            strip = run(replace(request, kernels=kernels, time_limit=None))
            return merged(found, strip, *with_kernels(found, strip, new, step.low))
        like = [i for i, one in enumerate(request.kernels) if one.metric == found.kernel.metric]
        kernels = tuple(request.kernels[i] for i in like)
        strip = run(replace(request, kernels=kernels, lams=step.values, time_limit=None))
    except (ConfigError, TrialError):
        return None
    columns = np.full((len(found.scores), len(step.values)), np.inf)
    columns[like] = strip.scores
    lams = (*step.values, *request.lams) if step.low else (*request.lams, *step.values)
    order = np.argsort(lams) if list(request.lams) == sorted(request.lams) else np.arange(len(lams))
    parts = [columns, found.scores] if step.low else [found.scores, columns]
    scores = np.hstack(parts)[:, order]
    return merged(found, strip, replace(request, lams=tuple(lams[i] for i in order)), scores)


def changed_kernels(request: Request, end: Kernel, step: Beyond) -> Iterator[tuple[int, Kernel]]:
    """Yield the kernels at the end of a grid with the next value of its parameter, and their positions."""
    for i, kernel in enumerate(request.kernels):
        same = kernel.metric == end.metric
        if same and kernel.parameters[step.parameter] == end.parameters[step.parameter]:
            yield i, kernel.changed(step.parameter, step.values[0])


def with_kernels(
    found: Selection, strip: Selection, new: list[tuple[int, Kernel]], low: bool
) -> tuple[Request, Array]:
    """Return the request and the scores with new kernels next to those at the end of the grid."""
    kernels, scores = list(found.request.kernels), found.scores
    for (at, kernel), row in reversed(list(zip(new, strip.scores, strict=True))):
        place = at if low else at + 1
        kernels.insert(place, kernel)
        scores = np.insert(scores, place, row, axis=0)
    return replace(found.request, kernels=tuple(kernels)), scores


def merged(found: Selection, strip: Selection, request: Request, scores: Array) -> Selection:
    """Return the selection on both grids; of equal scores the earlier one stays."""
    better, worse = (strip, found) if strip.score < found.score else (found, strip)
    excluded = (*found.best.excluded, *strip.best.excluded)
    near = {**found.near, **strip.near}
    if worse.held_out is not None:
        near[worse.best.point] = worse.held_out
    return replace(
        better,
        request=request,
        scores=scores,
        best=replace(better.best, excluded=excluded),
        near=near,
        seconds=found.seconds + strip.seconds,
        seconds_fit=found.seconds_fit + strip.seconds_fit,
        work=both(found.work, strip.work),
        unseen=found.unseen,
    )


def both(first: Work | None, second: Work | None) -> Work | None:
    """Return the work of two searches; None if one has scored every candidate."""
    if first is None or second is None:
        return None
    return Work(*(a + b for a, b in zip(vars(first).values(), vars(second).values(), strict=True)))
