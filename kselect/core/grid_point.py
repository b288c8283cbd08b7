"""The results of a search: the best grid point of a method, a fitted estimator, or the reason for a failure."""

from __future__ import annotations

from dataclasses import dataclass

from kselect.core.method import Params
from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.learners import Fit
from kselect.numerics.linalg import Array


@dataclass(frozen=True)
class GridPoint:
    """A kernel and lam, with the values of tuned parameters or the counts that a search reports."""

    kernel: Kernel
    lam: float
    tuned: tuple[tuple[str, float], ...] = ()

    @property
    def text(self) -> str:
        """Return the text in messages, as in ``tau=4;lam=0.01``."""
        return ";".join(filter(None, (self.kernel.text, f"lam={show_number(self.lam)}")))


@dataclass(frozen=True, eq=False)
class BestPoint:
    """The best grid point of a method with its score and its fits, one per target.

    ``excluded`` holds the candidates that could not be chosen, each with the reason: no factor, a guard, an
    overflow. ``state`` says how a search that does not try every candidate ended.
    """

    point: GridPoint
    score: float
    fits: tuple[Fit, ...]
    excluded: tuple[tuple[GridPoint, str], ...] = ()
    state: str = ""


@dataclass(frozen=True, eq=False)
class EstimatorFit:
    """The choice of an estimator from its grid, and its predictions on the test rows as decision values (q, rows).

    ``score`` is the mean loss over the folds, None without a grid. ``excluded`` names the points of the grid that
    failed, each with the reason; ``warnings`` counts them per category.
    """

    chosen: Params
    score: float | None
    decisions: Array
    excluded: tuple[tuple[str, str], ...] = ()
    warnings: str = ""


@dataclass(frozen=True)
class SearchFailure:
    """The reason why a method has no best point."""

    reason: str
