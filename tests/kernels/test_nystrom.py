"""The Nystrom columns of a kernel."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from problems import any_kernel, rows

from kselect.errors import ConfigError, TrialError
from kselect.kernels import KERNELS, Points
from kselect.kernels.nystrom import draw_landmarks, nystrom_columns
from kselect.kernels.polynomial import Linear

# Prints the memory that n rows need beyond the imports in a fresh process; VmHWM is the peak.
MEMORY = """
import numpy as np
from kselect.selection.request import make_folds, make_kernels, make_lams, make_method
from kselect.selection.engine import select
from kselect.selection.request import Request
from kselect.core.method import Choice
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(l for l in lines if l.startswith("VmHWM")).split()[1])
def run(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = np.sign(X[:, 0] + rng.normal(size=n))
    for criterion in ("5-CV", "ELOO", "BR", "5-KS", "EP"):
        method = make_method(criterion, None, {}, True)
        kernels = make_kernels("gaussian", {"tau": "1,4"})
        for learner in ("lssvm", "krr"):
            request = Request(Choice(learner), kernels, make_lams("0.01,1"), method, nystrom=50)
            found = select(X, y[None, :], request, make_folds(method, n, 0, None))
            assert np.isfinite(found.scores).all() and len(found.scores) == 2
run(200)
before = peak()
run(5000)
print(peak() - before)
"""


@pytest.mark.parametrize("name", [k for k in KERNELS if not KERNELS[k].learned])
def test_with_all_landmarks_the_product_is_the_kernel(name: str) -> None:
    X, _ = rows(15)
    kernel = any_kernel(name)
    K = kernel.gram(Points(X))
    found = nystrom_columns(kernel, Points(X, X), np.arange(15))
    # Eigenvalues below 1e-12 of the largest are dropped.
    np.testing.assert_allclose(found.V @ found.V.T, K, rtol=0, atol=1e-11 * np.linalg.norm(K, 2))


@pytest.mark.parametrize("name", [k for k in KERNELS if not KERNELS[k].learned])
def test_the_definition(name: str) -> None:
    """The columns satisfy ``V V^T = C W^+ C^T`` and ``V = k(x, landmarks) root``, also for new rows."""
    X, _ = rows(15)
    kernel = any_kernel(name)
    landmarks = np.array([1, 4, 5, 11])
    found = nystrom_columns(kernel, Points(X, X[landmarks]), landmarks)
    C = kernel.gram(Points(X, X[landmarks]))
    expected = C @ np.linalg.pinv(C[landmarks], rcond=1e-12) @ C.T
    np.testing.assert_allclose(found.V @ found.V.T, expected, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(found.V, C @ found.root)


def test_equal_landmarks_count_once() -> None:
    X = np.repeat(rows(6)[0], 2, axis=0)
    found = nystrom_columns(any_kernel("gaussian"), Points(X, X[:4]), np.arange(4))
    assert found.V.shape == (12, 2)
    assert found.root.shape == (4, 2)


def test_landmarks_at_the_origin_of_a_linear_kernel() -> None:
    """A linear kernel that is 0 between all landmarks fails with a message, instead of giving no columns."""
    X = np.array([[0.0], [1.0], [0.0], [2.0]])
    marks = np.array([0, 2])
    with pytest.raises(TrialError, match="the kernel is 0 between all Nystrom landmarks"):
        nystrom_columns(Linear(), Points(X, X[marks]), marks)


def test_landmarks_are_sorted_distinct_and_reproducible() -> None:
    found = draw_landmarks(50, 20, np.random.default_rng(0))
    assert len(set(found.tolist())) == 20
    assert (np.diff(found) > 0).all()
    assert np.array_equal(found, draw_landmarks(50, 20, np.random.default_rng(0)))
    assert not np.array_equal(found, draw_landmarks(50, 20, np.random.default_rng(1)))
    assert draw_landmarks(5, 5, np.random.default_rng(0)).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("c", [0, -1, 6])
def test_wrong_number_of_landmarks(c: int) -> None:
    with pytest.raises(ConfigError, match=f"{c} Nystrom columns of 5 rows: write 1 to 5"):
        draw_landmarks(5, c, np.random.default_rng(0))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_grows_with_n_not_its_square() -> None:
    """With 5000 rows on 50 columns, every criterion needs less than a tenth of one kernel matrix."""
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 8 * 5000**2 / 10
