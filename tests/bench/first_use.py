"""Time the first SVM on a machine against the same SVM with its loops compiled, each in a process of its own.

    python tests/bench/first_use.py [--repeat 3]

The first process of a pair finds an empty folder for compiled code, a temporary one, and the second process finds
what the first has left there. It prints the CPU seconds of both, with children and imports, and their difference.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

FIRST_SVM = """
import numpy as np
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners import Problem
from kselect.learners.svm import svm
from kselect.numerics.folds import draw_folds

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 3))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=100) > 0, 1.0, -1.0)
kernel = Gaussian(1.0)
problem = Problem(X, y, kernel, kernel.gram(Points(X)), 2.0 ** np.arange(-10, 1))
svm(problem).held_out(draw_folds(100, 5, rng))
"""


def seconds(folder: str) -> float:
    """Return the CPU seconds of the SVM in a new process whose compiled code is in a folder."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    root = str(Path(__file__).parents[2])
    env = {**os.environ, **threads, "NUMBA_CACHE_DIR": folder, "PYTHONPATH": root}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", FIRST_SVM], env=env, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the seconds of each pair."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=3)
    for _ in range(parser.parse_args().repeat):
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = seconds(folder), seconds(folder)
        print(f"cold {cold:.2f} s, warm {warm:.2f} s, cold - warm {cold - warm:.2f} s", flush=True)


if __name__ == "__main__":
    main()
