"""Time a whole ``kselect select`` on few rows against the imports that it cannot do without.

    python tests/bench/small.py [--rows 100] [--rounds 9]

Each round starts two processes, one after the other: ``import numpy, scipy.linalg, pandas``, and ``kselect select``
on a CSV file of 5 features and two classes. It prints the user seconds of both, as the medians over the rounds, and
their ratio. Bytecode is compiled before the first round, as an installation does.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

NEEDED = ("-c", "import numpy, scipy.linalg, pandas")


def write_table(path: Path, rows: int) -> None:
    """Write a CSV file whose target is text."""
    X = np.random.default_rng(0).normal(size=(rows, 5))
    labels = np.where(X[:, 0] + np.square(X[:, 1]) > 1.0, "high", "low")
    lines = [
        ",".join([*(f"{v:.4f}" for v in x), label]) for x, label in zip(X, labels, strict=True)
    ]
    path.write_text("\n".join(["a,b,c,d,e,class", *lines]) + "\n", encoding="utf-8")


def user_seconds(arguments: tuple[str, ...], folder: str) -> float:
    """Return the user seconds of a Python process."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    """Run both in alternation and print their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        write_table(table, arguments.rows)
        ours = ("-m", "kselect", "select", str(table))
        for each in (NEEDED, ours):
            user_seconds(each, folder)
        pairs = [
            (user_seconds(NEEDED, folder), user_seconds(ours, folder))
            for _ in range(arguments.rounds)
        ]
    floor, seconds = (median(column) for column in zip(*pairs, strict=True))
    print(f"{arguments.rows} rows, user seconds, medians of {arguments.rounds} rounds")
    print(f"imports {floor:.3f}, kselect select {seconds:.3f}: ratio {seconds / floor:.2f}")


if __name__ == "__main__":
    main()
