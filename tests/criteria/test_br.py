"""Bayesian regularisation against its definition on retrained residuals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import assume, given
from problems import Case, cases, problem_of, rows

from kselect.criteria.br import bayesian_regularisation
from kselect.errors import TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.numerics.folds import Folds

FOLDS = Folds.from_numbers(np.arange(18) % 2)


def raw_parameters(case: Case) -> list[float]:
    """1 / (2 tau), the degree, none."""
    kernel: Any = case.problem.kernel
    if kernel.name == "gaussian":
        return [1 / (2 * kernel.tau)]
    return [kernel.degree] if kernel.name == "polynomial" else []


@given(cases())
def test_definition(case: Case) -> None:
    """The first term moves by (n/2) |log(1 + dQ/Q)|, where dQ is bounded by the residuals' bound."""
    p, every = case.problem, oracles.singletons(case.problem.n)
    assume(np.ptp(p.y) > 0)  # a bias fits equal targets without a residual
    for score, lam in zip(bayesian_regularisation(case.path()), p.lams, strict=True):
        held = oracles.leave_one_out(p.K, p.y, lam, case.bias)
        off = oracles.held_out_bound(p.K, p.y, every, lam, case.bias, False)
        press = float(np.sum((p.y - held) ** 2))
        moved = float(oracles.loss_bound("squared", p.y, held, off).sum()) / press
        expected = oracles.bayesian_regularisation(p.y - held, raw_parameters(case))
        bound = math.inf if moved >= 0.5 else -p.n / 2 * math.log1p(-moved)
        assert abs(score - expected) <= bound + 4 * p.n * oracles.EPS * (p.n + abs(expected))


def test_gaussian_is_press_and_tau_up_to_a_constant() -> None:
    """``(n/2) log PRESS - log tau``: what is left over is the same for every tau."""
    X, y = rows(18)
    left = []
    for tau in (0.5, 2.0, 8.0):
        case = Case("krr", problem_of(Gaussian(tau), X, y), FOLDS)
        path = case.path()
        press = np.square(y - path.loo()).sum(axis=1)
        left.append(bayesian_regularisation(path) - 9 * np.log(press) + np.log(tau))
    np.testing.assert_allclose(left[1:], [left[0]] * 2, atol=1e-12)


def test_zero_press_is_named(labelled: Case) -> None:
    """Targets that leave no residual have no logarithm."""
    case = replace(labelled, learner="krr", problem=replace(labelled.problem, y=np.zeros(18)))
    with pytest.raises(TrialError, match="BR takes the logarithm of a PRESS of zero"):
        bayesian_regularisation(case.path())
