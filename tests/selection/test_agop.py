"""The metric learned from the gradients of a fit, against finite differences and by what it finds."""

from __future__ import annotations

import numpy as np
import pytest

from kselect import KernelSelectClassifierCV, KernelSelectRegressorCV
from kselect.kernels import Points
from kselect.kernels.laplacian import Laplacian
from kselect.kernels.weighted import Weighted
from kselect.learners import Fit
from kselect.selection.candidates.agop import learned_scale

pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")


def test_the_scale_by_finite_differences() -> None:
    """Between the rows, where the kernel has a derivative, the slopes are those of differences."""
    rng = np.random.default_rng(0)
    X, u = rng.normal(size=(12, 3)), (0.5, 1.5, 1.0)
    kernel = Weighted(Laplacian(2.0), u, 0.5)
    fits = [Fit(rng.normal(size=(1, 12)), np.zeros(1)) for _ in range(2)]
    step, M = 1e-6, np.zeros(3)
    for j in range(3):
        move = step * np.eye(3)[j]
        up, down = (kernel.gram(Points(X + s * move, X)) for s in (1, -1))
        slopes = [((up - down) @ fit.alpha[0]) / (2 * step) for fit in fits]
        M[j] = np.mean(np.square(slopes))
    expected = np.sqrt(M) * u
    found = learned_scale(X, kernel, fits)
    np.testing.assert_allclose(found, expected / expected.mean(), rtol=1e-6)


@pytest.mark.parametrize("classes", [False, True])
def test_kernels_of_the_metric_join_the_candidates(classes: bool) -> None:
    """Two of eight features matter together only, so that no column is relevant alone."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 8))
    y = X[:, 0] * X[:, 1]
    make = KernelSelectClassifierCV if classes else KernelSelectRegressorCV
    given = {"lam": "1e-5:1e-1", "ensemble": 1}
    plain = make(**given).fit(X, y > 0 if classes else y)
    learned = make(**given, metric="agop").fit(X, y > 0 if classes else y)
    assert learned.best_score_ > plain.best_score_
    assert learned.best_params_["kernel"] in ("agop-laplacian", "agop-gaussian")
    kernel = learned.kernel_
    assert isinstance(kernel, Weighted)
    assert set(np.argsort(kernel.scale)[-2:].tolist()) == {0, 1}
    assert len(learned.criterion_path_) >= 13 + 13


def test_what_the_metric_needs() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    for given, words in (
        ({"metric": "mahalanobis"}, "metric: 'mahalanobis'; valid: none, agop"),
        (
            {"metric": "agop", "kernel": "gaussian"},
            "starts from a laplacian or weighted-laplacian kernel",
        ),
        ({"metric": "agop", "nystrom": 5}, "needs the whole kernel matrix: leave out nystrom"),
        ({"metric": "agop", "kernel": "ard"}, "leave the metric out"),
    ):
        with pytest.raises(ValueError, match=words):
            KernelSelectRegressorCV(**given).fit(X, X[:, 0])
