"""``kselect time`` as users type it: cells, budget, resuming, tables, mistakes."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from experiments import NO_NETWORK, kselect_in, litter, started_in, write_config

from kselect.cli import timing as time
from kselect.cli.main import main

Refused = Callable[..., str]

CLASSES = """\
name: small
paper: icml2014
learner: lssvm
scale: minmax
train: 0.5
splits: 2
kernels: {gaussian: {tau: [0.5, 4, 32]}}
lam: {select: [0.01, 0.1]}
criteria: [EP, ELOO, 5-CV, BIF-5-CV, 10-KS]
datasets: [heart, sonar]
"""
NUMBERS = """\
name: numbers
learner: krr
train: 0.3
splits: 1
kernels: {gaussian: {tau: [2, 8]}}
lam: {fixed: [0.01, 0.1]}
ridge: per-fold
criteria: [5-CV, BR]
datasets: [mpg, housing]
"""
METHODS = ["EP", "ELOO", "5-CV", "BIF-5-CV", "10-KS"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a measured experiment in ``out``."""
    folder = tmp_path_factory.mktemp("timed")
    write_config(folder, CLASSES)
    run = started_in(folder, "time", "small.yaml", "-o", "out", "--offline", hook=NO_NETWORK)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    lines = run.stderr.splitlines()
    assert lines[0] == "small: 10 of 10 cells to measure, at most 60 s per algorithm"
    assert lines[1].startswith("1/10 heart, EP: paper's ")
    assert len(lines) == 12
    return folder


@pytest.fixture
def folder(tmp_path: Path, finished: Path) -> Path:
    """Return a copy of the finished folder."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def cells(folder: Path, dataset: str) -> dict[str, Any]:
    found = json.loads((folder / f"out/timing/{dataset}.json").read_text())
    return {cell["method"]: cell for cell in found["cells"]}


def table(folder: Path, out: str = "out") -> dict[tuple[str, str], dict[str, str]]:
    with (folder / out / "tables/seconds.csv").open() as lines:
        return {(row["dataset"], row["method"]): row for row in csv.DictReader(lines)}


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Return the error line of a mistake; the command runs in this process, whose signal handlers stay."""
    monkeypatch.setattr(time, "handle_interrupts", lambda: None)

    def call(folder: Path, *arguments: str) -> str:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("KSELECT_DATA_DIR", str(folder / "cache"))
        monkeypatch.delenv("KSELECT_MIRROR", raising=False)
        monkeypatch.setattr(sys, "argv", ["kselect", "time", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 2
        out, err = capsys.readouterr()
        assert out == ""
        (line,) = err.splitlines()
        assert line.startswith("error: ")
        return str(line)

    return call


def test_what_is_written(finished: Path) -> None:
    """Both ways compute the same criterion; the table holds the paper's seconds and the ratios."""
    assert sorted(p.name for p in (finished / "out").iterdir()) == [
        "tables",
        "timing",
        "timing.json",
    ]
    assert litter(finished / "out") == []
    for name, rows in (("heart", 135), ("sonar", 104)):
        found = cells(finished, name)
        assert list(found) == METHODS
        for cell in found.values():
            assert cell["difference"] < 1e-9, cell
            assert cell["paper"]["share"] == cell["ours"]["share"] == 1.0
            assert 0 < cell["paper"]["cpu"] < 60
            assert 0 < cell["ours"]["wall"] < 60
        assert table(finished)[name, "5-CV"]["rows"] == str(rows)
    row = table(finished)["heart", "5-CV"]
    assert row["published"] == "0.58"
    assert float(row["published_cv_over_bif"]) == pytest.approx(0.58 / 0.32, rel=1e-3)
    assert all(row[k] for k in ("cv_over_bif", "exact_ours_over_bif", "exact_costs"))
    facts = json.loads((finished / "out/timing.json").read_text())
    (environment,) = facts["environments"].values()
    assert environment["cpu"]
    assert all(pool["num_threads"] == 1 for pool in environment["blas"])
    assert str(Path.home()) not in json.dumps(facts)
    text = (finished / "out/tables/seconds.md").read_text()
    assert "5 folds: exact cross-validation by the closed form takes" in text
    assert environment["cpu"] in text


def test_resuming_measures_only_missing_cells(folder: Path) -> None:
    before, heart = cells(folder, "sonar"), folder / "out/timing/heart.json"
    stamp = heart.stat().st_mtime_ns
    data = json.loads((folder / "out/timing/sonar.json").read_text())
    data["cells"] = [c for c in data["cells"] if c["method"] != "ELOO"]
    (folder / "out/timing/sonar.json").write_text(json.dumps(data))
    shutil.rmtree(folder / "out/tables")
    run = kselect_in(folder, "time", "small.yaml", "-o", "out")
    assert run.returncode == 0
    assert [line.partition(":")[0] for line in run.stderr.splitlines()[:2]] == [
        "small",
        "1/1 sonar, ELOO",
    ]
    assert heart.stat().st_mtime_ns == stamp
    after = cells(folder, "sonar")
    assert {m for m in METHODS if after[m] == before[m]} == {*METHODS} - {"ELOO"}
    assert len(table(folder)) == 10


def test_cells_of_an_earlier_version_are_completed(tmp_path: Path) -> None:
    """A cell without the paper's ER, or without the trainings of FBIF, is measured again; others are not."""
    text = CLASSES.partition("criteria:")[0].replace("learner: lssvm", "learner: krr")
    write_config(tmp_path, f"{text}criteria: [ELOO, ER, 5-FBIF]\ndatasets: [heart]\n")
    flags = ("time", "small.yaml", "-o", "out")
    assert kselect_in(tmp_path, *flags).returncode == 0
    before = cells(tmp_path, "heart")
    assert all(cell["difference"] < 1e-9 for cell in before.values())
    fits = {name: cell["paper"]["fits"] for name, cell in before.items()}
    assert fits["ELOO"] is fits["ER"] is None
    assert 0 < fits["5-FBIF"] < before["5-FBIF"]["paper"]["cpu"]
    path = tmp_path / "out/timing/heart.json"
    data = json.loads(path.read_text())
    for cell in data["cells"]:
        if cell["method"] == "ER":
            cell["paper"] = None
        else:
            del cell["paper"]["fits"]
    path.write_text(json.dumps(data))
    run = kselect_in(tmp_path, *flags)
    assert "2 of 3 cells to measure" in run.stderr
    assert cells(tmp_path, "heart")["ELOO"]["paper"] == {**before["ELOO"]["paper"], "fits": None}
    assert "0 of 3 cells to measure" in kselect_in(tmp_path, *flags).stderr
    assert "without training" in (tmp_path / "out/tables/seconds.md").read_text()


def test_force_and_filters(folder: Path) -> None:
    before = {name: cells(folder, name) for name in ("heart", "sonar")}
    flags = ("-d", "heart", "-c", "5-CV", "-c", "EP", "-f", "-q")
    run = kselect_in(folder, "time", "small.yaml", "-o", "out", *flags)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert cells(folder, "sonar") == before["sonar"]
    after = cells(folder, "heart")
    assert {m for m in METHODS if after[m] != before["heart"][m]} == {"5-CV", "EP"}
    assert len(table(folder)) == 10


def test_a_budget_extrapolates_and_a_larger_one_measures_again(folder: Path) -> None:
    flags = ("time", "small.yaml", "-o", "new", "-d", "heart", "-c", "5-CV")
    run = kselect_in(folder, *flags, "--budget", "1e-9")
    assert run.returncode == 0
    assert "paper's ~" in run.stderr
    row = table(folder, "new")["heart", "5-CV"]
    assert float(row["paper_share"]) == pytest.approx(1 / 6, rel=1e-3)
    assert float(row["ours_share"]) == pytest.approx(1 / 3, rel=1e-3)
    assert float(row["score_difference"]) < 1e-9
    text = (folder / "new/tables/seconds.md").read_text()
    assert "(17 %)" in text
    assert "~: extrapolated" in text
    assert "No seconds of sonar: not measured yet." in text
    assert r"$\sim$" in (folder / "new/tables/seconds.tex").read_text()
    assert "0 of 1 cells" in kselect_in(folder, *flags, "--budget", "1e-10").stderr
    assert "1 of 1 cells" in kselect_in(folder, *flags).stderr
    assert "~" not in (folder / "new/tables/seconds.md").read_text()


def test_regression(tmp_path: Path) -> None:
    write_config(tmp_path, NUMBERS)
    run = kselect_in(tmp_path, "time", "small.yaml")
    assert run.returncode == 0, run.stderr
    found = table(tmp_path, "results/numbers")
    assert set(found) == {(d, m) for d in ("mpg", "housing") for m in ("5-CV", "BR")}
    assert all(float(row["score_difference"]) < 1e-9 for row in found.values())
    assert all(row["published"] == "" for row in found.values())


def test_another_config(folder: Path, refused: Refused) -> None:
    write_config(folder, CLASSES.replace("train: 0.5", "train: 0.6"))
    line = refused(folder, "small.yaml", "-o", "out")
    assert (
        "out/timing/heart.json: was measured with another config; choose another --output" in line
    )
    assert "sonar.json: was measured" in refused(
        folder, "small.yaml", "-o", "out", "-f", "-d", "heart"
    )
    run = kselect_in(folder, "time", "small.yaml", "-o", "out", "-f", "-c", "ELOO")
    assert run.returncode == 0, run.stderr
    assert set(table(folder)) == {(d, m) for d in ("heart", "sonar") for m in METHODS}
    assert list(cells(folder, "heart")) == ["ELOO"]


def test_a_disk_that_fills(folder: Path) -> None:
    """Exit status 1, since work was done; what was measured stays, and the next run continues there."""
    (folder / "out/timing/sonar.json").unlink()
    size = (folder / "out/timing/heart.json").stat().st_size - 200  # room for four cells of five
    hook = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({size}, {size}))"
    run = kselect_in(folder, "time", "small.yaml", "-o", "out", "--offline", "-q", hook=hook)
    assert run.returncode == 1
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: out/timing/sonar.json: cannot write: File too large; finished")
    cells = json.loads((folder / "out/timing/sonar.json").read_text())["cells"]
    assert [cell["method"] for cell in cells] == METHODS[:4]
    again = kselect_in(folder, "time", "small.yaml", "-o", "out", "--offline")
    assert (again.returncode, again.stderr.splitlines()[0][:15]) == (0, "small: 1 of 10 ")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1, "cells": [1]}'])
def test_a_damaged_file(folder: Path, text: str, refused: Refused) -> None:
    (folder / "out/timing/heart.json").write_text(text)
    assert "out/timing/heart.json: not a timing" in refused(folder, "small.yaml", "-o", "out")


def test_a_file_of_a_later_format(folder: Path, refused: Refused) -> None:
    (folder / "out/timing/heart.json").write_text('{"version": 99}')
    line = refused(folder, "small.yaml", "-o", "out")
    assert "out/timing/heart.json: a timing file of format 99" in line
    assert "kselect time --force" in line


def test_a_method_with_other_parameters_is_another_cell(folder: Path) -> None:
    """Other parameters are another cell: ``average`` is not in the label, but the old seconds are not reused."""
    write_config(folder, CLASSES + "average: folds\n")
    run = kselect_in(folder, "time", "small.yaml", "-o", "out", "-c", "ELOO", "-c", "BIF-5-CV")
    assert "small: 2 of 4 cells" in run.stderr, run.stderr
    found = table(folder)
    for name in ("heart", "sonar"):
        assert found[name, "BIF-5-CV"]["ours_cpu"]
        assert found[name, "ELOO"]["ours_cpu"]
        assert not found[name, "5-CV"]["ours_cpu"]


def test_a_missing_file(tmp_path: Path, refused: Refused) -> None:
    write_config(tmp_path, CLASSES.replace("[heart, sonar]", "[heart, a2a]"))
    flags = ("small.yaml", "--offline", "-c", "ELOO")
    assert "a2a: no file found" in refused(tmp_path, *flags)
    run = kselect_in(tmp_path, "time", *flags, "--skip-missing")
    assert run.returncode == 0
    assert run.stderr.startswith("skipped: a2a")
    text = (tmp_path / "results/small/tables/seconds.md").read_text()
    assert "No seconds of a2a: no file to be had (--skip-missing)." in text.replace("\\", "")
    assert "no data set is left" in refused(tmp_path, *flags, "--skip-missing", "-d", "a2a")


def test_a_failure_is_reported_and_measured_again(tmp_path: Path) -> None:
    """A training part with one class fails, and the failure is reported and measured again in the next run."""
    write_config(tmp_path, CLASSES.replace("train: 0.5", "train: 0.005"))
    flags = ("time", "small.yaml", "-c", "ELOO", "-d", "sonar")
    run = kselect_in(tmp_path, *flags)
    assert run.returncode == 1
    assert "failed: sonar, ELOO: the training part holds one class only" in run.stderr
    assert "1 of 1 cells" in kselect_in(tmp_path, *flags).stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--budget", "0"], "0 is not a positive number of seconds"),
        (["--budget", "nan"], "nan is not a positive number of seconds"),
        (["--budget", "x"], "'x' is not a valid float"),
        (["-d", "hart"], "did you mean 'heart'?"),
        (["-c", "5-CX"], "'5-CX' is not in small.yaml; did you mean '5-CV'?"),
        (["--splits", "2"], "unknown flag '--splits'"),
    ],
)
def test_mistakes(tmp_path: Path, flags: list[str], said: str, refused: Refused) -> None:
    write_config(tmp_path, CLASSES)
    assert said in refused(tmp_path, "small.yaml", *flags)
    assert not (tmp_path / "results").exists()
