"""What all sections of a report share: an experiment with its records, and each number computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from kselect.core.experiment import Experiment
from kselect.core.method import Method
from kselect.core.record import Record
from kselect.criteria import CRITERIA
from kselect.papers import PAPERS, Paper
from kselect.stats.comparison import Comparison, compare
from kselect.stats.coverage import Coverage, cover
from kselect.stats.facts import NO_FACTS, Facts
from kselect.stats.pairs import all_pairs
from kselect.stats.published import Published
from kselect.stats.samples import frame

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
NOT_RUN = "not run yet"


@dataclass(frozen=True, eq=False)
class Study:
    """An experiment, its records (all, some or none), what its paper printed, and the manifest's facts.

    ``variants`` are those that were run, by name, each a study of its own.
    """

    experiment: Experiment
    records: pd.DataFrame
    published: tuple[Published, ...] = ()
    facts: Facts = NO_FACTS
    variants: Mapping[str, Study] = field(default_factory=dict)
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def once(self, compute: Callable[[Study, *Ts], T], *details: *Ts) -> T:
        """``compute(self, *details)``, the first time; sections that need the same numbers share them."""
        key = (compute, *details)
        if key not in self._known:
            self._known[key] = compute(self, *details)
        found: T = self._known[key]
        return found

    @property
    def paper(self) -> Paper | None:
        """What is known of the experiment's paper."""
        return PAPERS.get(self.experiment.paper)

    def comparison(self, loss: str) -> Comparison:
        """The table of one loss."""
        return self.once(compare_loss, loss)

    def coverage(self, loss: str) -> Coverage:
        """How much of that table is there."""
        return self.once(cover_loss, loss)

    @property
    def methods(self) -> Mapping[tuple[str, str, str], Method]:
        """(part, label, text) -> the method: how records name it."""
        return self.once(named_methods)

    @property
    def absent(self) -> Mapping[str, str]:
        """Data set -> why it has no records."""
        present = set(self.records["dataset"])
        missing = (d for d in self.experiment.datasets if d not in present)
        return {d: self.facts.missing.get(d, NOT_RUN) for d in missing}

    @property
    def reconstructed(self) -> Mapping[str, str]:
        """Column -> what of its criterion is reconstructed."""
        texts = {m.label: CRITERIA[m.criterion].reconstructed for m in self.experiment.table}
        return {label: text for label, text in texts.items() if text}


def study_of(
    experiment: Experiment,
    records: Iterable[Record],
    published: tuple[Published, ...] = (),
    facts: Facts = NO_FACTS,
    variants: Mapping[str, Study] | None = None,
) -> Study:
    """The study of some records."""
    return Study(experiment, frame(records), published, facts, variants or {})


def compare_loss(study: Study, loss: str) -> Comparison:
    """The table of one loss, with every pair that some paper's claim is about."""
    return compare(study.experiment, study.records, loss, all_pairs(study.experiment))


def cover_loss(study: Study, loss: str) -> Coverage:
    """How much of a table is there."""
    return cover(study.comparison(loss))


def named_methods(study: Study) -> dict[tuple[str, str, str], Method]:
    """Every method of every data set: a regression has its own loss, and so its own text."""
    experiment = study.experiment
    every = (m for dataset in experiment.datasets for m in experiment.methods_on(dataset))
    return {(m.part, m.label, m.text): m for m in every}
