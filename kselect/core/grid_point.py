"""Where a method ended up, however it looked: on a grid, by an inner cross-validation, by a quasi-Newton method."""

from __future__ import annotations

from dataclasses import dataclass

from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.learners import Fit


@dataclass(frozen=True)
class GridPoint:
    """A kernel, a ridge, and what was found with them: a criterion's parameters, or what a search counted."""

    kernel: Kernel
    lam: float
    tuned: tuple[tuple[str, float], ...] = ()

    @property
    def text(self) -> str:
        """``tau=4;lam=0.01``: how messages name it."""
        return ";".join(filter(None, (self.kernel.text, f"lam={show_number(self.lam)}")))


@dataclass(frozen=True, eq=False)
class BestPoint:
    """The best place of a method, its score and its fit: one dual per target.

    ``state`` is how a search ended that does not try all there is.
    ``excluded`` are the candidates that it could not choose, each with the reason: no factor, a guard, an overflow.
    """

    point: GridPoint
    score: float
    fits: tuple[Fit, ...]
    excluded: tuple[tuple[GridPoint, str], ...] = ()
    state: str = ""


@dataclass(frozen=True)
class SearchFailure:
    """No candidate is left, and why."""

    reason: str
