"""Test error of uniform columns and of RPCholesky columns on real data sets, at 50, 100 and 300 columns.

    python tests/bench/landmarks.py FILE...

Each file is in svmlight form. Half of the rows (1500 at most) select and fit by 5-CV, as many others test. The
error is the share of wrong classes, or the mean square error over the variance of the target; mean of three splits.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from kselect.datasets.prepare import fit_preparation
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array, Index
from kselect.numerics.sigmoid import codes
from kselect.selection.engine import select
from kselect.selection.own_data import OwnData, read_table
from kselect.selection.request import make_folds, make_kernels, make_request
from kselect.selection.result import decision_values

COUNTS = (50, 100, 300)
WAYS = ("uniform", "rpcholesky")
SPLITS = 3
MOST_ROWS = 1500


def errors(table: OwnData, train: Index, test: Index, seed: int) -> dict[tuple[int, str], float]:
    """Return the test error for each number of columns and each way to draw them."""
    prepared = fit_preparation(table.frame, "zscore", train).transform(table.frame)[0]
    X, Z, targets = prepared[train], prepared[test], table.target.values
    request = make_request(
        *("lssvm", "5-CV", "gaussian", make_kernels("gaussian", {}, X), "10^-7:10^1"),
        task=table.target.task, params={}, loss=None, seed=seed,
    )  # fmt: skip
    found = {}
    for c in COUNTS:
        for way in WAYS:
            if c > len(train):
                continue
            asked = replace(request, nystrom=c, columns=way)
            chosen = select(
                X, targets[:, train], asked, make_folds(asked.method, len(X), seed, None)
            )
            assert chosen.support is not None
            f = decision_values(chosen.kernel, chosen.best.fits, chosen.support, Z).T
            found[c, way] = error(f, targets[:, test], table.target.task)
    return found


def error(f: Array, y: Array, task: str) -> float:
    """Return the share of wrong classes, or the mean square error over the variance."""
    if task == "classification":
        return float((codes(f) != codes(y)).mean())
    return float(np.square(f - y).mean() / y.var())


def main(paths: list[Path]) -> None:
    """Print one line per file, and who has the lower error how often."""
    wins = dict.fromkeys(WAYS, 0)
    print("| data set | rows | " + " | ".join(f"{c} {way}" for c in COUNTS for way in WAYS) + " |")
    for path in paths:
        table = read_table(path)
        every = []
        for seed in range(SPLITS):
            order = stream(seed, "bench", path.name).permutation(len(table.X))
            half = min(len(order) // 2, MOST_ROWS)
            every.append(errors(table, order[:half], order[half : 2 * half], seed))
        means = {key: float(np.mean([one[key] for one in every])) for key in every[0]}
        cells = [f"{means[c, w]:.4f}" if (c, w) in means else "" for c in COUNTS for w in WAYS]
        print(f"| {path.name} | {len(table.X)} | " + " | ".join(cells) + " |", flush=True)
        for c in COUNTS:
            if (c, WAYS[0]) in means and means[c, WAYS[0]] != means[c, WAYS[1]]:
                wins[min(WAYS, key=lambda way: means[c, way])] += 1
    print(f"lower error: {wins}")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
