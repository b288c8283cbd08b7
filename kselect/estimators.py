"""Other packages' classifiers and regressors as columns: find the class, choose from its grid, fit and test it.

A class needs ``fit(X, y)`` and ``predict(X)``, as in scikit-learn. It sees the scaled training rows of a split, and
the classes as the numbers 0, 1, ... The score of a point of the grid is the mean over the folds of the mean loss on
the fold that is held out: the share of wrong labels, or the mean squared error. The folds are those that the k-fold
criteria use on that split. The first of the best points is fitted to all training rows.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from kselect.core.grid_point import EstimatorFit, SearchFailure
from kselect.core.method import Estimator, Params, show
from kselect.datasets.content import sha256_of
from kselect.datasets.registry import Task
from kselect.errors import ConfigError, KselectError, cut, nearest, printable, quoted
from kselect.errors import without_folders as shorten
from kselect.numerics.linalg import Array, Index
from kselect.search import TrainingContext

SEED = "random_state"
NEEDED = ("fit", "predict")
LONGEST_REASON = 200
NOT_A_PATH = "must be an import path such as sklearn.svm.SVC"


class NotInstalledError(KselectError):
    """A package that a class needs and that is not installed: its column is left out."""


# --- the class --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ImportedClass:
    """A class with the names of its parameters; ``open`` says whether it takes any other name too.

    ``required`` are the parameters without a default. ``task`` is None if the class does not say what it is for.
    """

    make: Callable[..., Any]
    version: str
    task: Task | None
    parameters: tuple[str, ...]
    required: tuple[str, ...]
    open: bool


@cache
def find_class(path: str) -> ImportedClass:
    """Import a class; raise NotInstalledError without its package, and ConfigError if it cannot be used."""
    module_name, _, name = path.rpartition(".")
    if not module_name or not all(part.isidentifier() for part in path.split(".")):
        raise ConfigError(f"{NOT_A_PATH}, not {quoted(path)}")
    module = import_module(module_name)
    found = getattr(module, name, None)
    if not isinstance(found, type):
        classes = [n for n, v in vars(module).items() if isinstance(v, type) and n[0] != "_"]
        raise ConfigError(f"{module_name} has no class {name}{nearest(name, classes)}")
    lacking = [method for method in NEEDED if not callable(getattr(found, method, None))]
    if lacking:
        raise ConfigError(f"the class {path} has no method {' and no method '.join(lacking)}")
    try:
        taken = inspect.signature(found).parameters.values()
    except ValueError:  # a class of a compiled module may not tell
        return ImportedClass(found, version_of(found), task_of(found), (), (), True)
    named = [p for p in taken if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return ImportedClass(
        found,
        version_of(found),
        task_of(found),
        tuple(p.name for p in named),
        tuple(p.name for p in named if p.default is p.empty),
        any(p.kind is p.VAR_KEYWORD for p in taken),
    )


def import_module(name: str) -> Any:
    """Import a module of another package; any exception of its code is a ConfigError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        absent = (error.name or name).partition(".")[0]
        if find_spec(absent) is None:
            raise NotInstalledError(f"the package {absent} is not installed") from None
        raise ConfigError(f"there is no module {error.name or name}") from None
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name} cannot be imported: {first_line(error)}") from None


def task_of(found: type) -> Task | None:
    """Return what a class is for, as scikit-learn's conventions tell it, or None."""
    bases = {base.__name__ for base in found.__mro__}
    kind = getattr(found, "_estimator_type", None)
    if "ClassifierMixin" in bases or kind == "classifier":
        return "classification"
    return "regression" if "RegressorMixin" in bases or kind == "regressor" else None


def version_of(found: type) -> str:
    """Return the package of a class with its version, or the checksum of its file if it belongs to none."""
    top = found.__module__.partition(".")[0]
    if names := packages_distributions().get(top):
        return f"{min(names)} {version(min(names))}"
    file = getattr(importlib.import_module(found.__module__), "__file__", None)
    return f"sha256 {sha256_of(Path(file).read_bytes())[:12]}" if file else "unknown"


# --- fitting and testing ----------------------------------------------------------------------------


def run_estimator(
    context: TrainingContext, test: Array, estimator: Estimator, folds: int | None
) -> EstimatorFit | SearchFailure:
    """Choose a point of the grid with the folds, fit it to all training rows, and predict the test rows.

    A point at which the class raises an exception or predicts something strange cannot be chosen.
    """
    fitter = Fitter(context, find_class(estimator.path), dict(estimator.params))
    scores: dict[Params, float] = {}
    excluded: list[tuple[str, str]] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for point in estimator.points if folds else ():
            try:
                scores[point] = fitter.score(point, folds or 0)
            except MemoryError:
                raise
            except Exception as error:
                excluded.append((name_of(point), first_line(error)))
        chosen = min(scores, key=lambda p: scores[p]) if scores else ()
        if folds and not scores:
            name, why = excluded[0]
            return SearchFailure(f"no point of the grid could be fitted; at {name}: {why}")
        every: Index = np.arange(context.n, dtype=np.intp)
        try:
            decisions = fitter.decisions(fitter.predict(chosen, every, test))
        except MemoryError:
            raise
        except Exception as error:
            at = f"at {name_of(chosen)}: " if chosen else ""
            return SearchFailure(f"{at}{first_line(error)}")
    told = describe_warnings(f"{w.category.__name__}: {w.message}" for w in caught)
    return EstimatorFit(chosen, scores.get(chosen), decisions, tuple(excluded), told)


class Fitter:
    """A class with its fixed parameters on the training rows of one split.

    A seed that nobody gives comes from the split's own stream, and is the same for every estimator.
    """

    def __init__(self, context: TrainingContext, imported: ImportedClass, params: dict[str, Any]):
        self.context, self.imported, self.params = context, imported, params
        self.several = len(context.targets) > 1
        self.seed = int(context.stream("random state").integers(2**31))
        if context.task == "regression":
            self.y = context.targets[0]
        elif self.several:
            self.y = context.targets.argmax(axis=0)
        else:
            self.y = (context.targets[0] > 0).astype(np.intp)

    def score(self, point: Params, k: int) -> float:
        """Return the mean over k folds of the mean loss on the fold that is held out."""
        losses, folds = np.empty(self.context.n), self.context.partition(k)
        for held_out in folds.members:
            rest: Index = np.delete(np.arange(self.context.n, dtype=np.intp), held_out)
            found = self.predict(point, rest, self.context.X[held_out])
            wrong = found - self.y[held_out]
            losses[held_out] = wrong**2 if self.context.task == "regression" else wrong != 0
        return float(folds.average(losses))

    def predict(self, point: Params, rows: Index, X: Array) -> Array:
        """Fit a new object to some training rows and predict others; raise ValueError for a strange prediction."""
        given = {**self.params, **dict(point)}
        if SEED in self.imported.parameters:
            given.setdefault(SEED, self.seed)
        fitted = self.imported.make(**given)
        fitted.fit(self.context.X[rows], self.y[rows])
        found = np.asarray(fitted.predict(X), dtype=np.float64)
        if found.shape != (len(X),):
            raise ValueError(f"predicted the shape {list(found.shape)} for {len(X)} rows")
        if not np.isfinite(found).all():
            raise ValueError("predicted a number that is not finite")
        if self.context.task == "classification":
            strange = found[~np.isin(found, np.arange(max(2, len(self.context.targets))))]
            if len(strange):
                raise ValueError(f"predicted {strange[0]:g}, which is no class")
        return found

    def decisions(self, predictions: Array) -> Array:
        """Return predictions as decision values: (1, rows), or one row per class for more than two classes."""
        if self.context.task == "regression":
            return predictions[None]
        if not self.several:
            return 2.0 * predictions[None] - 1.0
        classes = np.arange(len(self.context.targets))
        return np.asarray(classes[:, None] == predictions[None], dtype=np.float64)


def name_of(point: Params) -> str:
    """Return a point of the grid as records name it, without round brackets."""
    text = ";".join(f"{name}={show(value)}" for name, value in point)
    return text.replace("(", "[").replace(")", "]")


def first_line(error: BaseException) -> str:
    """Return the kind and the first line of an exception, without the folders of a machine."""
    text = str(error).strip().partition("\n")[0].strip()
    told = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return cut(printable(shorten(told)), LONGEST_REASON)


def describe_warnings(told: Iterable[str]) -> str:
    """Return each warning with its count, the most frequent first: ``3 ConvergenceWarning: not converged``."""
    lines = (cut(printable(shorten(t.partition("\n")[0].strip())), LONGEST_REASON) for t in told)
    return "; ".join(f"{count} {line}" for line, count in Counter(lines).most_common())
