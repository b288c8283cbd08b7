"""The captions of tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import experiment, method, regression_experiment, study

from kselect.core.experiment import SplitLimit
from kselect.core.method import SELECTED, Choice, Setting
from kselect.kernels.polynomial import Polynomial
from kselect.report.words import (
    dagger_notes,
    describe_edges,
    describe_fewer_splits,
    describe_protocol,
    describe_run,
    duration,
    note_edges,
    title_setting,
)
from kselect.stats.diagnostics import EdgeShares

MIXED = (
    ("classification", Choice("svm", (("C", 2.0),))),
    ("regression", Choice("krr")),
)


def test_fewer_splits_in_one_sentence() -> None:
    """A number that most data sets share is said once, without their names."""
    names = ("heart", "sonar", "a2a")
    most = experiment(datasets=names, fewer_splits=tuple(SplitLimit(4, dataset=d) for d in names))
    assert list(describe_fewer_splits(study(most, []))) == ["Only 4 of 10 splits were run."]
    one = replace(most, fewer_splits=(*most.fewer_splits, SplitLimit(1, dataset="a2a")))
    assert list(describe_fewer_splits(study(one, []))) == ["Only 4 of 10 splits were run (a2a: 1)."]
    rest = replace(most, fewer_splits=most.fewer_splits[1:2])
    assert list(describe_fewer_splits(study(rest, []))) == [
        "Fewer than 10 splits were run on sonar (4)."
    ]
    assert not list(describe_fewer_splits(study(experiment(), [])))


def test_a_protocol_in_one_sentence() -> None:
    assert describe_protocol(experiment(), "squared") == (
        "LSSVM, features z-scored on the whole data set, 10 random splits with 70 % for training, "
        "21 gaussian kernels, λ fixed; criteria that average a loss use the squared loss."
    )
    regression = describe_protocol(regression_experiment(), "zero-one")
    assert regression.endswith("use the zero-one loss, for regression the squared loss.")


def test_a_learner_for_each_task() -> None:
    spec = regression_experiment(learners=MIXED)
    words = "SVM (C=2) for classification and kernel ridge regression for regression, features"
    assert describe_protocol(spec, "squared").startswith(words)
    only = experiment(learners=MIXED)
    assert describe_protocol(only, "squared").startswith("SVM (C=2), features")


def test_splits() -> None:
    fewer = (SplitLimit(4, dataset="sonar"),)
    for spec, words in (
        (
            experiment(splits=(3,), stratify=True),
            "1 stratified random split with 70 % for training",
        ),
        (experiment(train=None), "10 given splits"),
        (experiment(fewer_splits=fewer), "10 random splits (fewer if a row says so) with 70 %"),
    ):
        assert f", {words}" in describe_protocol(spec, "squared")
    everywhere = experiment(
        fewer_splits=tuple(SplitLimit(4, dataset=d) for d in experiment().datasets)
    )
    assert "4 of 10 random splits with 70 %" in describe_protocol(everywhere, "squared")
    elsewhere = experiment(fewer_splits=(SplitLimit(4, dataset="a2a"),))
    assert "fewer" not in describe_protocol(elsewhere, "squared")


@pytest.mark.parametrize(
    ("setting", "title"),
    [(Setting(0, 0.001), "λ = 0.001"), (Setting(1, 10.0, "n lam"), "n λ = 10"), (SELECTED, "")],
)
def test_settings(setting: Setting, title: str) -> None:
    assert title_setting(setting) == title


def test_captions_name_tuned_parameters_and_scoring_learners() -> None:
    tuned = replace(method("RKS", "RKS", None), tuned=(("eta", (1.0, 32.0)),))
    scored = replace(method("ELOO", "ELOO", None), scored_by=(("classification", Choice("lssvm")),))
    learners = (("classification", Choice("svm", (("bias", True),))),)
    spec = experiment(methods=(tuned, scored), tune_folds=5, learners=learners)
    assert tuple(dagger_notes(study(spec, []), "squared")) == (
        "RKS: eta is chosen from 1, 2^5 by 5-fold cross-validation on the training rows.",
        "ELOO: for classification scored by LSSVM, then SVM (bias=true) is trained (reconstructed: the paper does "
        "not state it).",
    )
    assert not list(dagger_notes(study(replace(spec, methods=()), []), "squared"))
    (own,) = dagger_notes(study(replace(spec, paper="", methods=(scored,)), []), "squared")
    assert own == "ELOO: for classification scored by LSSVM, then SVM (bias=true) is trained."


def test_captions_describe_criteria_on_the_searched_kernels() -> None:
    """SPS's penalty may be constant, and BR's Omega reconstructed."""
    sps, br = method("SPS", "SPS", None, delta=1.0), method("BR", "BR", None)
    spec = experiment(methods=(sps, br))
    (gaussian,) = dagger_notes(study(spec, []), "squared")
    assert gaussian.startswith(
        "SPS: its penalty, delta tr(K) / n^2, is the same for every Gaussian"
    )
    other = replace(spec, kernels=(Polynomial(2),))
    (polynomial,) = dagger_notes(study(other, []), "squared")
    assert polynomial.startswith("BR: for a polynomial kernel Omega is degree^2 / 2")
    both = replace(spec, kernels=(*spec.kernels, Polynomial(2)))
    assert len(list(dagger_notes(study(both, []), "squared"))) == 2


def test_edges() -> None:
    shares = EdgeShares("5-CV", 10, (0.0, 0.0, 0.8, 0.0), 0.8)
    assert describe_edges(()) == ""
    assert "(5-CV 80 %)" in describe_edges([shares])


def test_the_caution_in_short_names_at_most_three_methods() -> None:
    """The methods with the largest shares come first."""
    shares = [EdgeShares(m, 9, (), s) for m, s in (("A", 0.6), ("ER", 1.0), ("B", 0.7), ("C", 0.9))]
    assert note_edges([]) == ()
    assert note_edges(shares[1:2]) == ("edge of the grid: ER 100 %",)
    assert note_edges(shares) == ("edge of the grid: ER 100 %, C 90 %, B 70 %, 1 more",)


@pytest.mark.parametrize(
    ("seconds", "words"), [(4.6, "5 s"), (330, "6 min"), (5220, "1 h 27 min"), (3600, "1 h 0 min")]
)
def test_a_duration_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_how_long_a_run_took() -> None:
    assert describe_run(0, ["a CPU"]) == ""
    assert describe_run(330, []) == "6 min in one process"
    assert describe_run(330, ["a CPU", "", "a CPU"]) == "6 min in one process (a CPU)"
