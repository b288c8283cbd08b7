"""How far a selection is, when it takes more than a moment; and what an approximation would save."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TextIO

import numpy as np

from kselect.errors import KselectError
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array
from kselect.run.progress import clock, is_terminal
from kselect.selection.engine import select
from kselect.selection.request import Request, make_folds

QUIET_SECONDS = 2.0
LONG_SECONDS = 60.0
COLUMNS, SAMPLED = 500, 1000
WIDTH = 24


class Watch:
    """Told after each kernel: a bar in a terminal above two seconds, and one hint above a minute."""

    def __init__(self, hint: Callable[[], str], stream: TextIO | None = None) -> None:
        self.hint = hint
        self.stream = stream or sys.stderr
        self.bar = is_terminal(self.stream)
        self.started = time.monotonic()
        self.shown = False

    def __call__(self, done: int, total: int) -> None:
        """``done`` of ``total`` kernels."""
        passed = time.monotonic() - self.started
        left = passed / done * (total - done)
        if done == 1 and passed + left > LONG_SECONDS:
            self.say(f"about {clock(passed + left)} in all; {self.hint()}")
        if self.bar and done == total and self.shown:
            self.write("\r\x1b[K")
        elif self.bar and done < total and passed + left > QUIET_SECONDS:
            full = WIDTH * done // total
            bar = "#" * full + "." * (WIDTH - full)
            self.write(
                f"\r{bar} {done}/{total} kernels, {clock(passed)} passed, {clock(left)} left "
            )
            self.shown = True

    def say(self, text: str) -> None:
        """A line of its own."""
        self.write(f"{text}\n")

    def write(self, text: str) -> None:
        """To whoever watches; nobody needs it."""
        self.stream.write(text)
        self.stream.flush()


def nystrom_hint(X: Array, targets: Array, request: Request) -> Callable[[], str]:
    """What 500 columns would cost, timed by one kernel, and how far they move the best score on 1000 rows."""

    def hint() -> str:
        middle = replace(request, kernels=request.kernels[len(request.kernels) // 2 :][:1])
        columns = min(COLUMNS, len(X) // 2)
        rows = stream(request.seed, "sample").permutation(len(X))[:SAMPLED]
        try:
            started = time.monotonic()
            best_score(X, targets, replace(middle, nystrom=columns))
            seconds = (time.monotonic() - started) * len(request.kernels)
            few = min(columns, len(rows) // 2)
            exact = best_score(X[rows], targets[:, rows], middle)
            near = best_score(X[rows], targets[:, rows], replace(middle, nystrom=few))
        except KselectError:  # a learner or a criterion that has no columns
            return "fewer candidates take less: --tau, --lam"
        moved = abs(near - exact) / max(abs(exact), np.finfo(np.float64).tiny)
        return (
            f"--nystrom {columns} would take about {clock(max(seconds, 1.0))}; on {len(rows)} rows {few} columns "
            f"moved the score by {100 * moved:.2g} %"
        )

    return hint


def best_score(X: Array, targets: Array, request: Request) -> float:
    """The lowest score of a request with folds of its own."""
    folds = make_folds(request.method, len(X), request.seed, None)
    return select(X, targets, request, folds).score
