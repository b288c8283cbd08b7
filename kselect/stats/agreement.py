"""Whether a recomputed record agrees with the committed one.

Records have twelve digits, but other processors round in other places. In samples of 580 cells of all experiments,
with the kernels of OpenBLAS for Nehalem, Sandy Bridge and Skylake-X (OPENBLAS_CORETYPE), the scores and errors of
grid searches differed by at most 4e-11 relative, or 3e-9 for scores of 1e-12. TOLERANCE leaves a margin and still
detects a change in the eighth digit.

* A choice from a grid must be the same point. If rounding makes two points of the same score change places, the
  cell still agrees if the committed point, recomputed, has the committed score and error.
* A continuous search ends at slightly different points of a flat valley. It must reach the same score up to
  SEARCH_TOLERANCE, with the same test error. One of these 180 searches ended at another minimum: a difference.

Both exceptions are named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isclose

from kselect.core.experiment import Experiment
from kselect.core.method import Method
from kselect.core.record import Record, significant
from kselect.errors import cut

TOLERANCE = 1e-8
SEARCH_TOLERANCE = 1e-5  # at the same minimum, scores differed by at most 2e-6
# Smaller scores are differences between two formulas for one number of order 1: nothing but rounding errors.
ROUNDING = 1e-15
LONGEST_CHOICE = 100  # characters in a message; a kernel may have many widths


@dataclass(frozen=True)
class Agreement:
    """A committed record next to the recomputed one: how they differ, and whether they are only tied."""

    committed: Record
    differences: tuple[str, ...] = ()
    tied: bool = False

    @property
    def agrees(self) -> bool:
        """Return whether the recomputed record confirms the committed one."""
        return self.tied or not self.differences

    @property
    def text(self) -> str:
        """Return one line with the cell and both values of each difference."""
        cell, params = self.committed, self.committed.params
        method = f"{cell.method}{params and f' ({params})'}"
        where = f"{cell.dataset}, split {cell.split}, {cell.part}, {method}, {cell.setting}"
        return f"{where}: {'; '.join(self.differences)}"


def compare(committed: Record, found: Record | None) -> Agreement:
    """Compare a recomputed record with the committed one; None stands for a record that was not computed.

    Two grid points are tied if their scores are equal; ``at_committed`` helps to verify the committed one.
    """
    if found is None:
        return Agreement(committed, ("not computed here",))
    if found.status != committed.status:
        here = f"{found.status}{found.reason and f' ({found.reason})'}"
        return Agreement(committed, (f"{committed.status} committed, {here} here",))
    tolerance = SEARCH_TOLERANCE if committed.state else TOLERANCE
    same_score = close(committed.score, found.score, tolerance)
    same_error = close(committed.error, found.error, TOLERANCE)
    names = ["score"] * (not same_score) + ["error"] * (not same_error)
    names += [n for n in ("n_train", "n_test") if getattr(committed, n) != getattr(found, n)]
    numbers = [
        f"{name} {shown(getattr(committed, name))} committed, {shown(getattr(found, name))} here"
        for name in names
    ]
    before, now = choice(committed), choice(found)
    if before == now:
        return Agreement(committed, tuple(numbers))
    tied = same_score and (same_error or not committed.state)
    both = f"{cut(before, LONGEST_CHOICE)} committed, {cut(now, LONGEST_CHOICE)} here"
    return Agreement(committed, (both, *numbers), tied)


def close(committed: float | None, found: float | None, tolerance: float) -> bool:
    """Return whether two numbers are equal up to a relative tolerance."""
    if committed is None or found is None:
        return committed is found
    return isclose(committed, found, rel_tol=tolerance, abs_tol=ROUNDING)


def shown(value: float | None) -> str:
    """Return a number of a record as text."""
    return "none" if value is None else f"{value:.12g}"


def choice(record: Record) -> str:
    """Return the grid point of a record as text."""
    lam = "" if record.lam is None else f"lam={shown(record.lam)}"
    return " ".join(filter(None, (record.kernel, record.chosen, lam, record.tuned)))


def at_committed(experiment: Experiment, record: Record) -> tuple[Experiment, Method] | None:
    """Return the experiment whose grid is the record's choice, and its method; None if it is not from the grid.

    A tuned parameter has its committed value as the only candidate.
    """
    mine = (record.part, record.method, record.params)
    methods = experiment.methods_on(record.dataset, record.split)
    method = next((m for m in methods if (m.part, m.label, m.text) == mine), None)
    if method is None or method.fixed or method.at or method.everywhere or method.on_test:
        return None
    kernels = [k for k in experiment.kernels if (k.name, k.text) == (record.kernel, record.chosen)]
    lams = zip(experiment.lam.values, experiment.lam.lams(record.n_train), strict=True)
    values = [value for value, lam in lams if significant(lam) == record.lam]
    chosen = dict(part.split("=") for part in record.tuned.split(";") if part)
    tuned = tuple(
        (name, tuple(v for v in candidates if f"{v:g}" == chosen.get(name)))
        for name, candidates in method.tuned
    )
    if not kernels or not values or not all(candidates for _, candidates in tuned):
        return None
    lam = replace(experiment.lam, values=tuple(values[:1]))
    return replace(experiment, kernels=tuple(kernels), lam=lam), replace(method, tuned=tuned)
