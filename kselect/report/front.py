"""The front page over several experiments: what each paper's claims came to, and the board of all claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kselect.core.claim import Paper
from kselect.files import write_whole
from kselect.packaged import experiments
from kselect.report.cells import count_legible
from kselect.report.claims.effects import Effect
from kselect.report.claims.judge import Judged, judge_claims, judge_others
from kselect.report.claims.rules import KIND_WORDS, Verdict
from kselect.report.claims.scope import find_datasets, find_methods
from kselect.report.glossary import explain, join_terms
from kselect.report.head import INSTALL, PHRASES, Summary, show_address, show_venue, summarise
from kselect.report.lookup import PrintedNumber, printed_numbers
from kselect.report.sections.published import WORDS
from kselect.report.template import Links, render
from kselect.report.words import DAGGER, describe_coverage, describe_fewer_splits, duration
from kselect.stats.distances import count_agreements, distances
from kselect.stats.study import Study

THUMBNAIL = "figures/published-and-ours.svg"
# The units in which 1 means no difference.
RATIOS = ("times as fast", "times the seconds")
WIDTH, HEIGHT, INSET = 160, 18, 6


@dataclass(frozen=True)
class BoardRow:
    """One claim on the board.

    ``changes`` lists the variants under which its verdict is another one, and ``kind`` says what it claims;
    ``datasets`` and ``methods`` are those that it means in the experiment.
    """

    id: str
    href: str
    experiment: str
    judged: Judged
    changes: str
    kind: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """An experiment on the front page: the address of its page, its claims, and what is missing."""

    name: str
    title: str
    paper: Paper | None
    href: str
    state: str
    summary: Summary
    rows: tuple[BoardRow, ...]
    seconds: tuple[str, ...] = ()
    took: str = ""
    missing: tuple[str, ...] = ()
    reconstructed: tuple[str, ...] = ()
    where: str = ""
    address: str = ""
    agreements: tuple[tuple[str, int], ...] = ()
    thumbnail: str = ""
    numbers: tuple[PrintedNumber, ...] = ()
    printed: str = ""
    terms: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Whisker:
    """An effect as a drawing: positions of the line of no difference, of the dot and of the interval's ends."""

    zero: float
    dot: float
    ends: tuple[float, float] | None


@dataclass(frozen=True)
class Scale:
    """The common scale of one unit: no difference in the middle, and ``reach`` at the ends.

    Positions are square roots of distances, so that small effects can be seen next to large ones. The distance of a
    ratio is its logarithm.
    """

    unit: str
    reach: float = field(default=0.0)

    @property
    def ratio(self) -> bool:
        """Return whether 1 means no difference."""
        return self.unit in RATIOS

    @property
    def ends(self) -> str:
        """Return the numbers at the ends of the scale: ``-8.5 to 8.5``."""
        high = math.exp(self.reach) if self.ratio else self.reach
        low = 1 / high if self.ratio else -high
        return f"{low:.3g} to {high:.3g}"

    def distance(self, value: float) -> float:
        """Return how far a value is from no difference."""
        return math.log(value) if self.ratio else value

    def place(self, value: float) -> float:
        """Return the position of a value on the drawing."""
        distance = self.distance(value)
        share = math.copysign(math.sqrt(abs(distance) / self.reach), distance) if self.reach else 0
        return round(WIDTH / 2 + (WIDTH / 2 - INSET) * share, 1)

    def draw(self, effect: Effect) -> Whisker:
        """Return the drawing of an effect."""
        known = not math.isnan(effect.low)
        ends = (self.place(effect.low), self.place(effect.high)) if known else None
        return Whisker(WIDTH / 2, self.place(effect.value), ends)


def make_entry(study: Study, href: str, seconds: Sequence[str] = ()) -> Entry:
    """Return the entry of an experiment; ``href`` leads to its page, ``seconds`` are findings on its times."""
    experiment, paper = study.experiment, study.paper
    return Entry(
        experiment.name,
        experiment.title,
        paper,
        href,
        f"{study.facts.jobs} jobs, {study.facts.failed} failed records",
        study.once(summarise),
        tuple(board_rows(study, href)),
        tuple(seconds),
        duration(study.seconds) if study.seconds else "",
        tuple(missing(study)),
        tuple(study.reconstructed),
        show_venue(paper) if paper else "",
        show_address(paper) if paper else "",
        count_apart(study),
        str(Path(href).parent / THUMBNAIL) if study.published else "",
        tuple(printed_numbers(study, href)),
        describe_legible(study),
        tuple(explain([experiment])),
    )


def count_apart(study: Study) -> tuple[tuple[str, int], ...]:
    """Return how many published cells lie within 2 standard errors of ours, 2 to 4 away, and so on."""
    found = study.once(distances, study.experiment.loss)
    verdicts = count_agreements(found)[-1].verdicts if found else {}
    return tuple((verdict, count) for verdict, count in verdicts.items() if count)


def make_bar(counts: Sequence[tuple[str, int]]) -> list[tuple[str, float, float]]:
    """Return the parts of a bar that shows counts: the name, the start and the width of each, in % of the bar."""
    total, start, found = sum(count for _, count in counts), 0.0, []
    for name, count in counts:
        width = 100 * count / total
        found.append((name, round(start, 2), round(width, 2)))
        start += width
    return found


def describe_claims(entries: Sequence[Entry]) -> str:
    """Return how many claims the page judges, and whose they are."""
    papers = [entry for entry in entries if entry.paper and entry.rows]
    total = sum(len(entry.rows) for entry in entries)
    theirs = sum(len(entry.rows) for entry in papers)
    source = f"{len(papers)} paper{'s' * (len(papers) != 1)}"
    claims = (
        f"{total} claim{'s' * (total != 1)} about how to select a kernel and its regularisation"
    )
    if theirs == total:
        return f"This page judges {claims}, from {source}"
    if not theirs:
        return f"This page judges {claims}, all of them our own"
    return f"This page judges {claims}: {theirs} from {source}, and {total - theirs} of our own"


def describe_legible(study: Study) -> str:
    """Return how many cells of a paper's tables our copy shows, if not all; nothing without a paper."""
    paper, experiment = study.paper, study.experiment
    if not paper:
        return ""
    if not study.published:
        return f"No table of {experiment.name} is legible in our copy of the paper."
    known, cells = study.once(count_legible, experiment.loss)
    if known == cells:
        return ""
    return f"Of {experiment.name}, {known} of {cells} cells are legible in our copy of the paper."


def board_rows(study: Study, href: str) -> list[BoardRow]:
    """Return the claims of an experiment; the name of an experiment is part of their ids."""
    experiment = study.experiment
    others = study.once(judge_others)
    found = []
    for one in study.once(judge_claims):
        claim = one.claim
        names = (*claim.left, *claim.right, *claim.method, *claim.against, *claim.pool)
        changes = [
            f"{other.reading or f'{other.loss} loss'}: {other.finding.verdict}"
            for other in others
            if other.claim.id == claim.id and other.finding.verdict != one.finding.verdict
        ]
        found.append(
            BoardRow(
                f"{experiment.name}-{claim.id}",
                f"{href}#claim-{claim.id}",
                experiment.name,
                one,
                "; ".join(changes),
                KIND_WORDS[claim.kind],
                tuple(find_datasets(study, claim)),
                tuple(m.label for m in find_methods(experiment, names)),
            )
        )
    return found


def missing(study: Study) -> list[str]:
    """Return what the experiment lacks: data sets, splits, numbers and untested claims."""
    experiment = study.experiment
    info = experiment.info
    others = {info(d).stands_for: d for d in experiment.datasets if info(d).stands_for}
    found = [
        f"No data for {name}: {why.rstrip('.')}{f'; {others[name]} takes its place' if name in others else ''}."
        for name, why in study.absent.items()
    ]
    found += describe_fewer_splits(study)
    coverage = describe_coverage(study.comparison(experiment.loss).coverage())
    found += [coverage] if coverage else []
    untested = [c.id for c in experiment.claims if c.untested]
    return found + ([f"Claims not tested: {', '.join(untested)}."] if untested else [])


def family(effect: Effect) -> str:
    """Return the unit without what stands in parentheses: ``ranks``; empty without a scale."""
    return effect.unit.partition("(")[0].strip() if not math.isnan(effect.value) else ""


def scales(entries: Iterable[Entry]) -> dict[str, Scale]:
    """Return the scale of each unit that has several effects; it reaches the furthest end of an interval."""
    effects: dict[str, list[Effect]] = {}
    for row in (row for entry in entries for row in entry.rows):
        effect = row.judged.finding.effect
        if family(effect):
            effects.setdefault(family(effect), []).append(effect)
    found = {}
    for unit, mine in effects.items():
        bare = Scale(unit)
        numbers = [x for e in mine for x in (e.value, e.low, e.high) if math.isfinite(x)]
        drawn = [x for x in numbers if not bare.ratio or x > 0]
        if len(mine) > 1:
            found[unit] = Scale(unit, max(abs(bare.distance(x)) for x in drawn))
    return found


def count_verdicts(entries: Iterable[Entry]) -> list[tuple[Verdict, int]]:
    """Return how many claims have each verdict that occurs."""
    found = Counter(row.judged.finding.verdict for entry in entries for row in entry.rows)
    return [(verdict, found[verdict]) for verdict in PHRASES if found[verdict]]


def write_index(entries: Sequence[Entry], path: Path) -> Path:
    """Write the front page over several experiments, in the order given; one's own stand apart from papers."""
    drawn = scales(entries)
    text = render(
        "index.html.j2",
        entries=entries,
        papers=[entry for entry in entries if entry.paper],
        own=[entry for entry in entries if not entry.paper],
        rows=[row for entry in entries for row in entry.rows],
        numbers=[number for entry in entries for number in entry.numbers],
        claims=describe_claims(entries),
        counts=count_verdicts(entries),
        bar_of=make_bar,
        install=INSTALL,
        words=WORDS,
        commands="\n".join(
            f"kselect run {e.name} && kselect report {e.name}"
            for e in entries
            if e.name in experiments()
        ),
        took=[(e.name, e.took) for e in entries if e.took and e.name in experiments()],
        scales=list(drawn.values()),
        whisker=lambda e: drawn[family(e)].draw(e) if family(e) in drawn else None,
        terms=join_terms(entry.terms for entry in entries),
        dagger=DAGGER,
        links=Links(path.parent),
    )
    write_whole(path, text)
    return path
