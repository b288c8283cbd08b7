"""``kselect report`` on complete, partial, cloned, empty and damaged results."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from experiments import SMALL, kselect_in, refused_in, write_config

from kselect.cli import report as command
from kselect.config.load import load_config
from kselect.core.record import record_keys
from kselect.report.sections import FIGURES

ROOT = Path(__file__).resolve().parents[2]
KEPT_CONFIGS = sorted(
    path.with_name("config.resolved.yaml") for path in (ROOT / "results").rglob("records.csv")
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the results of a run in ``out``."""
    folder = tmp_path_factory.mktemp("finished")
    write_config(folder)
    assert kselect_in(folder, "run", "small.yaml", "-o", "out", "-q").returncode == 0
    return folder / "out"


@pytest.fixture
def results(tmp_path: Path, finished: Path) -> Path:
    """Return a copy of the finished folder."""
    return Path(shutil.copytree(finished, tmp_path / "out"))


def refused(folder: Path, *arguments: str) -> str:
    (line,) = refused_in(folder, "report", *arguments)
    assert line.startswith("error: ")
    return line


def test_whole(results: Path) -> None:
    run = kselect_in(results.parent, "report", "out", "--standalone")
    assert run.returncode == 0, run.stderr
    assert "out/report.html" in run.stdout.splitlines()
    assert "out/standalone.html" in run.stdout.splitlines()
    assert run.stderr == ""
    page = (results / "standalone.html").read_text()
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    assert (results / "report.html").is_file()
    assert {p.stem for p in (results / "tables").iterdir()} == {
        *("table1", "table1-pairs", "claims", "edges", "choices"),
    }
    assert kselect_in(results.parent, "report", "out", "-q").stdout == ""


@pytest.mark.parametrize("gone", ["nothing", "records.csv", "jobs"])
def test_a_report_keeps_the_results(results: Path, gone: str) -> None:
    """A report restores records.csv from the jobs, needs no jobs (as in a clone), and changes nothing else."""
    names = ("records.csv", "seconds.csv", "manifest.json", "config.resolved.yaml")
    expected, tables = [(results / name).read_bytes() for name in names], []
    for path in (results / "report.html", results / gone):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        assert kselect_in(results.parent, "report", "out", "-q").returncode == 0
        assert (results / "report.html").is_file()
        assert [(results / name).read_bytes() for name in names] == expected
        tables.append((results / "tables/table1.csv").read_bytes())
    assert tables[0] == tables[1]


def test_seconds_on_the_page(results: Path) -> None:
    """The page shows the run times of this config, and only if they were measured under it."""
    config = "out/config.resolved.yaml"
    run = kselect_in(results.parent, "time", config, "-o", "out", "-d", "heart")
    assert run.returncode == 0, run.stderr
    assert run.stderr.splitlines()[-1] == "kselect report out shows them on its page"
    assert kselect_in(results.parent, "report", "out", "-q").returncode == 0
    page = (results / "report.html").read_text()
    assert "Seconds of a selection" in page
    assert "CPU seconds of a whole selection" in page
    timing = results / "timing/heart.json"
    timing.write_text(timing.read_text().replace('"protocol": "', '"protocol": "0'))
    assert kselect_in(results.parent, "report", "out", "-q").returncode == 0
    assert "Seconds of a selection" not in (results / "report.html").read_text()


@pytest.mark.parametrize(("terminal", "quiet"), [(True, False), (True, True), (False, False)])
def test_progress_is_for_terminals(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminal: bool,
    quiet: bool,
) -> None:
    monkeypatch.setattr(command, "is_terminal", lambda stream: terminal)
    with command.shown_progress(Path("out"), quiet) as step:
        step(14, 52)
    shown = capsys.readouterr().err
    assert ("out: rendering 14 of 52" in shown) == (terminal and not quiet)
    assert shown == "" or shown.endswith("\r")


def test_a_line_of_verdicts_fits_a_terminal() -> None:
    """In a terminal, the interval is left out and a claim is cut if they are too long."""
    rows = [
        (
            "a-1",
            "supported",
            "0.1 points",
            "-0.2 to 0.4",
            "A has a lower error than B with the same k",
        ),
        ("a-10", "mixed", "1 point", "", "Both are equal"),
    ]
    whole = [*command.verdict_lines(rows)]
    assert whole[0].endswith("0.1 points (-0.2 to 0.4)  A has a lower error than B with the same k")
    assert [*command.verdict_lines(rows, 95)] == whole
    short = [*command.verdict_lines(rows, 60)]
    assert short == [
        "a-1   supported  0.1 points  A has a lower error than B ...",
        "a-10  mixed      1 point     Both are equal",
    ]
    assert [*command.verdict_lines(rows, 30)][1] == "a-10  mixed      1 point     Both ..."
    assert [*command.verdict_lines([])] == []


def test_partial_results(results: Path) -> None:
    shutil.rmtree(results / "jobs/sonar")
    (results / "jobs/heart/1.json").unlink()
    (results / "records.csv").unlink()
    assert kselect_in(results.parent, "report", "out", "-q").returncode == 0
    page = (results / "report.html").read_text()
    assert "<li>sonar: not run yet</li>" in page
    assert "<li>heart: 4 of 12 planned numbers are missing</li>" in page
    assert '<th scope="row">heart (2 splits)</th>' in page
    assert len((results / "records.csv").read_text().splitlines()) == 1 + 4 * (2 + 3)


def test_a_trial_run_covers_the_config_and_judges_no_claim(tmp_path: Path) -> None:
    """A trial run of one split of one data set shows tables for all nine, and judges no claim."""
    write_config(tmp_path, f"paper: ecml2014\n{SMALL}")
    narrow = ("-d", "heart", "--splits", "1", "-o", "out", "-q")
    assert kselect_in(tmp_path, "run", "small.yaml", *narrow).returncode == 0
    printed = kselect_in(tmp_path, "report", "out").stdout
    assert re.search(
        r"^small-6\.1a +too few numbers  .*k-KS has a lower error", printed, re.MULTILINE
    )
    assert not (tmp_path / "out/standalone.html").exists()
    claims = (tmp_path / "out/tables/claims.md").read_text()
    assert "Incomplete: 4 of 36 planned numbers exist" in claims
    assert "**Too few numbers.** Only 2 of 18 planned pairs" in claims
    assert "No data for sonar: not run yet." in (tmp_path / "out/tables/table1.md").read_text()


def test_a_folder_of_experiments(results: Path) -> None:
    shutil.copytree(results, results.parent / "all/one")
    shutil.copytree(results, results.parent / "all/two")
    run = kselect_in(results.parent, "report", "all")
    assert run.returncode == 0, run.stderr
    page = (results.parent / "all/index.html").read_text()
    assert "one/report.html" in page
    assert "two/report.html" in page
    assert "9 jobs, 0 failed records" in page


def test_an_experiment_without_records_does_not_stop_the_others(results: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(results, results.parent / "all" / name)
    for gone in ("jobs", "records.csv"):
        path = results.parent / "all/one" / gone
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert "all/one: no jobs" in refused(results.parent, "all")
    page = (results.parent / "all/index.html").read_text()
    assert "two/report.html" in page
    assert "one/report.html" not in page


def test_nothing_there(results: Path) -> None:
    (results.parent / "empty").mkdir()
    for name in ("empty", "absent", "out/records.csv"):
        assert "kselect run first" in refused(results.parent, name)
    shutil.rmtree(results / "jobs")
    (results / "records.csv").unlink()
    assert "out: no jobs" in refused(results.parent, "out")


@pytest.mark.parametrize("text", ["", "junk\n", "dataset,split\nheart,0\n"])
def test_records_of_another_format(results: Path, text: str) -> None:
    shutil.rmtree(results / "jobs")
    (results / "records.csv").write_text(text)
    assert "out/records.csv: " in refused(results.parent, "out")


def test_a_damaged_job(results: Path) -> None:
    (results / "jobs/heart/0.json").write_text("{")
    assert "out/jobs/heart/0.json: " in refused(results.parent, "out")


@pytest.mark.parametrize("text", ["", "junk", "[]"])
def test_a_damaged_manifest(results: Path, text: str) -> None:
    """A report needs only the jobs; without jobs and with a damaged manifest, records.csv is not trusted."""
    (results / "manifest.json").write_text(text)
    shutil.copytree(results, results.parent / "clone")
    assert kselect_in(results.parent, "report", "out").returncode == 0
    shutil.rmtree(results.parent / "clone/jobs")
    assert "kselect run first" in refused(results.parent, "clone")


@pytest.mark.parametrize(
    "name", ["records.csv", "seconds.csv", "report.html", "manifest.json", "tables/a.csv"]
)
def test_a_file_of_another_program_is_not_overwritten(tmp_path: Path, name: str) -> None:
    write_config(tmp_path)
    path = tmp_path / "out" / name
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    run = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", "--force", "-q")
    assert (run.returncode, path.read_text()) == (2, "{}")
    assert run.stderr.startswith(f"error: out/{name}: not written by kselect")
    assert [p for p in (tmp_path / "out").rglob("*") if p.is_file()] == [path]


def test_a_report_overwrites_only_its_own_pages(results: Path) -> None:
    """Without a manifest, the mark of a page decides; with one, the folder is ours."""
    page, manifest, index = (
        results / "report.html", results / "manifest.json", results.parent / "index.html",
    )  # fmt: skip
    page.write_text("other")
    manifest.unlink()
    assert "out/report.html: not written by kselect" in refused(results.parent, "out")
    assert page.read_text() == "other"
    page.unlink()
    for _ in range(2):
        assert kselect_in(results.parent, "report", "out", "-q").returncode == 0
        manifest.unlink()
    index.write_text("other")
    assert "index.html: not written by kselect" in refused(results.parent, ".")
    assert index.read_text() == "other"
    index.unlink()
    for _ in range(2):
        assert kselect_in(results.parent, "report", ".", "-q").returncode == 0


def test_a_damaged_config(results: Path) -> None:
    (results / "config.resolved.yaml").write_text("learner: [\n")
    assert "out/config.resolved.yaml:" in refused(results.parent, "out")


@pytest.mark.parametrize("gone", ["nothing", "jobs"])
def test_results_of_another_config_say_how_to_compute_them_again(results: Path, gone: str) -> None:
    """The advice is one that kselect run understands: kselect report has no --output and no --force."""
    kept = results / "config.resolved.yaml"
    kept.write_text(kept.read_text().replace("seed: 0", "seed: 1"))
    shutil.rmtree(results / gone, ignore_errors=True)
    line = refused(results.parent, "out")
    assert "computed with another config" in line
    assert line.endswith("compute all of it again: kselect run CONFIG --output out")
    again = line.partition("again: kselect ")[2].replace("CONFIG", "out/config.resolved.yaml")
    assert kselect_in(results.parent, *again.split(), "-q").returncode == 0
    assert kselect_in(results.parent, "report", "out").returncode == 0


def test_an_output_folder_that_cannot_be_written(results: Path) -> None:
    shutil.rmtree(results / "tables", ignore_errors=True)
    (results / "tables").write_text("a file")
    assert "out/tables" in refused(results.parent, "out")


VARIANTS = "variants:\n  minmax: {scale: minmax}\n  fast: {criteria: [5-CV], datasets: [sonar]}\n"


def test_variants_run_next_to_the_results_and_appear_in_the_report(tmp_path: Path) -> None:
    """Each variant runs into its own folder; the report compares those that were run and names the others."""
    (tmp_path / "own.csv").write_text("x,y\n" + "1.5,u\n2.5,v\n" * 9)
    write_config(tmp_path, SMALL.replace("[heart", "[{file: own.csv}, heart") + VARIANTS)
    flags = ("small.yaml", "-o", "out", "-q", "--splits", "1", "-d", "sonar")
    assert kselect_in(tmp_path, "run", *flags).returncode == 0
    before = (tmp_path / "out/records.csv").read_bytes()
    assert kselect_in(tmp_path, "run", *flags, "--variant", "minmax").returncode == 0
    variant = tmp_path / "out/variants/minmax"
    assert (variant / "records.csv").read_bytes() != before
    assert (tmp_path / "out/records.csv").read_bytes() == before
    shutil.rmtree(variant / "jobs")  # like a clone, which has no jobs
    run = kselect_in(tmp_path, "report", "out")
    assert run.returncode == 0, run.stderr
    table = (tmp_path / "out/tables/sensitivity.md").read_text()
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert [row.split("|")[1].strip() for row in rows[2:]] == ["as configured", "minmax"]
    page = (tmp_path / "out/report.html").read_text()
    assert "Not run: fast" in page
    assert kselect_in(tmp_path, "run", *flags, "--variant", "all").returncode == 0
    assert (tmp_path / "out/variants/fast/records.csv").is_file()


def test_a_variant_that_has_changed_is_not_reported(tmp_path: Path) -> None:
    """Results of an older version of a variant are not shown as those of the new one."""
    write_config(tmp_path, SMALL + VARIANTS)
    flags = ("small.yaml", "-o", "out", "-q", "--splits", "1", "-d", "sonar", "-c", "5-CV")
    assert kselect_in(tmp_path, "run", *flags, "--variant", "minmax").returncode == 0
    write_config(tmp_path, SMALL + VARIANTS.replace("scale: minmax", "scale: none"))
    assert kselect_in(tmp_path, "run", *flags).returncode == 0
    run = kselect_in(tmp_path, "report", "out")
    assert run.returncode == 2
    assert "out/variants/minmax: its results are of another definition" in run.stderr


def test_a_paper_of_your_own_goes_with_the_results(tmp_path: Path) -> None:
    """A run copies the paper that is next to the config; the report then needs nothing else."""
    write_config(tmp_path, f"paper: new\n{SMALL}")
    papers = tmp_path / "published"
    papers.mkdir()
    claim = "{id: first, kind: lower, text: 5-KS is better, left: 5-KS, right: k-CV}"
    (papers / "new.yaml").write_text(f"title: A new paper\nclaims:\n  - {claim}\n")
    head = "paper,table,dataset,method,setting,mean,spread,spread_kind"
    (papers / "new.csv").write_text(f"{head}\nnew,1,heart,5-CV,lam=0.1,17.5,2,sd\n")
    narrow = ("-d", "heart", "--splits", "2", "-o", "out", "-q")
    assert kselect_in(tmp_path, "run", "small.yaml", *narrow).returncode == 0
    (tmp_path / "out").rename(tmp_path / "moved")
    shutil.rmtree(papers)
    assert kselect_in(tmp_path, "report", "moved", "-q").returncode == 0
    tables = tmp_path / "moved/tables"
    assert "\nfirst,first,5-KS is better,lower," in (tables / "claims.csv").read_text()
    assert "heart,lam=0.1,5-CV,17.5,2,sd," in (tables / "published.csv").read_text()
    (tmp_path / "moved/published/new.yaml").unlink()
    assert "paper: unknown paper 'new'" in refused(tmp_path, "moved")


@pytest.mark.parametrize("path", KEPT_CONFIGS, ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_the_kept_config_names_every_committed_record(path: Path) -> None:
    """A parameter with a new default must not orphan records: a kept config states all values."""
    spec = load_config(path, FIGURES, checked=False)
    columns = ["part", "method", "params", "setting"]
    usual = dict.fromkeys([*columns, "dataset"], str)
    rows = pd.read_csv(path.parent / "records.csv", dtype=usual, usecols=list(usual))
    rows = rows.fillna("").drop_duplicates()
    for dataset, own in rows.groupby("dataset"):
        if dataset in spec.datasets:
            known = {k for m in spec.methods_on(str(dataset)) for k in record_keys(spec, m)}
            assert {*map(tuple, own[columns].to_numpy().tolist())} <= known
