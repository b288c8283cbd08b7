"""CPU time of a selection on Nystrom columns over its floor: the distances, exp and V^T V of the same blocks.

    python tests/bench/columns.py [--rows 1000000] [--columns 300]
    python tests/bench/columns.py --linear     leave-one-out of a linear kernel over RidgeCV
    python tests/bench/columns.py --dask       wall time of one worker process over two

One BLAS thread; floor and selection in the same process, half of the floor before and half after the selection.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd

from kselect.numerics.linalg import Array
from kselect.selection.engine import select
from kselect.selection.request import Request, make_folds, make_kernels, make_request

BLOCK = 4096
FEATURES = 10


def table(n: int, d: int) -> tuple[Array, Array]:
    """Return rows and a target that needs a kernel."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def request_for(X: Array, kernel: str, criterion: str, nystrom: int | None) -> Request:
    """Return select's own grid: 15 widths and 9 ridges."""
    kernels = make_kernels(kernel, {}, X)
    return make_request(
        *("lssvm", criterion, kernel, kernels, "10^-7:10^1"),
        task="regression", params={}, loss=None, nystrom=nystrom,
    )  # fmt: skip


def floor(X: Array, c: int, widths: list[float]) -> float:
    """Return the CPU seconds of the bare calls on all rows."""
    Z = X[:c]
    z = np.square(Z).sum(axis=1)
    K = np.empty((BLOCK, c))
    G = np.zeros((len(widths), c, c))
    started = time.process_time()
    for start in range(0, len(X), BLOCK):
        rows = X[start : start + BLOCK]
        D = rows @ Z.T
        D *= -2.0
        D += np.square(rows).sum(axis=1)[:, None]
        D += z
        for i, tau in enumerate(widths):
            V = np.multiply(D, -0.5 / tau, out=K[: len(D)])
            np.exp(V, out=V)
            G[i] += V.T @ V
    return time.process_time() - started


def columns(n: int, c: int) -> None:
    """Print the ratio and the memory of a selection on columns."""
    X, y = table(n, FEATURES)
    request = request_for(X, "gaussian", "5-CV", c)
    folds = make_folds(request.method, n, 0, None)
    widths = [k.parameters["tau"] for k in request.kernels]
    bare = floor(X[: n // 2], c, widths)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    found = select(X, y[None], request, folds)
    spent = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    bare += floor(X[n // 2 :], c, widths)
    print(
        f"{n} rows x {FEATURES}, c = {c}, {len(widths)} widths x {len(request.lams)} ridges, 5-CV"
    )
    print(f"floor {bare:.1f} s, select {spent:.1f} s: ratio {spent / bare:.2f}")
    print(f"memory beyond the table and the floor: {memory / 2**20:.2f} GiB")
    print(f"choice {found.kernel.text}, lam {found.lam:g}, excluded {len(found.best.excluded)}")


def linear() -> None:
    """Print leave-one-out of a linear kernel over scikit-learn's RidgeCV, the best of five runs each."""
    from sklearn.linear_model import RidgeCV

    X, y = table(2000, 20)
    request = request_for(X, "linear", "ELOO", None)
    ours, theirs = [], []
    for _ in range(5):
        started = time.process_time()
        select(X, y[None], request, None)
        ours.append(time.process_time() - started)
        started = time.process_time()
        RidgeCV(alphas=len(X) * np.array(request.lams)).fit(X, y)
        theirs.append(time.process_time() - started)
    print(
        f"linear kernel, leave-one-out, 2000 x 20: {min(ours):.4f} s, RidgeCV {min(theirs):.4f} s"
    )
    print(f"ratio {min(ours) / min(theirs):.2f}")


def workers(n: int, c: int) -> None:
    """Print the wall time of a selection in this process over the one on two dask workers."""
    from distributed import Client, LocalCluster, wait

    from kselect.datasets.table.raw_table import TableOptions
    from kselect.selection.distributed import read_distributed

    X, y = table(n, FEATURES)
    request = request_for(X, "gaussian", "5-CV", c)
    folds = make_folds(request.method, n, 0, None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        names = [f"x{i}" for i in range(FEATURES)]
        pd.DataFrame(X, columns=names).assign(y=y).to_parquet(path)
        one = wall(lambda: select(X, y[None], request, folds))
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            data = read_distributed(client, path, "y", TableOptions(), "none")
            wait(data.X.blocks)
            before = client.run(time.process_time)
            # As with -j 2: this process waits for the workers, and then solves in two threads.
            both = replace(request, n_jobs=2)
            two = wall(lambda: select(data.X, data.target.values, both, folds))
            after = client.run(time.process_time)
    print(f"{n} rows, c = {c}: one process {one:.1f} s, two workers {two:.1f} s: {one / two:.2f} x")
    spent = (f"{after[worker] - before[worker]:.1f} s" for worker in before)
    print(f"CPU time of the workers: {', '.join(spent)}")


def wall(call: Callable[[], object]) -> float:
    """Return the wall seconds of a call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=300)
    parser.add_argument("--linear", action="store_true")
    parser.add_argument("--dask", action="store_true")
    asked = parser.parse_args()
    if asked.linear:
        linear()
    elif asked.dask:
        workers(asked.rows, asked.columns)
    else:
        columns(asked.rows, asked.columns)
