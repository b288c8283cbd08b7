"""The eigenvalue ratio by its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
from problems import problem_of, rows

from kselect.criteria.er import eigenvalue_ratio
from kselect.errors import TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.linear import Linear
from kselect.learners import Problem, find_learner


def path_of(p: Problem) -> Any:
    return find_learner("krr").path(p)


@pytest.mark.parametrize(("t", "count"), [(0.1, 2), (0.5, 9), (0.9, 16), (0.0, 1), (1.0, 18)])
def test_definition(t: float, count: int) -> None:
    """``R_emp + eta / ER_t`` with numpy's eigenvalues, the risk in units of the target's variance."""
    X, y = rows(18)
    targets = 3.0 + 20.0 * X[:, 0] + y
    p = problem_of(Gaussian(2.0), X, targets, (0.05, 0.2))
    found = eigenvalue_ratio(path_of(p), t=t, eta=0.5)
    s = np.linalg.eigvalsh(p.K)[::-1]
    ratio = s[count:].sum() / s[:count].sum()
    for i, lam in enumerate(p.lams.tolist()):
        f = oracles.predict(p.K, *oracles.fit(p.K, targets, 18 * lam, False))
        risk = np.mean((targets - f) ** 2) / np.var(targets)
        assert found[i] == pytest.approx(risk + 0.5 * ratio, rel=1e-9)


def test_a_target_in_other_units_is_the_same() -> None:
    """Else a regression's risk would rule the penalty, or the penalty the risk."""
    X, y = rows(18)
    one, other = (problem_of(Gaussian(2.0), X, scale * X[:, 0] + y * scale) for scale in (1, 1e4))
    found = [eigenvalue_ratio(path_of(p)) for p in (one, other)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_other_losses_are_as_they_are() -> None:
    """The hinge loss has no unit."""
    X, y = rows(18)
    p = problem_of(Gaussian(2.0), X, y, (0.05,))
    path = path_of(p)
    values = [oracles.loss("hinge", a, b) for a, b in zip(y, path.decision()[0], strict=True)]
    found = eigenvalue_ratio(path, eta=0.0, loss="hinge")
    assert found[0] == pytest.approx(np.mean(values))


def test_no_rest_is_no_penalty() -> None:
    """A kernel of low rank has eigenvalues that are zero, or rounding on either side of it."""
    X, y = rows(18)
    path = path_of(problem_of(Linear(), X, y))
    np.testing.assert_allclose(
        eigenvalue_ratio(path, eta=1e6), eigenvalue_ratio(path, eta=0.0), atol=1e-8
    )


def test_the_smallest_ridge_is_always_the_best() -> None:
    """The penalty knows none, and the empirical risk rises with it."""
    X, y = rows(18)
    path = path_of(problem_of(Gaussian(2.0), X, y, 2.0 ** np.arange(-15, 16, 2)))
    assert (np.diff(eigenvalue_ratio(path, eta=1024.0)) > 0).all()


def test_what_is_no_share_and_what_has_no_variance() -> None:
    """Named failures."""
    X, y = rows(18)
    with pytest.raises(TrialError, match="t is a share of the eigenvalues, at most 1, not 3"):
        eigenvalue_ratio(path_of(problem_of(Gaussian(2.0), X, y)), t=3.0)
    with pytest.raises(TrialError, match="a target that varies"):
        eigenvalue_ratio(path_of(problem_of(Gaussian(2.0), X, np.ones(18))))
