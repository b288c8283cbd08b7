"""Time a selection against its floor and against scikit-learn, in one process.

    python tests/bench/selection.py [--output results/bench] [--quick] [--sizes 4000,8000] [--minimum] [--redraw]

The data have n rows of 8 features; there are 5 folds and one BLAS thread. Two grids: the one that
``kselect select`` lays by itself (15 widths, ridges 1e-7 to 1e1), and one of 15 widths by 10 large
ridges. The contestants are kselect with the KRR and the LSSVM: the whole surface of 5-fold
cross-validation, its minimum only, and leave-one-out; the other programs of rivals.py, on as many rows as each can
bear; and the floor, 15 calls of ``numpy.linalg.eigh`` on the same kernels. Seconds are CPU time,
the minimum over several rounds, each of which measures everything once; the ratios are the result.
From 8000 rows on, the floor is 15 times the mean of three such calls, and only the minimum is searched, as with
``--minimum``. It writes selection.json (with the machine) and selection.png.
"""

from __future__ import annotations

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rivals import KERNEL_RIDGE, SUPPORT_VECTORS, Searched, missing, rivals

from kselect.core.method import SELECTED, Choice, LamGrid, SearchName
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.report.figures.agreement import spread_out
from kselect.report.style import INK, SERIES, SOFT, STYLE, tidy_up
from kselect.search.grid import search_grid
from kselect.search.training_context import TrainingContext
from kselect.selection.defaults import LAM
from kselect.selection.engine import select
from kselect.selection.request import Request, make_kernels, make_lams, make_method
from kselect.store.environment import describe_environment

FEATURES = 8
SIZES, QUICK = "250,500,1000,2000,4000", "250,500"
# From this number of rows on, only the minimum is searched.
MANY = 8000
ALL = ("5-CV", "10-CV", "ELOO", "BR", "5-KS")
OURS, THEIRS, FLOOR = "KRR, minimum of 5-CV", KERNEL_RIDGE, "floor: 15 eigh"
LSSVM = "LSSVM, minimum of 5-CV"
MINIMA = (FLOOR, OURS, LSSVM)
Results = Mapping[str, Mapping[int, Mapping[str, float]]]
OWN, LARGE = "select's own grid", "large ridges"
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 40)
WIDTH = 11.0  # inches: two panels with their labels
# Of two nearly equal lines one is wide and the other, above it, dashed, so that both are visible.
LOOK: Mapping[str, Any] = {"marker": "o", "ms": 4, "lw": 1.4}
LOOKS: Mapping[str, dict[str, Any]] = {
    SUPPORT_VECTORS: {"color": SERIES[0]},
    THEIRS: {"color": SERIES[1]},
    "LSSVM, five criteria": {"color": SERIES[2]},
    OURS: {"color": SERIES[5], "lw": 3.4, "ms": 6.5},
    LSSVM: {"color": INK, "ls": (0, (2, 2)), "ms": 3},
    "KRR, 5-CV": {"color": SERIES[4], "lw": 3.4, "ms": 6.5},
    "LSSVM, 5-CV": {"color": INK, "ls": (0, (1, 1)), "ms": 3},
    FLOOR: {"color": SOFT, "ls": "--", "marker": "s", "ms": 3},
    "KRR, ELOO": {"color": SERIES[3]},
}


@dataclass(frozen=True, eq=False)
class Grid:
    """The widths and the ridges of all contestants."""

    taus: Array
    lams: Array

    @classmethod
    def named(cls, name: str, X: Array) -> Grid:
        """Return the grid that select lays around the data, or the one of large ridges."""
        if name == LARGE:
            return cls(np.exp2(np.arange(-6.0, 9.0)), np.exp2(np.arange(-7.0, 3.0)))
        taus = [kernel.parameters["tau"] for kernel in make_kernels("gaussian", {}, X)]
        return cls(np.array(taus), np.array(make_lams(LAM)))

    @property
    def kernels(self) -> tuple[Gaussian, ...]:
        """One kernel per width."""
        return tuple(Gaussian(float(tau)) for tau in self.taus)


def make_data(n: int, d: int = FEATURES) -> tuple[Array, Array]:
    """Return labels with a smooth rule and noise."""
    rng = stream(0, "bench", n, d)
    X = rng.normal(size=(n, d))
    return X, np.sign(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n))


def floor(X: Array, grid: Grid) -> float:
    """Time 15 eigendecompositions, without the computation of the kernels; of many rows, three stand for all."""
    points, total = Points(X), 0.0
    kernels = grid.kernels if len(X) < MANY else grid.kernels[:: len(grid.kernels) // 2]
    for kernel in kernels:
        K = kernel.gram(points)
        started = time.process_time()
        np.linalg.eigh(K)
        total += time.process_time() - started
    return total * len(grid.kernels) / len(kernels)


def one_criterion(
    X: Array, y: Array, grid: Grid, learner: str, label: str, search: SearchName
) -> float:
    """Return the CPU seconds of a selection, with its final fit."""
    method = make_method(label, None, {}, classification=True)
    folds = draw_folds(len(X), method.folds, stream(0, "folds")) if method.folds else None
    lams = tuple(grid.lams.tolist())
    request = Request(Choice(learner), grid.kernels, lams, method, search=search)
    started = time.process_time()
    select(X, y[None, :], request, folds)
    return time.process_time() - started


def all_criteria(X: Array, y: Array, grid: Grid, learner: str) -> float:
    """Time five criteria on one path per kernel."""
    methods = tuple(make_method(label, None, {}, classification=True) for label in ALL)
    folds: dict[int, Folds] = {k: draw_folds(len(X), k, stream(0, "folds", k)) for k in (5, 10)}
    started = time.process_time()
    side = TrainingContext(
        X=X,
        targets=y[None],
        task="classification",
        kernels=grid.kernels,
        ridges=LamGrid(tuple(grid.lams.tolist()), "select"),
        learner=Choice(learner),
        ridge="fixed",
        given_folds=folds.__getitem__,
        stream=partial(stream, 0),
    )
    search_grid(side, dict.fromkeys(methods, (SELECTED,)))
    return time.process_time() - started


def contestants(X: Array, y: Array, grid: Grid, others: bool) -> dict[str, Callable[[], float]]:
    """Return a function per name that measures the contestant once."""
    ask = partial(one_criterion, X, y, grid)
    found: dict[str, Callable[[], float]] = {
        FLOOR: lambda: floor(X, grid),
        OURS: lambda: ask("krr", "5-CV", "pruned"),
        LSSVM: lambda: ask("lssvm", "5-CV", "pruned"),
        "KRR, 5-CV": lambda: ask("krr", "5-CV", "grid"),
        "LSSVM, 5-CV": lambda: ask("lssvm", "5-CV", "grid"),
        "KRR, ELOO": lambda: ask("krr", "ELOO", "grid"),
        "LSSVM, five criteria": lambda: all_criteria(X, y, grid, "lssvm"),
    }
    return found | (rivals(Searched(X, y, grid.taus, grid.lams)) if others else {})


def measure(name: str, n: int, rounds: int, others: bool, few: bool) -> dict[str, float]:
    """Return the minimum seconds of each contestant, or of few; the other programs run once."""
    X, y = make_data(n)
    grid, best = Grid.named(name, X), dict[str, float]()
    for turn in range(rounds):
        for each, run in contestants(X, y, grid, others and turn == 0 and not few).items():
            if few and each not in MINIMA:
                continue
            best[each] = min(best.get(each, np.inf), run())
    return best


def show(name: str, n: int, seconds: dict[str, float]) -> None:
    """Print a table with the ratio to the floor."""
    base = seconds[FLOOR]
    print(f"\n{f'n = {n}, {name}':<30}CPU seconds  over the floor")
    for each, value in seconds.items():
        print(f"  {each:<28}{value:>11.3f}{value / base:>12.2f}", flush=True)


def draw(results: Results, path: Path) -> None:
    """Plot multiples of the floor over n on log axes, one panel per grid."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, len(results), sharey=True, squeeze=False)[0]
        for panel, (grid, by_n) in zip(panels, results.items(), strict=True):
            draw_panel(panel, grid, by_n)
        panels[0].set_ylabel("times the CPU seconds of the floor, one thread")
        # The names are outside the panels, whose width is final only after the second layout.
        figure.draw_without_rendering()
        figure.savefig(path, dpi=150, metadata={"Software": None})


def draw_panel(panel: Any, grid: str, by_n: Mapping[int, Mapping[str, float]]) -> None:
    """Plot one grid: the speed-up above, the lines, their names at the right."""
    curves = {name: over_floor(name, by_n) for name in LOOKS if name in by_n[min(by_n)]}
    for name, points in curves.items():
        panel.loglog(*zip(*points, strict=True), **{**LOOK, **LOOKS[name]})
    panel.set_title(f"{grid}: {speed_up_text(by_n)}", fontsize=9.5, loc="left")
    panel.set_xlabel("rows; 15 widths, 8 features, 5 folds")
    panel.set_xticks(list(by_n), [str(n) for n in by_n])
    panel.set_yticks(TICKS, [f"{t:g}" for t in TICKS])
    panel.minorticks_off()
    tidy_up(panel)
    label_lines(panel, curves, by_n)


def over_floor(name: str, by_n: Mapping[int, Mapping[str, float]]) -> list[tuple[int, float]]:
    """Return seconds as multiples of the floor at every measured size."""
    return [(n, seconds[name] / seconds[FLOOR]) for n, seconds in by_n.items() if name in seconds]


def speed_up_text(by_n: Mapping[int, Mapping[str, float]]) -> str:
    """Return scikit-learn's ratio at its smallest and largest size as text."""
    both = [n for n, seconds in by_n.items() if THEIRS in seconds]
    if not both:
        return "scikit-learn was not measured"
    few, many = (f"{by_n[n][THEIRS] / by_n[n][OURS]:.2g}" for n in (min(both), max(both)))
    return (
        f"{OURS},\nis {many} times as fast as {THEIRS}\n"
        f"at {max(both)} rows, {few} times at {min(both)}"
    )


def label_lines(
    panel: Any,
    curves: Mapping[str, list[tuple[int, float]]],
    by_n: Mapping[int, Mapping[str, float]],
) -> None:
    """Label each line at the right with its name and seconds, in the order of the last points."""
    ends = sorted(((points[-1], name) for name, points in curves.items()), key=lambda e: -e[0][1])
    heights = spread_out([log_height(panel, ratio) for (_, ratio), _ in ends])
    for ((n, ratio), name), y in zip(ends, heights, strict=True):
        where = "" if n == max(by_n) else f" at {n} rows"
        panel.annotate(
            f"{name}: {by_n[n][name]:.1f} s{where}",
            (n, ratio),
            (1.04, y),
            textcoords="axes fraction",
            color=LOOKS[name]["color"],
            fontsize=8,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": SOFT, "linewidth": 0.5, "relpos": (0.0, 0.5)},
        )


def log_height(panel: Any, value: float) -> float:
    """Return the position of a multiple in a panel, from 0 to 1."""
    low, high = np.log(panel.get_ylim())
    return float((np.log(value) - low) / (high - low))


def read_results(path: Path) -> Results:
    """Return the results of an earlier run."""
    seconds = json.loads(path.read_text(encoding="utf-8"))["seconds"]
    return {grid: {int(n): s for n, s in by_n.items()} for grid, by_n in seconds.items()}


def main() -> None:
    """Run the benchmark, print and write the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, default=Path("results/bench"))
    parser.add_argument("--quick", action="store_true", help="small n, no scikit-learn")
    parser.add_argument("--sizes", default=SIZES, help=f"numbers of rows (default {SIZES})")
    parser.add_argument("--minimum", action="store_true", help="the floor and the minimum only")
    parser.add_argument("--redraw", action="store_true", help="only draw selection.json again")
    arguments = parser.parse_args()
    if arguments.redraw:
        draw(read_results(arguments.output / "selection.json"), arguments.output / "selection.png")
        return
    if not arguments.quick and missing():
        print(f"not measured, because they are not installed: {', '.join(missing())}")
    sizes = tuple(map(int, (QUICK if arguments.quick else arguments.sizes).split(",")))
    results: dict[str, dict[int, dict[str, float]]] = {}
    for name in (OWN, LARGE):
        results[name] = {}
        for n in sizes:
            rounds = 3 if n <= 1000 else 1
            few = arguments.minimum or n >= MANY
            results[name][n] = measure(name, n, rounds, others=not arguments.quick, few=few)
            show(name, n, results[name][n])
    arguments.output.mkdir(parents=True, exist_ok=True)
    facts = {"machine": describe_environment(), "seconds": results}
    (arguments.output / "selection.json").write_text(json.dumps(facts, indent=1) + "\n")
    draw(results, arguments.output / "selection.png")
    print(f"\n{arguments.output / 'selection.json'}, {arguments.output / 'selection.png'}")


if __name__ == "__main__":
    main()
