"""What every table says about itself, in plain words that each format then escapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kselect.datasets.registry import find_dataset
from kselect.model.experiment import REGRESSION_LOSS, Experiment
from kselect.report.cells import show_p
from kselect.stats.comparison import Block, Comparison
from kselect.stats.failures import Coverage
from kselect.stats.ranks import LEVELS

DAGGER = "†"
LAM = "λ"
LEARNERS = {
    "lssvm": "LSSVM",
    "krr": "kernel ridge regression",
    "quadratic-svr": "quadratic eps-insensitive SVR",
}
SCALES = {
    "zscore": "features z-scored",
    "minmax": "features scaled to [-1, 1]",
    "none": "features as they are",
}
SCALES_ON = {"all": "on the whole data set", "train": "on the training part"}


def title_setting(setting: str) -> str:
    """``lam=0.001`` -> ``λ = 0.001``; a selected ridge needs no title."""
    name, _, value = setting.partition("=")
    return f"{LAM if name == 'lam' else name} = {value}" if value else ""


def mark_label(label: str, reconstructed: Mapping[str, str]) -> str:
    """A dagger behind a criterion that is reconstructed."""
    return label + DAGGER if label in reconstructed else label


def describe_protocol(experiment: Experiment, loss: str) -> str:
    """Learner, scaling, splits, kernels, ridge and loss in one sentence."""
    learner = LEARNERS.get(experiment.learner, experiment.learner)
    scale = SCALES[experiment.scale]
    where = f" {SCALES_ON[experiment.scale_on]}" if experiment.scale != "none" else ""
    ridge = f"{LAM} fixed" if experiment.lam.mode == "fixed" else f"{LAM} selected with the kernel"
    return (
        f"{learner}, {scale}{where}, {describe_splits(experiment)}, "
        f"{describe_kernels(experiment)}, {ridge}; "
        f"criteria that average a loss take the {loss} loss{in_regression(experiment, loss)}."
    )


def in_regression(experiment: Experiment, loss: str) -> str:
    """What a loss of labels becomes where data sets of numbers stand beside them."""
    tasks = {find_dataset(name).task for name in experiment.datasets}
    other = loss != REGRESSION_LOSS and "regression" in tasks
    return f", in a regression the {REGRESSION_LOSS} one" if other else ""


def describe_splits(experiment: Experiment) -> str:
    """``10 stratified random splits with 70 % for training``."""
    count, kind = len(experiment.splits), "stratified random" if experiment.stratify else "random"
    return (
        f"{count} {kind} split{'s' * (count != 1)} with {100 * experiment.train:.3g} % for training"
    )


def describe_kernels(experiment: Experiment) -> str:
    """``21 gaussian kernels``, each family with its number."""
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
    """One sentence for each criterion of a table that is reconstructed."""
    return tuple(
        f"{label}{DAGGER} is reconstructed: {reconstructed[label].rstrip('.')}."
        for label in labels
        if label in reconstructed
    )


def describe_absent(absent: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence for each data set without numbers."""
    return tuple(f"No data for {d}: {reason.rstrip('.')}." for d, reason in absent.items())


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
