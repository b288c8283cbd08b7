"""What the estimators warn of, and where they are silent."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from kselect import EdgeWarning, KernelSelectClassifierCV, KernelSelectRegressorCV, ScaleWarning
from kselect.selection.cautions import widest_feature

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
    outlier[0, 0] = 1e3  # the range alone
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


def test_both_are_warnings_of_their_own() -> None:
    assert issubclass(EdgeWarning, UserWarning)
    assert issubclass(ScaleWarning, UserWarning)
    assert not issubclass(EdgeWarning, ScaleWarning)
