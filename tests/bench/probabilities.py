"""Compare log loss and CPU seconds of probabilities with ``CalibratedClassifierCV(SVC)``.

    python tests/bench/probabilities.py [-d digits ...] [--splits 1] [--nested]

breast_cancer and digits (ten classes) are scikit-learn's, diabetes is the embedded copy of Pima's.
The training part is 70 % of the rows, z-scored; there are five folds and one BLAS thread.
``GridSearchCV`` tries the same pairs of widths and ridges as ``KernelSelectClassifierCV()``. "The time
of CalibratedClassifierCV(SVC)" has three meanings:

    extra    the cost of probabilities beyond a fit, against CalibratedClassifierCV(SVC) at GridSearchCV's pair
    whole    the fit and its probabilities, against GridSearchCV(SVC) and then CalibratedClassifierCV at its pair
    nested   the same against CalibratedClassifierCV(GridSearchCV(SVC)), which searches in each fold

Log losses are those of the test rows. The nested search is slow and runs only with ``--nested``.
"""

from __future__ import annotations

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kselect.datasets.dataset import read_dataset
from kselect.datasets.fetch import Places, default_cache, resolve
from kselect.datasets.registry import find_dataset
from kselect.selection.predictors import KernelSelectClassifierCV
from kselect.selection.sklearn_terms import EdgeWarning

R = TypeVar("R")
DATA_SETS = ("breast_cancer", "diabetes", "digits")
FOLDS = 5


def load(name: str) -> tuple[Any, Any]:
    """Return features and classes."""
    if name != "diabetes":
        loader = {"breast_cancer": load_breast_cancer, "digits": load_digits}[name]
        return loader(return_X_y=True)
    info = find_dataset("diabetes")
    data = read_dataset(info, resolve(info, Places(default_cache(), None, offline=True)))
    return data.X, data.y


def timed(compute: Callable[[], R]) -> tuple[float, R]:
    """Return CPU seconds and the result of a call."""
    started = time.process_time()
    found = compute()
    return time.process_time() - started, found


def measure(X: Any, y: Any, seed: int, nested: bool) -> dict[str, float]:
    """Return seconds and log losses of one split."""
    X, Z, y, z = train_test_split(X, y, train_size=0.7, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(X)
    X, Z = scaler.transform(X), scaler.transform(Z)
    fit, ours = timed(lambda: KernelSelectClassifierCV().fit(X, y))
    extra, p = timed(lambda: ours.predict_proba(Z))
    plain, _ = timed(lambda: ours.decision_function(Z))
    found = {"fit": fit, "extra": extra - plain, "log loss": log_loss(z, p)}
    params = ours.cv_results_["params"]
    pairs = {
        "gamma": sorted({0.5 / p["tau"] for p in params}),
        "C": sorted({0.5 / (len(X) * p["lam"]) for p in params}),
    }
    search = GridSearchCV(SVC(), pairs, cv=FOLDS, refit=False)
    found["search"], search = timed(lambda: search.fit(X, y))
    chosen = CalibratedClassifierCV(SVC(**search.best_params_), cv=FOLDS, ensemble=True)
    found["calibration"], chosen = timed(lambda: chosen.fit(X, y))
    found["theirs"] = log_loss(z, chosen.predict_proba(Z))
    if nested:
        around = CalibratedClassifierCV(GridSearchCV(SVC(), pairs, cv=FOLDS), cv=FOLDS)
        found["nested"], around = timed(lambda: around.fit(X, y))
        found["theirs, nested"] = log_loss(z, around.predict_proba(Z))
    return found


def show(name: str, n: int, found: dict[str, float]) -> None:
    """Print log losses, seconds and ratios."""
    ours, whole = found["log loss"], found["fit"] + found["extra"]
    theirs = found["search"] + found["calibration"]
    print(f"\n{name}, {n} rows; CPU seconds: " + ", ".join(seconds(found)))
    print(f"  log loss {ours:.4f}, SVC {found['theirs']:.4f}: {ours / found['theirs']:.3f}")
    print(f"  extra    {found['calibration'] / max(found['extra'], 1e-9):6.1f} times as fast")
    print(f"  whole    {theirs / whole:6.1f} times as fast")
    if "nested" in found:
        ratio = ours / found["theirs, nested"]
        print(f"  nested   {found['nested'] / whole:6.1f} times as fast, log loss {ratio:.3f}")


def seconds(found: dict[str, float]) -> list[str]:
    """Return each of the times with its name."""
    names = ("fit", "extra", "search", "calibration", "nested")
    return [f"{name} {found[name]:.3g}" for name in names if name in found]


def main() -> None:
    """Run the benchmark and print the mean over splits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", "--dataset", action="append", choices=DATA_SETS)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--nested", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", EdgeWarning)
    KernelSelectClassifierCV().fit(*load_breast_cancer(return_X_y=True))  # imports are not timed
    for name in arguments.dataset or DATA_SETS:
        X, y = load(name)
        each = [measure(X, y, seed, arguments.nested) for seed in range(arguments.splits)]
        show(name, len(X), {key: float(np.mean([one[key] for one in each])) for key in each[0]})


if __name__ == "__main__":
    main()
