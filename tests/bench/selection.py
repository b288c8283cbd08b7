"""Time of a selection against its floor and against scikit-learn, side by side in one process.

    python tests/bench/selection.py [--output results/bench] [--quick]

For n rows of 20 (and of 3) features, 15 widths by 10 ridges and 5 folds, one BLAS thread: kselect with
the KRR and the LSSVM and several criteria, ``GridSearchCV`` over ``KernelRidge`` and over ``SVC``, and
the floor: 15 bare ``numpy.linalg.eigh`` of the same kernels. Seconds are the least of several rounds,
each of which measures everything once; what counts are the ratios. Writes selection.json (with the
machine) and selection.png.
"""

from __future__ import annotations

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC

from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.model.method import SELECTED, Choice, Ridges
from kselect.numerics.folds import Folds, draw_folds
from kselect.numerics.linalg import Array
from kselect.numerics.streams import stream
from kselect.search.grid import search_grid
from kselect.search.side import TrainingSide
from kselect.selection.engine import Request, select
from kselect.selection.request import make_method
from kselect.store.environment import describe_environment

TAUS = 2.0 ** np.arange(-6, 9)
LAMS = 2.0 ** np.arange(-7, 3)
FEW, MANY = 3, 20
ALL = ("5-CV", "10-CV", "ELOO", "BR", "5-KS")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")


def make_data(n: int, d: int) -> tuple[Array, Array]:
    """Labels by a smooth rule with noise."""
    rng = stream(0, "bench", n, d)
    X = rng.normal(size=(n, d))
    return X, np.sign(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n))


def floor(X: Array) -> float:
    """15 bare eigendecompositions; making the kernels is not counted."""
    points, total = Points(X), 0.0
    for tau in TAUS:
        K = Gaussian(tau).gram(points)
        started = time.perf_counter()
        np.linalg.eigh(K)
        total += time.perf_counter() - started
    return total


def one_criterion(X: Array, y: Array, learner: str, label: str) -> float:
    """The seconds that ``kselect select --json`` reports."""
    method = make_method(label, None, {}, classification=True)
    kernels = tuple(Gaussian(tau) for tau in TAUS)
    folds = draw_folds(len(X), method.folds, stream(0, "folds")) if method.folds else None
    return select(
        X, y[None, :], Request(Choice(learner), kernels, tuple(LAMS), method), folds
    ).seconds


def all_criteria(X: Array, y: Array, learner: str) -> float:
    """Five criteria on one path a kernel."""
    methods = tuple(make_method(label, None, {}, classification=True) for label in ALL)
    folds: dict[int, Folds] = {k: draw_folds(len(X), k, stream(0, "folds", k)) for k in (5, 10)}
    started = time.perf_counter()
    side = TrainingSide(
        X=X,
        targets=y[None],
        task="classification",
        kernels=tuple(Gaussian(tau) for tau in TAUS),
        ridges=Ridges(tuple(LAMS), "select"),
        learner=Choice(learner),
        ridge="fixed",
        folds=folds.__getitem__,
        stream=partial(stream, 0),
    )
    search_grid(side, dict.fromkeys(methods, (SELECTED,)))
    return time.perf_counter() - started


def sklearn_ridge(X: Array, y: Array) -> float:
    """``GridSearchCV(KernelRidge)`` on the same grid."""
    grid = {"gamma": 0.5 / TAUS, "alpha": len(X) * LAMS}
    search = GridSearchCV(
        KernelRidge(kernel="rbf"), grid, cv=KFold(5), scoring="neg_mean_squared_error", refit=False
    )
    started = time.perf_counter()
    search.fit(X, y)
    return time.perf_counter() - started


def sklearn_svc(X: Array, y: Array) -> float:
    """``GridSearchCV(SVC)``, what a user would pick, with as many values of C."""
    grid = {"gamma": 0.5 / TAUS, "C": 0.5 / (len(X) * LAMS)}
    search = GridSearchCV(SVC(), grid, cv=KFold(5), refit=False)
    started = time.perf_counter()
    search.fit(X, y)
    return time.perf_counter() - started


def contestants(X: Array, y: Array, sklearn: bool) -> dict[str, Callable[[], float]]:
    """Name -> what measures it once."""
    found: dict[str, Callable[[], float]] = {
        "floor: 15 eigh": lambda: floor(X),
        "KRR, 5-CV": lambda: one_criterion(X, y, "krr", "5-CV"),
        "LSSVM, 5-CV": lambda: one_criterion(X, y, "lssvm", "5-CV"),
        "KRR, ELOO": lambda: one_criterion(X, y, "krr", "ELOO"),
        "LSSVM, five criteria": lambda: all_criteria(X, y, "lssvm"),
    }
    if sklearn:
        found["GridSearchCV(KernelRidge)"] = lambda: sklearn_ridge(X, y)
        found["GridSearchCV(SVC)"] = lambda: sklearn_svc(X, y)
    return found


def measure(n: int, d: int, rounds: int, sklearn: bool) -> dict[str, float]:
    """The least seconds of each contestant; scikit-learn's, being long, once."""
    X, y = make_data(n, d)
    best: dict[str, float] = {}
    for turn in range(rounds):
        for name, run in contestants(X, y, sklearn and turn == 0).items():
            best[name] = min(best.get(name, np.inf), run())
    return best


def show(n: int, d: int, seconds: dict[str, float]) -> None:
    """A table with the ratio to the floor."""
    base = seconds["floor: 15 eigh"]
    print(f"\nn = {n}, {d} features{'':<12}seconds  over the floor")
    for name, value in seconds.items():
        print(f"  {name:<28}{value:>9.3f}{value / base:>12.2f}", flush=True)


def draw(results: dict[int, dict[int, dict[str, float]]], path: Path) -> None:
    """Time over n, log axes, a panel for each number of features."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(results), sharey=True)
    for panel, (d, by_n) in zip(np.atleast_1d(panels), results.items(), strict=True):
        names = list(dict.fromkeys(name for seconds in by_n.values() for name in seconds))
        for colour, name in zip(reversed(COLOURS[: len(names)]), names, strict=True):
            points = [(n, seconds[name]) for n, seconds in by_n.items() if name in seconds]
            style = {"ls": "--", "color": "black"} if "floor" in name else {"color": colour}
            panel.loglog(*zip(*points, strict=True), marker="o", ms=4, label=name, **style)
        panel.set_title(f"{d} features: 15 widths, 10 ridges, 5 folds", fontsize=10)
        panel.set_xlabel("rows")
        panel.set_xticks(list(by_n), [str(n) for n in by_n])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    np.atleast_1d(panels)[0].set_ylabel("seconds, one thread")
    handles, labels = np.atleast_1d(panels)[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path, dpi=150, metadata={"Software": None})


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, default=Path("results/bench"))
    parser.add_argument("--quick", action="store_true", help="small n, no scikit-learn")
    arguments = parser.parse_args()
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
