"""A report that is up to date is left alone; whatever determines it makes it out of date."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from experiments import kselect_in, write_config

from kselect.report import unchanged
from kselect.report.unchanged import (
    FOLDER,
    STATE,
    DrawnFigures,
    checksum,
    files_below,
    keep_facts,
    kept_facts,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with results and a complete report in ``out``."""
    folder = tmp_path_factory.mktemp("finished")
    write_config(folder)
    assert kselect_in(folder, "run", "small.yaml", "-o", "out", "-q").returncode == 0
    assert kselect_in(folder, "report", "out", "-q").returncode == 0
    return folder / "out"


@pytest.fixture
def results(tmp_path: Path, finished: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "out"))


def said(results: Path) -> str:
    run = kselect_in(results.parent, "report", "out")
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_an_unchanged_report_is_left_alone(results: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in results.rglob("*") if p.is_file()}
    assert said(results) == "out: unchanged, out/report.html\n"
    assert {p: p.stat().st_mtime_ns for p in results.rglob("*") if p.is_file()} == before
    shutil.rmtree(results / FOLDER)
    page = (results / "report.html").read_bytes()
    assert "files\nout/report.html\n" in said(results)
    assert (results / "report.html").read_bytes() == page


@pytest.mark.parametrize(
    "name",
    [
        "records.csv",
        "report.html",
        "tables/table1.csv",
        "config.resolved.yaml",
        "jobs/heart/0.json",
    ],
)
@pytest.mark.parametrize("gone", [True, False])
def test_any_changed_file_makes_a_report_out_of_date(results: Path, name: str, gone: bool) -> None:
    """Inputs and outputs count alike, changed or gone."""
    assert kept_facts(results) is not None
    path = results / name
    if gone:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes() + b"\n")
    assert kept_facts(results) is None


def test_a_new_job_makes_a_report_out_of_date(results: Path) -> None:
    (results / "jobs/heart/9.json").write_text("{}")
    assert kept_facts(results) is None


@pytest.mark.parametrize("what", ["version", "source", "settings"])
def test_what_is_outside_the_folder_counts(
    results: Path, what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Other libraries, another kselect and other settings of matplotlib make a report out of date."""
    if what == "version":
        monkeypatch.setattr(unchanged, "version", lambda name: f"{name} 0")
    elif what == "source":
        (tmp_path / "published").mkdir()
        (tmp_path / "published/other.yaml").write_text("title: other\n")
        monkeypatch.setattr(unchanged, "packaged", lambda kind: tmp_path / kind)
    else:
        (tmp_path / "matplotlibrc").write_text("axes.grid: True\n")
        monkeypatch.setenv("MATPLOTLIBRC", str(tmp_path / "matplotlibrc"))
    unchanged.surroundings.cache_clear()
    assert kept_facts(results) is None
    unchanged.surroundings.cache_clear()


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"files": {}}', "\x00"])
def test_a_damaged_state_means_out_of_date(results: Path, text: str) -> None:
    (results / FOLDER / STATE).write_text(text)
    assert kept_facts(results) is None


def test_a_file_that_changes_meanwhile_keeps_nothing(results: Path) -> None:
    """A job that ends while the report is written may not be on the page."""
    before = files_below(results)
    keep_facts(results, before, ["report.html"], {"verdicts": []})
    assert kept_facts(results) == {"verdicts": []}
    (results / "report.html").write_text("new")
    keep_facts(results, before, ["report.html"], {"verdicts": []})
    assert kept_facts(results) == {"verdicts": []}
    (results / "jobs/heart/9.json").write_text("{}")
    keep_facts(results, before, ["report.html"], {"verdicts": []})
    assert kept_facts(results) is None


def test_the_index_of_unchanged_reports_is_the_same(results: Path) -> None:
    """The index shows an unchanged experiment as it would show it from its records."""
    (folder := results.parent / "all").mkdir()
    results.rename(folder / "out")
    shutil.copytree(folder / "out", folder / "two")
    shutil.rmtree(folder / "two" / FOLDER)
    first = kselect_in(results.parent, "report", "all").stdout
    assert "unchanged" not in first  # each page has a link to the front page now
    page = (folder / "index.html").read_text()
    assert page.replace('"two/', '"out/').count('"out/report.html"') == page.count("report.html")
    second = kselect_in(results.parent, "report", "all").stdout
    assert second.count("unchanged") == 3
    assert (folder / "index.html").read_text() == page
    (folder / "index.html").write_text(page + "<!-- -->")
    third = kselect_in(results.parent, "report", "all").stdout
    assert third.endswith("all/index.html\n")
    assert (folder / "index.html").read_text() == page
    shutil.rmtree(folder / "out" / FOLDER)
    assert kselect_in(results.parent, "report", "all").returncode == 0
    assert (folder / "index.html").read_text() == page


# --- figures ------------------------------------------------------------------------------------------


def drawing(numbers: list[float], names: Mapping[str, str]) -> Any:
    def draw(width: float) -> tuple[Any, ...]:
        return numbers, names, width

    return draw


def test_a_figure_is_drawn_again_if_something_that_it_uses_has_changed(tmp_path: Path) -> None:
    drawn: list[str] = []

    def make(text: str) -> Any:
        def files(_: object) -> dict[str, bytes]:
            drawn.append(text)
            return {"svg": text.encode(), "pdf": b"\n\n\x00" * 3}

        return files

    figures = DrawnFigures(tmp_path)
    first = figures.begin(drawing([1.0], {"a": "b"}), [make("first")]).files()
    again = DrawnFigures(tmp_path).begin(drawing([1.0], {"a": "b"}), [make("again")]).files()
    assert (again, drawn) == (first, ["first"])
    for numbers, names in (([1.0, 2.0], {"a": "b"}), ([1.0], {"a": "c"})):
        assert figures.begin(drawing(numbers, names), [make("other")]).files()["svg"] == b"other"
    assert drawn == ["first", "other", "other"]
    kept = sorted((tmp_path / FOLDER / "figures").iterdir())
    assert len(kept) == 3
    for path in kept:  # damaged files are drawn again
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    last = DrawnFigures(tmp_path)
    assert last.begin(drawing([1.0], {"a": "b"}), [make("mended")]).files() != first
    last.drop_unused()
    assert len(list((tmp_path / FOLDER / "figures").iterdir())) == 1


def test_a_figure_whose_inputs_cannot_be_told_is_drawn() -> None:
    """Two functions of one text differ in what they enclose; a lock cannot be pickled, a study is too much."""
    import threading

    assert checksum(drawing([1.0], {})) == checksum(drawing([1.0], {}))
    assert checksum(drawing([1.0], {})) != checksum(drawing([1.5], {}))
    assert checksum(lambda: 1) != checksum(lambda: 2)
    lock: Any = threading.Lock()
    assert checksum(drawing(lock, {})) is None


def test_a_changed_experiment_keeps_its_unchanged_figures(finished: Path, tmp_path: Path) -> None:
    """Figures that a change does not concern are read from the cache, and look the same."""
    results = Path(shutil.copytree(finished, tmp_path / "out"))
    figures = results / FOLDER / "figures"
    before = {path.name: path.stat().st_mtime_ns for path in figures.iterdir()}
    assert before
    state = json.loads((results / FOLDER / STATE).read_text())
    (results / "report.html").unlink()
    assert "unchanged" not in said(results)
    assert {path.name: path.stat().st_mtime_ns for path in figures.iterdir()} == before
    assert json.loads((results / FOLDER / STATE).read_text()) == state
