"""Criteria with their own search in a config: their meaning, refusals, and reading back."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments import message_of

from kselect.config.load import load, load_config
from kselect.core.experiment import Experiment
from kselect.core.job import needed_facts
from kselect.core.method import Choice
from kselect.errors import ConfigError
from kselect.report.sections import FIGURES

HEAD = "name: c\ntrain: given\nlearner: lssvm\n"


def read(tmp_path: Path, *lines: str) -> Experiment:
    path = tmp_path / "c.yaml"
    path.write_text(HEAD + "\n".join(("datasets: [heart]", *lines)) + "\n")
    return load_config(path, FIGURES)


def complaint(tmp_path: Path, *lines: str) -> str:
    return message_of(ConfigError, read, tmp_path, *lines)


def test_a_search_needs_no_grid(tmp_path: Path) -> None:
    found = read(tmp_path, "criteria: [5-CV: {search: flkl, kernel: ard, label: ARD-FLKL}]")
    (method,) = found.table
    assert (method.label, method.criterion, method.folds) == ("ARD-FLKL", "k-CV", 5)
    assert (method.kernel, method.search) == ("ard", Choice("flkl"))
    assert "kernel=ard" in method.text
    assert "search=flkl" in method.text
    assert found.kernels == ()
    assert [s.text for s in found.lam.settings()] == ["selected"]
    assert found.train_rows("heart") == 170


def test_options_of_a_search(tmp_path: Path) -> None:
    """Options of a search have defaults, and the default kernel is the Gaussian."""
    criteria = "criteria: [ELOO: {search: {quasi-newton: {steps: 10, memory: 10}}}]"
    (method,) = read(tmp_path, criteria).table
    assert (method.kernel, method.search) == (
        "gaussian",
        Choice("quasi-newton", (("memory", 10), ("p", 1), ("steps", 10))),
    )
    assert "search=quasi-newton(steps=10);" in method.text  # as in records from before p and memory
    (usual,) = read(tmp_path, "criteria: [ELOO: {search: quasi-newton}]").table
    assert usual.search == Choice("quasi-newton", (("memory", 0), ("p", 1), ("steps", 200)))
    assert "search=quasi-newton(memory=0,steps=200);" in usual.text


def test_a_search_next_to_a_grid(tmp_path: Path) -> None:
    grid = ("kernels: {gaussian: {tau: 1}}", "lam: {select: 0.1}")
    criteria = "criteria: [5-CV, 5-CV: {search: quasi-newton, label: moved}]"
    assert read(tmp_path, criteria, *grid).labels == ("5-CV", "moved")
    said = complaint(tmp_path, criteria)
    assert "kernels: this key is missing" in said
    assert "lam: this key is missing" in said


SUM = "kernel: 'sum:gaussian,linear', label: MKL"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["criteria: [ELOO: {search: flkl}]"], "flkl minimises k-CV, not ELOO"),
        (["criteria: [5-CV: {search: fkl}]"], "unknown search 'fkl'; did you mean 'flkl'"),
        (["criteria: [5-CV: {search: {flkl: {steps: 3}}}]"], "unknown parameter of search"),
        (
            ["criteria: [5-CV: {search: flkl, kernel: linear}]"],
            "moves the kernel gaussian or laplacian",
        ),
        (["criteria: [5-CV: {kernel: ard}]"], "goes with a search"),
        (["criteria: [5-CV: {search: flkl, label: 3}]"], "must be text, not the number 3"),
        (["criteria: [5-CV: {search: flkl}]", "ridge: per-fold"], "ridge must be fixed"),
        (["criteria: [5-CV: {search: flkl}]", "loss: zero-one"], "loss squared only, not zero-one"),
        (["criteria: [ELOO: {search: quasi-newton, form: error}]"], "form press only, not error"),
        (["criteria: [5-CV: {search: flkl}, 5-CV: {search: flkl}]"], "5-CV is already criteria[0]"),
        (
            ["criteria: [5-CV]", "lam: {select: 1}", "kernels: {ard: {theta: 1}}"],
            "has parameters that are learned, not searched on a grid",
        ),
        ([f"criteria: [5-CV: {{search: flkl, {SUM}}}]"], "flkl moves the kernel gaussian"),
        ([f"criteria: [BR: {{search: quasi-newton, {SUM}}}]"], "BR regularises widths"),
        ([f"criteria: [5-CV: {{search: quasi-newton, {SUM}}}]"], "a sum of kernels needs lam"),
        (
            ["criteria: [5-CV: {search: quasi-newton, kernel: 'sum:gausian'}]"],
            "unknown kernel 'gausian'; did you mean 'gaussian'",
        ),
        (["criteria: [5-CV: {search: {quasi-newton: {p: 3}}, kernel: 'sum:linear'}]"], "1 or 2"),
        (["criteria: [5-CV: {search: {quasi-newton: {p: 2}}}]"], "p is the norm of the weights"),
    ],
)
def test_refused(lines: list[str], words: str, tmp_path: Path) -> None:
    assert words in complaint(tmp_path, *lines)


def test_a_sum_of_kernels(tmp_path: Path) -> None:
    """The name of a sum is kept as it is written; its norm is an option that records show unless it is 1."""
    grid = ("kernels: {gaussian: {tau: 1}}", "lam: {select: 0.1}")
    one, two = (
        read(tmp_path, f"criteria: [5-KS: {{search: {search}, {SUM}}}]", *grid).table[0]
        for search in ("quasi-newton", "{quasi-newton: {p: 2}}")
    )
    assert (one.kernel, one.label) == ("sum:gaussian,linear", "MKL")
    assert "search=quasi-newton(memory=0,steps=200)" in one.text
    assert "search=quasi-newton(memory=0,p=2,steps=200)" in two.text


def test_a_sum_depends_on_the_grid_that_it_takes(tmp_path: Path) -> None:
    """The identity of a sum has the kernels and the ridges of the config; that of learned widths has neither."""
    lines = (
        "kernels: {gaussian: {tau: 1}}",
        "lam: {select: 0.1}",
        f"criteria: [5-KS: {{search: quasi-newton, {SUM}}}, 5-CV: {{search: flkl, kernel: ard}}]",
    )
    experiment = read(tmp_path, *lines)
    summed, ard = (needed_facts(experiment, "heart", method) for method in experiment.table)
    assert {"kernels", "lam"} <= summed
    assert not {"kernels", "lam"} & ard
    assert {"kernel sum", "kernel gaussian", "kernel linear"} <= summed


def test_another_learner_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    criteria = "criteria: [5-CV: {search: flkl}]\ndatasets: [heart]\n"
    path.write_text(f"name: c\nlearner: krr\n{criteria}")
    with pytest.raises(ConfigError, match="learns kernels of the learner lssvm, not of krr"):
        load_config(path, FIGURES)


def test_it_reads_back(tmp_path: Path) -> None:
    """The resolved config reads back to the same experiment, including rankings and literature columns."""
    path = tmp_path / "c.yaml"
    path.write_text(
        f"{HEAD}datasets: [heart]\n"
        "criteria:\n"
        "  - 5-CV: {search: flkl, kernel: ard, label: A}\n"
        "  - ELOO: {search: {quasi-newton: {steps: 7}}}\n"
        "figures:\n"
        "  t: {kind: ranking, criteria: [A], literature: {MKL: {heart: [16.7, 4.1]}}, table: 4}\n"
    )
    loaded = load(path, FIGURES, {}, lambda _: tmp_path)
    path.write_text(loaded.resolved)
    assert load_config(path, FIGURES) == loaded.whole
    assert loaded.whole.figures[0].labels == ("A", "MKL")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("{kind: ranking, criteria: [A], literature: {MKL: 3}}", "must be a mapping of data sets"),
        (
            "{kind: ranking, criteria: [A], literature: {MKL: {heart: x}}}",
            "a number, or [mean, spread]",
        ),
        ("{kind: ranking, criteria: [A], lit: [MKL]}", "unknown key; valid: criteria, literature"),
        ("{kind: widths, criteria: [B]}", "'B' is not under criteria"),
        ("{kind: overfitting, criteria: [A], at: 3}", "unknown key; valid: criteria, datasets"),
    ],
)
def test_figures_refused(figure: str, words: str, tmp_path: Path) -> None:
    said = complaint(
        tmp_path, "criteria: [5-CV: {search: flkl, label: A}]", f"figures: {{t: {figure}}}"
    )
    assert words in said


def test_the_config_of_the_paper() -> None:
    """flkl2014 has seven columns, fourteen data sets and three that are drawn from a formula."""
    path = Path(__file__).resolve().parents[2] / "configs/flkl2014.yaml"
    found = load_config(path, FIGURES)
    assert len(found.labels) == 7
    assert len(found.datasets) == 17
    assert len(found.splits_on("image")) == 20
    assert len(found.splits_on("heart")) == 100
    fifty = load_config(path, FIGURES, {"splits": "50"})
    assert (len(fifty.splits_on("image")), len(fifty.splits_on("heart"))) == (20, 50)
