"""The shared input of all report sections: the experiment, its records, and a cache of derived statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, TypeVarTuple

from kselect.core.experiment import Experiment
from kselect.core.record import COLUMNS, Record
from kselect.criteria import CRITERIA
from kselect.stats.comparison import Comparison, compare
from kselect.stats.sources import Manifest, Published
from kselect.store.timings import Timings

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
NUMBERS = {"lam": float, "score": float, "error": float, "split": int, "excluded": int}
NO_FACTS = Manifest()
NOT_RUN = "not run yet"


class Study:
    """An experiment, its records (all, some or none), the numbers its paper printed, and the manifest's facts.

    Attributes
    ----------
    records
        A data frame with one row per record; a missing number is NaN. The column ``made_by`` is the method that
        made the record, or None if the config does not have it.
    timings, printed_seconds
        The measured seconds of its selections, and those that the paper printed by data set and method.
    seconds
        What all jobs took in one process, together; 0 if that is not known.
    variants
        The names of the variants that were run, each with its study.
    paper
        What is known of the experiment's paper, or None.
    methods
        The methods of all data sets by (part, label, text), as records name them. A regression has its own loss,
        and so its own text.
    absent
        The data sets without records, each with the reason.
    reconstructed
        The methods whose criterion is reconstructed, each with what is reconstructed.
    """

    def __init__(
        self,
        experiment: Experiment,
        records: Iterable[Record],
        published: tuple[Published, ...] = (),
        facts: Manifest = NO_FACTS,
        variants: Mapping[str, Study] | None = None,
        timings: tuple[Timings, ...] = (),
        printed_seconds: Mapping[tuple[str, str], float] | None = None,
        seconds: float = 0.0,
    ) -> None:
        import pandas as pd

        rows = list(records)
        columns: dict[str, list[Any]] = {name: [getattr(r, name) for r in rows] for name in COLUMNS}
        self.experiment, self.variants = experiment, variants or {}
        self.published, self.facts = published, facts
        self.timings, self.printed_seconds = timings, printed_seconds or {}
        self.seconds = seconds
        self.paper = experiment.source
        every = (m for dataset in experiment.datasets for m in experiment.methods_on(dataset))
        self.methods = {(m.part, m.label, m.text): m for m in every}
        columns["made_by"] = [self.methods.get((r.part, r.method, r.params)) for r in rows]
        self.records = pd.DataFrame(columns).astype(NUMBERS)
        missing = dict.fromkeys(experiment.datasets, NOT_RUN) | dict(facts.missing)
        present = {r.dataset for r in rows}
        self.absent = {d: missing[d] for d in experiment.datasets if d not in present}
        texts = {
            m.label: CRITERIA[m.criterion].reconstructed
            for m in experiment.table
            if not m.estimator
        }
        self.reconstructed = {label: text for label, text in texts.items() if text}
        self._known: dict[Any, Any] = {}

    def once(self, compute: Callable[[Study, *Ts], T], *details: *Ts) -> T:
        """Return ``compute(self, *details)``, computed on the first call only."""
        key = (compute, *details)
        if key not in self._known:
            self._known[key] = compute(self, *details)
        found: T = self._known[key]
        return found

    def comparison(self, loss: str) -> Comparison:
        """Return the comparison of one loss, of every method that uses it or uses none."""
        if loss not in self._known:
            self._known[loss] = compare(self.experiment, self.records, loss)
        found: Comparison = self._known[loss]
        return found
