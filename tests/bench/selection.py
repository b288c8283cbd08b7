"""Time a selection against its floor and against scikit-learn, in one process.

    python tests/bench/selection.py [--output results/bench] [--quick] [--redraw]

The data have n rows of 20 (and of 3) features; the grid has 15 widths by 10 ridges; there are 5
folds and one BLAS thread. The contestants are kselect with the KRR and the LSSVM and several
criteria, ``GridSearchCV`` over ``KernelRidge`` and over ``SVC``, and the floor: 15 calls of
``numpy.linalg.eigh`` on the same kernels. Seconds are the minimum over several rounds, each of
which measures everything once; the ratios are the result. It writes selection.json (with the
machine) and selection.png.
"""

from __future__ import annotations

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC

from kselect.core.method import SELECTED, Choice, LamGrid
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.report.figures.agreement import spread_out
from kselect.report.style import INK, SERIES, SOFT, STYLE, WIDE, tidy_up
from kselect.search.grid import search_grid
from kselect.search.training_context import TrainingContext
from kselect.selection.engine import select
from kselect.selection.request import Request, make_method
from kselect.store.environment import describe_environment

TAUS = 2.0 ** np.arange(-6, 9)
LAMS = 2.0 ** np.arange(-7, 3)
FEW, MANY = 3, 20
ALL = ("5-CV", "10-CV", "ELOO", "BR", "5-KS")
OURS, THEIRS, FLOOR = "KRR, 5-CV", "GridSearchCV(KernelRidge)", "floor: 15 eigh"
Results = Mapping[int, Mapping[int, Mapping[str, float]]]
TICKS = (0.5, 1, 2, 5, 10, 20, 40)
# Of two nearly equal lines one is wide and the other, above it, dashed, so that both are visible.
LOOK: Mapping[str, Any] = {"marker": "o", "ms": 4, "lw": 1.4}
LOOKS: Mapping[str, dict[str, Any]] = {
    "GridSearchCV(SVC)": {"color": SERIES[0]},
    THEIRS: {"color": SERIES[1]},
    "LSSVM, five criteria": {"color": SERIES[2]},
    OURS: {"color": SERIES[5], "lw": 3.4, "ms": 6.5},
    "LSSVM, 5-CV": {"color": INK, "ls": (0, (2, 2)), "ms": 3},
    FLOOR: {"color": SOFT, "ls": "--", "marker": "s", "ms": 3},
    "KRR, ELOO": {"color": SERIES[3]},
}


def make_data(n: int, d: int) -> tuple[Array, Array]:
    """Return labels with a smooth rule and noise."""
    rng = stream(0, "bench", n, d)
    X = rng.normal(size=(n, d))
    return X, np.sign(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n))


def floor(X: Array) -> float:
    """Time 15 eigendecompositions, without the computation of the kernels."""
    points, total = Points(X), 0.0
    for tau in TAUS:
        K = Gaussian(tau).gram(points)
        started = time.perf_counter()
        np.linalg.eigh(K)
        total += time.perf_counter() - started
    return total


def one_criterion(X: Array, y: Array, learner: str, label: str) -> float:
    """Return the seconds that ``kselect select --json`` reports."""
    method = make_method(label, None, {}, classification=True)
    kernels = tuple(Gaussian(tau) for tau in TAUS)
    folds = draw_folds(len(X), method.folds, stream(0, "folds")) if method.folds else None
    return select(
        X, y[None, :], Request(Choice(learner), kernels, tuple(LAMS), method), folds
    ).seconds


def all_criteria(X: Array, y: Array, learner: str) -> float:
    """Time five criteria on one path per kernel."""
    methods = tuple(make_method(label, None, {}, classification=True) for label in ALL)
    folds: dict[int, Folds] = {k: draw_folds(len(X), k, stream(0, "folds", k)) for k in (5, 10)}
    started = time.perf_counter()
    side = TrainingContext(
        X=X,
        targets=y[None],
        task="classification",
        kernels=tuple(Gaussian(tau) for tau in TAUS),
        ridges=LamGrid(tuple(LAMS), "select"),
        learner=Choice(learner),
        ridge="fixed",
        given_folds=folds.__getitem__,
        stream=partial(stream, 0),
    )
    search_grid(side, dict.fromkeys(methods, (SELECTED,)))
    return time.perf_counter() - started


def sklearn_ridge(X: Array, y: Array) -> float:
    """Time ``GridSearchCV(KernelRidge)`` on the same grid."""
    grid = {"gamma": 0.5 / TAUS, "alpha": len(X) * LAMS}
    search = GridSearchCV(
        KernelRidge(kernel="rbf"), grid, cv=KFold(5), scoring="neg_mean_squared_error", refit=False
    )
    started = time.perf_counter()
    search.fit(X, y)
    return time.perf_counter() - started


def sklearn_svc(X: Array, y: Array) -> float:
    """Time ``GridSearchCV(SVC)``, a user's likely choice, with as many values of C."""
    grid = {"gamma": 0.5 / TAUS, "C": 0.5 / (len(X) * LAMS)}
    search = GridSearchCV(SVC(), grid, cv=KFold(5), refit=False)
    started = time.perf_counter()
    search.fit(X, y)
    return time.perf_counter() - started


def contestants(X: Array, y: Array, sklearn: bool) -> dict[str, Callable[[], float]]:
    """Return a function per name that measures the contestant once."""
    found: dict[str, Callable[[], float]] = {
        FLOOR: lambda: floor(X),
        OURS: lambda: one_criterion(X, y, "krr", "5-CV"),
        "LSSVM, 5-CV": lambda: one_criterion(X, y, "lssvm", "5-CV"),
        "KRR, ELOO": lambda: one_criterion(X, y, "krr", "ELOO"),
        "LSSVM, five criteria": lambda: all_criteria(X, y, "lssvm"),
    }
    if sklearn:
        found[THEIRS] = lambda: sklearn_ridge(X, y)
        found["GridSearchCV(SVC)"] = lambda: sklearn_svc(X, y)
    return found


def measure(n: int, d: int, rounds: int, sklearn: bool) -> dict[str, float]:
    """Return the minimum seconds of each contestant; scikit-learn's slow ones run once."""
    X, y = make_data(n, d)
    best: dict[str, float] = {}
    for turn in range(rounds):
        for name, run in contestants(X, y, sklearn and turn == 0).items():
            best[name] = min(best.get(name, np.inf), run())
    return best


def show(n: int, d: int, seconds: dict[str, float]) -> None:
    """Print a table with the ratio to the floor."""
    base = seconds[FLOOR]
    print(f"\nn = {n}, {d} features{'':<12}seconds  over the floor")
    for name, value in seconds.items():
        print(f"  {name:<28}{value:>9.3f}{value / base:>12.2f}", flush=True)


def draw(results: Results, path: Path) -> None:
    """Plot multiples of the floor over n on log axes, one panel per number of features."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(WIDE, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, len(results), sharey=True, squeeze=False)[0]
        for panel, (d, by_n) in zip(panels, results.items(), strict=True):
            draw_panel(panel, d, by_n)
        panels[0].set_ylabel("times the seconds of the floor, one thread")
        # The names are outside the panels, whose width is final only after the second layout.
        figure.draw_without_rendering()
        figure.savefig(path, dpi=150, metadata={"Software": None})


def draw_panel(panel: Any, d: int, by_n: Mapping[int, Mapping[str, float]]) -> None:
    """Plot one number of features: the speed-up above, the lines, their names at the right."""
    curves = {name: over_floor(name, by_n) for name in LOOKS if name in by_n[min(by_n)]}
    for name, points in curves.items():
        panel.loglog(*zip(*points, strict=True), **{**LOOK, **LOOKS[name]})
    panel.set_title(f"{d} features: {speed_up_text(by_n)}", fontsize=9.5, loc="left")
    panel.set_xlabel("rows; 15 widths, 10 ridges, 5 folds")
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
        f"{OURS} is {many} times as fast\nas {THEIRS} at {max(both)} rows, "
        f"{few} times at {min(both)}"
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
    return {int(d): {int(n): s for n, s in by_n.items()} for d, by_n in seconds.items()}


def main() -> None:
    """Run the benchmark, print and write the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, default=Path("results/bench"))
    parser.add_argument("--quick", action="store_true", help="small n, no scikit-learn")
    parser.add_argument("--redraw", action="store_true", help="only draw selection.json again")
    arguments = parser.parse_args()
    if arguments.redraw:
        draw(read_results(arguments.output / "selection.json"), arguments.output / "selection.png")
        return
    sizes = (250, 500) if arguments.quick else (250, 500, 1000, 2000)
    results: dict[int, dict[int, dict[str, float]]] = {}
    for d in (MANY, FEW):
        results[d] = {}
        for n in sizes:
            sklearn = not arguments.quick and n <= 1000
            results[d][n] = measure(n, d, 3 if n <= 1000 else 2, sklearn)
            show(n, d, results[d][n])
    arguments.output.mkdir(parents=True, exist_ok=True)
    facts = {"machine": describe_environment(), "seconds": results}
    (arguments.output / "selection.json").write_text(json.dumps(facts, indent=1) + "\n")
    draw(results, arguments.output / "selection.png")
    print(f"\n{arguments.output / 'selection.json'}, {arguments.output / 'selection.png'}")


if __name__ == "__main__":
    main()
