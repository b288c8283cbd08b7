"""Claims about test errors: one method against another, a setting, and printed columns against our methods."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

from kselect.core.claim import Claim
from kselect.core.method import Setting
from kselect.core.table import Column, Group, Table, Values
from kselect.report.claims.deciding import decide
from kselect.report.claims.effects import Effect, mean_effect, median_effect
from kselect.report.claims.rules import RULES, withhold
from kselect.report.claims.scope import (
    Finding,
    count_words,
    find_datasets,
    find_methods,
    find_pairs,
    note_absent,
    nothing,
    planned_splits,
    too_few,
)
from kselect.report.words import describe_edges, label_of, note_edges, show_counts, title_setting
from kselect.stats.comparison import Contest, WinTieLoss, add_up, contest
from kselect.stats.diagnostics import leaning
from kselect.stats.samples import SplitErrors, match, t_test
from kselect.stats.sources import Published
from kselect.stats.study import Study

Cells = Mapping[tuple[str, str], SplitErrors]
WORDS = ("lower", "equal", "higher")
POINTS, RELATIVE = "points", "%"
BOTH = "points or %"
COLUMNS = (
    Column("setting", align="left"),
    Column("methods", align="left"),
    *(Column(name) for name in ("by mean", "t-test", "corrected t-test")),
    Column("verdict", align="verdict"),
)
CAPTION = "Counts are lower/equal/higher over data sets, for the first method's test error against the second's."
PRINTED = tuple(
    Column(name, align="left") for name in ("data set", "printed", "ours", "difference")
)
# Printed means have no splits to be paired: one-sided test by their standard errors, 5 %.
NORMAL = 1.645


def judge_errors(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge a claim of lower, higher or comparable errors, over every pair of methods, setting and data set."""
    if claim.printed:
        return judge_printed(study, claim, loss)
    comparison, datasets = study.comparison(loss), find_datasets(study, claim)
    here = set(comparison.methods)
    pairs = [p for p in find_pairs(study.experiment, claim) if here.issuperset(p)]
    splits = planned_splits(study, loss, datasets)
    # Two estimators have the same errors under every setting, which count once.
    compared = [
        (setting, a, b)
        for i, setting in enumerate(s for s in comparison.cells if claim.setting in (None, s))
        for a, b in pairs
        if not (i and comparison.estimators.issuperset((a, b)))
    ]
    contests = [(s, contest(a, b, comparison.cells[s], splits)) for s, a, b in compared]
    outcomes = (o for _, one in contests for o in one.outcomes)
    total = add_up("", "", outcomes, sum(one.planned for _, one in contests))
    withheld = withhold(total.pairs, total.planned)
    if withheld == "no numbers":
        return nothing()
    found = [(comparison.cells[setting], a, b) for setting, a, b in compared]
    effect = error_effect(study, found, list(splits))
    labels = {label for pair in pairs for label in pair}
    reason = too_few(total.pairs, total.planned, "pairs of test errors") if withheld else ""
    if not withheld and not sum(total.by_ttest):
        withheld, reason = "too few numbers", "No test is possible with one split."
    decided = decide(claim.kind, withheld, total.by_mean, total.by_ttest)
    edges = leaning(study, loss, labels)
    known = {d for cells, a, b in found for d in splits if match(cells[d, a], cells[d, b]).a.runs}
    return Finding(
        decided.verdict,
        effect,
        f"{count_words(total.by_mean, WORDS)}; significantly {total.by_ttest.wins} lower, "
        f"{total.by_ttest.losses} higher",
        " ".join(filter(None, (describe(total, len(splits)), describe_edges(edges)))),
        contest_table(study, claim, contests),
        reason,
        (
            *decided.notes,
            *note_edges(edges),
            *note_absent(claim, [name for name, d in datasets.items() if d in known]),
        ),
    )


def describe(total: Contest, datasets: int) -> str:
    """Return the number of comparisons, and what the corrected test finds."""
    corrected, count = total.by_corrected, sum(total.by_mean)
    lead = "This is 1 comparison" if count == 1 else f"These are {count} comparisons"
    return (
        f"{lead} over {datasets} data set{'s' * (datasets != 1)}. With the t-test corrected for overlapping "
        f"splits, {corrected.wins} are significantly lower and {corrected.losses} higher."
    )


def contest_table(study: Study, claim: Claim, contests: Sequence[tuple[Setting, Contest]]) -> Table:
    """Return a row per setting and pair, each judged by the rule of the claim."""
    rule = RULES[claim.kind].judge
    rows = tuple(
        (
            title_setting(setting) or setting.text,
            " against ".join(label_of(m, study) for m in (c.method, c.rival)),
            *map(show_counts, (c.by_mean, c.by_ttest, c.by_corrected)),
            withhold(c.pairs, c.planned) or rule(c.by_mean, c.by_ttest),
        )
        for setting, c in contests
    )
    return Table("", COLUMNS, (Group(rows),), (CAPTION,))


def error_effect(
    study: Study, compared: Sequence[tuple[Cells, str, str]], datasets: Sequence[str]
) -> Effect:
    """Return the effect of pairs of methods over data sets of an experiment."""
    regressions = {d for d in datasets if study.experiment.info(d).task == "regression"}
    return pair_effect(compared, datasets, regressions)


def pair_effect(
    compared: Sequence[tuple[Cells, str, str]], datasets: Sequence[str], relative: Set[str]
) -> Effect:
    """Return the median over data sets of the mean paired difference.

    Differences are in points, on the ``relative`` data sets in % of the second's error. A data set with several
    comparisons (pairs and settings) has their mean. For one data set, return the mean over its splits with the
    corrected t interval.
    """
    values: list[list[float]] = []
    unit = BOTH if 0 < len(relative) < len(datasets) else RELATIVE if relative else POINTS
    for dataset in datasets:
        matched = [match(c[dataset, a], c[dataset, b]) for c, a, b in compared]
        matched = [m for m in matched if m.a.runs]
        if len(datasets) == 1 and matched:
            splits = frozenset.intersection(*(frozenset(m.a.errors) for m in matched))
            both = [match(m.a.on(splits), m.b.on(splits)) for m in matched]
            if splits:
                mean = math.fsum(abs(m.b.mean) for m in both) / len(both)
                differences = np.mean([m.difference for m in both], axis=0)
                scale = mean / 100 if relative else 1.0
                return mean_effect(differences, both[0].test_over_train, unit, scale)
        found = [
            100 * (m.a.mean - m.b.mean) / abs(m.b.mean)
            if dataset in relative
            else m.a.mean - m.b.mean
            for m in matched
            if dataset not in relative or m.b.mean
        ]
        values += [[math.fsum(found) / len(found)]] if found else []
    return median_effect(values, unit)


def unit_of(study: Study, datasets: Iterable[str]) -> str:
    """Return the unit of a difference of errors on these data sets."""
    tasks = {study.experiment.info(d).task for d in datasets}
    return BOTH if len(tasks) > 1 else RELATIVE if tasks == {"regression"} else POINTS


def judge_setting(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge the claim that a setting gives good results: the best error there against the best of all settings."""
    comparison, datasets = study.comparison(loss), find_datasets(study, claim)
    methods = [m for m in comparison.methods if m not in comparison.estimators]  # without lam
    wanted = claim.setting
    own = [
        s
        for s in comparison.cells
        if wanted and s.unit == wanted.unit and math.isclose(s.value or 0, wanted.value or 0)
    ]
    held, losses, found, planned = 0, list[list[float]](), 0, 0
    rows: list[Values] = []
    for dataset in datasets.values():
        every = {
            (setting, m): cells[dataset, m]
            for setting, cells in comparison.cells.items()
            for m in methods
        }
        planned += len(every) * comparison.splits[dataset]
        found += sum(c.runs for c in every.values())
        there = best_of({key: c for key, c in every.items() if key[0] in own})
        best = best_of(every)
        if there is None or best is None:
            continue
        pairs = match(every[there], every[best])
        good = there == best or not t_test(pairs.difference).significant
        held += good
        mean, lowest = every[there].mean, every[best].mean
        relative = study.experiment.info(dataset).task == "regression"
        losses.append([100 * (mean / lowest - 1) if relative and lowest > 0 else mean - lowest])
        names = (f"{m}, {title_setting(s) or s.text}" for s, m in (there, best))
        rows.append((dataset, *names, f"{losses[-1][0]:+.3g}", "yes" if good else "no"))
    withheld = withhold(found, planned)
    if withheld == "no numbers" or not rows:
        return nothing()
    headings = ("data set", "best at this setting", "best of all", "difference", "counts")
    decided = decide(claim.kind, withheld, held, len(rows))
    return Finding(
        decided.verdict,
        median_effect(losses, unit_of(study, datasets.values())),
        f"on {held} of {len(rows)} data sets not significantly worse than the best",
        table=Table("", tuple(Column(h, align="left") for h in headings), (Group(tuple(rows)),)),
        reason=too_few(found, planned) if withheld else "",
        notes=decided.notes,
    )


def best_of(cells: Mapping[tuple[Setting, str], SplitErrors]) -> tuple[Setting, str] | None:
    """Return the setting and the method with the lowest mean, the first of equal ones; None without a run."""
    known = [key for key, cell in cells.items() if cell.runs]
    return min(known, key=lambda key: cells[key].mean) if known else None


def judge_printed(study: Study, claim: Claim, loss: str) -> Finding:
    """Judge a claim about a column that the paper prints and nobody runs here, against our methods.

    The effect has no interval, because printed means have no splits.
    """
    rivals = [m.label for m in find_methods(study.experiment, claim.right)]
    datasets = find_datasets(study, claim)
    cells = next(iter(study.comparison(loss).cells.values()))
    found = [
        (row, rival, cell)
        for dataset, serving in datasets.items()
        for row in study.published
        if row.dataset == dataset and row.method in claim.left
        for rival in rivals
        if (cell := cells.get((serving, rival), SplitErrors())).runs
    ]
    planned = len(datasets) * len(claim.left) * len(rivals)
    withheld = withhold(len(found), planned)
    if withheld == "no numbers":
        return nothing()
    signs = [sign_of_printed(study, row, cell) for row, _, cell in found]
    by_mean, by_test = (
        WinTieLoss(*(column.count(s) for s in (1, 0, -1))) for column in zip(*signs, strict=True)
    )
    rows: tuple[Values, ...] = tuple(
        (row.dataset, f"{row.mean:g}", f"{c.mean:.4g} ({rival})", f"{row.mean - c.mean:+.3g}")
        for row, rival, c in found
    )
    value = statistics.median(row.mean - cell.mean for row, _, cell in found)
    decided = decide(claim.kind, withheld, by_mean, by_test)
    return Finding(
        decided.verdict,
        Effect(value, unit=unit_of(study, datasets.values())),
        f"{count_words(by_mean, WORDS)}; significantly {by_test.wins} lower, {by_test.losses} higher",
        "Printed means against ours, tested one-sided at 5 % by the standard errors of the two means.",
        Table("", PRINTED, (Group(rows),)),
        too_few(len(found), planned) if withheld else "",
        (*decided.notes, *note_absent(claim, {row.dataset for row, _, _ in found})),
    )


def sign_of_printed(study: Study, row: Published, cell: SplitErrors) -> tuple[int, int]:
    """Return 1 if the printed mean is lower than ours, -1 if higher, and the same if that is significant, else 0.

    A difference is significant beyond ``NORMAL`` standard errors of the two means.
    """
    source, difference = study.experiment.source, row.mean - cell.mean
    splits = source.splits_on(row.dataset) if source else 1
    error = row.spread if row.kind == "se" else row.spread / math.sqrt(splits)
    sign = (difference < 0) - (difference > 0)
    limit = NORMAL * math.hypot(error, cell.sd / math.sqrt(cell.runs))
    return sign, sign if abs(difference) > limit else 0
