"""The estimators: scikit-learn's checks, definition, folds, randomness, large features."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import oracles
import pytest
from oracles import Array
from problems import bias_of
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from kselect.core.method import Choice
from kselect.selection.engine import select
from kselect.selection.estimator import (
    KernelSelectClassifierCV,
    KernelSelectCV,
    KernelSelectRegressorCV,
)
from kselect.selection.request import Request, make_folds, make_kernels, make_lams, make_method
from kselect.selection.sklearn_terms import EdgeWarning

# A small grid has edges, and so do the data of scikit-learn's checks.
pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
SMALL: dict[str, Any] = {"tau": "0.5,2,8", "lam": "0.001,0.1"}


# Nothing is skipped by us; scikit-learn itself leaves out the array API without SCIPY_ARRAY_API=1.
@parametrize_with_checks(
    [
        KernelSelectClassifierCV(),
        KernelSelectRegressorCV(),
        KernelSelectClassifierCV(learner="krr", criterion="ELOO"),
        KernelSelectRegressorCV(learner="krr", kernel="linear", criterion="3-KS"),
        KernelSelectRegressorCV(nystrom=8, kernel="linear", criterion="2-CV"),
        KernelSelectClassifierCV(nystrom=5, **SMALL),
    ]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def data(classes: int = 2, n: int = 40, d: int = 3) -> tuple[Array, Any]:
    """Return rows with this many classes, or with a numeric target for 0."""
    rng = np.random.default_rng([classes, n])
    if not classes:
        X = rng.normal(size=(n, d))
        return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    codes = np.arange(n) % classes
    X = rng.normal(size=(n, d)) + 1.5 * np.eye(max(classes, d))[codes][:, :d]
    return X, np.array([f"class {'zyxwv'[c]}" for c in codes])


FORMS = [
    (KernelSelectRegressorCV, 0),
    (KernelSelectClassifierCV, 2),
    (KernelSelectClassifierCV, 3),
]


def signs(y: Any, classes: int) -> Array:
    """Return the targets, computed independently of kselect."""
    if not classes:
        return y[None, :]
    names = sorted(set(y))
    names = names[1:] if classes == 2 else names
    return np.array([np.where(y == name, 1.0, -1.0) for name in names])


@pytest.mark.parametrize(("form", "classes"), FORMS)
@pytest.mark.parametrize("learner", ["lssvm", "krr"])
def test_predicts_as_the_definition_does(form: Any, classes: int, learner: str) -> None:
    X, y = data(classes)
    new = data(classes, 41)[0]
    model = form(learner=learner, **SMALL).fit(X, y)
    k = oracles.gaussian(model.best_params_["tau"])
    K, gamma = oracles.gram(k, X, X), len(X) * model.best_params_["lam"]
    fits = [oracles.fit(K, t, gamma, bias_of(learner)) for t in signs(y, classes)]
    values = np.array([oracles.predict(oracles.gram(k, new, X), *fit) for fit in fits])
    if not classes:
        np.testing.assert_allclose(model.predict(new), values[0], rtol=1e-8)
        return
    decision = model.decision_function(new)
    names = np.array(sorted(set(y)))
    assert model.classes_.tolist() == names.tolist()
    if classes == 2:
        np.testing.assert_allclose(decision, values[0], rtol=1e-8)
        assert model.predict(new).tolist() == names[(values[0] > 0).astype(int)].tolist()
    else:
        np.testing.assert_allclose(decision, values.T, rtol=1e-8)
        assert model.predict(new).tolist() == names[values.argmax(axis=0)].tolist()
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize(("form", "classes"), FORMS)
@pytest.mark.parametrize("nystrom", [None, 10])
@pytest.mark.parametrize(
    ("criterion", "params"), [("4-CV", {}), ("ELOO", {}), ("3-KS", {"eta": 2})]
)
def test_selects_as_select_does(
    form: Any, classes: int, nystrom: int | None, criterion: str, params: dict[str, Any]
) -> None:
    X, y = data(classes)
    more: dict[str, Any] = {"nystrom": nystrom, "random_state": 3}
    model = form(criterion=criterion, params=params, **SMALL, **more).fit(X, y)
    method = make_method(criterion, None, params, bool(classes))
    request = Request(
        Choice("lssvm"), make_kernels("gaussian", {"tau": SMALL["tau"]}), make_lams(SMALL["lam"]),
        method, nystrom=nystrom, seed=3,
    )  # fmt: skip
    found = select(X, signs(y, classes), request, make_folds(method, len(X), 3, None))
    assert np.array_equal(model.criterion_path_, found.scores)
    row, column = np.unravel_index(model.criterion_path_.argmin(), (3, 2))
    assert model.best_params_ == {"tau": [0.5, 2, 8][row], "lam": [0.001, 0.1][column]}
    assert model.best_score_ == -found.score == -model.criterion_path_.min()
    table = model.cv_results_
    assert table["params"][model.best_index_] == model.best_params_
    assert table["rank_test_score"][model.best_index_] == 1
    assert sorted(table["rank_test_score"]) == list(range(1, 7))
    assert (np.argsort(-table["mean_test_score"]) == np.argsort(table["rank_test_score"])).all()
    assert np.array_equal(table["mean_test_score"], -found.scores.ravel())
    assert [p["tau"] for p in table["params"]] == table["param_tau"].tolist()
    assert [p["lam"] for p in table["params"]] == table["param_lam"].tolist()
    assert set(map(len, table.values())) == {6}


def test_the_shape_of_results_is_scikit_learns() -> None:
    """cv_results_ has the applicable keys of GridSearchCV, with the same types."""
    X, y = data(0)
    mine = KernelSelectRegressorCV(tau=[1, 1.5], lam=0.1).fit(X, y).cv_results_
    theirs = GridSearchCV(KernelSelectRegressorCV(lam=0.1), {"tau": [1, 1.5]}).fit(X, y).cv_results_
    assert set(mine) - {"param_lam"} <= set(theirs)
    for name in ("param_tau", "mean_test_score", "rank_test_score", "params"):
        assert type(mine[name]) is type(theirs[name])
        assert len(mine[name]) == len(theirs[name])
    assert mine["rank_test_score"].dtype == theirs["rank_test_score"].dtype


def test_kernels_with_other_parameters() -> None:
    X, y = data(2)
    model = KernelSelectClassifierCV(kernel="polynomial", degree="1:2", lam="0.1,1").fit(X, y)
    assert set(model.best_params_) == {"degree", "lam"}
    model = KernelSelectClassifierCV(kernel="linear", lam="0.1,1").fit(X, y)
    assert set(model.best_params_) == {"lam"}
    assert model.criterion_path_.shape == (1, 2)


@pytest.mark.parametrize(("form", "classes"), FORMS)
@pytest.mark.parametrize("nystrom", [None, 8])
def test_clone_and_pickle(form: Any, classes: int, nystrom: int | None) -> None:
    X, y = data(classes)
    model = form(nystrom=nystrom, **SMALL).fit(X, y)
    expected = model.predict(X).tolist()
    assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == expected
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "dual_")
    assert copy.fit(X, y).predict(X).tolist() == expected


@pytest.mark.parametrize(("form", "classes"), FORMS)
def test_inside_scikit_learn(form: Any, classes: int) -> None:
    X, y = data(classes)
    pipeline = make_pipeline(StandardScaler(), form(**SMALL))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.6
    step = pipeline.steps[1][0]
    search = GridSearchCV(pipeline, {f"{step}__learner": ["lssvm", "krr"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    assert search.predict(X).shape == (len(X),)


def test_sample_weight_is_refused() -> None:
    X, y = data(2)
    for form in (KernelSelectClassifierCV, KernelSelectRegressorCV):
        with pytest.raises(TypeError, match="takes X, y and groups, not sample_weight"):
            form().fit(X, y, sample_weight=np.ones(len(y)))
        assert not has_fit_parameter(form(), "sample_weight")


def test_a_wide_matrix_of_new_rows_is_taken_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(3)
    model = KernelSelectClassifierCV(**SMALL).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr("kselect.selection.result.ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(model.decision_function(X), whole, rtol=1e-12)


def test_cv() -> None:
    """Fold numbers from 0 or 1 and a splitter with the same folds give the same scores."""
    X, y = data(0)
    splitter = KFold(5, shuffle=True, random_state=1)
    numbers = np.empty(len(X), dtype=int)
    for k, (_, test) in enumerate(splitter.split(X)):
        numbers[test] = k
    paths = [
        KernelSelectRegressorCV(cv=cv, **SMALL).fit(X, y).criterion_path_
        for cv in (splitter, numbers, numbers + 1, numbers.tolist(), None)
    ]
    assert all(np.array_equal(paths[0], path) for path in paths[1:4])
    assert not np.array_equal(paths[0], paths[4])


def test_stratified_and_leave_one_out() -> None:
    X, y = data(2, 20)
    model = KernelSelectClassifierCV(cv=StratifiedKFold(5), **SMALL).fit(X, y)
    assert np.isfinite(model.best_score_)
    by_folds = KernelSelectClassifierCV(criterion="20-CV", cv=LeaveOneOut(), **SMALL).fit(X, y)
    exact = KernelSelectClassifierCV(criterion="ELOO", **SMALL).fit(X, y)
    np.testing.assert_allclose(by_folds.criterion_path_, exact.criterion_path_, rtol=1e-8)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"cv": ShuffleSplit(5, test_size=0.5, random_state=0)}, "test parts overlap"),
        ({"cv": ShuffleSplit(1, random_state=0)}, "leave rows out"),
        ({"cv": np.arange(40) % 4}, "5-CV has 5 folds, but no row is in fold 4"),
        ({"cv": np.arange(40) % 6}, "5 is not one"),
        ({"cv": [0, 1, 2, 3, 4]}, "5 fold numbers for 40 rows"),
        ({"cv": np.linspace(0, 4, 40)}, "or one whole fold number per row, not array"),
        ({"cv": "five"}, "or one whole fold number per row, not 'five'"),
        ({"cv": 1}, "cross-validation needs 2 folds or more, not 1"),
        ({"cv": [([0, 1], [2, 3])]}, "each training part must hold all rows except"),
        ({"cv": [([0, 1], [99])]}, "a row number of fold 0 is outside 0 to 39"),
        ({"cv": 4, "criterion": "GCV"}, "GCV has no folds: leave out cv and groups"),
        ({"criterion": 5}, "criterion must be a name as text, not 5"),
        ({"learner": None}, "learner must be a name as text, not None"),
        ({"kernel": np.dot}, "kernel must be a name as text, not a function; compute the matrix"),
        ({"params": [1]}, r"params must be a dict, not \[1\]"),
        ({"grids": "tau"}, "grids must be a dict, not 'tau'"),
        ({"tau": "wide"}, "tau: 'wide' is not a number"),
        ({"lam": None}, "lam: None is not a number"),
        ({"gamma": 1, "tau": 2}, "gamma and tau set the same parameter"),
        ({"gamma": -1}, "gamma must be positive, not -1"),
        ({"gamma": "wide"}, "gamma: 'wide' is not a number"),
        ({"gamma": 1, "kernel": "linear"}, "the linear kernel has no gamma"),
        ({"kernel": "precomputed"}, "kernel='precomputed' needs a square matrix, not .40,"),
        ({"scoring": "r2"}, "scoring: 'r2' is not for classification"),
        ({"scoring": "f1"}, "scoring: 'f1' has no closed form here"),
        ({"scoring": len}, "scoring: a function has no closed form here"),
        ({"scoring": "accuracy", "loss": "hinge"}, "scoring and loss set the same option"),
        ({"cv": KFold(5), "criterion": "ELOO"}, "ELOO has no folds"),
        ({"tau": "-1"}, "tau must be positive"),
        ({"lam": 0}, "lam must be positive"),
        ({"kernel": "rbg"}, "unknown kernel 'rbg'"),
        ({"learner": "lsvm"}, "did you mean 'lssvm'"),
        ({"criterion": "CV"}, "unknown criterion 'CV'"),
        ({"criterion": "41-CV"}, "41 folds need at least 41 rows, not 40"),
        ({"params": {"eta": 1}}, "5-CV has no parameter 'eta'"),
        ({"loss": "log"}, "loss: 'log'"),
        ({"ridge": "free"}, "ridge: 'free'; valid: fixed, per-fold"),
        ({"nystrom": 41}, "41 Nystrom columns of 40 rows"),
        ({"nystrom": 0}, "0 Nystrom columns of 40 rows"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": "x"}, "cannot be used to seed"),
    ],
)  # fmt: skip
def test_invalid_arguments_are_value_errors(more: dict[str, Any], said: str) -> None:
    X, y = data(2)
    with pytest.raises(ValueError, match=said):
        KernelSelectClassifierCV(**more).fit(X, y)


def test_loss_of_classes_in_a_regression() -> None:
    with pytest.raises(ValueError, match="loss 'hinge' is for classification"):
        KernelSelectRegressorCV(loss="hinge").fit(*data(0))
    with pytest.raises(ValueError, match="the learner svm is for classification, not regression"):
        KernelSelectRegressorCV(learner="svm").fit(*data(0))


def test_too_large_a_training_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kselect.selection.engine.available_memory", lambda: 30_000)
    with pytest.raises(ValueError, match="40 rows need"):
        KernelSelectRegressorCV().fit(*data(0))
    assert KernelSelectRegressorCV(nystrom=5, **SMALL).fit(*data(0)).predict(data(0)[0]).shape


def test_the_base_class_names_the_classes_to_use() -> None:
    with pytest.raises(TypeError, match="use KernelSelectClassifierCV or KernelSelectRegressorCV"):
        KernelSelectCV().fit(*data(0))


def test_random_state() -> None:
    X, y = data(0)

    def path(state: Any) -> Any:
        return KernelSelectRegressorCV(random_state=state, **SMALL).fit(X, y).criterion_path_

    assert np.array_equal(path(1), path(1))
    assert np.array_equal(path(1), path(np.int64(1)))
    assert not np.array_equal(path(1), path(2))
    assert np.array_equal(path(np.random.RandomState(5)), path(np.random.RandomState(5)))
    assert not np.array_equal(path(np.random.RandomState(5)), path(np.random.RandomState(6)))
    assert np.isfinite(path(None)).all()


@pytest.mark.parametrize("n_jobs", [2, None, -1])
def test_n_jobs(n_jobs: int | None) -> None:
    X, y = data(3)
    one, more = (KernelSelectClassifierCV(n_jobs=j, **SMALL).fit(X, y) for j in (1, n_jobs))
    assert np.array_equal(one.criterion_path_, more.criterion_path_)
    assert one.predict(X).tolist() == more.predict(X).tolist()


def test_all_columns_are_nearly_exact() -> None:
    X, y = data(0)
    grid: dict[str, Any] = {"tau": "0.1,0.5", "lam": "0.01,0.1"}
    exact = KernelSelectRegressorCV(**grid).fit(X, y)
    columns = KernelSelectRegressorCV(nystrom=len(X), **grid).fit(X, y)
    np.testing.assert_allclose(columns.criterion_path_, exact.criterion_path_, rtol=1e-6)
    np.testing.assert_allclose(columns.predict(X + 0.1), exact.predict(X + 0.1), rtol=1e-5)
    few = KernelSelectRegressorCV(nystrom=7, **grid).fit(X, y)
    assert few.support_.shape == (7, 3)


def test_an_edge_is_a_warning() -> None:
    """A choice on the edge warns with a class of its own; a choice within the grid does not."""
    X, y = load_iris(return_X_y=True)
    with pytest.warns(EdgeWarning, match="lam = 100 is the smallest of its grid: widen the grid"):
        KernelSelectClassifierCV(tau="0.5,2,8", lam="100,1000").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelSelectClassifierCV(tau=2.0, lam=0.1).fit(X, y)


def test_a_kernel_with_parameters_of_its_own() -> None:
    """The grid comes from the kernel, or from the argument with the parameter's name."""
    X, y = load_iris(return_X_y=True)
    found = KernelSelectClassifierCV(kernel="laplacian", lam=0.01).fit(X, y)
    assert set(found.best_params_) == {"width", "lam"}
    assert len(found.criterion_path_) == 13
    one = KernelSelectClassifierCV(kernel="laplacian", grids={"width": 4}, lam=0.01).fit(X, y)
    assert one.best_params_ == {"width": 4.0, "lam": 0.01}
    with pytest.raises(ValueError, match="the laplacian kernel has no parameter 'tau'"):
        KernelSelectClassifierCV(kernel="laplacian", tau=1).fit(X, y)


RNG = np.random.default_rng(0)
DAYS = np.sort(RNG.permutation(400)[:60]).astype(np.float64)
WAVE: Array = np.sin(DAYS / 20.0) + 0.05 * RNG.normal(size=60)
NEW = np.arange(0.0, 400.0, 7.0)[:, None]


def fitted(X: Array) -> KernelSelectRegressorCV:
    """Return the fitted estimator, which never scales."""
    grid: Any = {"tau": "2^-2:2^10", "lam": "10^-6:10^-1"}
    return KernelSelectRegressorCV(learner="lssvm", criterion="5-CV", **grid).fit(X, WAVE)


@pytest.mark.parametrize("offset", [1990.0, 1.0e6, 1.7e9])
def test_time_stamps(offset: float) -> None:
    """Features shifted by 1e9 give the same choice, scores and predictions."""
    base, moved = fitted(DAYS[:, None]), fitted(DAYS[:, None] + offset)
    assert moved.best_params_ == base.best_params_
    # cond <= (n + n lam) / (n lam) = 1e6 times n eps, and the distances' own rounding.
    assert moved.criterion_path_ == pytest.approx(base.criterion_path_, rel=1e-6)
    assert moved.predict(NEW + offset) == pytest.approx(base.predict(NEW), abs=1e-6)
    assert np.abs(base.predict(NEW) - np.sin(NEW[:, 0] / 20.0)).max() < 0.5


def test_a_row_that_is_far_from_all_others() -> None:
    """A distant row does not change the predictions of the others at the same ridge."""
    X = DAYS[:, None] + 1e9
    far = X.copy()
    far[7] = 0.0
    others = np.delete(np.arange(60), 7)
    alone = KernelSelectRegressorCV(learner="krr", tau=64.0, lam=0.001 * 60 / 59)
    with_it = KernelSelectRegressorCV(learner="krr", tau=64.0, lam=0.001)
    expected = alone.fit(X[others], WAVE[others]).predict(NEW + 1e9)
    assert with_it.fit(far, WAVE).predict(NEW + 1e9) == pytest.approx(expected, abs=1e-9)
