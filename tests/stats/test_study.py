"""The shared input of report sections, with cached statistics."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import (
    experiment,
    full_experiment,
    full_records,
    known_paper,
    record,
    regression_experiment,
    study,
)

from kselect.stats import study as module
from kselect.stats.sources import Machine, read_facts
from kselect.stats.study import Study


def test_shared_results_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(study: Study, loss: str) -> str:
        calls.append(loss)
        return loss

    found = study(experiment(), [])
    assert [found.once(counted, loss) for loss in ("a", "b", "a")] == ["a", "b", "a"]
    assert calls == ["a", "b"]
    monkeypatch.setattr(module, "compare", lambda *_: calls.append("compared"))
    for _ in range(2):
        found.comparison("squared")
    assert calls == ["a", "b", "compared"]


def test_methods_by_the_names_of_records() -> None:
    """Every record's method is found; regressions have a loss of their own."""
    spec = regression_experiment(loss="zero-one")
    methods = study(spec, []).methods
    assert methods["table", "5-CV", "loss=squared"].params == (("loss", "squared"),)
    spec = full_experiment()
    found = study(spec, full_records(spec))
    made = zip(found.records["method"], found.records["made_by"], strict=True)
    assert all(method == made_by.label for method, made_by in made)
    assert study(experiment(), [record("heart", 0, "x", 0.1)]).records["made_by"].isna().all()


def test_why_a_data_set_is_absent() -> None:
    spec = experiment(datasets=("heart", "sonar", "a2a"))
    found = study(spec, [record("heart", 0, "5-CV", 0.1)], missing={"sonar": "no file"})
    assert found.absent == {"sonar": "no file", "a2a": "not run yet"}


def test_reconstructed_criteria_come_from_the_registry() -> None:
    assert list(study(full_experiment(), []).reconstructed) == ["EP"]
    assert study(experiment(), []).reconstructed == {}


def test_the_paper() -> None:
    assert study(experiment(), []).paper == known_paper("ecml2014")
    assert study(experiment(paper=""), []).paper is None


def test_facts_of_a_manifest() -> None:
    manifest = {
        "seed": 3, "jobs": 7, "failed_records": 2, "missing": {"a2a": "no file"},
        "environments": {"abc": {
            "jobs": 7, "python": "3.12", "packages": {"numpy": "2"}, "cpu": "one",
            "git": {"commit": "0123", "dirty": True}, "days": ["2026-01-30", "2026-02-01"],
        }},
        "data": {"heart": {"sha256": "ff", "from": "embedded"}},
    }  # fmt: skip
    facts = read_facts(manifest)
    assert (facts.seed, facts.jobs, facts.failed, facts.missing) == (3, 7, 2, {"a2a": "no file"})
    days = ("2026-01-30", "2026-02-01")
    (machine,) = facts.machines
    assert machine == Machine("abc", 7, "3.12", {"numpy": "2"}, "one", "0123", True, days)
    assert machine.when == "2026-01-30 to 2026-02-01"
    assert replace(machine, days=days[:1] * 2).when == "2026-01-30"
    assert replace(machine, days=()).when == ""
    assert [(d.dataset, d.source, d.sha256) for d in facts.data] == [("heart", "embedded", "ff")]
    assert read_facts({}).machines == ()
    assert read_facts({"environments": {"x": {"git": None}}}).machines[0].commit == ""
