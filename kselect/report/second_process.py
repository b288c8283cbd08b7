"""A second process that draws figures while this one computes.

Drawing takes half of the time of a report. The process starts with the second figure that has to be drawn, since
its start takes about as long as one figure. What it has not begun when this process has nothing else to do, this
process draws itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

Draw = Callable[..., Any]
Files = Mapping[str, bytes]


class SecondProcess:
    """The process, which starts with the second figure; with one core there is none."""

    LEAST: ClassVar[int] = 2

    def __init__(self) -> None:
        self.figures = 0
        self.pool: ProcessPoolExecutor | None = None

    def begin(self, draw: Draw, render: Callable[[Draw], Files]) -> Future[Files] | None:
        """Ask for a figure; return None if this process has to draw it."""
        self.figures += 1
        if self.figures < self.LEAST:
            return None
        from loky import ProcessPoolExecutor, cpu_count

        if cpu_count() < 2:
            return None
        try:
            self.pool = self.pool or ProcessPoolExecutor(max_workers=1)
            found: Future[Files] = self.pool.submit(render, draw)
        except (OSError, RuntimeError):
            return None  # no process can start, or it has ended
        return found

    def close(self) -> None:
        """End the process."""
        if self.pool is not None:
            self.pool.shutdown(wait=True, kill_workers=True)
