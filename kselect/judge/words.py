"""The result in plain words: a paragraph for a paper, with each test, its statistic, its p-value and the "
"effect."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from kselect.judge.analysis import Analysis, JudgedPair
from kselect.report.claims.effects import Effect
from kselect.report.words import show_p
from kselect.stats.omnibus import FEWEST, Omnibus, magnitude
from kselect.stats.ranks import critical_difference

NAMES = {
    "paired t-test": "the paired t-test",
    "Wilcoxon": "Wilcoxon's signed-rank test",
    "ANOVA": "an analysis of variance with repeated measures",
    "Friedman": "Friedman's test",
}
SYMBOLS = {"paired t-test": "t", "Wilcoxon": "W", "ANOVA": "F", "Friedman": "chi-squared"}
MOST_RIVALS = 9
# The probability from which the Bayesian test decides.
SURE = 0.95
MOST_PAIRS = 12


def paragraph(found: Analysis) -> str:
    """Return the paragraph: the data, the choice of the test, its result, pairs, effects and t-tests."""
    return " ".join((*describe_data(found), *describe_test(found), *describe_best(found)))


def noun(found: Analysis) -> str:
    """Return the name of what is compared, such as ``error`` or ``accuracy``."""
    names = {name.rstrip("%") for name in found.table.metrics.values()}
    if names <= {"error", "zero-one"}:
        return "error rate"
    return next(iter(names)) or "number" if len(names) == 1 else "number"


def level(found: Analysis) -> str:
    """Return the level in per cent."""
    return f"{100 * found.alpha:g} %"


def rope_text(found: Analysis) -> str:
    """Return the region of practical equivalence with its unit."""
    points = len(found.table.datasets) - len(found.table.relative)
    units = ["point" + "s" * (found.rope != 1)] * bool(points) + ["%"] * bool(found.table.relative)
    return f"{found.rope:g} {' or '.join(units)}"


def equal(p: float) -> str:
    """Return ``p = 0.034`` or ``p < 0.001``."""
    text = show_p(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def listed(names: Sequence[str]) -> str:
    """Return ``A, B and C``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def describe_data(found: Analysis) -> Iterator[str]:
    """Yield the methods, the number of data sets and the number of splits."""
    table = found.table
    counts = sorted(set(found.comparison.splits.values()))
    low, high = counts[0], counts[-1]
    splits = f"{low} split{'s' * (low > 1)}" if low == high else f"{low} to {high} splits"
    sets = len(table.datasets)
    over = f"{sets} data set{'s' * (sets > 1)}, with {splits}{' each' * (sets > 1)}"
    yield f"We compared {listed(table.methods)} by their mean {noun(found)} on {over}."


def describe_test(found: Analysis) -> Iterator[str]:
    """Yield why the test was chosen, its result and the pairs that differ."""
    count, test = len(found.table.datasets), found.omnibus
    if test is None:
        some = f"{count} data set{'s' * (count > 1)}"
        yield f"With {some}, no test over data sets was made; it needs {FEWEST}."
        return
    yield describe_choice(test, found.comparable)
    p = test.p_value
    freedom = f"({', '.join(map(str, test.freedom))})" if test.freedom else ""
    shown = f"{SYMBOLS[test.name]}{freedom} = {test.statistic:.3g}, {equal(p)}"
    verb = "rejects" if p < found.alpha else "does not reject"
    name = NAMES[test.name]
    yield f"{name[0].upper()}{name[1:]} {verb} at {level(found)} that all methods are alike ({shown})."
    friedman = found.ranks.friedman
    if test.name == "Friedman" and friedman:
        yield f"Iman and Davenport's F is {friedman.f:.3g} ({equal(friedman.p_value)})."
    if test.post_hoc and p < found.alpha:
        yield describe_post_hoc(found, test)
    ranks = [f"{found.table.methods[i]} {found.ranks.mean[i]:.2f}" for i in found.order]
    yield f"The mean ranks are {listed(ranks)} (1 is best)."


def describe_choice(test: Omnibus, comparable: bool) -> str:
    """Return what the tests of normality and of equal variances found."""
    assumed = test.assumptions
    if not comparable:
        return "The data sets have different metrics, so that only ranks are comparable."
    lowest = equal(min(assumed.normality))
    if not assumed.normal:
        return (
            f"At least one method's means are not normally distributed (Shapiro and Wilk, smallest {lowest}, "
            f"level "
            f"{assumed.level:.2g})."
        )
    normal = (
        f"No method's means depart from a normal distribution (Shapiro and Wilk, smallest {lowest})"
    )
    if test.name == "paired t-test":
        return f"{normal}."
    if not assumed.equal_variances:
        return f"{normal}, but the variances differ (Bartlett, {equal(assumed.variances)})."
    return f"{normal}, nor do the variances differ (Bartlett, {equal(assumed.variances)})."


def describe_post_hoc(found: Analysis, test: Omnibus) -> str:
    """Return the pairs that the post hoc test tells apart."""
    methods = found.table.methods
    limit = ""
    if test.post_hoc == "Nemenyi":
        difference = critical_difference(len(methods), len(found.ranks.datasets), found.alpha)
        limit = f" (critical difference of mean ranks {difference:.2f})"
    place = {method: i for i, method in enumerate(found.order)}
    pairs = [
        (*[methods[i] for i in sorted(pair, key=place.__getitem__)], equal(p))
        for pair, p in zip(combinations(range(len(methods)), 2), test.pairs, strict=True)
        if p < found.alpha
    ]
    name = "Nemenyi's test"
    if test.post_hoc == "Tukey HSD":
        name = "Tukey's HSD, which ignores that the means are paired by data set,"
    if not pairs:
        return f"{name}{limit} tells no two methods apart."
    words = [f"{a} from {b} ({p})" for a, b, p in pairs[:MOST_PAIRS]]
    if len(pairs) > MOST_PAIRS:
        words.append(f"{len(pairs) - MOST_PAIRS} further pairs")
    return f"{name}{limit} tells apart {listed(words)}."


def describe_best(found: Analysis) -> Iterator[str]:
    """Yield the method with the lowest mean rank against the others, and the Bayesian test of these pairs."""
    methods = found.table.methods
    best, rivals = methods[found.order[0]], [methods[i] for i in found.order[1:]]
    shown = [(rival, *pair_of(found, best, rival)) for rival in rivals[:MOST_RIVALS]]
    if len(found.table.datasets) > 1:
        kind = "median over data sets of the difference with its 95 % bootstrap interval"
    else:
        kind = "mean difference with its 95 % t interval"
    parts = [kind]
    if found.omnibus and any(not math.isnan(pair.size.value) for _, pair, _ in shown):
        name = "Cohen's d" if found.omnibus.assumptions.normal else "Akinshin's gamma"
        parts.append(f"effect size ({name})")
    if len(found.table.datasets) > 1:
        parts.append("p of Wilcoxon's test over data sets with Holm's correction over all pairs")
    if found.tests:
        name = "corrected resampled t-test" if found.table.overlap else "paired t-test over splits"
        parts.append(
            f"number of data sets on which it is significantly better and worse by the one-sided {name} at "
            f"{level(found)}"
        )
    words = "; ".join(f"against {rival} {describe_pair(found, p, s)}" for rival, p, s in shown)
    more = len(rivals) - len(shown)
    rest = f"; for {more} more see the table of all pairs" if more else ""
    yield f"{best} has the lowest mean rank. Given are the {listed(parts)}: {words}{rest}."
    yield from describe_posteriors(found, best, shown)


def pair_of(found: Analysis, best: str, rival: str) -> tuple[JudgedPair, int]:
    """Return the pair of two methods, and -1 if it is the other way round."""
    pair = next(p for p in found.pairs if {p.first, p.second} == {best, rival})
    return pair, 1 if pair.first == best else -1


def describe_pair(found: Analysis, pair: JudgedPair, sign: int) -> str:
    """Return the numbers of the best method against a rival."""
    median, size = flipped(pair.median, sign), flipped(pair.size, sign)
    numbers = [f"{median.text or 'no number'} ({median.interval or 'no interval'})"]
    if not math.isnan(size.value):
        numbers.append(f"{round(size.value, 2) + 0.0:.2f} ({magnitude(size.value)})")
    if not math.isnan(pair.over_datasets.p_value):
        numbers.append(equal(pair.over_datasets.p_value))
    if found.tests:
        counts = pair.contest.by_corrected
        wins, losses = (counts.wins, counts.losses)[::sign]
        numbers.append(f"{wins} and {losses}")
    return ", ".join(numbers)


def describe_posteriors(
    found: Analysis, best: str, shown: Sequence[tuple[str, JudgedPair, int]]
) -> Iterator[str]:
    """Yield the decisions of the Bayesian signed-rank test about the rivals."""
    groups: dict[str, list[str]] = {
        "better than": [],
        "practically the same as": [],
        "worse than": [],
    }
    undecided = []
    for rival, pair, sign in shown:
        if pair.posterior is None:
            return
        sides = (pair.posterior.better, pair.posterior.same, pair.posterior.worse)[::sign]
        likely = max(sides)
        if likely < SURE:
            undecided.append(rival)
        else:
            list(groups.values())[sides.index(likely)].append(f"{rival} ({likely:.2f})")
    words = [f"{what} {listed(names)}" for what, names in groups.items() if names]
    parts = []
    if words:
        parts.append(f"{best} is, with a probability of at least {SURE:g}, {'; '.join(words)}")
    if undecided:
        parts.append(f"there is no decision about {listed(undecided)}")
    yield (
        f"By the Bayesian signed-rank test with a region of practical equivalence of {rope_text(found)}, "
        f"{'; '.join(parts)}."
    )


def flipped(effect: Effect, sign: int) -> Effect:
    """Return the effect of the second method against the first if the sign is -1."""
    if sign > 0:
        return effect
    return Effect(-effect.value, -effect.high, -effect.low, effect.unit)


def references(found: Analysis) -> tuple[str, ...]:
    """Return the papers of the tests that were used."""
    used = ["Demsar 2006, JMLR 7 (ranks, Nemenyi's test, Wilcoxon's test over data sets)"]
    if found.omnibus:
        used.append("Herbold 2020, JOSS 5(48) (autorank: how the test is chosen)")
    if found.table.overlap:
        used.append("Nadeau and Bengio 2003, Machine Learning 52 (the corrected resampled t-test)")
    if any(pair.posterior for pair in found.pairs):
        used.append(
            "Benavoli, Corani, Demsar and Zaffalon 2017, JMLR 18 (the Bayesian signed-rank test)"
        )
    return tuple(used)
