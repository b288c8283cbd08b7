"""scikit-learn's terms: grids, gamma, scoring, folds, kernels, several targets, and warnings."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict, cross_val_score
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from kselect import KernelSelectClassifierCV, KernelSelectRegressorCV, ScaleWarning
from kselect.numerics.sigmoid import codes
from kselect.selection.request import make_kernels
from kselect.selection.sklearn_terms import widest_feature

pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
RNG = np.random.default_rng(4)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + 0.3 * np.sin(3 * X[:, 1]) + 0.2 * RNG.normal(size=60)
CLASSES = np.digitize(Y, [-0.5, 0.5])
SMALL: dict[str, Any] = {"tau": [0.5, 2, 8], "lam": [0.001, 0.1]}


def surface(**more: Any) -> np.ndarray:
    """Return the criterion's surface for a regression."""
    return np.asarray(KernelSelectRegressorCV(**{**SMALL, **more}).fit(X, Y).criterion_path_)


@pytest.mark.parametrize(
    "tau", [np.array([0.5, 2, 8]), "0.5,2,8", (0.5, np.float64(2), np.int64(8))]
)
def test_grids_of_any_kind(tau: Any) -> None:
    np.testing.assert_array_equal(surface(tau=tau), surface())
    assert surface(tau=np.float32(2), lam=np.logspace(-3, -1, 3)).shape == (1, 3)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_auto_follows_the_data(scale: float) -> None:
    """Rescaled features get rescaled widths and the same choice."""
    grid = {"kernel": "gaussian", "lam": [0.01, 0.1], "ensemble": 1}
    model = KernelSelectRegressorCV(**grid).fit(scale * X, Y)
    assert model.criterion_path_.shape == (15, 2)
    powers = np.log2([p["tau"] for p in model.cv_results_["params"][::2]])
    centre = round(np.log2(np.median([d for d in pairwise(scale * X) if d > 0])))
    assert powers.tolist() == list(range(centre - 8, centre + 7))
    one = KernelSelectRegressorCV(lam=[0.01, 0.1], tau=2.0 ** (centre - 8)).fit(scale * X, Y)
    np.testing.assert_allclose(model.criterion_path_[:1], one.criterion_path_)


def pairwise(Z: np.ndarray) -> list[float]:
    """Return all squared distances, one by one."""
    return [float(np.sum((a - b) ** 2)) for i, a in enumerate(Z) for b in Z[:i]]


def test_auto_elsewhere() -> None:
    """The Laplacian has a scale; a polynomial's degree and equal rows have none."""
    assert len(make_kernels("laplacian", {"width": "auto"}, X)) == 13
    assert [k.parameters["degree"] for k in make_kernels("polynomial", {}, X)] == [1, 2, 3, 4, 5]
    assert make_kernels("gaussian", {}, np.ones((5, 2)))[8].parameters == {"tau": 1.0}
    assert len(make_kernels("gaussian", {}, 1e-160 * X)) == 15
    assert len(make_kernels("gaussian", {"tau": "auto"})) == 15


@pytest.mark.parametrize(("kernel", "ours"), [("rbf", "gaussian"), ("laplacian", "laplacian")])
def test_gamma_is_scikit_learns(kernel: str, ours: str) -> None:
    gammas = [0.1, 1.0]
    asked = {"gamma": gammas, "lam": 0.01, "cv": 4}
    model = KernelSelectRegressorCV(learner="krr", kernel=kernel, **asked).fit(X, Y)
    assert {p["gamma"] for p in model.cv_results_["params"]} == set(gammas)
    assert set(model.best_params_) == {"gamma", "lam"}
    theirs = KernelRidge(alpha=0.01 * 60, kernel=kernel, gamma=model.best_params_["gamma"])
    np.testing.assert_allclose(model.predict(X[:5]), theirs.fit(X, Y).predict(X[:5]), rtol=1e-8)
    assert model.kernel_.name == ours
    assert (
        KernelSelectRegressorCV(**model.best_params_, kernel=kernel).fit(X, Y).kernel_
        == model.kernel_
    )


@pytest.mark.parametrize(("gamma", "value"), [("scale", 1 / (3 * X.var())), ("auto", 1 / 3)])
def test_gamma_by_name(gamma: str, value: float) -> None:
    model = KernelSelectRegressorCV(kernel="rbf", gamma=gamma, lam=0.01).fit(X, Y)
    assert model.best_params_["gamma"] == pytest.approx(value)


@pytest.mark.parametrize("learner", ["lssvm", "krr", "smooth-hinge"])
def test_precomputed_is_searched_by_bounds_like_its_kernel(learner: str) -> None:
    """The search by bounds sorts the rows by fold; a kernel matrix is sorted along both axes.

    The choice is the lowest of the whole surface, and that of the kernel itself.
    """
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(60, 3))
    y = np.where(rows @ [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=60) > 0, "a", "b")
    K = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=-1) / 64.0)
    model = KernelSelectClassifierCV(kernel="precomputed", learner=learner).fit(K, y)
    assert -model.best_score_ == pytest.approx(model.criterion_path_.min(), rel=1e-9)
    same = KernelSelectClassifierCV(kernel="gaussian", tau=32, learner=learner).fit(rows, y)
    assert model.best_params_["lam"] == same.best_params_["lam"]
    assert model.best_score_ == pytest.approx(same.best_score_, rel=1e-8)


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
def test_precomputed(learner: str) -> None:
    more = {"learner": learner, "lam": [0.001, 0.1]}
    K = rbf_kernel(X, gamma=0.25)
    mine = KernelSelectRegressorCV(kernel="precomputed", **more).fit(K, Y)
    direct = KernelSelectRegressorCV(tau=2.0, **more).fit(X, Y)
    np.testing.assert_allclose(mine.criterion_path_, direct.criterion_path_, rtol=1e-9)
    new = X[:4] + 0.1
    np.testing.assert_allclose(
        mine.predict(rbf_kernel(new, X, gamma=0.25)), direct.predict(new), rtol=1e-8
    )
    assert mine.best_params_.keys() == {"lam"}
    cut = cross_val_predict(KernelSelectRegressorCV(kernel="precomputed", **more), K, Y, cv=3)
    whole = cross_val_predict(KernelSelectRegressorCV(tau=2.0, **more), X, Y, cv=3)
    np.testing.assert_allclose(cut, whole, rtol=1e-7)
    other = laplacian_kernel(X)
    assert (
        KernelSelectClassifierCV(kernel="precomputed").fit(other, CLASSES).score(other, CLASSES)
        > 0.6
    )
    with pytest.raises(ValueError, match="needs a symmetric matrix"):
        KernelSelectRegressorCV(kernel="precomputed").fit(K + np.triu(K), Y)


def test_cv_of_every_kind() -> None:
    splitter = KFold(4, shuffle=True, random_state=2)
    pairs = list(splitter.split(X))
    masks = [(np.isin(np.arange(60), train), np.isin(np.arange(60), test)) for train, test in pairs]
    numbers = np.empty(60, dtype=int)
    for fold, (_, test) in enumerate(pairs):
        numbers[test] = fold
    expected = surface(criterion="4-CV", cv=numbers)
    for cv in (splitter, pairs, masks, iter(pairs)):
        np.testing.assert_array_equal(surface(cv=cv), expected)
    np.testing.assert_array_equal(surface(cv=7), surface(criterion="7-CV"))
    np.testing.assert_array_equal(surface(cv=3, criterion="5-KS"), surface(criterion="3-KS"))


def test_groups_stay_together() -> None:
    groups = np.arange(60) // 6
    mine = KernelSelectRegressorCV(cv=4, **SMALL).fit(X, Y, groups=groups).criterion_path_
    numbers = np.empty(60, dtype=int)
    for k, (_, test) in enumerate(GroupKFold(4).split(X, Y, groups)):
        numbers[test] = k
    np.testing.assert_array_equal(mine, surface(criterion="4-CV", cv=numbers))
    by_splitter = KernelSelectRegressorCV(cv=GroupKFold(4), **SMALL).fit(X, Y, groups=groups)
    np.testing.assert_array_equal(mine, by_splitter.criterion_path_)
    default = KernelSelectRegressorCV(**SMALL).fit(X, Y, groups=groups).criterion_path_
    assert not np.array_equal(default, surface())
    with pytest.raises(ValueError, match="groups: cv already gives the fold of each row"):
        KernelSelectRegressorCV(cv=numbers, **SMALL).fit(X, Y, groups=groups)


def test_scoring_of_a_regression_equals_grid_search_cv() -> None:
    """Scores, their folds and the choice are those of scikit-learn's search over the same candidates."""
    cv = KFold(4, shuffle=True, random_state=0)
    model = KernelSelectRegressorCV("krr", scoring="r2", cv=cv, **SMALL).fit(X, Y)
    params = model.cv_results_["params"]
    for i, one in enumerate(params):
        ridge = KernelRidge(kernel="rbf", gamma=1 / (2 * one["tau"]), alpha=len(X) * one["lam"])
        theirs = cross_val_score(ridge, X, Y, cv=cv, scoring="r2")
        mine = [model.cv_results_[f"split{k}_test_score"][i] for k in range(4)]
        np.testing.assert_allclose(mine, theirs, atol=1e-9)
        assert model.cv_results_["mean_test_score"][i] == pytest.approx(theirs.mean(), abs=1e-9)
        assert model.cv_results_["std_test_score"][i] == pytest.approx(theirs.std(), abs=1e-9)
    assert model.best_score_ == model.cv_results_["mean_test_score"].max()
    assert model.cv_results_["rank_test_score"][model.best_index_] == 1


def test_scores_of_folds_without_a_scorer() -> None:
    """The default criterion is the mean over rows; that of folds of equal size is the same."""
    model = KernelSelectRegressorCV(**SMALL).fit(X, Y)
    folds = [model.cv_results_[f"split{k}_test_score"] for k in range(5)]
    np.testing.assert_allclose(np.mean(folds, axis=0), -model.criterion_path_.ravel())
    without = KernelSelectRegressorCV(**{**SMALL, "criterion": "ELOO"}).fit(X, Y)
    assert not any("split" in name for name in without.cv_results_)


def test_a_function_may_score_and_gets_rows_and_classes() -> None:
    """As scikit-learn's searches call it."""
    names = np.array(["no", "yes"])[(CLASSES > 0).astype(int)]

    def share(estimator: Any, some: Any, y: Any) -> float:
        assert some.shape == (len(y), X.shape[1])
        return float(np.mean(estimator.predict(some) == y))

    mine = KernelSelectClassifierCV(scoring=share, **SMALL).fit(X, names)
    named = KernelSelectClassifierCV(scoring="accuracy", **SMALL).fit(X, names)
    assert mine.best_params_ == named.best_params_
    assert mine.best_score_ == pytest.approx(named.best_score_)
    # f1 needs a positive class: the second one.
    f1 = KernelSelectClassifierCV(scoring="f1", **SMALL).fit(X, names)
    assert f1.best_score_ == pytest.approx(
        KernelSelectClassifierCV(scoring="f1", **SMALL).fit(X, CLASSES > 0).best_score_
    )


def test_accuracy_of_several_classes_is_that_of_the_predicted_class() -> None:
    """It is the mean over the folds."""
    model = KernelSelectClassifierCV(scoring="accuracy", **SMALL).fit(X, CLASSES)
    held = model._held_out
    right = codes(held.decisions) == CLASSES
    each = [right[F].mean() for F in held.folds.members]
    assert model.best_score_ == pytest.approx(np.mean(each))


@pytest.mark.parametrize("classes", [2, 3])
def test_predict_proba(classes: int) -> None:
    y = np.array(["a", "b", "c"])[np.minimum(CLASSES, classes - 1)]
    model = KernelSelectClassifierCV(**SMALL).fit(X, y)
    before = dict(model.__dict__)
    p = model.predict_proba(X)
    assert model.__dict__ == before
    assert p.shape == (60, classes)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    assert again._held_out.slope == model._held_out.slope
    # A product's last bits depend on where BLAS finds its arrays in memory.
    np.testing.assert_allclose(again.predict_proba(X), p, rtol=1e-12)
    alone = KernelSelectClassifierCV(**SMALL).fit(X, y)
    np.testing.assert_allclose(alone.predict_proba(X[:3]), p[:3], rtol=1e-9)
    targets = np.where(y == model.classes_[:, None], 1, -1)[classes == 2 :]
    held = codes(model._held_out.decisions) == codes(targets)
    assert held.mean() > 0.5


def test_several_targets() -> None:
    both = np.stack([Y, -2 * X[:, 1]], axis=1)
    model = KernelSelectRegressorCV(**SMALL).fit(X, both)
    assert model.predict(X).shape == (60, 2)
    alone = [KernelSelectRegressorCV(**SMALL).fit(X, y) for y in both.T]
    np.testing.assert_allclose(
        model.criterion_path_,
        np.mean([m.criterion_path_ / y.var() for m, y in zip(alone, both.T, strict=True)], axis=0),
    )
    chosen = {"tau": model.best_params_["tau"], "lam": model.best_params_["lam"]}
    for y, mine in zip(both.T, model.predict(X).T, strict=True):
        np.testing.assert_allclose(
            mine, KernelSelectRegressorCV(**chosen).fit(X, y).predict(X), rtol=1e-8
        )
    assert model.score(X, both) == pytest.approx(r2_score(both, model.predict(X)))
    assert cross_val_score(KernelSelectRegressorCV(**SMALL), X, both, cv=3).shape == (3,)
    assert KernelSelectRegressorCV(**SMALL).fit(X, both[:, :1]).predict(X).shape == (60, 1)


SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, QuantileTransformer)
LOADERS = (load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine)
WIDE = {load_breast_cancer, load_wine}


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.filterwarnings("ignore:n_quantiles")
def test_scaled_features_are_not_warned_of(load: Any) -> None:
    X = load().data
    assert (widest_feature(X) is not None) is (load in WIDE)
    for scaler in SCALERS:
        Z = scaler().fit_transform(X)
        assert widest_feature(Z) is None, scaler
        assert widest_feature(PCA().fit_transform(StandardScaler().fit_transform(Z))) is None


def test_rare_levels_are_not_warned_of() -> None:
    rng = np.random.default_rng(0)
    levels = rng.geometric(0.2, size=(400, 3))
    rare = OneHotEncoder(sparse_output=False).fit_transform(levels)
    both = np.hstack([rare, rng.normal(size=(400, 2))])
    for X in (rare, both, StandardScaler().fit_transform(both), MinMaxScaler().fit_transform(both)):
        assert widest_feature(X) is None


def test_how_far_is_too_far() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(50, 3))
    for times, warned in ((1.0, False), (20.0, False), (100.0, True), (1e200, True)):
        assert (widest_feature(X * [1.0, times, 1.0]) is not None) is warned
    two = X[:, :2] * [1e-200, 1.0]
    assert "feature 1 spreads" in str(widest_feature(two))
    for silent in (X[:, :1] * 1e9, np.zeros((4, 3)), np.c_[X[:, 0], np.full(50, 1e9)]):
        assert widest_feature(silent) is None
    outlier = X.copy()
    outlier[0, 0] = 1e3  # changes the range only
    assert widest_feature(np.hstack([outlier, X, X])) is not None
    outlier[0, 0] = 40.0
    assert widest_feature(np.hstack([outlier, X, X])) is None


@pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
def test_estimators_warn_by_the_column() -> None:
    wine = load_wine(as_frame=True)
    asked: dict[str, Any] = {"tau": "1,10", "lam": 0.1}
    with pytest.warns(ScaleWarning, match="proline spreads .* times as far as the median feature"):
        KernelSelectClassifierCV(**asked).fit(wine.data, wine.target)
    with pytest.warns(ScaleWarning, match="feature 12 spreads") as caught:
        KernelSelectRegressorCV(kernel="linear", lam=0.1).fit(wine.data.to_numpy(), wine.target)
    assert {w.filename for w in caught} == {__file__}
    scaled = pd.DataFrame(StandardScaler().fit_transform(wine.data))
    K = wine.data.to_numpy() @ wine.data.to_numpy().T
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        KernelSelectClassifierCV(**asked).fit(scaled, wine.target)
        KernelSelectClassifierCV(kernel="precomputed", lam=0.1).fit(K, wine.target)
        few = (wine.data[::9], wine.target[::9] == 1)
        KernelSelectClassifierCV(kernel="ard", criterion="FLKL").fit(*few)
