"""Only missing cells are computed, and the result equals that of a run with everything from the start."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from experiments import ROOT, forked, job_files, kselect_in, records, until, write_config

# The quickstart on a short grid: 9 jobs of 7 columns.
QUICK = (ROOT / "configs/quickstart.yaml").read_text().replace("2^-10:2^10}", "2^-1:2^1}")
QUICK = QUICK.replace("10^-4:10^-1", "[0.001, 0.1]").replace("also-loss: [zero-one]", "")
WITHOUT_BR = QUICK.replace("BR, EP]", "EP]")
TWO_SETS = QUICK.replace("[heart, sonar, liver-disorders]", "[heart, liver-disorders]")
# Each worker notes the columns that it computes.
NOTING = """
import pathlib
import kselect.run.workers as workers
run_trial = workers.run_trial
def noting(experiment, trial):
    with pathlib.Path("computed.txt").open("a") as file:
        file.writelines(f"{trial.dataset} {trial.split} {m.label}\\n" for m in trial.methods)
    return run_trial(experiment, trial)
workers.run_trial = noting
"""
# The file of sonar is not to be found.
GONE = """
import kselect.plan as plan
from kselect.errors import DataError
resolve = plan.resolve
def without(info, places):
    if info.name == "sonar":
        raise DataError("sonar: gone")
    return resolve(info, places)
plan.resolve = without
"""
SLOW = "import time\n" + NOTING.replace("    return", "    time.sleep(0.3)\n    return")
RUN = ("run", "quick.yaml", "-o", "out")


def results_of(folder: Path, text: str) -> Path:
    write_config(folder, text, "quick.yaml")
    run = kselect_in(folder, *RUN)
    assert run.returncode == 0, run.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return records.csv of a run with everything from the start."""
    return records(results_of(tmp_path_factory.mktemp("whole"), QUICK))


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of a run without BR."""
    return results_of(tmp_path_factory.mktemp("without"), WITHOUT_BR)


def continued(folder: Path, base: Path, text: str, hook: str = NOTING) -> tuple[str, list[str]]:
    """Run another config on a copy of results; return the messages and the columns that were computed."""
    shutil.copytree(base, folder / "out")
    write_config(folder, text, "quick.yaml")
    run = kselect_in(folder, *RUN, hook=hook)
    assert run.returncode == 0, run.stderr
    return run.stderr, computed(folder)


def computed(folder: Path) -> list[str]:
    path = folder / "computed.txt"
    return sorted(path.read_text().splitlines()) if path.exists() else []


def test_a_column_more(tmp_path: Path, without: Path, whole: bytes) -> None:
    """BR is a seventh of the cells; no other column is computed."""
    err, found = continued(tmp_path, without, QUICK)
    assert "quickstart: 54 cells stored, 9 to compute; 9 jobs to run" in err
    assert "no longer valid" not in err
    assert len(found) == 9
    assert {line.split()[-1] for line in found} == {"BR"}
    assert records(tmp_path / "out") == whole
    again = kselect_in(tmp_path, *RUN, "--dry-run")
    assert "quickstart: 63 cells stored, 0 to compute; 0 jobs to run" in again.stderr


def test_a_data_set_more(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "base").mkdir()
    base = results_of(tmp_path / "base", TWO_SETS)
    err, found = continued(tmp_path, base, QUICK)
    assert "quickstart: 42 cells stored, 21 to compute; 3 jobs to run, 6 done already" in err
    assert {line.split()[0] for line in found} == {"sonar"}
    assert records(tmp_path / "out") == whole


@pytest.mark.slow
def test_killed_while_a_column_is_added(tmp_path: Path, without: Path, whole: bytes) -> None:
    shutil.copytree(without, tmp_path / "out")
    write_config(tmp_path, QUICK, "quick.yaml")
    for enough in (1, 4):
        with forked(tmp_path, *RUN, "-j", "2", hook=SLOW) as run:
            until(lambda n=enough: with_br(tmp_path / "out") >= n, f"{enough} cells")
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
    done = with_br(tmp_path / "out")
    assert 4 <= done < 9
    last = kselect_in(tmp_path, *RUN)
    assert f"quickstart: {54 + done} cells stored, {9 - done} to compute" in last.stderr
    assert records(tmp_path / "out") == whole


def with_br(folder: Path) -> int:
    """Return the number of jobs with a cell of BR."""
    return sum('"method": "BR"' in (folder / name).read_text() for name in job_files(folder))


def test_a_clone_without_jobs(tmp_path: Path, without: Path, whole: bytes) -> None:
    """The rows of records.csv count as stored cells."""
    clone = tmp_path / "clone"
    shutil.copytree(without, clone, ignore=shutil.ignore_patterns("jobs"))
    err, found = continued(tmp_path, clone, QUICK)
    assert "quickstart: 54 cells stored, 9 to compute" in err
    assert {line.split()[-1] for line in found} == {"BR"}
    assert records(tmp_path / "out") == whole


FIGURE = """
figures:
  eta: {criteria: [5-KS], eta: [1, 8], lam: 0.1}
variants:
  wide: {kernels: {laplacian: {width: [1, 2]}}, criteria: [5-CV, ELOO]}
"""


def test_a_figure_and_a_variant_more(tmp_path: Path, without: Path) -> None:
    """A variant with another kernel family has results of its own."""
    before = records(without)
    err, found = continued(tmp_path, without, WITHOUT_BR + FIGURE)
    assert "quickstart: 54 cells stored, 9 to compute; 9 jobs to run" in err
    assert {line.split()[-1] for line in found} == {"5-KS"}
    rows = records(tmp_path / "out").splitlines()
    assert [row for row in rows if b",eta,5-KS," not in row] == before.splitlines()
    run = kselect_in(tmp_path, *RUN, "--variant", "wide", "-n")
    assert "variant wide: 0 cells stored, 18 to compute" in run.stderr


def test_a_wider_grid_names_its_key_and_what_depends_on_it(tmp_path: Path, without: Path) -> None:
    wider = WITHOUT_BR.replace("2^-1:2^1}", "2^-1:2^2}")
    key = "54 of them are stored but no longer valid: kernels.gaussian.tau: 2^-1:2^1 there, 2^-1:2^2 here"
    err, found = continued(tmp_path, without, wider)
    assert "quickstart: 0 cells stored, 54 to compute" in err
    assert key in err
    assert len(found) == 54


def test_a_ridge_more_leaves_the_cells_at_other_ridges_valid(tmp_path: Path, without: Path) -> None:
    more = WITHOUT_BR.replace("[0.001, 0.1]", "[0.001, 0.01, 0.1]")
    before = set(records(without).splitlines())
    err, _ = continued(tmp_path, without, more)
    assert "no longer valid" not in err
    assert before < set(records(tmp_path / "out").splitlines())


def test_a_data_set_that_is_stored_whole_needs_no_file(tmp_path: Path, without: Path) -> None:
    shutil.copytree(without, tmp_path / "out")
    write_config(tmp_path, WITHOUT_BR, "quick.yaml")
    stored = kselect_in(tmp_path, *RUN, "-n", hook=GONE)
    assert stored.returncode == 0, stored.stderr
    assert "sonar: stored, no file, and none needed" in stored.stderr
    assert "quickstart: 54 cells stored, 0 to compute" in stored.stderr
    write_config(tmp_path, QUICK, "quick.yaml")
    refused = kselect_in(tmp_path, *RUN, "-n", hook=GONE)
    assert (refused.returncode, refused.stderr) == (2, "error: sonar: gone\n")
