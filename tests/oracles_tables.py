"""Slow definitions for tables and calibration: scikit-learn's own steps, and a search without derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from kselect.datasets.table.raw_table import Frame

SCALERS: dict[str, Any] = {
    "zscore": StandardScaler,
    "minmax": lambda: MinMaxScaler((-1, 1)),
    "none": lambda: "passthrough",
}


def table_of(frame: Frame) -> pd.DataFrame:
    """Return a data frame in pandas' form: NaN for a missing number, an empty text for a missing category."""
    return pd.DataFrame(
        {
            spec.name: pd.Series(v, dtype=v.dtype)
            for spec, v in zip(frame.columns, frame.data, strict=True)
        }
    )


def prepared_by_sklearn(train: Frame, test: Frame, scale: str) -> np.ndarray:
    """Prepare each column: median and scaler for numbers, 0/1 and scaler for two levels, one-hot for more."""
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
    with warnings.catch_warnings():  # scikit-learn warns of unseen levels
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(transformer.transform(table_of(test)), dtype=np.float64)


def slope_loss(slope: float, F: np.ndarray, Y: np.ndarray) -> float:
    """Return the mean cross-entropy against Platt's targets, row by row."""
    rows = list(F.T) if len(F) > 1 else [np.array([0.0, f]) for f in F[0]]
    own = list(Y.argmax(axis=0)) if len(F) > 1 else [int(y > 0) for y in Y[0]]
    classes = len(rows[0])
    total = 0.0
    for values, mine in zip(rows, own, strict=True):
        count = own.count(mine)
        likely = np.exp(slope * (values - values.max()))
        likely /= likely.sum()
        for c in range(classes):
            t = (count + 1) / (count + classes) if c == mine else 1 / (count + classes)
            total -= t * np.log(likely[c])
    return float(total / len(rows))


def slope_by_search(F: np.ndarray, Y: np.ndarray) -> float:
    """Return the same minimum by a search without derivatives."""
    with np.errstate(divide="ignore"):
        found = minimize_scalar(
            lambda slope: slope_loss(slope, F, Y), bounds=(0, 50), method="bounded",
            options={"xatol": 1e-8},
        )  # fmt: skip
    return float(found.x)
