"""The estimators: scikit-learn's checks, definition, folds, randomness, large features."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import oracles
import oracles_weights
import pytest
from oracles import Array
from problems import bias_of
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from kselect.core.method import Choice
from kselect.selection.engine import select
from kselect.selection.estimator import KernelSelectCV
from kselect.selection.predictors import KernelSelectClassifierCV, KernelSelectRegressorCV
from kselect.selection.request import Request, make_folds, make_kernels, make_lams, make_method
from kselect.selection.sklearn_terms import EdgeWarning

# A small grid has edges, and so do the data of scikit-learn's checks.
pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
SMALL: dict[str, Any] = {"tau": "0.5,2,8", "lam": "0.001,0.1"}


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return exactly the checks that fail, with the reason: ``xfail_strict`` reports those that pass.

    Median distances and relevances do not count weights, so that repeated rows change the default kernels. The
    default passes nevertheless, since it interpolates the 15 random rows of the check with any kernel. With 150
    columns, all rows are columns.
    """
    kinds = ("dense", "sparse")
    equivalence = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in kinds]
    if estimator.kernel == "precomputed" and hasattr(estimator, "predict_proba"):
        why = "it passes rows where a kernel matrix is needed"
        return {"check_decision_proba_consistency": why}
    if estimator.criterion == "3-KS":
        weighted = [*equivalence, "check_sample_weights_not_overwritten"]
        return dict.fromkeys(weighted, "k-KS takes no weights")
    if estimator.criterion in ("LOO", "ELOO"):
        return dict.fromkeys(equivalence, "leave-one-out leaves out one copy of a row")
    if estimator.nystrom in (5, 8):
        return dict.fromkeys(equivalence, "other columns are drawn from repeated rows")
    return {}


# scikit-learn itself leaves out the array API without SCIPY_ARRAY_API=1.
@parametrize_with_checks(
    [
        KernelSelectClassifierCV(kernel="ard"),
        KernelSelectRegressorCV(kernel="ard", criterion="LOO"),
        KernelSelectClassifierCV(kernel="precomputed"),
        KernelSelectRegressorCV(kernel="precomputed"),
        KernelSelectClassifierCV(nystrom=150, **SMALL),
        KernelSelectClassifierCV(),
        KernelSelectRegressorCV(),
        KernelSelectClassifierCV(learner="krr", criterion="ELOO", **(SMALL | {"tau": "8,64"})),
        KernelSelectRegressorCV(learner="krr", kernel="linear", criterion="3-KS"),
        KernelSelectRegressorCV(nystrom=8, kernel="linear", criterion="2-CV"),
        KernelSelectClassifierCV(nystrom=5, **SMALL),
        KernelSelectClassifierCV(kernel="gaussian", **SMALL),
        KernelSelectRegressorCV(kernel="gaussian", ensemble=1, **SMALL),
    ],
    expected_failed_checks=expected_failures,
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
    # The search by bounds sums the held-out losses of its choice in another order.
    np.testing.assert_allclose(model.criterion_path_, found.scores, rtol=1e-13)
    row, column = np.unravel_index(model.criterion_path_.argmin(), (3, 2))
    assert model.best_params_ == {"tau": [0.5, 2, 8][row], "lam": [0.001, 0.1][column]}
    assert model.best_score_ == -model.criterion_path_.min() == pytest.approx(-found.score, 1e-13)
    table = model.cv_results_
    assert table["params"][model.best_index_] == model.best_params_
    assert table["rank_test_score"][model.best_index_] == 1
    assert sorted(table["rank_test_score"]) == list(range(1, 7))
    assert (np.argsort(-table["mean_test_score"]) == np.argsort(table["rank_test_score"])).all()
    assert np.array_equal(table["mean_test_score"], -model.criterion_path_.ravel())
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
    assert not hasattr(copy, "members_")
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


def test_unknown_metadata_is_refused() -> None:
    X, y = data(2)
    with pytest.raises(TypeError, match="takes X, y, groups and sample_weight, not price"):
        KernelSelectClassifierCV().fit(X, y, price=np.ones(len(y)))
    assert has_fit_parameter(KernelSelectRegressorCV(), "sample_weight")


@pytest.mark.parametrize(("form", "classes"), FORMS)
@pytest.mark.parametrize("more", [{}, {"class_weight": "balanced"}, {"learner": "krr"}])
def test_weights_equal_repeated_rows(form: Any, classes: int, more: Any) -> None:
    if "class_weight" in more and not classes:
        pytest.skip("a regression has no classes")
    X, y = data(classes)
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    again = np.repeat(np.arange(len(X)), counts)
    numbers = np.arange(len(X)) % 5
    once = form(cv=numbers, **SMALL, **more).fit(X, y, sample_weight=counts)
    often = form(cv=numbers[again], **SMALL, **more).fit(X[again], y[again])
    plain = form(cv=numbers, **SMALL).fit(X, y)
    assert once.best_params_ == often.best_params_
    assert once.best_score_ == pytest.approx(often.best_score_, abs=1e-9)
    for name in ("predict", "decision_function", "predict_proba"):
        if not hasattr(once, name):
            continue
        mine, its = getattr(once, name)(X), getattr(often, name)(X)
        if mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, its, atol=1e-8)
        else:
            assert mine.tolist() == its.tolist()
    assert np.abs(plain.criterion_path_ - once.criterion_path_).max() > 1e-4


def test_a_row_of_weight_0_changes_nothing() -> None:
    X, y = data(3)
    weights = np.ones(len(X))
    gone = [3, 8, 20]
    weights[gone] = 0.0
    kept = np.flatnonzero(weights)
    wild = X.copy()
    wild[gone] = 1e6
    pairs = list(KFold(4).split(X))
    mapped = [
        (
            np.searchsorted(kept, np.intersect1d(a, kept)),
            np.searchsorted(kept, np.intersect1d(b, kept)),
        )
        for a, b in pairs
    ]
    once = KernelSelectClassifierCV(cv=pairs, **SMALL).fit(wild, y, sample_weight=weights)
    often = KernelSelectClassifierCV(cv=mapped, **SMALL).fit(X[kept], y[kept])
    np.testing.assert_array_equal(once.criterion_path_, often.criterion_path_)
    np.testing.assert_array_equal(once.decision_function(X), often.decision_function(X))
    # A kernel matrix keeps its columns, which are rows to predict by.
    K = oracles.gram(oracles.gaussian(2.0), X, X)
    more: dict[str, Any] = {"kernel": "precomputed", "cv": 3, "lam": 0.1}
    by_matrix = KernelSelectClassifierCV(**more).fit(K, y, sample_weight=weights)
    part = KernelSelectClassifierCV(**more).fit(K[np.ix_(kept, kept)], y[kept])
    np.testing.assert_allclose(by_matrix.decision_function(K), part.decision_function(K[:, kept]))


def test_metadata_routing_hands_weights_and_groups_on() -> None:
    X, y = data(2)
    weights, groups = np.random.default_rng(1).uniform(0.1, 3.0, len(X)), np.arange(len(X)) // 4
    form = KernelSelectClassifierCV(cv=3, **SMALL)
    with config_context(enable_metadata_routing=True):
        asked = form.set_fit_request(sample_weight=True, groups=True)
        asked = asked.set_score_request(sample_weight=True)
        scaling = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaling, asked)
        found = cross_validate(
            pipeline, X, y, cv=KFold(2), params={"sample_weight": weights, "groups": groups}
        )
    for score, (train, test) in zip(found["test_score"], KFold(2).split(X), strict=True):
        scaler = StandardScaler().fit(X[train])
        own = form.fit(
            scaler.transform(X[train]), y[train], groups[train], sample_weight=weights[train]
        )
        Z = scaler.transform(X[test])
        assert score == pytest.approx(own.score(Z, y[test], sample_weight=weights[test]))


def test_class_weights_turn_the_choice_to_the_rare_class() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] + rng.normal(size=120) > 1.8, "rare", "usual")
    found = [
        KernelSelectClassifierCV(class_weight=asked, **SMALL).fit(X, y)
        for asked in (None, "balanced", {"rare": 8.0}, "rare=8")
    ]
    caught = [(model.predict(X) == "rare").sum() for model in found]
    assert caught[1] > 1.5 * caught[0]
    assert np.array_equal(found[2].decision_function(X), found[3].decision_function(X))
    with pytest.raises(ValueError, match="class weights are for classification"):
        KernelSelectRegressorCV(class_weight="balanced").fit(X, X[:, 0])


SPLITTERS = [
    StratifiedKFold(4),
    StratifiedGroupKFold(4),
    GroupKFold(4),
    LeaveOneGroupOut(),
    TimeSeriesSplit(4),
    ShuffleSplit(3, test_size=0.4, random_state=0),
    ShuffleSplit(1, test_size=0.4, random_state=0),
    RepeatedKFold(n_splits=4, n_repeats=2, random_state=0),
    PredefinedSplit(np.arange(40) % 4 - 1),
]


@pytest.mark.parametrize("splitter", SPLITTERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_splitter_of_scikit_learn_scores_as_its_search(splitter: Any, weighted: bool) -> None:
    """The mean over the test rows of the squared error after training again on each training part."""
    X, y = data(0)
    groups = np.arange(40) // 5 if "Group" in type(splitter).__name__ else None
    codes = (y > 0).astype(int)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, 40) if weighted else None
    pairs = list(splitter.split(X, codes, groups))
    model = KernelSelectRegressorCV(cv=pairs, tau=2.0, lam=0.01, ensemble=1)
    model.fit(X, y, sample_weight=weights)
    w = np.ones(40) if weights is None else weights * 40 / weights.sum()
    K = oracles.gram(oracles.gaussian(2.0), X, X)
    train_on = oracles_weights.least_squares(True)
    total = counted = 0.0
    for train, test in pairs:
        given = K[np.ix_(train, train)], y[train], w[train], 40 * 0.01, K[np.ix_(test, train)]
        total += float(w[test] @ np.square(y[test] - train_on(*given)))
        counted += float(w[test].sum())
    assert -model.best_score_ == pytest.approx(total / counted, rel=1e-7)
    if type(splitter) not in (StratifiedKFold, StratifiedGroupKFold):  # which need classes
        again = KernelSelectRegressorCV(cv=splitter, tau=2.0, lam=0.01, ensemble=1)
        again.fit(X, y, groups, sample_weight=weights)
        assert again.best_score_ == pytest.approx(model.best_score_, rel=1e-12)


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
        ({"cv": TimeSeriesSplit(3), "criterion": "BIF-5-CV"}, "needs folds that partition the rows"),
        ({"cv": TimeSeriesSplit(3), "nystrom": 9}, "do not work on Nystrom columns"),
        ({"cv": np.arange(40) % 4}, "5-CV has 5 folds, but no row is in fold 4"),
        ({"cv": np.arange(40) % 6}, "5 is not one"),
        ({"cv": [0, 1, 2, 3, 4]}, "5 fold numbers for 40 rows"),
        ({"cv": np.linspace(0, 4, 40)}, "or one whole fold number per row, not array"),
        ({"cv": "five"}, "or one whole fold number per row, not 'five'"),
        ({"cv": 1}, "cross-validation needs 2 folds or more, not 1"),
        ({"cv": [([0, 1], [1, 3])]}, "cv: split 0 tests rows that it trains on"),
        ({"cv": [([0, 1], [99])]}, "cv: a row number of split 0 is outside 0 to 39"),
        ({"class_weight": "even"}, "class weights: 'even'; write balanced"),
        ({"class_weight": {"other": 2}}, "class weights: no class 'other'"),
        ({"class_weight": "balanced", "criterion": "GCV"}, "GCV has no form for weights"),
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
        ({"scoring": "r2"}, "scoring: r2 is not for classification"),
        ({"scoring": "f1_makro"}, "scikit-learn has no scorer 'f1_makro'; did you mean 'f1_macro'"),
        ({"scoring": len}, "scoring: len cannot be computed from held-out predictions"),
        ({"scoring": 3}, "scoring: write a name or a function, not"),
        ({"scoring": "f1", "criterion": "ELOO"}, "a scorer takes the held-out predictions of folds"),
        ({"scoring": "f1", "params": {"average": "points"}}, "a scorer is averaged over folds"),
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
    monkeypatch.setattr("kselect.selection.refusals.available_memory", lambda: 30_000)
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
    more = KernelSelectRegressorCV(nystrom=len(X) + 1, **grid).fit(X, y)  # than there are rows
    np.testing.assert_array_equal(more.predict(X), exact.predict(X))
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
