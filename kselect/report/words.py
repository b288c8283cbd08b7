"""What every table says about itself, in plain words that each format then escapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kselect.core.experiment import Experiment
from kselect.core.method import REGRESSION_LOSS, Choice, Method, Setting, show
from kselect.criteria import CRITERIA
from kselect.grids import show_number
from kselect.report.cells import show_p
from kselect.stats.comparison import Block, Comparison
from kselect.stats.coverage import Coverage
from kselect.stats.edges import EdgeShares
from kselect.stats.ranks import LEVELS

DAGGER = "†"
DASH = "–"  # noqa: RUF001
LAM = "λ"
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
    "none": "features as they are",
}
SCALES_ON = {"all": "on the whole data set", "train": "on the training part"}


def title_setting(setting: Setting) -> str:
    """``λ = 0.001``; a selected ridge needs no title."""
    if setting.value is None:
        return ""
    return f"{setting.unit.replace('lam', LAM)} = {show_number(setting.value)}"


def name_setting(setting: Setting) -> str:
    """The same where a word must stand: ``selected``."""
    return title_setting(setting) or setting.text


def mark_label(label: str, reconstructed: Mapping[str, str]) -> str:
    """A dagger behind a criterion that is reconstructed."""
    return label + DAGGER if label in reconstructed else label


def describe_protocol(experiment: Experiment, loss: str) -> str:
    """Learner, scaling, splits, kernels, ridge and loss in one sentence."""
    scale = SCALES[experiment.scale]
    where = f" {SCALES_ON[experiment.scale_on]}" if experiment.scale != "none" else ""
    ridge = f"{LAM} fixed" if experiment.lam.mode == "fixed" else f"{LAM} selected with the kernel"
    return (
        f"{describe_learners(experiment)}, {scale}{where}, {describe_splits(experiment)}, "
        f"{describe_kernels(experiment)}, {ridge}; "
        f"criteria that average a loss take the {loss} loss{in_regression(experiment, loss)}."
    )


def describe_learners(experiment: Experiment) -> str:
    """``LSSVM``, or ``SVM for classification and kernel ridge regression for regression``."""
    tasks = dict.fromkeys(experiment.task(dataset) for dataset in experiment.datasets)
    found = {task: describe_learner(experiment.learner(task)) for task in tasks}
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return " and ".join(f"{learner} for {task}" for task, learner in found.items())


def describe_learner(choice: Choice) -> str:
    """``quadratic eps-insensitive SVR (eps=0.1)``."""
    name = LEARNERS.get(choice.name, choice.name)
    params = ", ".join(f"{k}={show(v)}" for k, v in choice.params)
    return f"{name} ({params})" if params else name


def in_regression(experiment: Experiment, loss: str) -> str:
    """What a loss of labels becomes where data sets of numbers stand beside them."""
    tasks = {experiment.task(name) for name in experiment.datasets}
    other = loss != REGRESSION_LOSS and "regression" in tasks
    return f", in a regression the {REGRESSION_LOSS} one" if other else ""


def describe_splits(experiment: Experiment) -> str:
    """``10 stratified random splits with 70 % for training``; some rows may have fewer."""
    count = len(experiment.splits)
    fewer = any(len(experiment.splits_on(d)) < count for d in experiment.datasets)
    unless = " (fewer where a row says so)" if fewer else ""
    if experiment.train is None:
        return f"{count} given split{'s' * (count != 1)}{unless}"
    kind = "stratified random" if experiment.stratify else "random"
    share = f"with {100 * experiment.train:.3g} % for training"
    return f"{count} {kind} split{'s' * (count != 1)}{unless} {share}"


def describe_kernels(experiment: Experiment) -> str:
    """``21 gaussian kernels``, each family with its number; those that are learned without."""
    learned = dict.fromkeys(m.kernel for m in experiment.table if m.search)
    if not experiment.kernels:
        return f"{' and '.join(learned)} kernels, all values of their parameters"
    names = [k.name for k in experiment.kernels]
    counts = {name: names.count(name) for name in names}
    return " and ".join(f"{n} {name} kernel{'s' * (n != 1)}" for name, n in counts.items())


def describe_units(comparison: Comparison) -> str:
    """What the numbers are, by the units that occur."""
    units = set(comparison.units.values())
    words = ["Test error in %"] if "%" in units or not units else []
    words += ["mean squared error on the test part"] if "MSE" in units else []
    text = " or, for regression, ".join(words)
    return f"{text[0].upper()}{text[1:]}, mean ± standard deviation over splits"


def describe_coverage(coverage: Coverage) -> str:
    """Says that a table is not complete; empty where it is."""
    if coverage.runs == coverage.planned:
        return ""
    return (
        f"Incomplete: {coverage.runs} of {coverage.planned} planned numbers are there, "
        f"{coverage.failures} failed, {coverage.missing} are missing."
    )


def describe_reconstructed(
    labels: Sequence[str], reconstructed: Mapping[str, str]
) -> tuple[str, ...]:
    """One sentence per criterion of a table that is reconstructed."""
    return tuple(
        f"{label}{DAGGER} is reconstructed: {reconstructed[label].rstrip('.')}."
        for label in labels
        if label in reconstructed
    )


def describe_columns(experiment: Experiment, labels: Sequence[str]) -> tuple[str, ...]:
    """What a reader must know of columns: what is tuned, who scores, what a criterion is on a kernel."""
    methods = {m.label: m for m in experiment.table if m.label in labels}
    return tuple(
        sentence
        for method in methods.values()
        for sentence in (
            *describe_tuned(experiment, method),
            *describe_scored(experiment, method),
            *describe_remarks(experiment, method),
        )
    )


def describe_tuned(experiment: Experiment, method: Method) -> Iterable[str]:
    """``RKS: eta is chosen from 1, 32 by 3-fold cross-validation on the training rows.``"""
    for name, values in method.tuned:
        grid = ", ".join(map(show, values))
        yield (
            f"{method.label}: {name} is chosen from {grid} by {experiment.tune_folds}-fold "
            "cross-validation on the training rows."
        )


def describe_scored(experiment: Experiment, method: Method) -> Iterable[str]:
    """``ELOO: for classification scored by LSSVM, then SVM is trained.``"""
    unsaid = " (reconstructed: the paper does not say)" if experiment.paper else ""
    for task, learner in experiment.learners:
        if choice := dict(method.scored_by).get(task):
            scorer, trained = describe_learner(choice), describe_learner(learner)
            yield f"{method.label}: for {task} scored by {scorer}, then {trained} is trained{unsaid}."


def describe_remarks(experiment: Experiment, method: Method) -> Iterable[str]:
    """``SPS: its penalty, delta tr(K) / n^2, is the same for every Gaussian kernel ...``"""
    searched = {kernel.name for kernel in experiment.kernels} | {method.kernel}
    for kernel, remark in CRITERIA[method.criterion].remarks:
        if kernel in searched:
            yield f"{method.label}: {remark}."


def describe_absent(absent: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence per data set without numbers."""
    return tuple(f"No data for {d}: {reason.rstrip('.')}." for d, reason in absent.items())


def describe_edges(leaning: Sequence[EdgeShares]) -> str:
    """What a verdict leans on where columns choose mostly at an edge of the grid; empty where none does."""
    if not leaning:
        return ""
    columns = ", ".join(f"{s.method} {100 * (s.anywhere or 0):.0f} %" for s in leaning)
    return (
        "The verdict leans on columns that choose mostly at an edge of the grid "
        f"({columns}); a wider grid could change it."
    )


RANKS = (
    "Mean ranks: N data sets on which every method ran, F of Iman and Davenport, critical "
    "difference of Nemenyi."
)


def describe_ranks(block: Block) -> str:
    """Friedman's test and Nemenyi's critical differences of one block."""
    title, ranks = title_setting(block.setting), block.ranks
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
