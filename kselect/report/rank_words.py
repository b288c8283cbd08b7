"""What the table of a ranking says in words: its cells, its tests, every pair."""

from __future__ import annotations

import math

from kselect.core.table import show_fixed
from kselect.report.blocks import Grid
from kselect.report.words import describe_fewer, mark_label, show_p
from kselect.stats.rankings import Entry, Ranked
from kselect.stats.ranks import LEVELS, ROPE, Contrast, Ranks
from kselect.stats.study import Study

PAIRS = (
    "pair",
    "rank difference",
    *(f"Nemenyi {100 * level:g} %" for level in LEVELS),
    "Holm p",
    "Wilcoxon p",
    "first better",
    "same",
    "second better",
)


def head(study: Study, found: Ranked) -> tuple[str, ...]:
    """The columns' names, those of the literature marked."""
    marked = (
        found.mark(m) if m in found.literature else mark_label(m, study.reconstructed)
        for m in found.labels
    )
    return ("data set", *marked)


def name_row(study: Study, found: Ranked, dataset: str) -> str:
    """A data set, with what its reader must know."""
    counts = [e.runs for e in found.rows[dataset] if e.runs]
    few = describe_fewer(counts, len(study.experiment.splits))
    return dataset + few + (" (not ranked)" if dataset in found.absent else "")


def as_grid(study: Study, found: Ranked) -> Grid:
    """Means with their spreads as words, the mean ranks last."""
    rows = [
        (name_row(study, found, d), *(show_entry(e) for e in row)) for d, row in found.rows.items()
    ]
    ranks = [("mean rank", *show_ranks(found.ranks))] if found.ranks.datasets else []
    printed = [("published", *show_ranks(found.published))] if found.published.datasets else []
    return Grid(head(study, found), (*rows, *ranks, *printed))


def show_entry(entry: Entry) -> str:
    """``10.60 ± 0.05``, with a star where it is the best and a ring where it is not significantly different."""
    if math.isnan(entry.mean):
        return "--"
    text = show_fixed(entry.mean, 2)
    if not math.isnan(entry.spread):
        text += f" ± {show_fixed(entry.spread, 2)}"
    return text + ("*" if entry.best else "°" if entry.close else "")


def show_ranks(ranks: Ranks) -> tuple[str, ...]:
    """Two decimals."""
    return tuple("" if math.isnan(m) else f"{m:.2f}" for m in ranks.mean)


def describe(study: Study, found: Ranked, marks: str = "*: the lowest mean of ours; °: ") -> str:
    """What the cells are."""
    text = (
        "Test error in %, mean ± standard error over splits. "
        f"{marks}not significantly different from it by Wilcoxon's signed ranks over splits at 5 %."
    )
    if found.literature:
        text += (
            f" {', '.join(sorted(found.literature))}: from the literature, as printed, with the spread that is "
            "printed there."
        )
    return text


def notes(found: Ranked) -> tuple[str, ...]:
    """The tests over data sets, of ours and of the published numbers."""
    said = [f"Ours: {describe_ranks(found.ranks)}"]
    if found.published.datasets:
        said.append(f"Published: {describe_ranks(found.published)}")
    said += [describe_pair(c) for c in found.contrasts if c.nemenyi[LEVELS.index(0.1)]]
    if found.contrasts and len(said) == 1 + bool(found.published.datasets):
        said.append("No two of these differ by Nemenyi's test at 10 %.")
    twins = [d for d in found.absent if d in found.stand_ins]
    others = [d for d in found.absent if d not in found.stand_ins]
    if others:
        said.append(f"Not ranked, as some column has no number for it: {', '.join(others)}.")
    if twins:
        said.append(f"Not ranked, as what it stands for is there: {', '.join(twins)}.")
    return tuple(said)


def describe_ranks(ranks: Ranks) -> str:
    """Friedman's test, Iman and Davenport's F, Nemenyi's critical differences."""
    if ranks.friedman is None or ranks.critical is None:
        return "too few data sets for a test."
    limits = ", ".join(
        f"{c:.2f} at {100 * a:g} %" for c, a in zip(ranks.critical, LEVELS, strict=True)
    )
    test = ranks.friedman
    shown, plain = (
        [f"{v:.2f}" for v in pair] for pair in ((test.chi_squared, test.f), test.uncorrected)
    )
    ties = "" if shown == plain else f"; without the correction for ties {' and '.join(plain)}"
    return (
        f"{len(ranks.datasets)} data sets, Friedman's chi-squared {shown[0]}, Iman and Davenport's "
        f"F {shown[1]} (p {as_p(test.p_value)}{ties}), Nemenyi's critical difference {limits}."
    )


def as_p(value: float) -> str:
    """``= 0.03``, ``< 0.001``."""
    text = show_p(value)
    return text if text.startswith("<") else f"= {text}"


def describe_pair(pair: Contrast) -> str:
    """Two columns that differ."""
    better, worse = (pair.first, pair.second) if pair.difference < 0 else (pair.second, pair.first)
    level = next(a for a, seen in zip(LEVELS, pair.nemenyi, strict=True) if seen)
    return (
        f"{better} ranks before {worse} by {abs(pair.difference):.2f} (Nemenyi at {100 * level:g} %; "
        f"Holm p {as_p(pair.p_holm)}; Wilcoxon over data sets p {as_p(pair.p_wilcoxon)})."
    )


def pairs_grid(found: Ranked) -> Grid:
    """Every pair with every test."""
    rows = tuple(
        (
            f"{found.mark(c.first)} and {found.mark(c.second)}",
            f"{c.difference:+.2f}",
            *("differ" if seen else "no difference" for seen in c.nemenyi),
            show_p(c.p_holm),
            show_p(c.p_wilcoxon),
            *(f"{share:.2f}" for share in (p.better, p.same, p.worse)),
        )
        for c, p in zip(found.contrasts, found.posteriors, strict=True)
    )
    return Grid(PAIRS, rows)


def describe_posteriors(found: Ranked) -> str:
    """The caption of the bars, which says what the last columns of the pairs' table are, too."""
    count = len(found.ranks.datasets)
    return (
        f"Every pair by the Bayesian signed-rank test over {count} data sets: the probability that the left "
        f"method's errors are lower by more than {ROPE:g} percentage point, that the two are the same up to that, "
        "and that the right method's are lower. It can find two methods the same, which a test of significance "
        "cannot."
    )


def describe_diagram(found: Ranked) -> str:
    """The caption of the diagram."""
    beside = "; below, of the published numbers" if found.published.datasets else ""
    return (
        f"Critical-difference diagram of {', '.join(map(found.mark, found.labels))}: mean ranks over "
        f"{len(found.ranks.datasets)} data sets{beside}. "
        "A bar joins what Nemenyi's test at 10 % does not tell apart."
    )
