"""Other packages' classes: the choice equals scikit-learn's own search, and mistakes of a class stay its own."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import message_of
from problems import rows, side_of
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVC

from kselect.core.grid_point import EstimatorFit, SearchFailure
from kselect.core.method import Estimator
from kselect.errors import ConfigError
from kselect.estimators import NotInstalledError, find_class, run_estimator
from kselect.search import TrainingContext

OWN = """\
import warnings
import numpy as np

class Odd:
    def __init__(self, level=0, seen=None, random_state=None):
        self.level, self.seen, self.random_state = level, seen, random_state
    def fit(self, X, y):
        if self.level == 1:
            raise RuntimeError("no level 1\\nsecond line, /home/me/file.py")
        if self.level == 6:
            warnings.warn("nearly there", UserWarning)
        self.top = y.max()
        return self
    def predict(self, X):
        if self.level == 2:
            return np.zeros((len(X), 2))
        if self.level == 3:
            return np.full(len(X), np.nan)
        if self.level == 4:
            return np.full(len(X), 0.5)
        if self.level == 5:
            return np.full(len(X), self.random_state % 2)
        return np.full(len(X), self.top)

class Deaf:
    def fit(self, X, y):
        return self
"""


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a module of one's own on the path."""
    (tmp_path / "odd_classes.py").write_text(OWN)
    (tmp_path / "broken_module.py").write_text("raise OSError('no licence')\n")
    (tmp_path / "needs_more.py").write_text("import a_package_of_nobody\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("odd_classes", "broken_module", "needs_more"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    find_class.cache_clear()


def side(seed: int = 0, **more: Any) -> TrainingContext:
    X, y = rows(40, 3, seed)
    return side_of((), X, more.pop("y", y), (0.1,), seed=seed, **more)


def fit(side: TrainingContext, path: str, folds: int | None = None, **given: Any) -> EstimatorFit:
    found = tried(side, path, folds, **given)
    assert isinstance(found, EstimatorFit), found
    return found


def tried(
    side: TrainingContext, path: str, folds: int | None = None, **given: Any
) -> EstimatorFit | SearchFailure:
    """Fit a class; a list is a grid."""
    grid = tuple((k, tuple(v)) for k, v in given.items() if isinstance(v, list))
    params = tuple((k, v) for k, v in given.items() if not isinstance(v, list))
    return run_estimator(side, side.X[:7] + 0.1, Estimator(path, "", params, grid), folds)


def test_the_choice_is_that_of_an_exhaustive_search_on_the_same_folds() -> None:
    """scikit-learn's own search, with our folds of k-CV, chooses and predicts the same."""
    here = side(3)
    grid = {"C": [0.01, 0.5, 20.0], "gamma": [0.01, 0.3, 4.0]}
    found = fit(here, "sklearn.svm.SVC", 5, kernel="rbf", **grid)
    split = PredefinedSplit(here.folds(5).numbers)
    search = GridSearchCV(SVC(kernel="rbf"), grid, scoring="accuracy", cv=split)
    search.fit(here.X, here.targets[0])
    assert dict(found.chosen) == search.best_params_
    assert found.score == pytest.approx(1 - search.best_score_, abs=1e-12)
    np.testing.assert_array_equal(found.decisions, search.predict(here.X[:7] + 0.1)[None])


def test_the_number_of_folds_is_used() -> None:
    here = side(1)
    scores = {k: fit(here, "sklearn.svm.SVC", k, C=[0.5, 2.0]).score for k in (2, 5)}
    split = PredefinedSplit(here.folds(2).numbers)
    search = GridSearchCV(SVC(), {"C": [0.5, 2.0]}, cv=split).fit(here.X, here.targets[0])
    assert scores[2] == pytest.approx(1 - search.best_score_, abs=1e-12)
    assert scores[2] != scores[5]


def test_equal_scores_choose_the_first_point() -> None:
    assert fit(side(), "odd_classes.Odd", 5, level=[0, 6]).chosen == (("level", 0),)
    assert fit(side(), "odd_classes.Odd", 5, level=[6, 0]).chosen == (("level", 6),)


def test_a_regression_is_scored_by_squared_errors() -> None:
    X, _ = rows(40)
    y = X[:, 0] * 2 + np.sin(9 * X[:, 1])
    here = side_of((), X, y, (0.1,))
    found = fit(here, "sklearn.linear_model.Ridge", 4, alpha=[0.1, 100.0])
    split = PredefinedSplit(here.folds(4).numbers)
    search = GridSearchCV(
        Ridge(), {"alpha": [0.1, 100.0]}, scoring="neg_mean_squared_error", cv=split
    )
    search.fit(X, y)
    assert dict(found.chosen) == search.best_params_
    assert found.score == pytest.approx(-search.best_score_, rel=1e-12)
    np.testing.assert_allclose(found.decisions[0], search.predict(X[:7] + 0.1), rtol=1e-12)


def test_several_classes_are_numbered() -> None:
    X, _ = rows(45)
    classes = np.arange(45) % 3
    y = np.where(np.arange(3)[:, None] == classes, 1.0, -1.0)
    found = fit(side_of((), X, y, (0.1,), task="classification"), "sklearn.svm.SVC")
    expected = SVC().fit(X, classes).predict(X[:7] + 0.1)
    np.testing.assert_array_equal(found.decisions.argmax(axis=0), expected)
    assert found.decisions.sum() == 7


def test_the_seed_comes_from_the_split_unless_one_is_given() -> None:
    """Two splits have two seeds; every class of a split has the same one."""
    forest = "sklearn.ensemble.RandomForestClassifier"
    here = side(2)
    seed = int(here.stream("random state").integers(2**31))
    mine, same = (fit(here, forest, n_estimators=3).decisions for _ in range(2))
    np.testing.assert_array_equal(mine, same)

    def expected(state: int) -> Any:
        fitted = RandomForestClassifier(n_estimators=3, random_state=state)
        return fitted.fit(here.X, here.targets[0]).predict(here.X[:7] + 0.1)

    np.testing.assert_array_equal(mine[0], expected(seed))
    given = fit(here, forest, n_estimators=3, random_state=5).decisions[0]
    np.testing.assert_array_equal(given, expected(5))
    parities = {float(fit(side(s), "odd_classes.Odd", level=5).decisions[0, 0]) for s in range(8)}
    assert parities == {-1.0, 1.0}


def test_a_point_that_fails_is_excluded_with_its_reason() -> None:
    found = fit(side(), "odd_classes.Odd", 5, level=[1, 2, 3, 4, 0])
    assert found.chosen == (("level", 0),)
    assert dict(found.excluded) == {
        "level=1": "RuntimeError: no level 1",
        "level=2": "ValueError: predicted the shape [8, 2] for 8 rows",
        "level=3": "ValueError: predicted a number that is not finite",
        "level=4": "ValueError: predicted 0.5, which is no class",
    }


def test_a_class_without_a_usable_point_has_failed() -> None:
    found = tried(side(), "odd_classes.Odd", 5, level=[1, 3])
    assert isinstance(found, SearchFailure)
    words = "no point of the grid could be fitted; at level=1: RuntimeError: no level 1"
    assert found.reason == words
    alone = tried(side(), "odd_classes.Odd", level=4)
    assert isinstance(alone, SearchFailure)
    assert alone.reason == "ValueError: predicted 0.5, which is no class"


def test_warnings_are_counted_and_do_not_leave_the_class() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = fit(side(), "odd_classes.Odd", 5, level=[6])
    assert found.warnings == "6 UserWarning: nearly there"  # five folds and all rows
    assert caught == []
    assert fit(side(), "odd_classes.Odd").warnings == ""


def test_what_a_class_tells_of_itself() -> None:
    svc, own = find_class("sklearn.svm.SVC"), find_class("odd_classes.Odd")
    assert (svc.task, own.task) == ("classification", None)
    assert find_class("sklearn.linear_model.Ridge").task == "regression"
    assert svc.version.startswith("scikit-learn ")
    assert own.version.startswith("sha256 ")
    assert own.parameters == ("level", "seen", "random_state")


def test_another_content_of_ones_own_file_is_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = find_class("odd_classes.Odd").version
    (tmp_path / "odd_classes.py").write_text(OWN + "# changed\n")
    monkeypatch.delitem(sys.modules, "odd_classes")
    find_class.cache_clear()
    assert find_class("odd_classes.Odd").version != before


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("SVC", "must be an import path such as sklearn.svm.SVC, not 'SVC'"),
        ("sklearn.svm.", "must be an import path such as sklearn.svm.SVC, not 'sklearn.svm.'"),
        ("sklearn.svm.LinearSVX", "sklearn.svm has no class LinearSVX; did you mean 'LinearSV"),
        ("sklearn.svn.SVC", "there is no module sklearn.svn"),
        ("sklearn.svm.l1_min_c", "sklearn.svm has no class l1_min_c"),
        ("odd_classes.Deaf", "the class odd_classes.Deaf has no method predict"),
        ("broken_module.A", "broken_module cannot be imported: OSError: no licence"),
    ],
)
def test_what_is_no_usable_class(path: str, words: str) -> None:
    assert message_of(ConfigError, find_class, path).startswith(words)


def test_a_package_that_is_not_installed() -> None:
    for path, name in (("nobodys.A", "nobodys"), ("needs_more.A", "a_package_of_nobody")):
        said = message_of(NotInstalledError, find_class, path)
        assert said == f"the package {name} is not installed"
