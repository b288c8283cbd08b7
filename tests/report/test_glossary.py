"""The abbreviations on a page: every criterion and learner of kselect has a meaning in words."""

from __future__ import annotations

from collections.abc import Iterator

from experiments import load_config
from synthetic import experiment

from kselect.core.experiment import Experiment
from kselect.criteria import CRITERIA
from kselect.learners import LEARNERS
from kselect.packaged import experiments
from kselect.report.glossary import explain, join_terms, terms


def committed() -> Iterator[Experiment]:
    """Yield the experiments that come with kselect."""
    for path in experiments().values():
        yield load_config(path)


def test_every_name_of_a_packaged_experiment_is_explained() -> None:
    known = terms()
    for one in committed():
        methods = [m for m in one.table if not m.estimator]
        assert {m.criterion for m in methods} <= known["criteria"].keys(), one.name
        assert {choice.name for _, choice in one.learners} <= known["learners"].keys(), one.name
        explained = explain([one])
        assert {m.criterion for m in methods} <= dict(explained).keys()
        assert explained[-1] == [*known["signs"].items()][-1]


def test_no_meaning_is_left_over() -> None:
    known = terms()
    assert known["criteria"].keys() <= set(CRITERIA)
    assert known["learners"].keys() <= set(LEARNERS)


def test_terms_of_several_experiments_are_in_order() -> None:
    """Criteria come first, in alphabetical order, whatever the order of the experiments."""
    every = list(committed())
    joined = join_terms(explain([one]) for one in every)
    names = [name for name, _ in joined if name in terms()["criteria"]]
    assert names == sorted(names, key=str.casefold)
    assert not join_terms([])
    assert explain([experiment()])
