"""The results of a search: the best grid point of a method, or the reason for its failure."""

from __future__ import annotations

from dataclasses import dataclass

from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.learners import Fit


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


@dataclass(frozen=True)
class SearchFailure:
    """The reason why a method has no best point."""

    reason: str
