"""Variance of k-CV against beta, and beta's growth with n, from made-up records."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from synthetic import experiment, method, record, study

from kselect.core.method import Choice, LamGrid, Method
from kselect.kernels.gaussian import Gaussian
from kselect.stats.theory import BETA, UNBIASED, UNIFORM, Panel, Theory, rising, study_theory

TAUS, SHARES = (1.0, 2.0, 4.0), (0.25, 1.0)
FIGURE = Theory("theory", "5-CV", TAUS, 0.001, SHARES, ("heart", "sonar"))
SCORES = {1.0: (0.1, 0.2, 0.3), 2.0: (0.1, 0.3, 0.5), 4.0: (0.1, 0.4, 0.7)}


def methods() -> tuple[Method, ...]:
    """The score and beta at each width."""
    base = replace(method("5-CV", "k-CV", 5), part="theory", lam=0.001)
    probes = [
        replace(base, label=BETA, criterion=BETA, folds=None, params=(("share", share),))
        for share in SHARES
    ]
    return tuple(replace(m, fixed=Gaussian(tau)) for tau in TAUS for m in (base, *probes))


def test_variances_exponents_and_correlation() -> None:
    """By numpy's variance and the slope of a logarithm."""
    mine, found = methods(), []
    for m in mine:
        assert m.fixed is not None
        tau = m.fixed.parameters["tau"]
        for split in range(3):
            beta = tau * (2.0 if dict(m.params).get("share") == 1.0 else 1.0)
            score = beta if m.criterion == BETA else SCORES[tau][split]
            found.append(
                record(
                    "heart",
                    split,
                    m.label,
                    None,
                    part="theory",
                    criterion=m.criterion,
                    params=m.text,
                    score=score,
                    status="ok",
                )
            )
    spec = experiment(methods=mine, splits=(0, 1, 2), datasets=("heart", "sonar"))
    full, empty = study_theory(study(spec, found), FIGURE)
    assert [w.tau for w in full.widths] == list(TAUS)
    for width in full.widths:
        assert width.variance == pytest.approx(np.var(SCORES[width.tau], ddof=1))
        assert width.betas == (width.tau, 2 * width.tau)
        assert math.isnan(width.uniform)
    assert full.exponents(SHARES) == pytest.approx((0.5, 0.5, 0.5))
    assert full.correlation == pytest.approx(1.0)
    assert empty.widths == ()
    assert math.isnan(empty.correlation)


def test_uniform_stability_with_and_without_the_bias() -> None:
    """Two probes of one criterion, told apart by their labels."""
    base = replace(method("5-CV", "k-CV", 5), part="theory", lam=0.001, fixed=Gaussian(2.0))
    betas = [
        replace(base, label=BETA, criterion=BETA, folds=None, params=(("share", share),))
        for share in SHARES
    ]
    own = replace(base, label=UNIFORM, criterion=UNIFORM, folds=None, params=(("loss", "hinge"),))
    free = replace(
        own, label=UNBIASED, scored_by=(("classification", Choice("svm", (("bias", False),))),)
    )
    mine = (base, *betas, own, free)
    values = {base.label: 0.1, BETA: 1.0, UNIFORM: 0.6, UNBIASED: 0.4}
    found = [
        record(
            "heart",
            split,
            m.label,
            None,
            part="theory",
            criterion=m.criterion,
            params=m.text,
            score=values[m.label] + 0.02 * split,
            status="ok",
        )
        for m in mine
        for split in range(3)
    ]
    spec = experiment(methods=mine, splits=(0, 1, 2), datasets=("heart",))
    figure = replace(FIGURE, taus=(2.0,), datasets=("heart",))
    (panel,) = study_theory(study(spec, found), figure)
    (width,) = panel.widths
    assert (width.uniform, width.unbiased) == pytest.approx((0.62, 0.42))
    # 70 rows train, and the ridge is lam; then the ridge is n lam.
    assert (panel.bound(), panel.bound(3.0)) == pytest.approx((1 / 0.14, 3 / 0.14))
    whole = replace(spec, lam=LamGrid((0.001,), "fixed", "n lam"))
    (panel,) = study_theory(study(whole, found), figure)
    assert panel.bound() == pytest.approx(500.0)


def test_where_the_variance_grows_with_beta() -> None:
    """Data sets without a correlation are not counted."""
    panels = [Panel("a", (), 1, 1.0, rho) for rho in (0.5, -0.5, 0.1, math.nan)]
    assert rising(panels) == (2, 3)
