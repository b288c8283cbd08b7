"""Features far from zero or of mixed scales, unscaled: what is chosen and predicted knows nothing of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kselect.numerics.linalg import Array
from kselect.selection.estimator import KernelSelectRegressorCV

# A small grid has edges.
pytestmark = pytest.mark.filterwarnings("ignore::kselect.selection.estimator.EdgeWarning")

RNG = np.random.default_rng(0)
DAYS = np.sort(RNG.permutation(400)[:60]).astype(np.float64)
WAVE: Array = np.sin(DAYS / 20.0) + 0.05 * RNG.normal(size=60)
NEW = np.arange(0.0, 400.0, 7.0)[:, None]


def fitted(X: Array) -> KernelSelectRegressorCV:
    """The estimator, which never scales."""
    grid: Any = {"tau": "2^-2:2^10", "lam": "10^-6:10^-1"}
    return KernelSelectRegressorCV(learner="lssvm", criterion="5-CV", **grid).fit(X, WAVE)


@pytest.mark.parametrize("offset", [1990.0, 1.0e6, 1.7e9])
def test_time_stamps(offset: float) -> None:
    """Whole numbers moved by a whole number: the same choice, scores and predictions as near zero."""
    base, moved = fitted(DAYS[:, None]), fitted(DAYS[:, None] + offset)
    assert moved.best_params_ == base.best_params_
    # cond <= (n + n lam) / (n lam) = 1e6 times n eps, and the distances' own rounding.
    assert moved.criterion_path_ == pytest.approx(base.criterion_path_, rel=1e-6)
    assert moved.predict(NEW + offset) == pytest.approx(base.predict(NEW), abs=1e-6)
    assert np.abs(base.predict(NEW) - np.sin(NEW[:, 0] / 20.0)).max() < 0.5


def test_a_row_that_is_far_from_all_others() -> None:
    """It says nothing of them: with the same ridge they are predicted as if it were not there."""
    X = DAYS[:, None] + 1e9
    far = X.copy()
    far[7] = 0.0
    others = np.delete(np.arange(60), 7)
    alone = KernelSelectRegressorCV(learner="krr", tau=64.0, lam=0.001 * 60 / 59)
    with_it = KernelSelectRegressorCV(learner="krr", tau=64.0, lam=0.001)
    expected = alone.fit(X[others], WAVE[others]).predict(NEW + 1e9)
    assert with_it.fit(far, WAVE).predict(NEW + 1e9) == pytest.approx(expected, abs=1e-9)
