"""Other packages' classes in a run and its report: next to ours, computed once, and reused."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from experiments import kselect_in, load_config

from kselect.cli.report import read_study
from kselect.core.job import Trial, missing_methods
from kselect.datasets.fetch import Places, default_cache, resolve
from kselect.plan import make_plan
from kselect.report.claims.judge import judge_claims
from kselect.stats.diagnostics import count_choices, edge_shares, estimator_runs
from kselect.stats.study import Study
from kselect.store.jobs import Store

OWN = """\
import warnings
import numpy as np

class Odd:
    def __init__(self, level=0):
        self.level = level
    def fit(self, X, y):
        if len(X) > 140 or self.level:
            raise RuntimeError("too many rows")
        warnings.warn("a guess", UserWarning)
    def predict(self, X):
        return np.zeros(len(X))
"""
OURS = """\
name: my
learner: lssvm
splits: 2
kernels: {gaussian: {tau: 2^-2:2^3:2}}
lam: {fixed: [0.001, 0.1]}
criteria: [5-CV, 5-KS]
datasets: [heart, sonar]
"""
OTHERS = """\
estimators:
  svc: {class: sklearn.svm.SVC, grid: {C: [0.5, 8], gamma: [0.02, 0.1]}}
  tree: {class: sklearn.tree.DecisionTreeClassifier}
  odd: {class: odd_in_a_run.Odd, grid: {level: [0, 1]}}
  absent: {class: nobodys.trees.Tree}
claims:
  - {id: one, kind: lower, left: svc, right: tree, text: SVC beats a tree}
  - {id: two, kind: lower, left: 5-CV, right: svc, text: ours beats SVC}
  - {id: three, kind: lower, left: 5-CV, right: svc, setting: lam = 0.1, text: at one ridge}
  - {id: good, kind: good setting, setting: lam = 0.001, text: it is good}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which our columns were run first, then the others, and reported."""
    here = tmp_path_factory.mktemp("columns")
    (here / "odd_in_a_run.py").write_text(OWN)
    hook = f"import sys; sys.path.insert(0, {str(here)!r})"
    (here / "my.yaml").write_text(OURS)
    first = kselect_in(here, "run", "my.yaml", "--offline")
    assert first.returncode == 0, first
    (here / "before.csv").write_bytes((here / "results/my/records.csv").read_bytes())
    (here / "before.json").write_text((here / "results/my/jobs/heart/0.json").read_text())
    (here / "my.yaml").write_text(OURS + OTHERS)
    second = kselect_in(here, "run", "my.yaml", "--offline", hook=hook)
    (here / "stderr.txt").write_text(second.stderr)
    report = kselect_in(here, "report", "results/my")
    assert (second.returncode, report.returncode) == (1, 0), (second, report)
    return here


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


@pytest.fixture(scope="module")
def study(folder: Path) -> Study:
    return read_study(folder / "results/my")


def test_each_column_has_one_record_per_split(folder: Path) -> None:
    found = rows(folder / "results/my/records.csv")
    assert Counter(r["method"] for r in found) == {
        "5-CV": 8, "5-KS": 8, "svc": 4, "tree": 4, "odd": 4,
    }  # fmt: skip
    assert {r["setting"] for r in found if r["method"] == "svc"} == {"selected"}
    assert {r["criterion"] for r in found if r["method"] == "svc"} == {"sklearn.svm.SVC"}


def test_stored_columns_are_reused(folder: Path) -> None:
    """Our records stay byte for byte, and the time of their search is kept."""
    before = (folder / "before.csv").read_text().splitlines()
    after = (folder / "results/my/records.csv").read_text().splitlines()
    assert [line for line in after if ",5-CV," in line or ",5-KS," in line] == before[1:]
    seconds = json.loads((folder / "before.json").read_text())["seconds"]
    now = json.loads((folder / "results/my/jobs/heart/0.json").read_text())["seconds"]
    assert seconds == {name: now[name] for name in ("search", "test")}


def test_seconds_have_a_column_for_each(folder: Path) -> None:
    found = rows(folder / "results/my/seconds.csv")
    assert list(found[0])[-3:] == ["svc", "tree", "odd"]
    assert all(float(row["svc"]) > 0 for row in found)


def test_failures_warnings_and_missing_packages_are_told(folder: Path, study: Study) -> None:
    """The class of one's own fails with the rows of heart, and warns with those of sonar's folds."""
    told = (folder / "stderr.txt").read_text()
    assert "skipped: absent: the package nobodys is not installed\n" in told
    assert "failed: heart, split 0, odd: no point of the grid could be fitted" in told
    runs = {e.label: e for e in estimator_runs(study)}
    assert (runs["svc"].failed, runs["svc"].warned, runs["svc"].excluded) == (0, 0, 0.0)
    assert (runs["odd"].runs, runs["odd"].failed) == (4, 4)
    failed = {
        r["dataset"]: r["reason"] for r in rows(folder / "results/my/records.csv") if r["reason"]
    }
    assert failed["sonar"] == "at level=0: RuntimeError: too many rows"
    page = (folder / "results/my/report.html").read_text()
    assert "absent is left out: the package nobodys was not installed." in page
    assert "Left out: absent, as the package nobodys was not installed." in page


def test_a_changed_estimator_is_computed_again_and_nothing_else(folder: Path) -> None:
    import sys

    sys.path.insert(0, str(folder))
    try:
        (folder / "other.yaml").write_text((OURS + OTHERS).replace("[0.5, 8]", "[0.5, 9]"))
        experiment = load_config(folder / "other.yaml")
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("odd_in_a_run", None)
    study = read_study(folder / "results/my")
    store = Store(folder / "results/my")
    job = store.read("heart", 0)
    assert job is not None
    source = resolve(experiment.info("heart"), Places(default_cache(), offline=True))
    trial = Trial("heart", 0, experiment.methods_on("heart"), source)
    pending = missing_methods(experiment, trial, job.cells, retry_failed=False)
    assert [m.label for m in pending] == ["svc"]
    assert study.facts.failed == 4
    assert make_plan(experiment, {}, {}, store).trials == ()


def test_a_changed_grid_is_named(folder: Path) -> None:
    """Its cells count as stored but no longer valid; the line names the key of this estimator only."""
    (folder / "wider.yaml").write_text((OURS + OTHERS).replace("[0.5, 8]", "[0.5, 8, 32]"))
    hook = f"import sys; sys.path.insert(0, {str(folder)!r})"
    result = kselect_in(folder, "run", "wider.yaml", "--offline", "-n", hook=hook)
    assert result.returncode == 0, result
    assert "4 to compute" in result.stderr
    line = "4 of them are stored but no longer valid: estimators.svc.grid.C: 0.5,8 there, 0.5,8,32 here"
    assert line in result.stderr.splitlines()


def test_the_columns_carry_a_mark_and_a_legend(folder: Path) -> None:
    table = (folder / "results/my/tables/table1.md").read_text()
    assert "svc‡" in table
    assert "5-CV‡" not in table
    assert "svc‡ is another package's: sklearn.svm.SVC (scikit-learn " in table
    words = "C and gamma chosen from 4 points by 5-fold cross-validation on the training rows"
    assert words in table
    assert "it has no λ and stands under each" in table
    assert r"svc$^{\ddagger}$" in (folder / "results/my/tables/table1.tex").read_text()
    pairs = rows(folder / "results/my/tables/table1-pairs.csv")
    assert ("svc", "tree") in {(r["first"], r["second"]) for r in pairs}


def test_each_stands_under_every_ridge_and_counts_once(study: Study) -> None:
    comparison = study.comparison("squared")
    cells = [found["heart", "svc"] for found in comparison.cells.values()]
    assert len(cells) == 2
    assert cells[0].errors == cells[1].errors
    # two methods under two ridges, and three estimators once; two data sets with two splits
    assert sum(comparison.coverage()) == (2 * 2 + 3) * 4
    assert comparison.coverage().failures == 4


def test_claims_compare_two_estimators_once(study: Study) -> None:
    found = {j.claim.id: j.finding for j in judge_claims(study)}
    tables = {name: finding.table for name, finding in found.items()}
    counts = {name: len(t.rows) for name, t in tables.items() if t is not None}
    assert counts == {"one": 1, "two": 2, "three": 1, "good": 2}
    assert "svc" not in str(tables["good"])


def test_the_grid_of_an_estimator_is_not_ours(study: Study) -> None:
    assert [e.method for e in edge_shares(study, "squared")] == ["5-CV", "5-KS"]
    assert {label for _, label in count_choices(study, "squared")} == {"5-CV", "5-KS"}


def test_an_added_column_keeps_the_seconds_of_a_clone(folder: Path) -> None:
    """A clone has records without jobs; a job of estimators only replaces nothing of what stands there."""
    clone, done = folder / "clone", folder / "results/my"
    (clone / "results/my").mkdir(parents=True)
    for name in ("records.csv", "seconds.csv", "manifest.json"):
        (clone / "results/my" / name).write_bytes((done / name).read_bytes())
    more = OTHERS.partition("claims:")[0].replace("tree:", "other:").replace("  odd:", "  # odd:")
    (clone / "my.yaml").write_text(OURS + more)
    run = kselect_in(clone, "run", "my.yaml", "--offline", "-c", "other", "-d", "heart")
    assert run.returncode == 0, run
    old, new = (rows(d / "seconds.csv")[0] for d in (done, clone / "results/my"))
    assert {k: new[k] for k in ("search", "test", "svc")} == {
        k: old[k] for k in ("search", "test", "svc")
    }
    assert float(new["other"]) > 0
    kept = [r for r in rows(clone / "results/my/records.csv") if r["method"] != "other"]
    assert kept == [r for r in rows(done / "records.csv") if r["method"] not in ("tree", "odd")]
