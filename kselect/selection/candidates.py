"""The candidates of a selection in the shape of scikit-learn's ``cv_results_``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kselect.kernels import Kernel
from kselect.numerics.linalg import Array
from kselect.selection.engine import Selection


def results(
    found: Selection, scores: Array, parameters: Callable[[Kernel], dict[str, float]] | None
) -> dict[str, Any]:
    """The candidates in scikit-learn's shape: kernels outside, ridges inside."""
    params = [
        {**(parameters(kernel) if parameters else kernel.parameters), "lam": lam}
        for kernel in found.request.kernels
        for lam in found.request.lams
    ]
    table: dict[str, Any] = {
        f"param_{name}": np.ma.array([p[name] for p in params]) for name in params[0]
    }
    ranks = np.array([1 + (scores > score).sum() for score in scores], dtype=np.int32)
    return {**table, "params": params, "mean_test_score": scores, "rank_test_score": ranks}
