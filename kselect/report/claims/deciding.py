"""Verdicts with the part of the rule that decided them, in a few words that stand next to the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kselect.core.claim import Kind
from kselect.report.claims.rules import (
    FEW,
    LEVEL,
    RULES,
    SHALLOW,
    Verdict,
    judge_after,
    judge_all,
    judge_avoids,
    judge_before,
    judge_higher,
    judge_lower,
    judge_most,
    judge_not_after,
    judge_not_higher,
    judge_not_rejected,
    judge_rejected,
    judge_same,
    judge_same_rank,
    judge_spread,
    judge_unimodal,
)
from kselect.stats.comparison import WinTieLoss

# What the rule of two thirds counts, by kind.
COUNTED: Mapping[Kind, str] = {
    "good setting": "data sets",
    "robust": "curves",
    "good range": "curves",
    "exact": "curves",
    "near": "cases",
    "same time": "comparisons",
}


class Decided(NamedTuple):
    """A verdict, and the notes that stand next to it."""

    verdict: Verdict
    notes: tuple[str, ...] = ()


def decide(kind: Kind, withheld: Verdict | None, *numbers: Any) -> Decided:
    """Judge a claim by the rule of its kind, unless the verdict is withheld."""
    if withheld:
        return Decided(withheld)
    rule = RULES[kind].judge
    verdict = rule(*numbers)
    make = WORDS.get(rule)
    words = make(kind, verdict, *numbers) if make else ""
    return Decided(verdict, (words,) if words else ())


def share(held: int, total: int) -> str:
    """Return a share with enough digits to compare it with a limit: ``47.2 %``."""
    return f"{100 * held / total:.3g} %" if total else "none"


def of_rare(what: str, different: int, total: int, verdict: Verdict) -> str:
    """Return how often a difference occurs, and the limit that decided."""
    limits = {
        "supported": f"the rule allows {100 * FEW:g} %",
        "mixed": f"supported up to {100 * FEW:g} %, not supported above 50 %",
    }
    limit = limits.get(verdict, "not supported above 50 %")
    return f"{what} on {share(different, total)} of the comparisons; {limit}"


def of_same(kind: Kind, verdict: Verdict, mean: WinTieLoss, test: WinTieLoss) -> str:
    """Return the share of significant differences, either way."""
    return of_rare("significantly different", test.wins + test.losses, sum(test), verdict)


def of_not_higher(kind: Kind, verdict: Verdict, mean: WinTieLoss, test: WinTieLoss) -> str:
    """Return the share of significantly higher errors."""
    return of_rare("significantly higher", test.losses, sum(test), verdict)


def of_most(kind: Kind, verdict: Verdict, held: int, total: int) -> str:
    """Return the share on which a claim holds, next to the two thirds or the third that decided."""
    limits = {
        "supported": "the rule asks two thirds",
        "mixed": "supported from two thirds, not supported below a third",
    }
    limit = limits.get(verdict, "not supported below a third")
    return f"holds on {share(held, total)} of the {COUNTED[kind]}; {limit}"


def of_all(kind: Kind, verdict: Verdict, held: int, total: int) -> str:
    """Return the share on which a claim holds that must hold everywhere, if the verdict is mixed."""
    if verdict != "mixed":
        return ""
    return f"holds on {share(held, total)} of the comparisons; supported if all, not supported below half"


def of_spread(kind: Kind, verdict: Verdict, held: int, total: int, everywhere: bool) -> str:
    """Return the limit on the data sets with a lower number; all of some named data sets need no words."""
    if everywhere:
        return f"lower on {share(held, total)} of the data sets; supported from two thirds"
    return f"lower on {held} of {total}; supported if all" if verdict == "mixed" else ""


def of_lower(kind: Kind, verdict: Verdict, mean: WinTieLoss, test: WinTieLoss) -> str:
    """Return which of the two conditions failed, if the verdict is mixed."""
    return of_side("lower", verdict, mean, test)


def of_higher(kind: Kind, verdict: Verdict, mean: WinTieLoss, test: WinTieLoss) -> str:
    """Return the same for a claim of higher errors."""
    return of_side("higher", verdict, WinTieLoss(*mean[::-1]), WinTieLoss(*test[::-1]))


def of_side(word: str, verdict: Verdict, mean: WinTieLoss, test: WinTieLoss) -> str:
    """Return which condition failed; wins are the comparisons with the claimed sign."""
    if verdict != "mixed":
        return ""
    if 2 * mean.wins > sum(mean):
        other = "higher" if word == "lower" else "lower"
        return (
            f"mostly {word}, but significantly {word} no more often than {other} "
            f"({test.wins}, {test.losses})"
        )
    return f"{word} on {share(mean.wins, sum(mean))} of the comparisons; supported above 50 %"


def of_ranks(
    words: str, held: Callable[[float, float], bool]
) -> Callable[[Kind, Verdict, Sequence[float], float], str]:
    """Return the words on the rivals for which a claim about ranks holds, if that is not all or none of them."""

    def make(kind: Kind, verdict: Verdict, differences: Sequence[float], limit: float) -> str:
        count = sum(held(d, limit) for d in differences)
        if verdict == "supported" or (verdict == "not supported" and not count):
            return ""
        return f"{words.format(limit=limit)} {count} of {len(differences)} rivals; supported if all"

    return make


def of_level(kind: Kind, verdict: Verdict, p_value: float) -> str:
    """Return on which side of the level the p-value is."""
    return f"p is {'below' if p_value < LEVEL else 'not below'} the rule's {LEVEL:g}"


def of_avoids(kind: Kind, verdict: Verdict, left: float, right: float) -> str:
    """Return that the share is smaller, but not by half, if the verdict is mixed."""
    return "less often, but more than half as often" if verdict == "mixed" else ""


def of_minima(kind: Kind, verdict: Verdict, depths: Sequence[float]) -> str:
    """Return that the other minima are shallow, if the verdict is mixed."""
    words = f"the other minima are shallower than {100 * SHALLOW:g} % of the range"
    return words if verdict == "mixed" else ""


WORDS: Mapping[Callable[..., Verdict], Callable[..., str]] = {
    judge_same: of_same,
    judge_not_higher: of_not_higher,
    judge_most: of_most,
    judge_all: of_all,
    judge_spread: of_spread,
    judge_lower: of_lower,
    judge_higher: of_higher,
    judge_before: of_ranks("more than {limit:.2f} ranks ahead of", lambda d, limit: d < -limit),
    judge_same_rank: of_ranks("within {limit:.2f} ranks of", lambda d, limit: abs(d) <= limit),
    judge_not_after: of_ranks("at most {limit:.2f} ranks behind", lambda d, limit: d <= limit),
    judge_after: of_ranks("more than {limit:.2f} ranks behind", lambda d, limit: d > limit),
    judge_rejected: of_level,
    judge_not_rejected: of_level,
    judge_avoids: of_avoids,
    judge_unimodal: of_minima,
}
