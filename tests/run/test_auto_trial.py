"""``kernels: auto`` in an experiment: the default families of ``select``, from the training rows of each split."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import kselect.run.trial as trial
from kselect.cli.main import cli
from kselect.config.load import load_config
from kselect.core.experiment import Experiment
from kselect.core.job import Trial, fact_hashes
from kselect.core.record import Record
from kselect.datasets.fetch import Places, resolve
from kselect.kernels.default_families import kernels_for
from kselect.numerics.linalg import Array
from kselect.report.sections import FIGURES
from kselect.run.trial import PreparedSplit, load, prepare, run_trial
from kselect.search.grid import edges_of
from kselect.selection.candidates.families import Rows, make_candidates
from kselect.stats.agreement import at_committed, compare

CONFIG = """\
name: my
learner: lssvm
kernels: auto
lam: {{select: 10^-4:10^0}}
splits: 2
criteria: [5-CV, ELOO{more}]
datasets: [{{file: my.csv}}]
figures: {figures}
"""
N = 90
NEAR = "{near: {kind: map, of: [ELOO], against: 5-CV}}"


def table(seed: int = 3, columns: int = 4) -> list[list[str]]:
    """Return rows of which the first column and a category matter, with a number as the target."""
    rng = np.random.default_rng(seed)
    X, port = rng.normal(size=(N, columns)), rng.integers(3, size=N)
    y = np.sin(2 * X[:, 0]) + 1.5 * (port == 1) + 0.3 * rng.normal(size=N)
    return [
        [*(f"{v:.4f}" for v in x), *(["abc"[p]] if columns > 1 else []), f"{target:.4f}"]
        for x, p, target in zip(X, port, y, strict=True)
    ]


def write(
    folder: Path, rows: list[list[str]], figures: str = "{}", more: str = "", **changed: Any
) -> Experiment:
    """Write a table and a config, and return the experiment."""
    head = [*(f"x{i}" for i in range(len(rows[0]) - 1)), "y"]
    with (folder / "my.csv").open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    (folder / "my.yaml").write_text(CONFIG.format(figures=figures, more=more))
    return replace(load_config(folder / "my.yaml", FIGURES), **changed)


def job_of(experiment: Experiment, split: int = 0) -> tuple[Record, ...]:
    """Return the records of one split."""
    source = resolve(experiment.info("my"), Places(Path()))
    return run_trial(experiment, Trial("my", split, experiment.methods_on("my"), source)).records


def parts_of(experiment: Experiment, split: int = 0) -> PreparedSplit:
    """Return one split, prepared."""
    info = experiment.info("my")
    return prepare(experiment, load(info, resolve(info, Places(Path()))), split)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("search", ["grid", "pruned"])
def test_the_choice_is_that_of_select(here: Path, search: str) -> None:
    """Select and the experiment choose the same on the same training rows, folds, ridges and criterion."""
    rows = table()
    experiment = write(here, rows, search=search)
    parts = parts_of(experiment)
    with (here / "train.csv").open("w", newline="") as file:
        head = [*(f"x{i}" for i in range(5)), "y"]
        csv.writer(file).writerows([head, *(rows[i] for i in parts.rows.train)])
    folds = parts.context.partition(5).numbers
    (here / "folds.txt").write_text("".join(f"{fold}\n" for fold in folds))
    flags = ["--folds", "folds.txt", "--lam", "10^-4:10^0", "--ensemble", "1", "--json"]
    run = CliRunner().invoke(cli, ["select", "train.csv", *flags])
    assert run.exit_code == 0, run.output
    best = json.loads(run.stdout)["best"]
    mine = next(r for r in job_of(experiment) if r.method == "5-CV")
    assert mine.kernel == best["kernel"]
    width = "tau" if "tau" in best else "width"
    assert f"{width}={best[width]:g}" in mine.tuned.split(";")
    assert mine.lam == pytest.approx(best["lam"])
    assert mine.score == pytest.approx(best["score"], rel=1e-9)


def test_the_kernels_are_those_of_select(here: Path) -> None:
    """All 32 kernels have the numbers of a selection, bit by bit; levels of a category share a relevance."""
    parts = parts_of(write(here, table()))
    context, columns = parts.context, np.array([0, 1, 2, 3, 4, 4, 4])
    found = make_candidates(("auto",), {}, Rows(context.X, context.targets, columns))
    assert context.kernels == found.kernels
    assert len(context.kernels) == 32


@pytest.mark.parametrize("scale_on", ["train", "all"])
def test_a_data_set_of_kselect(here: Path, scale_on: Any) -> None:
    """Each feature of a LIBSVM file is a column, and only training rows give the kernels."""
    text = CONFIG.format(figures="{}", more="").replace("{file: my.csv}", "heart")
    (here / "heart.yaml").write_text(text)
    experiment = replace(load_config(here / "heart.yaml", FIGURES), scale_on=scale_on)
    info = experiment.info("heart")
    context = prepare(experiment, load(info, resolve(info, Places(Path()))), 1).context
    found = make_candidates(("auto",), {}, Rows(context.X, context.targets))
    assert context.kernels == found.kernels
    assert len(context.kernels) == 32


def test_candidates_are_the_same_in_every_split(here: Path) -> None:
    experiment = write(here, table(), figures=NEAR)
    first, second = (
        [(r.kernel, r.chosen) for r in job_of(experiment, split) if r.part == "near"]
        for split in (0, 1)
    )
    assert first == second
    assert len(set(first)) == 32
    one, other = (parts_of(experiment, split).context.kernels for split in (0, 1))
    assert not set(one) & set(other)


def leaks(folder: Path) -> bool:
    """Return whether a choice changes if only the test rows do."""
    rows = table()
    experiment = write(folder, rows)
    split = parts_of(experiment).rows
    before = job_of(experiment)
    for i in split.test.tolist():
        rows[i] = ["1000", "-5", f"{i}", "7", "a", f"{100 + i}"]
    after = job_of(write(folder, rows))
    kept = ("kernel", "chosen", "tuned", "lam", "score")
    return [[getattr(r, k) for k in kept] for r in before] != [
        [getattr(r, k) for k in kept] for r in after
    ]


def test_test_rows_do_not_change_the_choice(here: Path) -> None:
    assert not leaks(here)


@pytest.mark.parametrize("what", ["rows", "targets"])
def test_a_planted_leak_is_caught(here: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Widths from the rows, or relevances from the targets, of the whole table are caught."""

    def leaking(candidates: Any, X: Array, targets: Array, columns: Any) -> Any:
        every = np.genfromtxt("my.csv", delimiter=",", skip_header=1, usecols=(0, 5)).T
        if what == "rows":
            return kernels_for(candidates, X * every[0].std(), targets, columns)
        return kernels_for(candidates, X, targets + every[1].mean() * X[:, 1], columns)

    monkeypatch.setattr(trial, "kernels_for", leaking)
    assert leaks(here)


def test_a_single_feature_has_no_weighted_kernels(here: Path) -> None:
    """The map of the grid says why these candidates have no score; a choice is one of the other 13."""
    experiment = write(here, table(columns=1), figures=NEAR)
    assert len(parts_of(experiment).context.kernels) == 13
    records = job_of(experiment)
    near = [r for r in records if r.part == "near"]
    assert len({(r.kernel, r.chosen) for r in near}) == 32
    for record in near:
        weighted = record.kernel.startswith("weighted")
        assert (record.score is None) is weighted
        assert record.reason == (trial.UNWEIGHTED if weighted else "")
        assert record.status == "ok"


def test_a_choice_is_found_again_as_verify_does(here: Path) -> None:
    """A grid of the chosen candidate only gives the same numbers."""
    experiment = write(here, table(), more=", {5-KS: {eta: {tune: [1, 4]}}}")
    source = resolve(experiment.info("my"), Places(Path()))
    for record in job_of(experiment):
        alike = at_committed(experiment, record)
        assert alike is not None
        one, method = alike
        assert len(one.kernels) == 1
        (again,) = run_trial(one, Trial("my", 0, (method,), source)).records
        tuned = record.params.replace("eta=1|4", "eta=1"), record.params.replace("1|4", "4")
        assert again.params in (record.params, *tuned)
        assert compare(record, replace(again, params=record.params)).differences == ()


def test_the_power_of_the_relevances_has_no_edge(here: Path) -> None:
    kernels = write(here, table()).kernels
    lams = (0.1, 1.0, 10.0)
    at_edge = [(k.name, k.text) for k in kernels if edges_of(kernels, lams, k, 1.0)]
    assert len(at_edge) == 2 * 5  # both ends of each family and power
    assert ("weighted-laplacian", "width/median=0.5;power=1") in at_edge


def test_another_grid_is_another_identity(here: Path) -> None:
    experiment = write(here, table())
    other = replace(experiment, kernels=experiment.kernels[:-1])
    one, two = (fact_hashes(e, "my", "0") for e in (experiment, other))
    assert [name for name in one if one[name] != two[name]] == ["kernels"]


def commands() -> Iterator[list[str]]:
    """Yield what a person types for an experiment."""
    yield ["run", "my.yaml", "-n"]
    yield ["run", "my.yaml", "-q"]
    yield ["report", "results/my"]
    yield ["time", "my.yaml", "--budget", "1", "-q"]
    records = Path("results/my/records.csv").read_text().splitlines(keepends=True)
    Path("errors.csv").write_text("".join(r for r in records if ",near," not in r))
    yield ["judge", "errors.csv"]


@pytest.mark.parametrize("columns", [4, 1])
@pytest.mark.slow
def test_every_command_takes_such_an_experiment(here: Path, columns: int) -> None:
    write(here, table(columns=columns), figures=NEAR)
    for command in commands():
        run = CliRunner().invoke(cli, command)
        assert run.exit_code == 0, (command, run.output)
    page = (here / "results/my/report.html").read_text()
    assert "7 gaussian kernels and 6 laplacian kernels and 12 weighted-laplacian" in page
    assert "\nkernels: auto\n" in (here / "results/my/config.resolved.yaml").read_text()
    again = load_config(here / "results/my/config.resolved.yaml", FIGURES)
    assert again.kernels == load_config(here / "my.yaml", FIGURES).kernels
