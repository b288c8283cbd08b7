"""A second process that draws figures while this one computes.

Drawing takes more than half of the time of a report. Starting a process takes about as long as drawing one figure.
So the second process starts when a second figure has to be drawn, or earlier if reading the experiment takes that
long. When this process has nothing else to do, it draws the figures that the second process has not begun.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

Draw = Callable[..., Any]
Files = Mapping[str, bytes]
# Renders some of the files of a figure: those of one width.
Render = Callable[[Draw], Files]
BACKENDS = "matplotlib.backends.backend_"
NEEDED = ("pandas", "kselect.report.figures.base", *(BACKENDS + k for k in ("agg", "pdf", "svg")))


class SecondProcess:
    """The process, which starts with the second figure; None with one core."""

    LEAST: ClassVar[int] = 2

    def __init__(self) -> None:
        self.figures = 0
        self.pool: ProcessPoolExecutor | None = None

    def start(self) -> None:
        """Start the process; it imports what every figure needs."""
        from loky import ProcessPoolExecutor, cpu_count

        if self.pool is None and cpu_count() >= 2 and self.LEAST <= 2:
            self.pool = ProcessPoolExecutor(max_workers=1)
            self.pool.submit(import_figures)

    def begin(self, draw: Draw, renders: Sequence[Render]) -> list[Future[Files]]:
        """Ask for the files of a figure; return nothing if this process has to draw it."""
        self.figures += 1
        if self.pool is None and self.figures < self.LEAST:
            return []
        try:
            self.start()
            return [self.pool.submit(render, draw) for render in renders] if self.pool else []
        except (OSError, RuntimeError):
            return []  # no process can start, or it has ended

    def close(self) -> None:
        """End the process."""
        if self.pool is not None:
            self.pool.shutdown(wait=True, kill_workers=True)


def import_figures() -> None:
    """Import what every figure needs."""
    for module in NEEDED:
        importlib.import_module(module)
