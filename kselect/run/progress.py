"""Progress of a run: a tqdm bar in a terminal, a line from time to time in a log file."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from tqdm import tqdm

LOG_SECONDS = 30.0
LOG_SHARE = 0.1


class Progress:
    """Counter of jobs and their cost, which predicts the time left, since jobs differ in size."""

    def __init__(self, jobs: int, cost: float, quiet: bool, stream: TextIO | None = None) -> None:
        self.jobs, self.cost = jobs, cost
        self.finished, self.failed, self.spent = 0, 0, 0.0
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.started = time.monotonic()
        self.told_at, self.told_share = self.started, 0.0
        self.bar: tqdm[Any] | None = None
        if not quiet and is_terminal(self.stream):
            from tqdm import tqdm

            self.bar = tqdm(
                total=self.cost,
                file=self.stream,
                dynamic_ncols=True,
                bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}",
                desc=self.state(),
            )

    def close(self) -> None:
        """End the bar."""
        if self.bar is not None:
            self.bar.close()

    def state(self) -> str:
        """Return the counts, as in ``12/90 jobs, 1 failed``."""
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.finished}/{self.jobs} jobs{failed}"

    def advance(self, name: str, cost: float, failure: str = "") -> None:
        """Count a finished job; report a failure at once."""
        self.finished += 1
        self.spent += cost
        if failure:
            self.failed += 1
            self.say(f"failed: {name}: {failure}")
        if self.bar is not None:
            self.bar.set_description_str(self.state(), refresh=False)
            self.bar.update(min(cost, self.cost - self.bar.n))
        else:
            self.log()

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if self.bar is not None:
            self.bar.write(text, file=self.stream)
        elif not self.quiet:
            print(text, file=self.stream, flush=True)

    def log(self) -> None:
        """Print a line every tenth of the work or every half minute, and at the end."""
        now, share = time.monotonic(), self.spent / self.cost if self.cost else 1.0
        due = share - self.told_share >= LOG_SHARE or now - self.told_at >= LOG_SECONDS
        if due or self.finished == self.jobs:
            self.told_at, self.told_share = now, share
            passed = now - self.started
            left = clock(passed * (1.0 - share) / share if share else 0.0)
            done = f"{share:4.0%} of the work, {clock(passed)} passed"
            self.say(f"{self.state()}, {done}, {left} left")


def is_terminal(stream: TextIO) -> bool:
    """Return whether a bar can be drawn; a terminal without a width (in some containers) gets lines."""
    try:
        return stream.isatty() and os.get_terminal_size(stream.fileno()).columns > 0
    except OSError:
        return False


def clock(seconds: float) -> str:
    """Return a duration as ``3:07`` or ``1:03:07``."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
