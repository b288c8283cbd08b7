"""``kselect report`` on whole, partial, cloned, empty and spoilt results."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from experiments import kselect_in, write_config


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of a run in ``out``."""
    folder = tmp_path_factory.mktemp("finished")
    write_config(folder)
    assert kselect_in(folder, "run", "small.yaml", "-o", "out", "-q").returncode == 0
    return folder / "out"


@pytest.fixture
def results(tmp_path: Path, finished: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(finished, tmp_path / "out"))


def refused(folder: Path, *arguments: str) -> str:
    run = kselect_in(folder, "report", *arguments)
    assert run.returncode == 2, run
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: ")
    return line


def test_whole(results: Path) -> None:
    run = kselect_in(results.parent, "report", "out")
    assert run.returncode == 0, run.stderr
    assert "out/report.html" in run.stdout
    assert (results / "report.html").is_file()
    assert list((results / "tables").iterdir())
    assert kselect_in(results.parent, "report", "out", "-q").stdout == ""


def test_records_are_rewritten_from_the_jobs(results: Path) -> None:
    expected = (results / "records.csv").read_bytes()
    manifest = (results / "manifest.json").read_bytes()
    (results / "records.csv").write_text("spoilt")
    assert kselect_in(results.parent, "report", "out", "-q").returncode == 0
    assert (results / "records.csv").read_bytes() == expected
    assert (results / "manifest.json").read_bytes() == manifest


def test_a_clone_has_no_jobs(results: Path) -> None:
    shutil.rmtree(results / "jobs")
    expected = (results / "records.csv").read_bytes()
    assert kselect_in(results.parent, "report", "out", "-q").returncode == 0
    assert (results / "report.html").is_file()
    assert (results / "records.csv").read_bytes() == expected


def test_partial_results(results: Path) -> None:
    shutil.rmtree(results / "jobs/sonar")
    (results / "jobs/heart/1.json").unlink()
    (results / "records.csv").unlink()
    assert kselect_in(results.parent, "report", "out", "-q").returncode == 0
    page = (results / "report.html").read_text()
    assert "sonar" in page
    assert "not run yet" in page
    assert len((results / "records.csv").read_text().splitlines()) == 1 + 4 * (2 + 3)


def test_a_folder_of_experiments(results: Path) -> None:
    shutil.copytree(results, results.parent / "all/one")
    shutil.copytree(results, results.parent / "all/two")
    run = kselect_in(results.parent, "report", "all")
    assert run.returncode == 0, run.stderr
    page = (results.parent / "all/index.html").read_text()
    assert "one/report.html" in page
    assert "two/report.html" in page


def test_nothing_there(results: Path) -> None:
    (results.parent / "empty").mkdir()
    for name in ("empty", "absent", "out/records.csv"):
        assert "kselect run first" in refused(results.parent, name)
    shutil.rmtree(results / "jobs")
    (results / "records.csv").unlink()
    assert "out/records.csv: No such file or directory; kselect run" in refused(
        results.parent, "out"
    )


@pytest.mark.parametrize("text", ["", "junk\n", "dataset,split\nheart,0\n"])
def test_records_of_something_else(results: Path, text: str) -> None:
    shutil.rmtree(results / "jobs")
    (results / "records.csv").write_text(text)
    assert "out/records.csv: not the columns" in refused(results.parent, "out")


def test_a_spoilt_job(results: Path) -> None:
    (results / "jobs/heart/0.json").write_text("{")
    assert "out/jobs/heart/0.json: not a job" in refused(results.parent, "out")


@pytest.mark.parametrize("text", ["", "junk", "[]"])
def test_a_spoilt_manifest(results: Path, text: str) -> None:
    shutil.rmtree(results / "jobs")
    (results / "manifest.json").write_text(text)
    assert kselect_in(results.parent, "report", "out").returncode == 0


def test_a_spoilt_config(results: Path) -> None:
    (results / "config.resolved.yaml").write_text("learner: [\n")
    assert "out/config.resolved.yaml:" in refused(results.parent, "out")


def test_a_place_that_cannot_be_written(results: Path) -> None:
    shutil.rmtree(results / "tables", ignore_errors=True)
    (results / "tables").write_text("a file")
    assert "out/tables" in refused(results.parent, "out")
