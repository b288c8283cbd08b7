"""What a claim speaks of: methods, pairs, data sets and figures."""

from __future__ import annotations

from dataclasses import replace

from synthetic import experiment, full_experiment, method, record, regression_experiment, study

from kselect.core.claim import Claim
from kselect.report.claims.scope import (
    find_datasets,
    find_figure,
    find_methods,
    find_pairs,
)
from kselect.report.figures.discrepancy import Discrepancy
from kselect.report.figures.sweep import Sweep

SAME = Claim("1", "same", "", left=("k-KS",), right=("k-CV",), same_folds=True)


def test_patterns_name_a_criterion_and_labels_a_method() -> None:
    spec = full_experiment()
    assert find_pairs(spec, SAME) == [("5-KS", "5-CV"), ("10-KS", "10-CV")]
    every = replace(SAME, same_folds=False)
    assert len(find_pairs(spec, every)) == 4
    assert find_pairs(spec, replace(every, right=("BR", "EP"))) == [
        ("5-KS", "BR"),
        ("5-KS", "EP"),
        ("10-KS", "BR"),
        ("10-KS", "EP"),
    ]
    pairs = find_pairs(regression_experiment(), replace(SAME, left=("BIF-k-CV",)))
    assert pairs == [(f"BIF-{k}-CV", f"{k}-CV") for k in (5, 10, 20)]


def test_a_method_that_a_variant_changed_keeps_its_name() -> None:
    changed = method("5-KS(eta=4)", "k-KS", 5, eta=4.0)
    spec = experiment(methods=(method("5-CV", "k-CV", 5), changed))
    assert [m.label for m in find_methods(spec, ["5-KS"])] == ["5-KS(eta=4)"]
    both = replace(spec, methods=(*spec.methods, method("5-KS(eta=8)", "k-KS", 5, eta=8.0)))
    assert find_methods(both, ["5-KS"]) == []
    assert find_methods(spec, ["RKS"]) == []


def test_data_sets_of_a_task_and_without_some() -> None:
    spec = regression_experiment(datasets=("heart", "sonar", "mpg"))
    rows = [record(d, 0, "EP", 0.1) for d in ("heart", "mpg")]
    found = study(spec, rows)
    assert list(find_datasets(found, SAME)) == ["heart", "sonar", "mpg"]
    assert list(find_datasets(found, replace(SAME, task="regression"))) == ["mpg"]
    assert list(find_datasets(found, replace(SAME, without=("sonar",)))) == ["heart", "mpg"]
    assert list(find_datasets(found, replace(SAME, datasets=("sonar", "a2a")))) == ["sonar"]


def test_a_stand_in_serves_if_the_other_has_no_records() -> None:
    names = ("twonorm", "twonorm-generated", "heart")
    spec = experiment(datasets=names)
    both = study(spec, [record(d, 0, "5-CV", 0.1) for d in names])
    assert find_datasets(both, SAME) == {"twonorm": "twonorm", "heart": "heart"}
    drawn = study(spec, [record(d, 0, "5-CV", 0.1) for d in names[1:]])
    assert find_datasets(drawn, SAME)["twonorm"] == "twonorm-generated"
    only = study(experiment(datasets=names[1:]), [record(names[1], 0, "5-CV", 0.1)])
    assert find_datasets(only, replace(SAME, datasets=("twonorm",))) == {"twonorm": names[1]}


def test_a_figure_is_found_by_its_key_and_kind() -> None:
    spec = full_experiment()
    claim = replace(SAME, kind="robust", figure="eta-sweep")
    assert find_figure(study(spec, []), claim, Sweep) == spec.figures[0]
    assert find_figure(study(spec, []), claim, Discrepancy) is None
    assert find_figure(study(spec, []), replace(claim, figure="other"), Sweep) is None
