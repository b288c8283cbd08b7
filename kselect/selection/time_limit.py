"""A selection that ends after a given time: the order in which kernels are tried, and what was not looked at.

The families take turns, from the middle of each grid outward, so that a short time is spread over all of them.
At least one kernel is looked at, and a kernel that has been begun is finished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import zip_longest
from time import perf_counter

import numpy as np

from kselect.kernels import Kernel
from kselect.search.pruned import Watch, outward
from kselect.selection.request import Request
from kselect.selection.result import Selection


@dataclass(frozen=True)
class Limit:
    """The time at which a selection ends; None if it has no limit."""

    ends: float | None

    @classmethod
    def of(cls, request: Request) -> Limit:
        """Start the time of a request."""
        return cls(None if request.time_limit is None else perf_counter() + request.time_limit)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.ends is not None and perf_counter() >= self.ends

    def watching(self, watch: Callable[[int, int], bool | None]) -> Watch:
        """Return a function that tells ``watch`` about each kernel, and answers whether the time is over."""

        def step(done: int, total: int) -> bool:
            watch(done, total)
            return self.over

        return step


def by_turns(kernels: tuple[Kernel, ...]) -> list[int]:
    """Return the positions of the kernels in the order of a visit: families by turns, each from its middle."""
    families: dict[object, list[int]] = {}
    for i, kernel in enumerate(kernels):
        families.setdefault(kernel.metric, []).append(i)
    every = [[own[j] for j in outward(len(own) // 2, len(own))] for own in families.values()]
    turns = [every[i] for i in outward(len(every) // 2, len(every))]
    return [i for turn in zip_longest(*turns) for i in turn if i is not None]


def in_order_of_visit(request: Request) -> Request:
    """Return the request with its kernels in the order of a visit."""
    return replace(request, kernels=tuple(request.kernels[i] for i in by_turns(request.kernels)))


def as_asked(found: Selection, request: Request) -> Selection:
    """Return a selection with its kernels in the order of the request."""
    back = np.argsort(by_turns(request.kernels))
    return replace(found, request=request, scores=found.scores[back])


def not_looked_at(found: Selection) -> str:
    """Return what the time was not enough for, in words; empty if the search is complete."""
    if not found.unseen:
        return ""
    counts = Counter(kernel.name for kernel in found.unseen)
    kinds = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{len(found.unseen)} of {len(found.request.kernels)} kernels not looked at ({kinds})"
