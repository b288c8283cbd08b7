"""Five tables of test errors, as a user of ``kselect judge`` might have them, written as CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

SPLITS = 3
# name -> data sets, methods, kind of numbers
KINDS = {
    "normal": (12, 4, "normal"),
    "skewed": (11, 4, "skewed"),
    "two-normal": (15, 2, "normal"),
    "two-skewed": (14, 2, "skewed"),
    "ties": (20, 5, "counts"),
}


def errors(name: str) -> pd.DataFrame:
    """Return the rows of a table; ``ties`` has accuracies of test parts of 20 rows, the others have errors."""
    sets, k, kind = KINDS[name]
    rng = np.random.default_rng(list(KINDS).index(name))
    centre = rng.normal(0.3, 0.04, (sets, k)) + 0.02 * np.arange(k)
    if kind != "normal":
        centre = (
            0.02
            + 0.6 * rng.beta(0.4, 2.0, (sets, 1))
            + 0.1 * rng.beta(1, 4, (sets, k))
            + 0.02 * np.arange(k)
        )
    rows = []
    for (i, j), mean in np.ndenumerate(centre):
        for split in range(SPLITS):
            value = mean + rng.normal(0, 0.003)
            if kind == "counts":
                value = 1 - rng.binomial(20, min(1.0, 0.5 * mean)) / 20
            rows.append((f"d{i}", split, f"m{j}", value, 60, 20))
    columns = ["dataset", "split", "method", "error", "n_train", "n_test"]
    table = pd.DataFrame(rows, columns=columns)
    table["metric"] = "accuracy" if kind == "counts" else "error"
    return table


def write(name: str, folder: Path) -> Path:
    """Write a table as CSV; its numbers have all digits."""
    path = folder / f"{name}.csv"
    errors(name).to_csv(path, index=False)
    return path


def wide(name: str) -> pd.DataFrame:
    """Return the means of a table in per cent, a column per method, as autorank wants them."""
    table = errors(name)
    means = 100 * table.pivot_table(index="dataset", columns="method", values="error", sort=False)
    # Rounded like records: equal means of counts are then equal floats.
    return means.map(lambda x: float(f"{x:.12g}")).rename_axis(None, axis=1)
