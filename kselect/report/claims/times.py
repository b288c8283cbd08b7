"""Claims about the time of a selection, from the seconds that ``kselect time`` measured."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kselect.core.claim import Claim
from kselect.core.job import protocol_of
from kselect.core.table import Column, Group, Table, Values
from kselect.report.claims.deciding import decide
from kselect.report.claims.effects import geometric_effect
from kselect.report.claims.rules import ABOUT, Verdict, withhold
from kselect.report.claims.scope import (
    Finding,
    find_datasets,
    find_methods,
    find_pairs,
    note_absent,
    nothing,
    too_few,
)
from kselect.stats.study import Study
from kselect.store.timings import Seconds, TimedMethod, Timings, timed_methods, timed_text

COLUMNS = (
    Column("data set", align="left"),
    Column("methods", align="left"),
    *(Column(name, format=".3g") for name in ("first, s", "second, s", "times as fast", "printed")),
    Column("counts", align="left"),
)


class PairSeconds(NamedTuple):
    """The seconds of two methods on one data set, None if missing, and the ratio of the printed ones, or NaN.

    ``ours`` says that they are the seconds of our searches, not of the papers' algorithms.
    """

    dataset: str
    pair: str
    first: Seconds | None
    second: Seconds | None
    printed: float
    ours: bool = False

    @property
    def ratio(self) -> float:
        """Return how many times as fast the first method is; NaN without both seconds."""
        return self.compare(self.first.cpu if self.first else None)

    @property
    def without_fits(self) -> float:
        """Return the same ratio without the first method's trainings; NaN if they were not told apart."""
        return self.compare(self.first.without_fits if self.first else None)

    def compare(self, first: float | None) -> float:
        """Return the seconds of the second method divided by ``first``; NaN without both."""
        if first is None or self.second is None or not min(first, self.second.cpu) > 0:
            return math.nan
        return self.second.cpu / first


def judge_times(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge a claim that a method is faster, or takes about as long, over every pair of methods and data set."""
    if not study.timings:
        return nothing("No selection was timed (kselect time).")
    every = list(read_pairs(study, claim))
    known = [one for one in every if not math.isnan(one.ratio)]
    withheld = withhold(len(known), len(every))
    if withheld == "no numbers":
        return nothing("No selection of these methods was timed (kselect time).")
    held = sum(holds(claim, one.ratio) for one in known)
    if claim.kind == "same time":
        unit, words = "times the seconds", f"within a factor of {ABOUT:g}"
    else:
        unit = "times as fast"
        words = f"{claim.times:g} times as fast or more" if claim.times > 1 else "faster"
    missing = f", {len(every) - len(known)} missing" if len(known) < len(every) else ""
    rows: tuple[Values, ...] = tuple(
        (
            *(one.dataset, one.pair, *(s.cpu if s else None for s in (one.first, one.second))),
            *(one.ratio, one.printed, "yes" if holds(claim, one.ratio) else "no"),
        )
        for one in known
    )
    decided = decide(claim.kind, withheld, held, len(known))
    recount = count_bare(claim, known, len(every))
    changed = recount and recount.verdict != decided.verdict
    return Finding(
        decided.verdict,
        geometric_effect(mean_ratios(claim, known), unit),
        f"{words} on {held} of {len(known)} comparisons{missing}",
        " ".join(remarks(study, claim, every)),
        Table("", COLUMNS, (Group(rows),)),
        too_few(len(known), len(every), "comparisons") if withheld else "",
        tuple(notes(claim, known, held, recount)) + decided.notes,
        recount.words if recount and changed else "",
    )


class Recount(NamedTuple):
    """How often a claim holds without the trainings of its first method, as the papers count, and the verdict."""

    held: int
    total: int
    verdict: Verdict

    @property
    def words(self) -> str:
        """Return ``13 of 17``."""
        return f"{self.held} of {self.total}"


def count_bare(claim: Claim, known: Iterable[PairSeconds], planned: int) -> Recount | None:
    """Count a claim without the trainings of its first method; None if no seconds tell them apart."""
    bare = [one.without_fits for one in known if not math.isnan(one.without_fits)]
    if not bare:
        return None
    held = sum(holds(claim, ratio) for ratio in bare)
    withheld = withhold(len(bare), planned)
    return Recount(held, len(bare), decide(claim.kind, withheld, held, len(bare)).verdict)


def notes(
    claim: Claim, known: Sequence[PairSeconds], held: int, recount: Recount | None
) -> Iterator[str]:
    """Yield the qualifiers of a verdict on times: the paper's way of counting, and which seconds are missing."""
    if recount and (recount.held, recount.total) != (held, len(known)):
        names = " and ".join(claim.left)
        yield f"as the paper counts (without the trainings of {names}): {recount.words}"
    yield from note_absent(claim, {one.dataset for one in known})
    if rough := count_rough(known):
        yield f"extrapolated seconds in {rough} of {len(known)}"


def count_rough(known: Iterable[PairSeconds]) -> int:
    """Return how many comparisons rest on extrapolated seconds."""
    return sum(any(s and not s.whole for s in (one.first, one.second)) for one in known)


def read_pairs(study: Study, claim: Claim) -> Iterator[PairSeconds]:
    """Yield every pair of methods that a claim compares, on every data set.

    A pair of continuous searches counts with our seconds if the paper has no search of its own for one of them.
    """
    timings = {t.dataset: t for t in study.timings}
    methods = {m.label: m for m in find_methods(study.experiment, (*claim.left, *claim.right))}
    for name, dataset in find_datasets(study, claim).items():
        for a, b in find_pairs(study.experiment, claim):
            cells = [seconds_of(timings.get(dataset), m) for m in (a, b)]
            mine, other = (cell.paper if cell else None for cell in cells)
            ours = bool(methods[a].search and methods[b].search and not (mine and other))
            if ours:
                mine, other = (cell.ours if cell else None for cell in cells)
            first, second = (study.printed_seconds.get((name, m), math.nan) for m in (a, b))
            printed = second / first if first > 0 else math.nan
            yield PairSeconds(dataset, f"{a} against {b}", mine, other, printed, ours)


def mean_ratios(claim: Claim, known: Iterable[PairSeconds]) -> list[float]:
    """Return the geometric mean of the ratios of each data set; for the same time, first over second."""
    ratios: dict[str, list[float]] = {}
    for one in known:
        value = 1 / one.ratio if claim.kind == "same time" else one.ratio
        ratios.setdefault(one.dataset, []).append(math.log(value))
    return [math.exp(math.fsum(logs) / len(logs)) for logs in ratios.values()]


def remarks(study: Study, claim: Claim, every: Sequence[PairSeconds]) -> Iterator[str]:
    """Yield what the paper printed, and which seconds are extrapolated, of an earlier version, or missing."""
    printed = [one.printed for one in every if not math.isnan(one.printed)]
    if printed:
        reached = sum(holds(claim, ratio) for ratio in printed)
        yield f"The seconds that the paper printed reach this on {reached} of {len(printed)}."
    known = [one for one in every if not math.isnan(one.ratio)]
    if rough := count_rough(known):
        yield f"{rough} comparisons rest on extrapolated seconds."
    if recount := count_bare(claim, known, len(every)):
        name = " and ".join(claim.left)
        yield f"Without the trainings of {name}, as the paper counts, this holds on {recount.words}."
    searches = [m for m in find_methods(study.experiment, (*claim.left, *claim.right)) if m.search]
    if searches and any(one.ours for one in known):
        yield "Seconds of our searches."
        yield from search_costs(study, [m.label for m in searches], [one.dataset for one in known])
    labels = [m.label for m in find_methods(study.experiment, (*claim.left, *claim.right))]
    here = {one.dataset for one in every}
    old = sum(is_old(study, t, labels) for t in study.timings if t.dataset in here)
    if old:
        yield f"Measured with an earlier version or config on {old} data sets."
    missing = Counter(one.pair for one in every if math.isnan(one.ratio))
    if missing:
        words = (f"{pair} ({n} data set{'s' * (n != 1)})" for pair, n in missing.items())
        yield f"Without seconds: {', '.join(words)}."


def is_old(study: Study, timings: Timings, methods: Iterable[str]) -> bool:
    """Return whether some seconds were measured with another version, config or parameters than today's."""
    experiment, dataset = study.experiment, timings.dataset
    now = {m.label: timed_text(m) for m in timed_methods(experiment, dataset)}
    known = (timings.cell(label) for label in methods)
    changed = any(cell.params != now.get(cell.method) for cell in known if cell)
    return changed or timings.protocol != protocol_of(experiment, dataset, timings.data_sha256)


def holds(claim: Claim, ratio: float) -> bool:
    """Return whether a ratio of seconds, the second method over the first, is as claimed."""
    if claim.kind == "same time":
        return 1 / ABOUT <= ratio <= ABOUT
    return ratio >= claim.times if claim.times > 1 else ratio > 1


def seconds_of(timings: Timings | None, label: str) -> TimedMethod | None:
    """Return the cell of a method, None if it failed or is missing."""
    cell = timings.cell(label) if timings else None
    return None if cell is None or cell.failure else cell


def search_costs(study: Study, labels: Iterable[str], datasets: Iterable[str]) -> Iterator[str]:
    """Yield how much longer than ours the paper's search of each method takes, as a geometric mean."""
    timings = {t.dataset: t for t in study.timings}
    for label in labels:
        cells = [seconds_of(timings.get(d), label) for d in dict.fromkeys(datasets)]
        logs = [math.log(c.paper.cpu / c.ours.cpu) for c in cells if c and c.paper and c.ours]
        if logs:
            mean = math.exp(math.fsum(logs) / len(logs))
            yield f"The paper's own search of {label} takes {mean:.3g} times as long as ours."
