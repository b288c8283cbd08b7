"""Time a selection with two threads against one thread, by the clock.

    python tests/bench/threads.py [--rows 2000] [--features 20] [--rounds 3]

One BLAS thread for each of our own threads. Each round times the search by bounds of the LSSVM and of KRR with
``n_jobs`` 1 and 2, and, as the most that two cores give, two eigendecompositions one after the other and in two
threads. It prints the ratios of the minima over the rounds. Other work on the machine disturbs them: repeat.
"""

from __future__ import annotations

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from selection import OWN, Grid, make_data

from kselect.core.method import Choice
from kselect.numerics.folds import draw_folds, stream
from kselect.selection.engine import select
from kselect.selection.request import Request, make_method


def clock(work: Callable[[], object]) -> float:
    """Return the seconds that a piece of work takes by the clock."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def decompose(matrices: list[np.ndarray], threads: int) -> None:
    """Decompose the matrices."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(np.linalg.eigh, matrices))


def main() -> None:
    """Time everything in alternation, and print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    X, y = make_data(asked.rows, asked.features)
    grid, folds = Grid.named(OWN, X), draw_folds(len(X), 5, stream(0, "folds"))
    method = make_method("5-CV", None, {}, classification=True)
    lams = tuple(grid.lams.tolist())

    def search(learner: str, threads: int) -> None:
        select(
            *(X, y[None]),
            Request(
                *(Choice(learner), grid.kernels, lams, method), search="pruned", n_jobs=threads
            ),
            folds,
        )

    some = [np.cov(np.random.default_rng(i).normal(size=(1000, 2000))) for i in (0, 1)]
    best: dict[tuple[str, int], float] = {}
    for _ in range(asked.rounds):
        for threads in (1, 2):
            works: dict[str, Callable[[], None]] = {
                "lssvm": lambda t=threads: search("lssvm", t),
                "krr": lambda t=threads: search("krr", t),
                "two eigh": lambda t=threads: decompose(some, t),
            }
            for name, work in works.items():
                key = name, threads
                best[key] = min(best.get(key, np.inf), clock(work))
    print(f"{asked.rows} rows x {asked.features}, seconds by the clock, least of {asked.rounds}")
    for name in ("lssvm", "krr", "two eigh"):
        one, two = best[name, 1], best[name, 2]
        print(f"{name:<10}{one:>8.2f} with one thread{two:>8.2f} with two: {one / two:.2f} times")


if __name__ == "__main__":
    main()
