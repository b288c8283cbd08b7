"""The shared input of all report sections: the experiment, its records, and a cache of derived statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from kselect.core.experiment import Experiment
from kselect.core.method import Method
from kselect.core.record import Record
from kselect.criteria import CRITERIA
from kselect.papers import PAPERS, Paper
from kselect.stats.comparison import Comparison, all_pairs, compare
from kselect.stats.samples import frame
from kselect.stats.sources import Manifest, Published

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
NOT_RUN = "not run yet"


@dataclass(frozen=True, eq=False)
class Study:
    """An experiment, its records (all, some or none), the numbers its paper printed, and the manifest's facts.

    ``variants`` maps the names of the variants that were run to their studies.
    """

    experiment: Experiment
    records: pd.DataFrame
    published: tuple[Published, ...] = ()
    facts: Manifest = field(default_factory=Manifest)
    variants: Mapping[str, Study] = field(default_factory=dict)
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)
    _compared: dict[str, Comparison] = field(default_factory=dict, repr=False)

    def once(self, compute: Callable[[Study, *Ts], T], *details: *Ts) -> T:
        """Return ``compute(self, *details)``, computed on the first call only."""
        key = (compute, *details)
        if key not in self._known:
            self._known[key] = compute(self, *details)
        found: T = self._known[key]
        return found

    @property
    def paper(self) -> Paper | None:
        """Return what is known of the experiment's paper."""
        return PAPERS.get(self.experiment.paper)

    def comparison(self, loss: str) -> Comparison:
        """Return the comparison of one loss, with every pair of methods that a claim of any paper compares."""
        if loss not in self._compared:
            pairs = all_pairs(self.experiment)
            self._compared[loss] = compare(self.experiment, self.records, loss, pairs)
        return self._compared[loss]

    @cached_property
    def methods(self) -> Mapping[tuple[str, str, str], Method]:
        """The methods of all data sets by (part, label, text), as records name them.

        A regression has its own loss, and so its own text.
        """
        experiment = self.experiment
        every = (m for dataset in experiment.datasets for m in experiment.methods_on(dataset))
        return {(m.part, m.label, m.text): m for m in every}

    @cached_property
    def absent(self) -> Mapping[str, str]:
        """The data sets without records, each with the reason."""
        present = set(self.records["dataset"])
        missing = (d for d in self.experiment.datasets if d not in present)
        return {d: self.facts.missing.get(d, NOT_RUN) for d in missing}

    @cached_property
    def reconstructed(self) -> Mapping[str, str]:
        """The methods whose criterion is reconstructed, each with what is reconstructed."""
        texts = {m.label: CRITERIA[m.criterion].reconstructed for m in self.experiment.table}
        return {label: text for label, text in texts.items() if text}


def study_of(
    experiment: Experiment,
    records: Iterable[Record],
    published: tuple[Published, ...] = (),
    facts: Manifest | None = None,
    variants: Mapping[str, Study] | None = None,
) -> Study:
    """Return the study of some records."""
    return Study(experiment, frame(records), published, facts or Manifest(), variants or {})
