"""Time whole trials of an experiment against eigendecompositions, in one process.

    python tests/bench/experiment.py [--config ecml2014] [--mirror DIR] [--splits 1] [--rows N] [-d NAME ...]

For each data set and split it measures the CPU seconds of a whole trial (read, search with every
method, figures, refit, test), and those of ``numpy.linalg.eigh`` on the same training kernels, with
one BLAS thread each. It prints a table with the ratio, and the peak memory of the process.
"""

from __future__ import annotations

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from kselect.config.load import load_config
from kselect.core.experiment import Experiment
from kselect.core.job import Trial
from kselect.datasets.fetch import Places, default_cache
from kselect.kernels import Points
from kselect.numerics.linalg import symmetric_eigh
from kselect.plan import find_sources
from kselect.report.sections import FIGURES
from kselect.run.trial import load, prepare, run_trial

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def floor_seconds(experiment: Experiment, trial: Trial) -> float:
    """Return CPU seconds of the eigendecompositions of a trial's training kernels."""
    data = load(experiment.info(trial.dataset), trial.source)
    points = Points(prepare(experiment, data, trial.split).context.X)
    total = 0.0
    for kernel in experiment.kernels:
        K = kernel.gram(points)
        started = time.process_time()
        try:
            np.linalg.eigh(K)
        except np.linalg.LinAlgError:
            symmetric_eigh(K)
        total += time.process_time() - started
    return total


def trial_seconds(experiment: Experiment, trial: Trial) -> float:
    """Return CPU seconds of a whole trial; only the first split reads the data set."""
    started = time.process_time()
    run_trial(experiment, trial)
    return time.process_time() - started


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="ecml2014")
    parser.add_argument("--mirror")
    parser.add_argument("--rows", type=int, default=10**9, help="skip larger data sets")
    parser.add_argument("--splits", default="1")
    parser.add_argument("-d", "--dataset", action="append")
    arguments = parser.parse_args()
    overrides = {"splits": arguments.splits, "datasets": arguments.dataset}
    experiment = load_config(CONFIGS / f"{arguments.config}.yaml", FIGURES, overrides)
    small = tuple(d for d in experiment.datasets if experiment.info(d).rows < arguments.rows)
    places = Places(default_cache(), arguments.mirror, offline=True)
    sources, missing = find_sources(replace(experiment, datasets=small), places)
    for name in missing:
        print(f"{name}: skipped, no file (--mirror)", file=sys.stderr)
    print(f"{'data set':<18}{'floor':>9}{'kselect':>9}{'ratio':>7}   CPU seconds")
    floors, ours = 0.0, 0.0
    for name, source in sources.items():
        for split in experiment.splits:
            trial = Trial(name, split, experiment.methods_on(name), source)
            mine, floor = trial_seconds(experiment, trial), floor_seconds(experiment, trial)
            floors, ours = floors + floor, ours + mine
            print(f"{name:<18}{floor:>9.2f}{mine:>9.2f}{mine / floor:>7.2f}", flush=True)
    print(f"{'all':<18}{floors:>9.2f}{ours:>9.2f}{ours / floors:>7.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"peak memory of this process {peak:.2f} GiB")


if __name__ == "__main__":
    main()
