"""Slow definitions for tables and calibration: scikit-learn's own steps, and a search without derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from kselect.datasets.frames import Frame

SCALERS: dict[str, Any] = {
    "zscore": StandardScaler,
    "minmax": lambda: MinMaxScaler((-1, 1)),
    "none": lambda: "passthrough",
}


def table_of(frame: Frame) -> pd.DataFrame:
    """A frame as pandas has it: NaN where a number is missing, an empty text where a category is."""
    return pd.DataFrame(
        {
            spec.name: pd.Series(v, dtype=v.dtype)
            for spec, v in zip(frame.columns, frame.data, strict=True)
        }
    )


def prepared_by_sklearn(train: Frame, test: Frame, scale: str) -> np.ndarray:
    """Column by column: median and scaler for numbers, 0/1 and scaler for two levels, one-hot for more."""
    steps = []
    for spec, values in zip(train.columns, train.data, strict=True):
        if spec.numeric:
            step: Any = make_pipeline(
                SimpleImputer(strategy="median", keep_empty_features=True), SCALERS[scale]()
            )
        else:
            encoder = OneHotEncoder(drop="if_binary", handle_unknown="ignore", sparse_output=False)
            step = encoder if len(set(values)) > 2 else make_pipeline(encoder, SCALERS[scale]())
        steps.append((spec.name, step, [spec.name]))
    transformer = ColumnTransformer(steps, sparse_threshold=0).fit(table_of(train))
    with warnings.catch_warnings():  # it warns of levels that it has not seen
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(transformer.transform(table_of(test)), dtype=np.float64)


def platt_loss(a: float, b: float, f: np.ndarray, positive: np.ndarray) -> float:
    """The cross-entropy against Platt's targets, term by term."""
    n_positive = int(positive.sum())
    high, low = (n_positive + 1) / (n_positive + 2), 1 / (len(f) - n_positive + 2)
    total = 0.0
    for value, is_positive in zip(f, positive, strict=True):
        z = a * value + b
        t = high if is_positive else low
        total += t * np.logaddexp(0, z) + (1 - t) * np.logaddexp(0, -z)
    return float(total)


def sigmoid_by_search(f: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    """Nelder and Mead's search for the same minimum, without derivatives."""
    found = minimize(
        lambda theta: platt_loss(theta[0], theta[1], f, positive),
        np.zeros(2),
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 10_000, "maxfev": 10_000},
    )
    return float(found.x[0]), float(found.x[1])
