"""Time the seven methods of flkl2014, and FLKL against the paper's nested Nelder-Mead search.

    python tests/bench/flkl.py [-d heart ...] [--first 0] [--replicates 5] [--nested 1] [--targets 1] [--mirror DIR]

One process, one BLAS thread; the unit is CPU seconds per replicate. heart is the embedded copy,
twonorm and waveform are generated, splice is in ``--mirror``; training sets have the paper's sizes and five folds,
features are z-scored. ``--nested`` replicates are also searched by Nelder-Mead; the objective at its (lam,
mu) is computed with exact inner minima, since its own inner searches end slightly above them.
The last line sets LOO, XVAL and BR next to FLKL, all with a width per feature: at most TIMES as long.
``--targets 3`` learns three targets with one kernel, the target itself and two of its features' signs;
``--laplacian`` learns Laplacian kernels, without a rival.
"""

from __future__ import annotations

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np

from kselect.datasets.dataset import read_dataset
from kselect.datasets.fetch import Places, default_cache, resolve
from kselect.datasets.raetsch import generate
from kselect.datasets.registry import find_dataset
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.numerics.memory import keep_freed_memory
from kselect.search.continuous import Solution
from kselect.search.flkl import Follower, OuterProblem, flkl, nested_nelder_mead
from kselect.search.quasi_newton import minimise, minimise_regularised

R = TypeVar("R")
Problem: TypeAlias = tuple[Array, Array, Folds]

TRAIN = {"heart": 170, "twonorm": 400, "waveform": 400, "splice": 1000}
LIMITS = {"heart": 0.5, "twonorm": 2.0, "waveform": 2.0, "splice": 40.0}
SECOND = ("ARD-LOO", "ARD-XVAL", "ARD-BR")
USUAL = ("heart", "twonorm", "waveform")
# How many times as long as ARD-FLKL a search of the second level may take.
TIMES = 2.0


def rows(name: str, mirror: str | None) -> tuple[Array, Array]:
    """Return all rows of a data set."""
    if name in ("twonorm", "waveform"):
        return generate(f"{name}-generated")
    info = find_dataset(name)
    data = read_dataset(info, resolve(info, Places(default_cache(), mirror, offline=True)))
    return data.X, data.y


def replicate(name: str, number: int, targets: int, mirror: str | None = None) -> Problem:
    """Return a z-scored training set with one target or several, and its folds."""
    X, y = rows(name, mirror)
    rng = stream(0, name, number, "bench")
    chosen = rng.permutation(len(y))[: TRAIN[name]]
    X = X[chosen]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    Y = np.column_stack([y[chosen], np.sign(X[:, 1:targets] + 1e-9)])
    return X, Y[:, 0] if targets == 1 else Y, draw_folds(len(chosen), 5, rng)


@dataclass
class Clock:
    """CPU seconds by name, summed over replicates."""

    seconds: dict[str, float] = field(default_factory=dict)

    def time(self, name: str, work: Callable[..., R], *arguments: Any, **options: Any) -> R:
        """Return the result of a call and add its CPU seconds."""
        started = time.process_time()
        found = work(*arguments, **options)
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - started
        return found

    @property
    def total(self) -> float:
        """Return the sum over all names."""
        return sum(self.seconds.values())


def seven(problem: Problem, clock: Clock, absolute: bool) -> tuple[Solution, Solution, Solution]:
    """Run all seven methods from RBF's solution; return those of RBF-XVAL and both of FLKL."""
    X, y, _ = problem
    how = {"absolute": absolute}
    loo = clock.time("RBF-LOO", minimise, X, y, **how)
    xval = clock.time("RBF-XVAL", minimise, *problem, **how)
    rbf = clock.time("RBF-FLKL", flkl, OuterProblem.of(*problem, xval, ard=False, **how))
    clock.time("ARD-LOO", minimise, X, y, ard=True, start=loo, **how)
    clock.time("ARD-XVAL", minimise, *problem, ard=True, start=xval, **how)
    ard = clock.time("ARD-FLKL", flkl, OuterProblem.of(*problem, rbf, ard=True, **how))
    clock.time("ARD-BR", minimise_regularised, X, y, start=loo, **how)
    return xval, rbf, ard


def exact(problem: Problem, at: Solution, start: Solution, *, ard: bool) -> float:
    """Return FLKL's objective at (lam, mu), with every fold's widths at a minimum."""
    X, y, folds = problem
    outer = OuterProblem.of(X, y, folds, start, ard=ard)
    u = np.log([at.lam, at.mu / outer.unit.factor**2])
    fits = Follower().first(outer.folds, u, outer.theta)
    return float(fits.errors @ fits.errors) / y.size


@dataclass
class Rivalry:
    """FLKL against nested Nelder-Mead: seconds, and ``ours / theirs - 1`` of the objectives."""

    ours: Clock = field(default_factory=Clock)
    theirs: Clock = field(default_factory=Clock)
    excess: list[float] = field(default_factory=list)

    def add(self, problem: Problem, start: Solution, *, ard: bool) -> None:
        """Add one replicate with one kernel."""
        kind = "ARD" if ard else "RBF"
        outer = OuterProblem.of(*problem, start, ard=ard)
        found = self.ours.time(kind, flkl, outer)
        rival = self.theirs.time(kind, nested_nelder_mead, outer)
        self.excess.append(found.value / exact(problem, rival, start, ard=ard) - 1.0)

    def show(self) -> None:
        """Print the speed-ups, and the share of searches that are at most 1e-3 worse."""
        ratios = [f"{k} {self.theirs.seconds[k] / v:.0f}" for k, v in self.ours.seconds.items()]
        both = self.theirs.total / self.ours.total
        fine = np.mean(np.array(self.excess) <= 1e-3)
        print(f"  times as fast as nested Nelder-Mead: {', '.join(ratios)}, both {both:.0f}")
        print(
            f"  objective at most 1e-3 worse in {fine:.1%} of {len(self.excess)} searches;", end=" "
        )
        print(
            f"ours / theirs - 1 from {min(self.excess):.1e} to {max(self.excess):.1e}", flush=True
        )


def measure(
    name: str, numbers: range, nested: int, targets: int, absolute: bool, mirror: str | None
) -> None:
    """Time the seven methods on one data set, and compare FLKL with Nelder-Mead."""
    clock, rivalry = Clock(), Rivalry()
    ends: Counter[str] = Counter()
    largest = 0.0
    for number in numbers:
        problem, before = replicate(name, number, targets, mirror), clock.total
        start, *found = seven(problem, clock, absolute)
        largest = max(largest, clock.total - before)
        ends.update(one.state for one in found)
        if number - numbers.start < nested:
            rivalry.add(problem, start, ard=False)
            rivalry.add(problem, found[0], ard=True)
    share = 1.0 / len(numbers)
    print(f"{name}: {share * clock.total:.3f} CPU s per replicate, largest {largest:.3f}", end=" ")
    print(f"(at most {LIMITS[name]}); FLKL ended: {dict(ends)}")
    print("  " + "  ".join(f"{k} {share * v:.3f}" for k, v in clock.seconds.items()), flush=True)
    second = {k: v / clock.seconds["ARD-FLKL"] for k, v in clock.seconds.items() if k in SECOND}
    shown = "  ".join(f"{k} {ratio:.2f}" for k, ratio in second.items())
    print(f"  times ARD-FLKL: {shown} (at most {TIMES:g})", flush=True)
    if nested:
        rivalry.show()


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", "--dataset", action="append", choices=list(TRAIN))
    parser.add_argument("--first", type=int, default=0, help="number of the first replicate")
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument(
        "--nested", type=int, default=1, help="number of replicates for Nelder-Mead"
    )
    parser.add_argument("--targets", type=int, default=1, help="number of targets of one kernel")
    parser.add_argument("--laplacian", action="store_true", help="learn Laplacian kernels")
    parser.add_argument("--mirror", help="folder of data files, for splice")
    arguments = parser.parse_args()
    keep_freed_memory()  # like the searches of an experiment
    numbers = range(arguments.first, arguments.first + arguments.replicates)
    for name in arguments.dataset or USUAL:
        nested = 0 if arguments.laplacian else arguments.nested
        how = arguments.targets, arguments.laplacian, arguments.mirror
        measure(name, numbers, nested, *how)


if __name__ == "__main__":
    main()
