"""The methods, pairs, data sets and figures that a claim means in an experiment, and the finding about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kselect.core.claim import Claim
from kselect.core.experiment import Experiment
from kselect.core.method import Method
from kselect.core.table import Table
from kselect.report.claims.effects import NO_EFFECT, Effect
from kselect.report.claims.rules import Verdict
from kselect.stats.study import Study

F = TypeVar("F")
NOTHING = "There are no numbers yet."


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim with its effect, its counts in short, sentences about them, and a table of details.

    ``notes`` are short qualifiers that stand next to the verdict in every table. ``recount`` is how often a claim
    about time holds as the paper counts, ``13 of 17``, if that changes the verdict.
    """

    verdict: Verdict
    effect: Effect = NO_EFFECT
    counts: str = ""
    text: str = ""
    table: Table | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()
    recount: str = ""


def nothing(reason: str = NOTHING) -> Finding:
    """Return the finding on a claim without any numbers."""
    return Finding("no numbers", reason=reason)


def too_few(found: float, planned: float, what: str = "numbers") -> str:
    """Return why a verdict is withheld."""
    return f"Only {found:g} of {planned:g} planned {what} exist, too few to judge."


def find_methods(experiment: Experiment, names: Iterable[str]) -> list[Method]:
    """Return the methods of the table that labels or patterns name, each label once.

    A pattern such as ``k-CV`` is a criterion with any number of folds. A variant may have changed the parameters
    of a method: ``5-KS`` is then the only method named ``5-KS(...)``.
    """
    table = {m.label: m for m in experiment.table}
    found: dict[str, Method] = {}
    for name in names:
        mine = [m for m in table.values() if m.label == name]
        mine = mine or [m for m in table.values() if m.folds is not None and m.criterion == name]
        if not mine:
            renamed = [m for m in table.values() if m.label.partition("(")[0] == name]
            mine = renamed if len(renamed) == 1 else []
        found |= {m.label: m for m in mine}
    return list(found.values())


def find_pairs(experiment: Experiment, claim: Claim) -> list[tuple[str, str]]:
    """Return the labels of every pair that a claim compares, in the order of the claim."""
    return [
        (a.label, b.label)
        for a in find_methods(experiment, claim.left)
        for b in find_methods(experiment, claim.right)
        if a.label != b.label and (not claim.same_folds or a.folds == b.folds)
    ]


def find_datasets(study: Study, claim: Claim) -> dict[str, str]:
    """Return the data sets that a claim means, each with the one whose records serve for it.

    A data set that stands for another one serves if the other has no records; both never count together.
    """
    experiment = study.experiment
    twins = {experiment.info(d).stands_for: d for d in experiment.datasets}
    own = [d for d in experiment.datasets if experiment.info(d).stands_for is None]
    own += [str(name) for name in twins if name and name not in own]
    present = {d for d in experiment.datasets if d not in study.absent}
    found = {}
    for name in claim.datasets or own:
        serving = name if name in present else twins.get(name, name)
        serving = serving if serving in present else name
        here = serving in experiment.datasets and name not in claim.without
        if here and claim.task in (None, experiment.info(serving).task):
            found[name] = serving
    return found


def find_figure(study: Study, claim: Claim, kind: type[F]) -> F | None:
    """Return the config's figure that a claim names, if it is of this kind."""
    figures: Sequence[Any] = study.experiment.figures
    return next((f for f in figures if isinstance(f, kind) and f.name == claim.figure), None)  # type: ignore[attr-defined]


def planned_splits(study: Study, loss: str, datasets: Mapping[str, str]) -> dict[str, int]:
    """Return data set -> number of its planned splits, for the data sets whose records serve."""
    splits = study.comparison(loss).splits
    return {d: splits[d] for d in datasets.values()}


def note_absent(claim: Claim, known: Collection[str]) -> tuple[str, ...]:
    """Return which of the data sets that a claim names have numbers, if not all of them have."""
    absent = [name for name in claim.datasets if name not in known]
    if not absent or not known:
        return ()
    here = [name for name in claim.datasets if name in known]
    return (f"measured on {' and '.join(here)} only, not on {' and '.join(absent)}",)


def count_words(counts: Sequence[int], words: Sequence[str]) -> str:
    """Return ``12 lower, 5 equal, 1 higher``."""
    return ", ".join(f"{n} {word}" for n, word in zip(counts, words, strict=True))
