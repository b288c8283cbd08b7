"""ELOO and BR against their definitions on retrained residuals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from problems import Case, cases, problem_of, rows

from kselect.criteria.leave_one_out import bayesian_regularisation, exact_leave_one_out
from kselect.errors import TrialError
from kselect.kernels.gaussian import Gaussian
from kselect.numerics.folds import Folds


@given(cases(labels=True), st.sampled_from([0.5, 10.0, 1e4]))
@pytest.mark.parametrize("form", ["press", "error", "smoothed"])
def test_forms(form: Any, case: Case, slope: float) -> None:
    """The forms are means of e_i^2, 1[y f <= 0], and 1 / (1 + exp(slope y f)) with derivative <= slope / 4."""
    p, every = case.problem, oracles.singletons(case.problem.n)
    found = exact_leave_one_out(case.path(), form=form, slope=slope)
    for score, lam in zip(found, p.lams, strict=True):
        held = oracles.leave_one_out(p.K, p.y, lam, case.bias)
        off = oracles.held_out_bound(p.K, p.y, every, lam, case.bias, False)
        if form == "smoothed":
            margins = np.clip(slope * p.y * held, -700.0, 700.0)
            values = np.array([1 / (1 + math.exp(m)) for m in margins])
            slack = np.minimum(slope / 4 * off, 1.0)
        else:
            loss = {"press": "squared", "error": "zero-one"}[form]
            values = oracles.losses(loss, p.y, held)
            slack = oracles.loss_bound(loss, p.y, held, off)
        bound = slack.mean() + 4 * p.n * oracles.EPS * (values.mean() + 1.0)
        assert abs(score - values.mean()) <= bound


@given(cases(labels=False))
def test_press_of_real_targets(case: Case) -> None:
    """The default form also applies to regression."""
    p, every = case.problem, oracles.singletons(case.problem.n)
    for score, lam in zip(exact_leave_one_out(case.path()), p.lams, strict=True):
        held = oracles.leave_one_out(p.K, p.y, lam, case.bias)
        off = oracles.held_out_bound(p.K, p.y, every, lam, case.bias, False)
        press = np.mean((p.y - held) ** 2)
        slack = oracles.loss_bound("squared", p.y, held, off).mean()
        assert abs(score - press) <= slack + 2 * p.n * oracles.EPS * press


def test_slope_is_used_by_the_smoothed_form_only(labelled: Case) -> None:
    """A steep slope comes near the error form; the other forms ignore the slope."""
    path = labelled.path()
    error = exact_leave_one_out(path, form="error")
    steep = exact_leave_one_out(path, form="smoothed", slope=1e9)
    flat = exact_leave_one_out(path, form="smoothed", slope=0.0)
    np.testing.assert_allclose(steep, error, atol=1e-12)
    np.testing.assert_array_equal(flat, 0.5)
    np.testing.assert_array_equal(exact_leave_one_out(path, form="error", slope=3.0), error)


@pytest.mark.parametrize("form", ["error", "smoothed"])
def test_forms_of_signs_need_labels(labelled: Case, form: Any) -> None:
    """Forms that use the sign are refused for real targets."""
    case = replace(labelled, problem=replace(labelled.problem, y=labelled.problem.y * 1.5))
    with pytest.raises(TrialError, match=f"ELOO form '{form}' needs labels -1 and"):
        exact_leave_one_out(case.path(), form=form)


FOLDS = Folds.from_numbers(np.arange(18) % 2)


def raw_parameters(case: Case) -> list[float]:
    """Return 1 / (2 tau), the degree, or no parameter."""
    kernel: Any = case.problem.kernel
    if kernel.name == "gaussian":
        return [1 / (2 * kernel.tau)]
    return [kernel.degree] if kernel.name == "polynomial" else []


@given(cases())
def test_definition(case: Case) -> None:
    """BR is its definition: the first term moves by (n/2) |log(1 + dQ/Q)| with dQ from the residuals' bound."""
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
    """The difference to ``(n/2) log PRESS - log tau`` is the same for every tau."""
    X, y = rows(18)
    left = []
    for tau in (0.5, 2.0, 8.0):
        case = Case("krr", problem_of(Gaussian(tau), X, y), FOLDS)
        path = case.path()
        press = np.square(y - path.loo()).sum(axis=1)
        left.append(bayesian_regularisation(path) - 9 * np.log(press) + np.log(tau))
    np.testing.assert_allclose(left[1:], [left[0]] * 2, atol=1e-12)


def test_zero_press_is_a_failure_with_a_message(labelled: Case) -> None:
    """Targets without any residual fail with a message, because log 0 is undefined."""
    case = replace(labelled, learner="krr", problem=replace(labelled.problem, y=np.zeros(18)))
    with pytest.raises(TrialError, match="BR takes the logarithm of a PRESS of zero"):
        bayesian_regularisation(case.path())
