"""Files of every released format are still read: models predict, results resume and report, configs mean the same.

``tests/samples/make.py`` has written them; ``kselect guide formats`` has the promise.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from experiments import load_config, message_of

from kselect import plugins
from kselect.cli.main import cli
from kselect.core import job as job_module
from kselect.errors import StoreError
from kselect.formats import CONFIG, JOB, MODEL, RESULTS, TIMING
from kselect.packaged import experiments

ROOT = Path(__file__).resolve().parents[1]
RELEASED = sorted(p for p in (ROOT / "tests/samples").iterdir() if re.fullmatch(r"\d.*", p.name))
MODELS = [path for folder in RELEASED for path in sorted((folder / "models").glob("*.npz"))]
CONFIGS = [path for folder in RELEASED for path in sorted((folder / "configs").glob("*.yaml"))]
# On the machine that has written them, predictions agree to 1e-12.
OTHER_BLAS = 1e-9


def name_of(path: Path) -> str:
    """Return the name of a sample in a test's name."""
    return f"{path.parents[1].name}-{path.stem}"


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Forget the plug-ins of a test."""
    yield
    for plugin in list(plugins.LOADED.values()):
        plugins.unload(plugin)


def typed(*arguments: object) -> str:
    """Run a command in this process and return what it prints on both streams."""
    done = CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def cells(path: Path) -> list[list[str]]:
    """Return the fields of a CSV."""
    with path.open(newline="") as lines:
        return list(csv.reader(lines))


def is_number(text: str) -> bool:
    """Return whether a field is a number."""
    return bool(re.fullmatch(r"-?\d+(\.\d+)?(e[-+]\d+)?", text))


def require_same(now: Path, before: Path) -> None:
    """Require the same texts in the same places, and the same numbers."""
    found = [field for path in (now, before) for row in cells(path) for field in [*row, "end"]]
    half = len(found) // 2
    pairs = list(zip(found[:half], found[half:], strict=True))
    numbers = [(float(a), float(b)) for a, b in pairs if is_number(a) and is_number(b)]
    assert numbers
    assert [a for a, b in pairs if not is_number(b)] == [b for _, b in pairs if not is_number(b)]
    np.testing.assert_allclose(*zip(*numbers, strict=True), rtol=OTHER_BLAS, atol=OTHER_BLAS)


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_a_model_predicts_what_it_predicted(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    facts = json.loads(Path("models.json").read_text())[model.stem]
    more = ["--interval", facts["interval"]] if facts["interval"] else []
    more += ["--plugin", "cauchy.py"] if model.stem == "plug-in" else []
    typed("predict", model.name, facts["table"], *more, "-o", tmp_path / "now.csv")
    require_same(tmp_path / "now.csv", model.with_suffix(".csv"))


def test_every_kind_of_model_has_a_sample() -> None:
    from samples.make import MODELS as KINDS

    for folder in RELEASED:
        assert {p.stem for p in (folder / "models").glob("*.npz")} == {*KINDS}


@pytest.mark.parametrize("path", CONFIGS, ids=name_of)
def test_a_config_means_what_it_meant(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The config with its defaults equals the one in which they were written out."""
    monkeypatch.chdir(path.parent)
    now, before = load_config(path), load_config(path.parent / "resolved" / path.name)
    for key in ("methods", "learners", "kernels", "lam", "datasets", "splits", "figures"):
        assert getattr(now, key) == getattr(before, key), key
    for key in (
        "seed",
        "scale",
        "scale_on",
        "scale_target",
        "train",
        "stratify",
        "ridge",
        "search",
    ):
        assert getattr(now, key) == getattr(before, key), key


def test_every_config_has_a_sample() -> None:
    newest = {p.stem for p in (RELEASED[-1] / "configs").glob("*.yaml")}
    assert newest == {*experiments(), "own", "init", "smith2024"}


@pytest.fixture(params=RELEASED, ids=lambda path: path.name)
def results(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return a copy of a release's samples, in whose folder of results the test runs."""
    copy = tmp_path / "samples"
    shutil.copytree(request.param, copy, ignore=shutil.ignore_patterns("models"))
    monkeypatch.chdir(copy / "results")
    monkeypatch.setenv("KSELECT_DATA_DIR", "none")
    return copy


@pytest.mark.usefixtures("pictures_alone", "results")
def test_results_resume_and_report() -> None:
    """As a clone has them, without jobs; records.csv stays as it is."""
    before = Path("quickstart/records.csv").read_bytes()
    run = ("run", "../configs/quickstart.yaml", "-o", "quickstart", "--splits", "2", "--offline")
    assert re.search(r" cells stored, 0 to compute; 0 jobs to run", typed(*run))
    assert "quickstart/report.html" in typed("report", "quickstart")
    assert Path("quickstart/records.csv").read_bytes() == before


@pytest.mark.usefixtures("pictures_alone", "results")
def test_results_with_jobs_plugin_claims_and_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later correction of a learner leaves the report as it is; run computes these cells again."""
    before = Path("own/records.csv").read_bytes()
    run = ("run", "../configs/own.yaml", "-o", "own", "--offline", "--dry-run")
    stored = re.search(r"(\d+) cells stored, 0 to compute", typed(*run))
    assert stored
    corrected = {**job_module.LEARNER_VERSIONS, "lssvm": 99}
    versions = {**job_module.VERSIONS, "learner": corrected}
    monkeypatch.setattr(job_module, "VERSIONS", versions)
    assert f"0 cells stored, {stored[1]} to compute" in typed(*run)
    said = typed("report", "own")
    assert "Stability helps." in said
    assert Path("own/records.csv").read_bytes() == before
    page = Path("own/report.html").read_text()
    assert "Seconds" in page
    assert "Stability helps." in page


@pytest.mark.usefixtures("pictures_alone")
def test_errors_are_judged_as_before(results: Path) -> None:
    folder = results / "judge"
    typed("judge", folder / "skewed.csv", "--claim", "m0 < m3", "-o", folder / "now", "-q")
    require_same(folder / "now/tables/claims.csv", folder / "claims.csv")


# --- later formats ----------------------------------------------------------------------------------


# file -> where its format is checked
LATER = {
    "own/manifest.json": "store.manifest.RESULTS",
    "own/jobs/heart/0.json": "store.jobs.JOB",
    "own/timing/heart.json": "store.timings.TIMING",
    "own/config.resolved.yaml": "config.document.CONFIG",
}


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize("file", LATER)
def test_a_later_format_is_refused_by_its_version(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an earlier kselect sees it: one line names the file, its format, and the kselect that wrote it."""
    module, _, name = f"kselect.{LATER[file]}".rpartition(".")
    form = getattr(import_module(module), name)
    earlier = replace(form, newest=form.newest - 1, oldest=0)
    monkeypatch.setattr(f"{module}.{name}", earlier)
    text = message_of(StoreError, typed, "report", "own")
    assert text.startswith(file)
    assert f"a {form.what} of format {form.newest}, written by kselect " in text
    assert "\n" not in text


def test_the_guide_has_the_numbers() -> None:
    guide = (ROOT / "kselect/guide/formats.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([a-z ]+) \|.*\| (\d+)[^|]*\|$", guide, re.MULTILINE))
    forms = (MODEL, RESULTS, JOB, TIMING, CONFIG)
    assert rows == {form.what: str(form.newest) for form in forms}
