"""Sentences that several sections share: the protocol, the methods, the coverage, ranks and p-values in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kselect.core.experiment import Experiment
from kselect.core.method import REGRESSION_LOSS, Choice, Estimator, Method, Setting, show
from kselect.criteria import CRITERIA
from kselect.grids import show_power
from kselect.stats.comparison import Coverage, WinTieLoss
from kselect.stats.diagnostics import EdgeShares
from kselect.stats.ranks import LEVELS, Ranks
from kselect.stats.study import Study

DAGGER = "†"
# Methods that the caution in a table names.
MOST_EDGES = 3
DOUBLE_DAGGER = "‡"  # of other packages' classes, which no paper has
LAM = "λ"
# The reading of the config itself, next to its variants.
AS_CONFIGURED = "as configured"
LEARNERS = {
    "lssvm": "LSSVM",
    "krr": "kernel ridge regression",
    "quadratic-svr": "quadratic eps-insensitive SVR",
    "smooth-hinge": "SVM with a smoothed hinge",
    "svm": "SVM",
}
SCALES = {
    "zscore": "features z-scored",
    "minmax": "features scaled to [-1, 1]",
    "none": "unscaled features",
}
SCALES_ON = {"all": "on the whole data set", "train": "on the training part"}
RANKS = (
    "Mean ranks: N is the number of data sets on which every method ran, F the statistic of Iman and Davenport; "
    "the critical difference is Nemenyi's."
)


def stem(name: str, study: Study, loss: str) -> str:
    """Return the file name of a table: ``table1``, or ``table1-zero-one`` for a loss other than its own."""
    return name if loss == study.experiment.loss else f"{name}-{loss}"


def title_setting(setting: Setting) -> str:
    """Return ``λ = 0.001``; a selected ridge needs no title, and ``setting.text`` names it."""
    if setting.value is None:
        return ""
    return f"{setting.unit.replace('lam', LAM)} = {show_power(setting.value)}"


def mark_label(label: str, reconstructed: Mapping[str, str]) -> str:
    """Return a method's label, with a dagger if its criterion is reconstructed."""
    return label + DAGGER if label in reconstructed else label


def label_of(label: str, study: Study) -> str:
    """Return the label of a column, with a double dagger if it is another package's class."""
    if label in study.experiment.estimators:
        return label + DOUBLE_DAGGER
    return mark_label(label, study.reconstructed)


def describe_estimator(method: Method, estimator: Estimator, experiment: Experiment) -> str:
    """Return class, package and choice: ``sklearn.svm.SVC (scikit-learn 1.6.1), C chosen by 5-fold ...``."""
    text = f"{estimator.path} ({estimator.version})"
    if estimator.task and len(experiment.learners) > 1:
        text += f" for {estimator.task}"
    if estimator.params:
        text += f" with {', '.join(f'{name} = {show(value)}' for name, value in estimator.params)}"
    if estimator.grid:
        names = " and ".join(name for name, _ in estimator.grid)
        text += (
            f", {names} chosen from {len(estimator.points)} points by {method.folds}-fold "
            "cross-validation on the training rows"
        )
    return text


def show_p(value: float) -> str:
    """Return a p-value as ``0.034`` or ``< 0.001``."""
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def duration(seconds: float) -> str:
    """Return a duration as ``5 s``, ``6 min`` or ``1 h 27 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def describe_run(seconds: float, cpus: Iterable[str]) -> str:
    """Return how long the jobs behind a page took; nothing if their times are not known."""
    if not seconds > 0:
        return ""
    where = ", ".join(dict.fromkeys(filter(None, cpus)))
    return f"{duration(seconds)} in one process{f' ({where})' if where else ''}"


def show_apart(errors: float) -> str:
    """Return a difference in standard errors with its sign, ``0.0`` without one, and nothing if it is unknown."""
    text = "" if math.isnan(errors) else f"{errors:+.1f}"
    return "0.0" if text in ("-0.0", "+0.0") else text


def show_counts(counts: WinTieLoss) -> str | None:
    """Return wins, ties and losses as ``3/1/5``; None without a comparison."""
    return f"{counts.wins}/{counts.ties}/{counts.losses}" if sum(counts) else None


def describe_fewer(counts: Sequence[int], splits: int) -> str:
    """Return `` (4 splits)``, or `` (3 to 10 splits)`` if methods differ; nothing if none has fewer."""
    low, high = min(counts, default=splits), max(counts, default=splits)
    if low >= splits:
        return ""
    return f" ({low if low == high else f'{low} to {high}'} split{'s' * (high != 1)})"


def describe_protocol(experiment: Experiment, loss: str) -> str:
    """Return learner, scaling, splits, kernels, ridge and loss in one sentence."""
    scale = SCALES[experiment.scale]
    where = f" {SCALES_ON[experiment.scale_on]}" if experiment.scale != "none" else ""
    count = len(experiment.splits)
    made = [len(experiment.splits_on(d)) for d in experiment.datasets]
    most = max(made, default=count)
    kind = "stratified random" if experiment.stratify else "random"
    splits = (
        f"{f'{most} of ' * (most < count)}{count} {'given' if experiment.train is None else kind} "
        f"split{'s' * (count != 1)}{' (fewer if a row says so)' * (min(made, default=most) < most)}"
    )
    if experiment.train is not None:
        splits += f" with {100 * experiment.train:.3g} % for training"
    ridge = f"{LAM} fixed" if experiment.lam.mode == "fixed" else f"{LAM} selected with the kernel"
    tasks = [experiment.info(name).task for name in experiment.datasets]
    other = loss != REGRESSION_LOSS and "regression" in tasks
    start = (
        f"{describe_learners(experiment.learners, tasks)}, {scale}{where}, {splits}, "
        f"{describe_kernels(experiment)}, {ridge}"
    )
    if experiment.scorer:
        name = experiment.scorer.error_name
        by = f"cross-validation chooses by {loss} of scikit-learn, as the error {name}, averaged over folds"
        if loss != experiment.loss:
            by = f"criteria that average a loss use the {loss} loss"
        return f"{start}; {by}; errors on the test part are {name}."
    return (
        f"{start}; criteria that average a loss use the {loss} loss"
        f"{f', for regression the {REGRESSION_LOSS} loss' if other else ''}."
    )


def describe_learners(learners: Iterable[tuple[str, Choice]], tasks: Iterable[str]) -> str:
    """Return the learner of some tasks: ``LSSVM``, or ``SVM (C=2) for classification and LSSVM for regression``."""
    found, chosen = {}, dict(learners)
    for task in tasks:
        name = LEARNERS.get(chosen[task].name, chosen[task].name)
        params = ", ".join(f"{k}={show(v)}" for k, v in chosen[task].params)
        found[task] = f"{name} ({params})" if params else name
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return " and ".join(f"{learner} for {task}" for task, learner in found.items())


def describe_kernels(experiment: Experiment) -> str:
    """Return ``21 gaussian kernels``, the number of each family; learned families have no number."""
    learned = dict.fromkeys(m.kernel for m in experiment.table if m.search)
    if not experiment.kernels:
        return f"{' and '.join(learned)} kernels, all values of their parameters"
    names = [k.name for k in experiment.kernels]
    counts = {name: names.count(name) for name in names}
    return " and ".join(f"{n} {name} kernel{'s' * (n != 1)}" for name, n in counts.items())


def describe_coverage(coverage: Coverage) -> str:
    """Return that a table is not complete; nothing if it is."""
    if coverage.runs == sum(coverage):
        return ""
    return (
        f"Incomplete: {coverage.runs} of {sum(coverage)} planned numbers exist, "
        f"{coverage.failures} failed, {coverage.missing} are missing."
    )


def describe_fewer_splits(study: Study) -> Iterator[str]:
    """Yield which data sets have fewer splits than planned, and whether the paper has more splits.

    For example, ``Only 10 of 50 splits were run (abalone: 1).``
    """
    experiment = study.experiment
    planned = len(experiment.splits)
    counts = {d: len(experiment.splits_on(d)) for d in experiment.datasets}
    usual, times = Counter(counts.values()).most_common(1)[0]
    few = [f"{d} ({count})" for d, count in counts.items() if count < planned]
    if usual < planned and 2 * times > len(counts):
        others = {c: [d for d in counts if counts[d] == c] for c in counts.values() if c != usual}
        told = "; ".join(f"{', '.join(names)}: {count}" for count, names in others.items())
        yield f"Only {usual} of {planned} splits were run{f' ({told})' if told else ''}."
    elif few:
        yield f"Fewer than {planned} splits were run on {', '.join(few)}."
    if study.paper and planned < study.paper.splits:
        yield f"{planned} splits; the paper has {study.paper.splits}."


def dagger_notes(study: Study, loss: str) -> Iterator[str]:
    """Yield what a reader must know of the methods of a loss.

    That is what is reconstructed, which columns are other packages' classes, what is tuned, which learner scores,
    and remarks on the criterion; for example
    ``RKS: eta is chosen from 1, 2^5 by 3-fold cross-validation on the training rows.``
    """
    experiment, labels = study.experiment, study.comparison(loss).methods
    for label in labels:
        if label in study.reconstructed:
            why = study.reconstructed[label].rstrip(".")
            yield f"{label}{DAGGER} is reconstructed: {why}."
    fixed = f"; it has no {LAM} and stands under each" if experiment.lam.mode == "fixed" else ""
    outside = "is not part of the paper" if experiment.paper else "is another package's"
    for method in experiment.table:
        if method.estimator and method.label in labels:
            told = describe_estimator(method, method.estimator, experiment)
            yield f"{method.label}{DOUBLE_DAGGER} {outside}: {told}{fixed}."
    unsaid = " (reconstructed: the paper does not state it)" if experiment.paper else ""
    ours = (m for m in experiment.table if m.label in labels and not m.estimator)
    for method in {m.label: m for m in ours}.values():
        for name, values in method.tuned:
            texts = (show_power(v) if isinstance(v, float) else show(v) for v in values)
            yield (
                f"{method.label}: {name} is chosen from {', '.join(texts)} by "
                f"{experiment.tune_folds}-fold cross-validation on the training rows."
            )
        for task, _ in experiment.learners:
            if task in dict(method.scored_by):
                scorer = describe_learners(method.scored_by, [task])
                trained = describe_learners(experiment.learners, [task])
                yield f"{method.label}: for {task} scored by {scorer}, then {trained} is trained{unsaid}."
        searched = {kernel.name for kernel in experiment.kernels} | {method.kernel}
        for kernel, remark in CRITERIA[method.criterion].remarks:
            if kernel in searched:
                yield f"{method.label}: {remark}."


def describe_edges(leaning: Iterable[EdgeShares]) -> str:
    """Return a caution if a verdict depends on methods that mostly select the edge of the grid."""
    methods = ", ".join(f"{s.method} {100 * (s.anywhere or 0):.0f} %" for s in leaning)
    if not methods:
        return ""
    return (
        f"Caution: this verdict depends on methods that mostly select the edge of the grid ({methods}); "
        "a wider grid could change it."
    )


def note_edges(leaning: Sequence[EdgeShares]) -> tuple[str, ...]:
    """Return the same caution in short, for a table: ``edge of the grid: ER 100 %``."""
    first = sorted(leaning, key=lambda s: -(s.anywhere or 0))[:MOST_EDGES]
    methods = [f"{s.method} {100 * (s.anywhere or 0):.0f} %" for s in first]
    more = [f"{len(leaning) - len(first)} more"] if len(leaning) > len(first) else []
    return (f"edge of the grid: {', '.join(methods + more)}",) if methods else ()


def describe_ranks(setting: Setting, ranks: Ranks) -> str:
    """Return Friedman's test and Nemenyi's critical differences under one setting."""
    title = title_setting(setting)
    lead = f"{title}: " if title else ""
    if ranks.friedman is None or ranks.critical is None:
        return f"{lead}no Friedman test, which needs two data sets on which every method ran."
    limits = ", ".join(
        f"{c:.2f} at {100 * level:.0f} %" for c, level in zip(ranks.critical, LEVELS, strict=True)
    )
    p = show_p(ranks.friedman.p_value)
    return (
        f"{lead}Friedman p {p if p.startswith('<') else f'= {p}'} "
        f"(F = {ranks.friedman.f:.2f}, N = {len(ranks.datasets)}), critical difference {limits}."
    )
