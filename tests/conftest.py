"""Settings of every test: one thread for numbers; hypothesis draws the same examples and never fails on time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

# Before numpy is loaded: the matrices here are small, and threads that wait for each other keep a core busy.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from problems import Case

settings.register_profile(
    "kselect", derandomize=True, deadline=None, database=None, max_examples=60
)
settings.load_profile("kselect")


@pytest.fixture
def labelled() -> Case:
    """Two classes, a Gaussian kernel, three ridges, folds of different sizes: every option shows."""
    import numpy as np
    from problems import Case, numbered, problem_of, rows

    from kselect.kernels.gaussian import Gaussian

    X, y = rows(18)
    folds = numbered(np.random.default_rng(3), 18, 4, False)
    return Case("lssvm", problem_of(Gaussian(2.0), X, y, [0.01, 0.1, 1.0]), folds)
