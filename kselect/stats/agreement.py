"""Whether a recomputed record agrees with a committed one.

The two agree if they choose the same grid point, with the same score and test error up to TOLERANCE. Rounding
differs between processors, so that a criterion may prefer another grid point of the same score. Such a tie counts
as agreement only if the committed grid point, recomputed, has the committed score and error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isclose

from kselect.core.experiment import Experiment
from kselect.core.method import Method
from kselect.core.record import Record, significant

# Relative. The largest difference between five kinds of processors is 1e-9 in scores and 1e-10 in errors; see
# tests/campaigns/README.md.
TOLERANCE = 1e-6
# Scores below this are differences of numbers of order 1, of which rounding has left nothing.
ROUNDING = 1e-11


@dataclass(frozen=True)
class Agreement:
    """A committed record next to the recomputed one: in which numbers they differ, and whether they are tied."""

    committed: Record
    differences: tuple[str, ...] = ()
    tied: bool = False

    @property
    def text(self) -> str:
        """Return one line with both numbers of each difference."""
        return f"{name_of(self.committed)}: {'; '.join(self.differences)}"


def name_of(record: Record) -> str:
    """Return a cell in words: ``heart, split 3, table, 5-CV (loss=squared), lam=0.001``."""
    params = f" ({record.params})" if record.params else ""
    method = f"{record.method}{params}"
    return f"{record.dataset}, split {record.split}, {record.part}, {method}, {record.setting}"


def compare(committed: Record, found: Record | None) -> Agreement:
    """Compare a recomputed record with the committed one; None stands for a record that was not computed."""
    if found is None:
        return Agreement(committed, ("not computed here",))
    if found.status != committed.status:
        here = f"{found.status}{found.reason and f' ({found.reason})'}"
        return Agreement(committed, (f"{committed.status} committed, {here} here",))
    chosen, here = choice(committed), choice(found)
    if chosen != here and not near_choice(committed, found):
        both = f"{chosen} committed, {here} here"
        tied = close(committed.score, found.score)
        return Agreement(committed, (both, *number_differences(committed, found)), tied)
    return Agreement(committed, tuple(number_differences(committed, found)))


def number_differences(committed: Record, found: Record) -> list[str]:
    """Return the numbers in which two records differ, each with both values."""
    names = [
        name
        for name in ("score", "error")
        if not close(getattr(committed, name), getattr(found, name))
    ]
    names += [n for n in ("n_train", "n_test") if getattr(committed, n) != getattr(found, n)]
    return [
        f"{name} {shown(getattr(committed, name))} committed, {shown(getattr(found, name))} here"
        for name in names
    ]


def close(committed: float | None, found: float | None) -> bool:
    """Return whether two numbers are equal up to the tolerance."""
    if committed is None or found is None:
        return committed is found
    return isclose(committed, found, rel_tol=TOLERANCE, abs_tol=ROUNDING)


def shown(value: float | None) -> str:
    """Return a number of a record as text."""
    return "none" if value is None else f"{value:.12g}"


def choice(record: Record) -> str:
    """Return the grid point of a record as text."""
    lam = "" if record.lam is None else f"lam={shown(record.lam)}"
    return " ".join(filter(None, (record.kernel, record.chosen, lam, record.tuned)))


def near_choice(committed: Record, found: Record) -> bool:
    """Return whether two choices have the same names, and numbers that are equal up to the tolerance."""
    pairs = [numbers_in(record) for record in (committed, found)]
    names = [[name for name, _ in numbers] for numbers in pairs]
    return (
        committed.kernel == found.kernel
        and names[0] == names[1]
        and all(close(a, b) for (_, a), (_, b) in zip(*pairs, strict=True))
    )


def numbers_in(record: Record) -> list[tuple[str, float]]:
    """Return the names and values of a choice."""
    parts = [part for text in (record.chosen, record.tuned) for part in text.split(";") if part]
    named = [part.partition("=") for part in parts]
    found = [(name, float(value)) for name, _, value in named]
    return found if record.lam is None else [*found, ("lam", record.lam)]


def at_committed(experiment: Experiment, record: Record) -> tuple[Experiment, Method] | None:
    """Return the experiment whose grid is the record's choice, and its method; None if it is not from the grid.

    A tuned parameter has its committed value as the only candidate.
    """
    for method in experiment.methods_on(record.dataset, record.split):
        if (method.part, method.label, method.text) == (record.part, record.method, record.params):
            break
    else:
        return None
    if method.search or method.fixed or method.at or method.everywhere or method.on_test:
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
