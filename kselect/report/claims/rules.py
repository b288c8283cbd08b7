"""The rules by which claims are judged: one pure function per kind, from numbers to a verdict, with its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from kselect.core.claim import Kind
from kselect.stats.comparison import WinTieLoss

Verdict = Literal[
    "supported", "mixed", "not supported", "too few numbers", "no numbers", "not tested here"
]
# A verdict needs this share of the planned numbers.
ENOUGH = 0.5
# The share of significant differences up to which two methods count as comparable.
FEW = 0.2
# The relative difference below which a series or an approximation counts as exact.
EXACT = 0.01
# "About as long" means up to this factor, either way.
ABOUT = 1.5
# The level of Friedman's and Nemenyi's tests.
LEVEL = 0.1
# A second minimum counts if it is deeper than this share of the surface's range.
SHALLOW = 0.01


def withhold(found: float, planned: float) -> Verdict | None:
    """Return the reason to withhold a verdict; None if at least half of the planned numbers exist."""
    if not found:
        return "no numbers"
    return "too few numbers" if found < ENOUGH * planned else None


def judge_lower(mean: WinTieLoss, test: WinTieLoss) -> Verdict:
    """Judge a claim of lower errors by the counts of lower, equal and higher means and of significant ones."""
    if 2 * mean.wins > sum(mean) and test.wins > test.losses:
        return "supported"
    worse = mean.wins <= mean.losses and test.wins <= test.losses
    return "not supported" if worse else "mixed"


def judge_higher(mean: WinTieLoss, test: WinTieLoss) -> Verdict:
    """Judge a claim of higher errors: the claim of lower errors with wins and losses exchanged."""
    return judge_lower(WinTieLoss(*mean[::-1]), WinTieLoss(*test[::-1]))


def judge_not_higher(mean: WinTieLoss, test: WinTieLoss) -> Verdict:
    """Judge a claim of comparable or lower errors by the share of significantly higher ones."""
    return judge_rare(test.losses, sum(test))


def judge_same(mean: WinTieLoss, test: WinTieLoss) -> Verdict:
    """Judge a claim of comparable errors by the share of significant differences, either way."""
    return judge_rare(test.wins + test.losses, sum(test))


def judge_rare(different: int, total: int) -> Verdict:
    """Judge a claim that allows a significant difference in at most ``FEW`` of the comparisons."""
    if different <= FEW * total:
        return "supported"
    return "not supported" if 2 * different > total else "mixed"


def judge_most(held: int, total: int) -> Verdict:
    """Judge a claim that must hold on two thirds, and fails if it holds on less than a third."""
    if 3 * held >= 2 * total:
        return "supported"
    return "not supported" if 3 * held < total else "mixed"


def judge_all(held: int, total: int) -> Verdict:
    """Judge a claim that must hold everywhere, and fails if it holds on less than half."""
    if held == total:
        return "supported"
    return "not supported" if 2 * held < total else "mixed"


def judge_spread(held: int, total: int, everywhere: bool) -> Verdict:
    """Judge a claim about learned widths: on all the named data sets, or on two thirds of every data set."""
    if everywhere:
        supported, fails = 3 * held >= 2 * total, 3 * held <= total
    else:
        supported, fails = held == total, held == 0
    return "supported" if supported else "not supported" if fails else "mixed"


def judge_rejected(p_value: float) -> Verdict:
    """Judge the claim that Friedman's test rejects that all methods are alike."""
    return "supported" if p_value < LEVEL else "not supported"


def judge_not_rejected(p_value: float) -> Verdict:
    """Judge the claim that Friedman's test does not reject it."""
    return "not supported" if p_value < LEVEL else "supported"


def judge_best(differences: Sequence[float], limit: float) -> Verdict:
    """Judge the claim of the least mean rank; ``differences`` are the mean rank minus each of the others."""
    return "supported" if all(d <= 0 for d in differences) else "not supported"


def judge_before(differences: Sequence[float], limit: float) -> Verdict:
    """Judge the claim to rank before every rival by more than Nemenyi's critical difference."""
    if all(d < -limit for d in differences):
        return "supported"
    return "mixed" if any(d < 0 for d in differences) else "not supported"


def judge_same_rank(differences: Sequence[float], limit: float) -> Verdict:
    """Judge the claim that no rival ranks further away than Nemenyi's critical difference."""
    held = [abs(d) <= limit for d in differences]
    return "supported" if all(held) else "mixed" if any(held) else "not supported"


def judge_not_after(differences: Sequence[float], limit: float) -> Verdict:
    """Judge the claim to rank after no rival by more than Nemenyi's critical difference."""
    held = [d <= limit for d in differences]
    return "supported" if all(held) else "mixed" if any(held) else "not supported"


def judge_after(differences: Sequence[float], limit: float) -> Verdict:
    """Judge the claim to rank after every rival by more than Nemenyi's critical difference."""
    return "supported" if all(d > limit for d in differences) else "not supported"


def judge_avoids(left: float, right: float) -> Verdict:
    """Judge the claim that some grid points are chosen more rarely, by the shares of the choices."""
    if left < right:
        return "supported" if 2 * left <= right else "mixed"
    return "not supported"


def judge_unimodal(depths: Sequence[float]) -> Verdict:
    """Judge the claim of one minimum; ``depths`` of the others are shares of the surface's range."""
    if not depths:
        return "supported"
    return "not supported" if max(depths) > SHALLOW else "mixed"


class Rule(NamedTuple):
    """How a kind of claim is judged: the function, its text, and what its effect measures.

    ``{left}`` and ``{right}`` in the last stand for the methods of a claim.
    """

    judge: Callable[..., Verdict]
    text: str
    effect: str


# What a claim of each kind says, for readers who choose claims by their kind.
KIND_WORDS: Mapping[Kind, str] = {
    "lower": "lower error",
    "higher": "higher error",
    "not higher": "error not higher",
    "same": "same error",
    "good setting": "good ridge",
    "robust": "error hardly depends on a parameter",
    "good range": "good range of a parameter",
    "exact": "series exact from an order on",
    "near": "criterion near the exact one",
    "cheaper": "less time",
    "same time": "about the same time",
    "friedman rejected": "methods differ",
    "friedman not rejected": "methods do not differ",
    "best rank": "best mean rank",
    "ranks before": "better mean rank",
    "ranks same": "same mean rank",
    "ranks not after": "mean rank not worse",
    "ranks after": "worse mean rank",
    "varies less": "width varies less",
    "suppresses": "suppresses uninformative features",
    "avoids": "avoids large degrees",
    "unimodal": "one minimum",
}
WITHHELD = "No verdict if fewer than half of the planned numbers exist."
T_TEST = "the papers' paired one-sided t-test at 5 %"
SWEPT = f"A data set has one curve per method. Tests: {T_TEST}."
NEMENYI = f"Nemenyi's critical difference at {100 * LEVEL:g} % within the methods and data sets of the claim"
ERRORS = "Test error of {left} minus that of {right}"
RULES: Mapping[Kind, Rule] = {
    "lower": Rule(
        judge_lower,
        "Supported: a lower mean error in more than half of the comparisons, and more significantly lower than "
        "significantly higher ones. Not supported: no more lower than higher means, and no more significantly "
        f"lower than significantly higher ones. Mixed: anything between. Test: {T_TEST}.",
        ERRORS,
    ),
    "higher": Rule(
        judge_higher,
        "Supported: a higher mean error in more than half of the comparisons, and more significantly higher than "
        "significantly lower ones. Not supported: no more higher than lower means, and no more significantly "
        f"higher than significantly lower ones. Mixed: anything between. Test: {T_TEST}.",
        ERRORS,
    ),
    "not higher": Rule(
        judge_not_higher,
        f"Supported: a significantly higher error in at most {100 * FEW:g} % of the comparisons (chance gives 5 %, "
        "and more since splits overlap). Not supported: in more than half of them. Mixed: anything between. "
        f"Test: {T_TEST}.",
        ERRORS,
    ),
    "same": Rule(
        judge_same,
        f"Supported: a significant difference, in either direction, in at most {100 * FEW:g} % of the comparisons "
        "(chance gives 10 %, and more since splits overlap). Not supported: in more than half of them. Mixed: "
        f"anything between. Test: {T_TEST}.",
        ERRORS,
    ),
    "good setting": Rule(
        judge_most,
        "A data set counts if the lowest mean error of all methods at this setting is not significantly above the "
        "lowest at any setting. Supported: two thirds of the data sets count. Not supported: less than a third. "
        f"Mixed: anything between. Test: {T_TEST}.",
        "Lowest mean error at this setting above the lowest of all settings",
    ),
    "robust": Rule(
        judge_most,
        "A curve counts if no value of the range has a mean error significantly above the lowest of the range. "
        "Supported: two thirds of the curves count. Not supported: less than a third. Mixed: anything between. "
        f"{SWEPT}",
        "Worst mean error of the range above the lowest of the whole sweep",
    ),
    "good range": Rule(
        judge_most,
        "A curve counts if the lowest mean error within the range is not significantly above the lowest of the "
        "whole sweep. Supported: two thirds of the curves count. Not supported: less than a third. Mixed: anything "
        f"between. {SWEPT}",
        "Lowest mean error of the range above the lowest of the whole sweep",
    ),
    "exact": Rule(
        judge_most,
        "There is a curve per data set and number of folds. A curve counts if the root mean square difference of "
        f"the held-out predictions is below {100 * EXACT:g} % of the target's scale at this order (the scale is 1 "
        "for labels, the root of the cross-validation error for a regression). Supported: two thirds of the curves "
        "count. Not supported: less than a third. Mixed: anything between.",
        "Root mean square difference of the predictions",
    ),
    "near": Rule(
        judge_most,
        "The criterion's own value is compared with the exact one, on the splits where both methods chose the same "
        "grid point, so that both values belong to the same point. A data set and number of folds counts if the "
        f"median difference over these splits is at most {100 * EXACT:g} % of the exact value. Supported: two "
        "thirds count. Not supported: less than a third. Mixed: anything between.",
        "Difference of the values",
    ),
    "cheaper": Rule(
        judge_all,
        "A comparison is a pair of methods on one data set. It counts if the first method is faster by the stated "
        "factor (1 if none is stated). Supported: every comparison counts. Not supported: less than half. Mixed: "
        "anything between. Seconds: CPU seconds of the papers' algorithms on our machine, with all training.",
        "{left} against {right}",
    ),
    "same time": Rule(
        judge_most,
        f"A comparison is a pair of methods on one data set. It counts if neither takes more than {ABOUT:g} times "
        "the seconds of the other. Supported: two thirds count. Not supported: less than a third. Mixed: anything "
        "between. Seconds: CPU seconds of the papers' algorithms on our machine, or of ours for two searches of "
        "which the paper describes at most one.",
        "{left} against {right}",
    ),
    "friedman rejected": Rule(
        judge_rejected,
        f"Supported: Friedman's test (Iman and Davenport's F) rejects at {100 * LEVEL:g} % that all methods are "
        "alike. Not supported: it does not.",
        "Friedman's test",
    ),
    "friedman not rejected": Rule(
        judge_not_rejected,
        "Supported: Friedman's test (Iman and Davenport's F) does not reject that all methods are alike at "
        f"{100 * LEVEL:g} %. Not supported: it does.",
        "Friedman's test",
    ),
    "best rank": Rule(
        judge_best,
        "Supported: no method of the pool has a lower mean rank. Not supported: one has.",
        "Mean rank minus the lowest of the others",
    ),
    "ranks before": Rule(
        judge_before,
        f"Supported: it ranks before every rival by more than {NEMENYI}. Not supported: it ranks before none. "
        "Mixed: anything between.",
        "Mean rank minus that of the nearest rival",
    ),
    "ranks same": Rule(
        judge_same_rank,
        f"Supported: it is within {NEMENYI} of every rival. Not supported: of none. Mixed: of some.",
        "Mean rank minus that of the furthest rival",
    ),
    "ranks not after": Rule(
        judge_not_after,
        f"Supported: it ranks after no rival by more than {NEMENYI}. Not supported: after all of them. "
        "Mixed: after some.",
        "Mean rank minus that of the best rival",
    ),
    "ranks after": Rule(
        judge_after,
        f"Supported: it ranks after every rival by more than {NEMENYI}. Not supported: it does not.",
        "Mean rank minus that of the nearest rival",
    ),
    "varies less": Rule(
        judge_spread,
        "The number is the standard deviation of a width over splits divided by its mean, the median over "
        "features; if the claim is about informative features and these are not known, over the stronger half of "
        "each method's features. Supported: lower on all data sets that the claim names (if it means all data "
        "sets: on two thirds). Not supported: on none (on a third or less). Mixed: anything between.",
        "Relative standard deviation of the widths, {left} minus {right}",
    ),
    "suppresses": Rule(
        judge_spread,
        "The number is the share of a kernel's widths, averaged over splits, that belongs to the uninformative "
        "features; if these are not known, to the weaker half of the features. Supported: lower on all data sets "
        "that the claim names. Not supported: on none. Mixed: anything between.",
        "Share of the uninformative features, {left} minus {right}",
    ),
    "avoids": Rule(
        judge_avoids,
        "Supported: the methods choose such a grid point in at most half as large a share of their choices as "
        "their rivals. Not supported: in no smaller share. Mixed: anything between. No "
        "verdict if neither chooses one.",
        "Share of such choices minus that of the rivals",
    ),
    "unimodal": Rule(
        judge_unimodal,
        "Supported: the surface has one local minimum on its grid, where neighbours with the same value are one "
        f"point. Not supported: another minimum is deeper than {100 * SHALLOW:g} % of the surface's range. Mixed: "
        "the other minima are shallower.",
        "Found",
    ),
}
