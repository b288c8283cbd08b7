"""Other programs on the grid of a benchmark: each function searches it once.

All of them cross-validate with five folds (``RidgeCV`` and ``RidgeClassifierCV`` leave one row out) and use one
thread. ``SVC`` gets as many values of C as there are ridges. ``RidgeCV`` is a linear model, and ``Nystroem`` has
300 columns, so that these two do less than a search over exact kernels.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kselect.numerics.linalg import Array

COLUMNS = 300
KERNEL_RIDGE, SUPPORT_VECTORS = "GridSearchCV(KernelRidge)", "GridSearchCV(SVC)"


@dataclass(frozen=True, eq=False)
class Searched:
    """The data, the widths and the ridges of a search."""

    X: Array
    y: Array
    taus: Array
    lams: Array

    @property
    def gammas(self) -> Array:
        """The widths as scikit-learn's gamma."""
        return 0.5 / self.taus

    @property
    def ridges(self) -> Array:
        """The ridges ``n lam``."""
        return len(self.X) * self.lams


@dataclass(frozen=True)
class Rival:
    """A program, the largest number of rows at which it is measured, and the module that it needs."""

    search: Callable[[Searched], Any]
    most_rows: int
    module: str = "sklearn"

    @property
    def installed(self) -> bool:
        """Whether the module is there."""
        return importlib.util.find_spec(self.module) is not None


def timed(search: Callable[[Searched], Any], given: Searched) -> float:
    """Return the CPU seconds of a search."""
    started = time.process_time()
    search(given)
    return time.process_time() - started


def kernel_ridge(given: Searched) -> None:
    """Search by scikit-learn's grid over ``KernelRidge``."""
    grid = {"gamma": given.gammas, "alpha": given.ridges}
    scoring = "neg_mean_squared_error"
    GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=KFold(5), scoring=scoring, refit=False).fit(
        given.X, given.y
    )


def support_vectors(given: Searched, machine: Callable[[], Any] = SVC) -> None:
    """Search by scikit-learn's grid over an SVM, a user's likely choice."""
    grid = {"gamma": given.gammas, "C": 0.5 / given.ridges}
    GridSearchCV(machine(), grid, cv=KFold(5), refit=False).fit(given.X, given.y)


def extended_support_vectors(given: Searched) -> None:
    """Search by the same grid over the SVM of scikit-learn-intelex."""
    from sklearnex import svm

    support_vectors(given, svm.SVC)


def himalaya(given: Searched) -> None:
    """Search the ridges of one kernel after the other with himalaya's ``KernelRidgeCV``."""
    from himalaya.kernel_ridge import KernelRidgeCV

    for gamma in given.gammas:
        K = rbf_kernel(given.X, gamma=gamma)
        KernelRidgeCV(alphas=given.ridges, kernel="precomputed", cv=KFold(5), warn=False).fit(
            K, given.y
        )


def linear(given: Searched) -> None:
    """Search the ridges of a linear model by leave-one-out."""
    RidgeCV(alphas=given.ridges).fit(given.X, given.y)


def columns(given: Searched) -> None:
    """Search the ridges by leave-one-out on some Nystrom columns of one kernel after the other."""
    for gamma in given.gammas:
        features = Nystroem(gamma=gamma, n_components=min(COLUMNS, len(given.X)), random_state=0)
        make_pipeline(features, RidgeClassifierCV(alphas=given.ridges)).fit(given.X, given.y)


RIVALS: Mapping[str, Rival] = {
    KERNEL_RIDGE: Rival(kernel_ridge, 1000),
    SUPPORT_VECTORS: Rival(support_vectors, 1000),
    "GridSearchCV(SVC of sklearnex)": Rival(extended_support_vectors, 1000, "sklearnex"),
    "himalaya KernelRidgeCV": Rival(himalaya, 2000, "himalaya"),
    "RidgeCV, linear": Rival(linear, 8000),
    "Nystroem + RidgeClassifierCV": Rival(columns, 8000),
}


def rivals(given: Searched) -> dict[str, Callable[[], float]]:
    """Return a function per installed rival that measures it once, for this number of rows."""
    return {
        name: partial(timed, rival.search, given)
        for name, rival in RIVALS.items()
        if rival.installed and len(given.X) <= rival.most_rows
    }


def missing() -> list[str]:
    """Return the modules of rivals that are not installed."""
    return [rival.module for rival in RIVALS.values() if not rival.installed]
