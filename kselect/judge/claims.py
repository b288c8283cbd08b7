"""Claims about two methods, such as ``A < B``, judged by the rules for the claims of papers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kselect.core.claim import ErrorKind
from kselect.core.method import SELECTED
from kselect.errors import ConfigError, nearest, quoted
from kselect.judge.analysis import Analysis, turned
from kselect.judge.error_table import ErrorTable
from kselect.report.claims.effects import NO_EFFECT, Effect
from kselect.report.claims.errors import pair_effect
from kselect.report.claims.rules import RULES, Verdict
from kselect.report.claims.scope import count_words
from kselect.stats.comparison import WinTieLoss, contest, mean_differences
from kselect.stats.ranks import wilcoxon

WORDS = ("better", "equal", "worse")
FORM = "'A < B', 'A > B', 'A <= B', 'A >= B' or 'A = B'"
# Wilcoxon's exact test cannot reach 5 % with fewer data sets.
FEWEST = 6
LEVEL = 0.05


class Reading(NamedTuple):
    """How a claim about the file's numbers reads for errors, which are better if lower."""

    kind: ErrorKind
    swapped: bool = False


LOWER: Mapping[str, Reading] = {
    "<": Reading("lower"),
    ">": Reading("higher"),
    "<=": Reading("not higher"),
    ">=": Reading("not higher", swapped=True),
    "=": Reading("same"),
}
HIGHER: Mapping[str, Reading] = {
    "<": Reading("higher"),
    ">": Reading("lower"),
    "<=": Reading("not higher", swapped=True),
    ">=": Reading("not higher"),
    "=": Reading("same"),
}


@dataclass(frozen=True)
class PairClaim:
    """A claim as typed, and the rule for it: ``left`` is lower than, or the same as, ``right`` in error."""

    text: str
    kind: ErrorKind
    left: str
    right: str


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict by the papers' t-test, and by the one that is corrected for overlapping splits."""

    claim: PairClaim
    verdict: Verdict
    corrected: Verdict | None
    effect: Effect
    counts: str
    text: str
    rule: str


def read_claim(text: str, table: ErrorTable) -> PairClaim:
    """Read a claim about two methods of a table; the signs compare the numbers of the file."""
    found = list(re.finditer(r"<=|>=|<|>|=", text))
    sides = [(text[: m.start()].strip(), m[0], text[m.end() :].strip()) for m in found]
    if not sides:
        raise ConfigError(f"--claim {quoted(text)}: must be {FORM}")
    # A name may contain such a sign: take the split that leaves the most known methods.
    left, sign, right = max(sides, key=lambda s: (s[0] in table.methods) + (s[2] in table.methods))
    for name in (left, right):
        if name not in table.methods:
            hint = nearest(name, table.methods)
            raise ConfigError(
                f"--claim {quoted(text)}: {quoted(name)} is not a method of {table.path}{hint}"
            )
    if left == right:
        raise ConfigError(f"--claim {quoted(text)}: names one method twice; must be {FORM}")
    reading = (HIGHER if table.higher else LOWER)[sign]
    pair = (right, left) if reading.swapped else (left, right)
    return PairClaim(f"{left} {sign} {right}", reading.kind, *pair)


def judge_claim(found: Analysis, claim: PairClaim) -> JudgedClaim:
    """Judge a claim by the rule of its kind at 5 %; ``alpha`` does not matter."""
    table, comparison = found.table, found.comparison
    cells = comparison.cells[SELECTED]
    one = contest(claim.left, claim.right, cells, comparison.splits)
    rule = RULES[claim.kind]
    effect = pair_effect([(cells, claim.left, claim.right)], table.datasets, table.relative)
    counts = count_words(one.by_mean, WORDS)
    shown = turned(effect, table.sign)
    count = len(table.datasets)
    text = f"{claim.left} against {claim.right} on {count} data set{'s' * (count > 1)}."
    note = " Here an error is minus the number, as higher is better." if table.higher else ""
    if not sum(one.by_ttest):
        return judge_without_splits(found, claim, shown, counts)
    verdict = rule.judge(one.by_mean, one.by_ttest)
    counts += f"; significantly {one.by_ttest.wins} better, {one.by_ttest.losses} worse"
    corrected = None
    if table.overlap:
        corrected = rule.judge(one.by_mean, one.by_corrected)
        text += (
            f" With the t-test corrected for overlapping splits, {one.by_corrected.wins} are significantly "
            f"better "
            f"and {one.by_corrected.losses} worse: {corrected}."
        )
    return JudgedClaim(claim, verdict, corrected, shown, counts, text, rule.text + note)


def judge_without_splits(
    found: Analysis, claim: PairClaim, effect: Effect, counts: str
) -> JudgedClaim:
    """Judge a claim on data sets with one split each: Wilcoxon's test over data sets replaces the t-tests."""
    differences = mean_differences(found.comparison, SELECTED, claim.left, claim.right)
    if len(differences) < FEWEST:
        text = f"With one split per data set, Wilcoxon's test over data sets decides; it needs {FEWEST} data sets."
        return JudgedClaim(claim, "too few numbers", None, NO_EFFECT, counts, text, "")
    p = wilcoxon(differences, 0.0 * differences)
    lower = sum(differences < 0) >= sum(differences > 0)
    test = WinTieLoss(0, 1, 0) if p >= LEVEL else WinTieLoss(int(lower), 0, int(not lower))
    means = WinTieLoss(
        *(int(sum(side)) for side in (differences < 0, differences == 0, differences > 0))
    )
    text = (
        "With one split per data set, Wilcoxon's signed ranks over data sets are the only test "
        f"(two-sided, p = {p:.3g})."
    )
    rule = RULES[claim.kind]
    replaced = f"{rule.text} Here that test is Wilcoxon's over data sets."
    return JudgedClaim(claim, rule.judge(means, test), None, effect, counts, text, replaced)
