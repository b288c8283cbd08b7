"""The progress of a long command: a bar, a hint that a selection would be faster approximated, interruptions."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from kselect.errors import KselectError
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array
from kselect.run.progress import clock, is_terminal
from kselect.selection.engine import select
from kselect.selection.request import Request, make_folds

QUIET_SECONDS = 2.0
LONG_SECONDS = 60.0
WARMING = 5.0  # seconds that the first kernel may take longer than the others: it loads modules
FEWER = "fewer candidates take less time: --tau, --lam"
COLUMNS, SAMPLED = 500, 1000
BAR = "{bar} {n_fmt}/{total_fmt} kernels, {elapsed} elapsed, {remaining} left"


@contextmanager
def watched(kernels: int, hint: Callable[[], str]) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of a selection on stderr; yield the function to call after each kernel.

    The function takes the number of kernels done, which may rise by several at once, and their total. In a
    terminal, a bar appears after two seconds and is removed at the end. If the first kernels show that the
    selection takes more than a minute, the hint is printed once.
    """
    warm, before, told = time.monotonic() + WARMING, 0, 0
    hinted = False
    with bar_of(kernels) if is_terminal(sys.stderr) else nullcontext() as bar:

        def step(done: int, total: int) -> None:
            nonlocal warm, before, told, hinted
            first = not told
            if bar:
                bar.update(done - told)
            told = done
            now = time.monotonic()
            seconds = max(now - warm, 0.0) / max(done - before, 1) * total
            if first:
                warm, before = now, done
            if seconds > LONG_SECONDS and not hinted:
                hinted = True
                (bar.write if bar else print)(
                    f"about {clock(seconds)} in all; {hint()}", file=sys.stderr
                )

        yield step


def bar_of(kernels: int) -> Any:
    """Return tqdm's bar on stderr, which appears after two seconds; other output is not worth its import."""
    from tqdm import tqdm

    return tqdm(
        total=kernels,
        file=sys.stderr,
        bar_format=BAR,
        delay=QUIET_SECONDS,
        leave=False,
        dynamic_ncols=True,
    )


def nystrom_hint(X: Array, targets: Array, request: Request) -> str:
    """Return how long ``--nystrom 500`` would take, and how far it moves the best score.

    The time is measured on one kernel; the change of the score, on 1000 rows.
    """
    if request.nystrom is not None:
        return FEWER
    middle = replace(request, kernels=request.kernels[len(request.kernels) // 2 :][:1])
    columns = min(COLUMNS, len(X) // 2)
    rows = stream(request.seed, "sample").permutation(len(X))[:SAMPLED]
    few = min(columns, len(rows) // 2)

    def best_score(X: Array, targets: Array, request: Request) -> float:
        return select(
            X, targets, request, make_folds(request.method, len(X), request.seed, None)
        ).score

    try:
        started = time.monotonic()
        best_score(X, targets, replace(middle, nystrom=columns))
        seconds = (time.monotonic() - started) * len(request.kernels)
        exact = best_score(X[rows], targets[:, rows], middle)
        near = best_score(X[rows], targets[:, rows], replace(middle, nystrom=few))
    except KselectError:  # the learner or the criterion does not work with Nystrom columns
        return FEWER
    moved = abs(near - exact) / max(abs(exact), np.finfo(np.float64).tiny)
    return (
        f"--nystrom {columns} would take about {clock(max(seconds, 1.0))}; on {len(rows)} rows {few} columns "
        f"moved the score by {100 * moved:.2g} %"
    )


def time_hint(X: Array, targets: Array, request: Request) -> str:
    """Return what would make a long selection faster: Nystrom columns, and another kernel of OpenBLAS."""
    from kselect.store.environment import blas_libraries, cpu_flags, faster_blas

    hints = nystrom_hint(X, targets, request), faster_blas(blas_libraries(), cpu_flags())
    return "; ".join(filter(None, hints))


def handle_interrupts() -> None:
    """Let a batch system's SIGTERM end a command as Ctrl-C does.

    Signals that nohup ignores, or that submitit handles in an array job, stay as they are.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)


def interrupt(*_: object) -> None:
    """End the command; ignore a second Ctrl-C, since the end takes less than a second."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
