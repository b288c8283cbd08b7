"""Continuous searches: they move through all values of the kernel's widths and the ridge, without a grid.

Each is registered under the name that the key ``search`` of a config takes. This module has their registry, the
unit of the features in which they work, and the conversion of their solutions to grid points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from kselect.core.grid_point import BestPoint, GridPoint, SearchFailure
from kselect.core.method import Method, Setting
from kselect.errors import TrialError
from kselect.kernels import Kernel
from kselect.kernels.ard import Ard, LaplacianArd
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.laplacian import Laplacian
from kselect.kernels.sums import SUM, Sum, default_family, is_sum, parts_of
from kselect.kernels.widths import (
    AbsoluteWidthPerFeature,
    KernelWidths,
    OneWidth,
    UnweighedWidths,
    WeighedRows,
    WidthPerFeature,
)
from kselect.learners import Fit
from kselect.learners.lssvm_errors import LSSVMSolution, as_columns
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Mask
from kselect.numerics.memory import Memo, keep_freed_memory
from kselect.registry import Part, Registry, read_parameters
from kselect.search.grid import NUMERICAL, Demand, Results, reason
from kselect.search.training_context import TrainingContext

State = Literal["converged", "iteration limit", "no further descent", "branch change"]

# The kernels with widths: one width, or one per feature.
SINGLE = {"ard": "gaussian", "laplacian-ard": "laplacian"}
WIDTHS = (*SINGLE.values(), *SINGLE)
LAPLACIAN = ("laplacian", "laplacian-ard")
LEARNER = "lssvm"
# The forms of the criteria whose gradients are known here.
FORMS: Mapping[str, Any] = {"loss": "squared", "form": "press", "average": "points"}
# The digits of a width that records keep: the rounded kernel is the one that is tested.
DIGITS = 8
# Features outside this range have a fourth power, which scales mu, that is no number.
SMALLEST, LARGEST = 1e-70, 1e70


@dataclass(frozen=True, eq=False)
class Unit:
    """The varying features, centred and divided with one common number, so that their mean variance is one.

    For z-scored features that number is 1 and nothing changes. The unit gives the starts and bounds of a search the
    same meaning for features of any scale; the problem itself is the same in every unit (theta times ``factor``, mu
    over ``factor^2``). ``factor`` is the square of that number, or the number itself for a Laplacian kernel
    (``absolute``). Constant features are left out, because their widths change nothing. Rows of weights, which are
    numbers of equal rows (``counts``), have their ``roots`` here; ``total`` is the number of rows.
    """

    X: Array
    factor: float
    varying: Mask
    total: float
    absolute: bool = False
    roots: Array | None = None

    @classmethod
    def of(cls, X: Array, y: Array, *, absolute: bool = False, counts: Array | None = None) -> Unit:
        """Return the unit of a training set; a TrialError if no search is possible on these rows and targets."""
        if len(X) != len(y):
            raise TrialError(f"{len(X)} rows, {len(y)} targets")
        check_targets(y)
        if not np.isfinite(X).all():
            raise TrialError("a feature is not a finite number")
        varying = np.ptp(X, axis=0) > 0.0
        if not varying.any():
            raise TrialError("all rows are equal: no width changes anything")
        kept = X[:, varying]
        largest = float(np.abs(kept).max())
        centred = kept / largest  # so that no square overflows
        centred = centred - np.average(centred, axis=0, weights=counts)
        total, variances = float(len(X)), centred.var(axis=0, ddof=1)
        if counts is not None:
            total = float(counts.sum())
            variances = counts @ np.square(centred) / (total - 1.0)
        scale = float(np.sqrt(variances.mean()))
        size = scale * largest
        if not SMALLEST < size < LARGEST:
            raise TrialError(
                f"features of size {size:.3g}: a width for them is no number; scale them"
            )
        factor, roots = size if absolute else size**2, None if counts is None else np.sqrt(counts)
        return cls(centred / scale, factor, varying, total, absolute, roots)

    def widths(self, *, ard: bool) -> KernelWidths:
        """Return one width, or one per varying feature, for the weights of the rows."""
        widths: UnweighedWidths
        if not ard:
            widths = OneWidth.of(self.X, absolute=self.absolute)
        else:
            widths = (AbsoluteWidthPerFeature if self.absolute else WidthPerFeature)(self.X)
        return widths if self.roots is None else WeighedRows(widths, self.roots, self.roots)

    def weighed(self, y: Array) -> Array:
        """Return ``r y`` for the weights of the rows, y (n,) or (n, q)."""
        return weighed(y, self.roots)

    def inside(self, theta: Array, size: int) -> Array:
        """Return a user's theta as ``size`` widths in this unit: one for all features, or one per feature."""
        return (
            np.broadcast_to(theta if len(theta) == 1 else theta[self.varying], size) * self.factor
        )

    def outside(self, theta: Array, *, ard: bool) -> Array:
        """Return widths of this unit as a user's theta, zero for constant features."""
        if not ard:
            return theta / self.factor
        found = np.zeros(len(self.varying))
        found[self.varying] = theta / self.factor
        return found


def weighed(y: Array, roots: Array | None) -> Array:
    """Return rows y (n,) or (n, q) times their roots, if they have any."""
    return y if roots is None else (y.T * roots).T


def check_targets(y: Array) -> None:
    """Raise a TrialError if a target is constant or not finite."""
    if not np.isfinite(y).all() or (np.ptp(y, axis=0) == 0.0).any():
        raise TrialError("the targets are all equal, or not finite")


@dataclass(frozen=True)
class Solution:
    """The minimum that a continuous search found: one theta (RBF), one per feature (ARD), or the weights of a sum.

    ``lam`` is the ridge of ``sum 0.5 (y - f)^2 + (lam / 2) ||w||^2``, n times the lam of a grid search. ``value``
    is the mean squared held-out error, or the criterion BR. ``evaluations`` counts Cholesky factors. ``held``
    counts the variables at a limit of the search. FLKL, which learns the widths at the first level, also has
    ``mu``, the outer ``steps``, and ``jumps``: how often a fold lost its minimum, at accepted or refused points.
    """

    theta: Array
    lam: float
    value: float
    evaluations: int
    state: State
    held: int = 0
    mu: float | None = None
    steps: int = 0
    jumps: int = 0


class KnownSolutions(Memo):
    """The solutions found for one training context, from which other searches start."""

    def __init__(self, context: TrainingContext) -> None:
        self.context = context

    @property
    def y(self) -> Array:
        """The target (n,), or the targets (n, q) of several classes, which share one kernel."""
        targets = self.context.targets
        found: Array = targets[0] if len(targets) == 1 else np.ascontiguousarray(targets.T)
        return found

    @property
    def counts(self) -> Array | None:
        """The weights of the rows as numbers of equal rows; None: each row counts once."""
        return None if self.context.weights is None else self.context.weights.counts

    def folds(self, method: Method) -> Folds | None:
        """Return the folds of a method, None if its criterion has none."""
        return None if method.folds is None else self.context.partition(method.folds)

    def parts(self, name: str) -> tuple[Kernel, ...]:
        """Return the kernels of a sum; a family without brackets is that of the grid, or has its default grid."""

        def family(of: str) -> tuple[Kernel, ...]:
            return tuple(k for k in self.context.kernels if k.name == of) or default_family(of)

        return parts_of(name, family)


@dataclass(frozen=True)
class ContinuousSearch(Part):
    """A registered search; ``criteria`` names the criteria that it can minimise, ``kernels`` the kernels it moves.

    ``forms`` are the forms of the criteria whose gradients it knows.
    """

    criteria: tuple[str, ...]
    kernels: tuple[str, ...] = WIDTHS
    forms: Mapping[str, Any] = field(default_factory=lambda: FORMS)

    def misfit(self, method: Method) -> str:
        """Return why it cannot search for a method; empty if it can."""
        summed = is_sum(method.kernel)
        if method.criterion not in self.criteria:
            return f"{self.name} minimises {' or '.join(self.criteria)}, not {method.criterion}"
        if (SUM if summed else method.kernel) not in self.kernels:
            return (
                f"{self.name} moves the kernel {' or '.join(self.kernels)}, not {method.kernel!r}"
            )
        p = dict(method.search.params).get("p", 1) if method.search else 1
        if summed and method.criterion == "BR":
            return "BR regularises widths, which a sum of kernels does not have: minimise k-CV, k-KS or ELOO"
        if p not in (1, 2):
            return f"p, the norm of the weights of a sum, is 1 or 2, not {p}"
        if p != 1 and not summed:
            return f"p is the norm of the weights of a sum of kernels; {method.kernel} has none"
        wrong = {k: v for k, v in method.params if self.forms.get(k, v) != v}
        return " and ".join(
            f"{self.name} takes {k} {self.forms[k]} only, not {v}" for k, v in wrong.items()
        )


SEARCHES: Registry[ContinuousSearch] = Registry(
    "search", "kselect.search", "kselect list searches", entries="kselect.searches"
)
F = TypeVar("F", bound=Callable[..., Solution])


def continuous_search(
    name: str,
    *,
    paper: str,
    criteria: tuple[str, ...],
    kernels: tuple[str, ...] = WIDTHS,
    forms: Mapping[str, Any] = FORMS,
) -> Callable[[F], F]:
    """Register ``function(known, method, *, parameter=default...) -> Solution`` as a search."""

    def register(function: F) -> F:
        own = (name, function, paper, read_parameters(function), criteria, kernels, forms)
        SEARCHES.add(name, ContinuousSearch(*own))
        return function

    return register


def search_continuously(context: TrainingContext, demand: Demand) -> Results:
    """Run the search of every method; searches with one width come first, because the others start from them.

    A search of widths moves the ridge too, whatever the setting. The weights of a sum are learned at a fixed ridge
    where the setting has one.
    """
    keep_freed_memory()
    known = KnownSolutions(context)
    found: Results = {}
    for method in sorted(demand, key=lambda m: m.kernel in SINGLE):
        groups: dict[float | None, list[Setting]] = {}
        for setting in demand[method]:
            held = setting.position if is_sum(method.kernel) else None
            lam = None if held is None else context.lams[held]
            groups.setdefault(lam, []).append(setting)
        for lam, settings in groups.items():
            result = search_once(known, replace(method, lam=lam))
            found |= {(method, setting): result for setting in settings}
    return found


def search_once(known: KnownSolutions, method: Method) -> BestPoint | SearchFailure:
    """Run one search, and fit the kernel and the ridge that it found."""
    assert method.search is not None
    function = SEARCHES[method.search.name].function
    if method.scorer is not None:
        return SearchFailure(f"the kernel {method.kernel} is learned without a scorer")
    try:
        solution = function(known, method, **dict(method.search.params))
        kernel = kernel_of(method.kernel, solution.theta, known)
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            fits, total = last_fit(known, kernel, solution.lam)
    except NUMERICAL as error:
        return SearchFailure(reason(error))
    extra = ("held", solution.held) if solution.mu is None else ("mu", solution.mu)
    point = GridPoint(kernel, solution.lam / total, (extra,))  # the lam of a grid search
    return BestPoint(point, solution.value, fits, state=solution.state)


def last_fit(known: KnownSolutions, kernel: Kernel, lam: float) -> tuple[tuple[Fit, ...], float]:
    """Return the fit of each target with a kernel and a ridge, and the number of rows that the ridge is for."""
    K, counts = kernel.gram(known.context.points), known.counts
    roots = None if counts is None else np.sqrt(counts)
    if roots is not None:
        K *= roots[:, None] * roots
    final = LSSVMSolution(K, weighed(known.y, roots), lam, roots)
    alphas = as_columns(weighed(final.alpha, roots)).T
    pairs = zip(alphas, final.bias.ravel(), strict=True)
    fits = tuple(Fit(alpha[None], np.array([bias])) for alpha, bias in pairs)
    return fits, known.context.n if counts is None else float(counts.sum())


def kernel_of(name: str, theta: Array, known: KnownSolutions | None = None) -> Kernel:
    """Return the kernel of rounded parameters: a width, one theta per feature, or the weights of a sum."""
    if name in SINGLE.values():
        width = 1.0 if name in LAPLACIAN else 0.5
        values = [width / float(theta[0]) if theta[0] else np.inf]
    else:
        values = theta.tolist()
    rounded = tuple(float(f"{value:.{DIGITS}g}") for value in values)
    if known is not None and is_sum(name):
        return weighted(known.parts(name), rounded)
    if name in SINGLE:
        return LaplacianArd(rounded) if name in LAPLACIAN else Ard(rounded)
    return Laplacian(*rounded) if name in LAPLACIAN else Gaussian(*rounded)


def weighted(parts: Sequence[Kernel], mu: Sequence[float]) -> Sum:
    """Return the sum of the kernels that have a weight."""
    used = [(part, weight) for part, weight in zip(parts, mu, strict=True) if weight > 0.0]
    return Sum(*map(tuple, zip(*used, strict=True)))
