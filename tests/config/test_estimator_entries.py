"""Entries under estimators: what they mean, each mistake with its line, and what a results folder keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from experiments import load_config, message_of

from kselect.config.document import read_document
from kselect.config.estimator_entries import read_values
from kselect.config.load import Loaded, load
from kselect.config.load import load_config as load_for
from kselect.core.experiment import Experiment
from kselect.core.job import protocol_of
from kselect.core.method import SELECTED, Estimator
from kselect.errors import ConfigError
from kselect.report.sections import FIGURES

MY = Path("my.yaml")
BASE = """\
name: my
learner: lssvm
kernels: {gaussian: {tau: 2^-1:2^1}}
lam: {fixed: [0.001, 0.01]}
criteria: [5-CV, 10-KS]
datasets: DATASETS
estimators:
"""
SVC = "svc: {class: sklearn.svm.SVC, grid: {C: 2^-1:2^3:2, kernel: [rbf, linear]}}"


def write(*entries: str, datasets: str = "[heart, sonar]", more: str = "") -> None:
    text = BASE.replace("DATASETS", datasets) + "".join(f"  {e}\n" for e in entries)
    MY.write_text(text + more)


def read(*entries: str, **more: Any) -> Experiment:
    write(*entries, **more)
    return load_config(MY)


def problem(*entries: str, **more: Any) -> str:
    write(*entries, **more)
    return message_of(ConfigError, load_config, MY)


def estimator_of(experiment: Experiment, label: str) -> Estimator:
    found = next(m for m in experiment.table if m.label == label).estimator
    assert found is not None
    return found


def test_what_an_entry_means() -> None:
    found = read(SVC, "tree: {class: sklearn.tree.DecisionTreeClassifier}")
    assert found.labels == ("5-CV", "10-KS", "svc", "tree")
    assert found.estimators == {"svc", "tree"}
    assert found.criteria == ("5-CV", "10-KS")
    svc, tree = (m for m in found.table if m.estimator)
    assert (svc.folds, tree.folds, svc.criterion) == (5, None, "sklearn.svm.SVC")
    assert estimator_of(found, "svc").grid == (
        ("C", (0.5, 2.0, 8.0)),
        ("kernel", ("rbf", "linear")),
    )
    assert len(estimator_of(found, "svc").points) == 6
    assert estimator_of(found, "tree").points == ((),)
    assert found.settings_of(svc) == (SELECTED,)
    for part in ("class=sklearn.svm.SVC(C=0.5|2.0|8.0,kernel='rbf'|'linear')", "folds=5"):
        assert part in svc.text.split(";")
    assert "version=scikit-learn " in svc.text


def test_folds_parameters_and_powers() -> None:
    found = read(
        "svc: {class: sklearn.svm.SVC, parameters: {C: 2^-3, degree: 2^1}, grid: {gamma: 2}, folds: 3}"
    )
    assert estimator_of(found, "svc").params == (("C", 0.125), ("degree", 2))
    assert next(m for m in found.table if m.label == "svc").folds == 3


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("2^-5:2^-1:2", (2.0**-5, 2.0**-3, 0.5)),
        ("2^1:2^3", (2, 4, 8)),
        ([1, 0.5, "2^2:2^3"], (1, 0.5, 4, 8)),
        (["a", None, True], ("a", None, True)),
        ([[3, 2], [1]], ((3, 2), (1,))),
        (7, (7,)),
    ],
)
def test_grids(written: object, values: tuple[Any, ...]) -> None:
    """Whole numbers stay whole, because a class may count with them."""
    found = read_values(written)
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{class: sklearn.svm.SVC, clas: 1}", "svc.clas: unknown key; did you mean 'class'?"),
        ("{grid: {C: 1}}", "svc: class: this key is missing"),
        ("{class: 3}", "svc.class: must be text, not the number 3"),
        (
            "{class: sklearn.svm.LinearSVX}",
            "svc.class: sklearn.svm has no class LinearSVX; did you mean",
        ),
        (
            "{class: sklearn.svm.SVC, parameters: {c: 1}}",
            "svc.parameters.c: unknown parameter of sklearn.svm.SVC; did you mean 'C'?",
        ),
        (
            "{class: sklearn.svm.SVC, grid: {gama: 1}}",
            "svc.grid.gama: unknown parameter of sklearn.svm.SVC; did you mean 'gamma'?",
        ),
        (
            "{class: sklearn.svm.SVC, grid: {C: 1}, parameters: {C: 2}}",
            "svc.grid.C: C is under parameters too",
        ),
        (
            "{class: sklearn.svm.SVC, grid: {}}",
            "svc.grid: must be a mapping such as {C: 2^-5:2^15:2}",
        ),
        ("{class: sklearn.svm.SVC, grid: {C: rbf}}", "svc.grid.C: 'rbf' is not a number"),
        (
            "{class: sklearn.svm.SVC, grid: {C: [1, 1]}}",
            "svc.grid.C: the grid holds 1 more than once",
        ),
        ("{class: sklearn.svm.SVC, parameters: {C: {a: 1}}}", "svc.parameters.C: must be a value"),
        ("{class: sklearn.svm.SVC, folds: 5}", "svc.folds: chooses from a grid; there is none"),
        (
            "{class: sklearn.svm.SVC, grid: {C: 1}, folds: 1}",
            "svc.folds: must be a whole number, 2",
        ),
        ("{class: sklearn.svm.SVC, task: both}", "svc.task: must be classification or regression"),
        ("{class: sklearn.svm.SVR}", "svc.class: this config has no regression data set"),
        (
            "{class: sklearn.svm.SVC, task: regression}",
            "svc.class: sklearn.svm.SVC is a classifier, not for regression",
        ),
        (
            "{class: sklearn.model_selection.GridSearchCV}",
            "svc: sklearn.model_selection.GridSearchCV needs estimator and param_grid",
        ),
        ("{class: collections.OrderedDict}", "svc.class: the class collections.OrderedDict has no"),
        ("{classification: 3}", "svc.classification: must be a mapping (class: ...)"),
        (
            "{classification: {class: sklearn.svm.SVC, task: classification}}",
            "svc.classification.task: stands under classification already",
        ),
    ],
)
def test_mistakes(entry: str, words: str) -> None:
    said = problem(f"svc: {entry}")
    assert said.startswith(f"my.yaml:8: estimators.{words}"), said
    assert "\n" not in said


def test_names_that_are_taken() -> None:
    for name, words in (("search", "a column of seconds.csv"), ("5-CV", "a criterion")):
        said = problem(f"{name}: {{class: sklearn.svm.SVC}}")
        assert f"{name} is already the name of {words}; choose another" in said


def test_a_classifier_needs_a_restriction_if_there_is_a_regression() -> None:
    both = "[heart, mpg]"
    said = problem("svc: {class: sklearn.svm.SVC}", datasets=both)
    words = "sklearn.svm.SVC is a classifier, and this config has regression data sets"
    assert said.endswith(f"{words}; restrict it with task: classification")
    found = read("svc: {class: sklearn.svm.SVC, task: classification}", datasets=both)
    assert ["svc" in [m.label for m in found.methods_on(d)] for d in found.datasets] == [
        True,
        False,
    ]
    entry = "{classification: {class: sklearn.svm.SVC}, regression: {class: sklearn.svm.SVR}}"
    found = read(f"svm: {entry}", datasets=both)
    assert found.labels == ("5-CV", "10-KS", "svm")
    paths = [m.criterion for d in found.datasets for m in found.methods_on(d) if m.estimator]
    assert paths == ["sklearn.svm.SVC", "sklearn.svm.SVR"]


def test_a_package_that_is_not_installed_is_skipped_with_the_reason() -> None:
    found = read(SVC, "mine: {class: nobodys.trees.Tree}")
    assert found.labels == ("5-CV", "10-KS", "svc")
    assert found.skipped == (("mine", "the package nobodys is not installed"),)
    said = message_of(ConfigError, load_config, MY, {"criteria": ["mine"]})
    assert said == "--criterion: 'mine' cannot be run: the package nobodys is not installed"


def test_another_version_than_the_one_asked_for_is_skipped() -> None:
    found = read("svc: {class: sklearn.svm.SVC, version: scikit-learn 0.1}")
    ((label, why),) = found.skipped
    assert label == "svc"
    assert why.startswith("it needs scikit-learn 0.1; scikit-learn ")


def loaded(folder: Path) -> Loaded:
    return load(MY, FIGURES, {}, lambda _: folder)


def kept(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.resolved.yaml").write_text(loaded(folder).resolved)
    return folder / "config.resolved.yaml"


def test_a_results_folder_keeps_grids_and_versions(tmp_path: Path) -> None:
    """A report reads the same experiment back, without the packages."""
    write(SVC, "mine: {class: nobodys.trees.Tree}")
    path = kept(tmp_path / "out")
    back = load_for(path, FIGURES, checked=False)
    assert back.methods == loaded(path.parent).whole.methods == loaded(path.parent).asked.methods
    assert back.skipped == (("mine", "the package nobodys was not installed"),)
    text = path.read_text().replace("sklearn.svm.SVC", "nobodys.svm.SVC")
    path.write_text(text)
    assert load_for(path, FIGURES, checked=False).labels == ("5-CV", "10-KS", "svc")


def test_a_folder_keeps_the_columns_that_a_config_no_longer_names(tmp_path: Path) -> None:
    write(SVC)
    path = kept(tmp_path / "out")
    write("tree: {class: sklearn.tree.DecisionTreeClassifier}")
    whole = loaded(path.parent).whole
    assert whole.labels == ("5-CV", "10-KS", "tree", "svc")
    assert loaded(path.parent).asked.labels == ("5-CV", "10-KS", "tree")


def test_estimators_are_no_part_of_the_protocol() -> None:
    """Adding one invalidates nothing that is stored."""
    with_svc, without = read(SVC), read("tree: {class: sklearn.tree.DecisionTreeClassifier}")
    assert protocol_of(with_svc, "heart", "x") == protocol_of(without, "heart", "x")


@pytest.mark.parametrize(
    "other",
    [
        "svc: {class: sklearn.svm.NuSVC, grid: {nu: [0.1, 0.2]}}",
        SVC.replace("2^3:2", "2^5:2"),
        SVC.replace("]}}", "]}, folds: 3}"),
        SVC.replace("]}}", "]}, parameters: {gamma: 1}}"),
    ],
)
def test_class_grid_folds_and_parameters_are_part_of_the_identity(other: str) -> None:
    texts = [next(m.text for m in read(e).table if m.label == "svc") for e in (SVC, other)]
    assert texts[0] != texts[1]


VARIANT = f"""\
variants:
  more:
    estimators: {{{SVC}}}
    claims:
      - {{id: mine, kind: lower, left: 5-CV, right: svc, setting: lam = 0.001, text: t}}
"""


def test_a_variant_may_add_estimators_and_claims() -> None:
    MY.write_text(BASE.replace("DATASETS", "[heart]").replace("estimators:\n", "") + VARIANT)
    main = load_config(MY)
    assert main.claims == ()
    assert [(v.name, v.changes, v.reading) for v in main.variants] == [
        ("more", "estimators svc", False)
    ]
    found = load(MY, FIGURES, {}, lambda _: Path("none"), "more").asked
    assert found.labels == ("5-CV", "10-KS", "svc")
    assert [c.id for c in found.claims] == ["mine"]
    wrong = VARIANT.replace("right: svc", "right: svd")
    MY.write_text(BASE.replace("DATASETS", "[heart]").replace("estimators:\n", "") + wrong)
    said = message_of(ConfigError, load_config, MY)
    assert said.startswith("my.yaml:11: ")
    assert "'svd' is not a method of my.yaml" in said


def test_the_config_is_read_as_written() -> None:
    """Reading changes nothing in the document that another reader may need."""
    write(SVC)
    document = read_document(MY)
    assert document.data["estimators"]["svc"]["grid"]["C"] == "2^-1:2^3:2"
