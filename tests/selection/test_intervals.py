"""Fits without a fold against retraining; CV+ and Jackknife+ against their definition and against MAPIE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import oracles_columns
import oracles_intervals
import pytest

from kselect.core.method import Choice
from kselect.errors import ConfigError
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.laplacian import Laplacian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import LEARNERS
from kselect.numerics.folds import Folds
from kselect.numerics.weights import Weights
from kselect.selection.columns import passes_of
from kselect.selection.engine import select, support_of, training_context
from kselect.selection.held_out import HeldOut
from kselect.selection.intervals import (
    JACKKNIFE_BELOW,
    FoldModels,
    HeldOutErrors,
    interval_folds,
    leave_out,
    rank,
)
from kselect.selection.request import Request, make_method
from kselect.selection.result import decision_values

RNG = np.random.default_rng(3)
X = RNG.normal(size=(41, 3))
Y = np.stack([np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=41), X[:, 1] + RNG.normal(size=41)])
NEW = RNG.normal(size=(17, 3))
# Folds of different sizes.
FOLDS = Folds.from_numbers(np.append(RNG.permutation(np.arange(36) % 5), [0, 0, 1, 2, 0]))
EACH = Folds.from_numbers(np.arange(41))


def request(learner: str, kernel: Kernel, **more: Any) -> Request:
    """Return a request with one candidate."""
    params = tuple(sorted(LEARNERS[learner].defaults.items()))
    method = make_method("5-CV", None, {}, False)
    return Request(Choice(learner, params), (kernel,), (0.01,), method, task="regression", **more)


def left_out(asked: Request, folds: Folds) -> tuple[FoldModels, np.ndarray]:
    """Return the fits without each fold of the only candidate, and the points of their coefficients."""
    context = training_context(X, Y, asked, lambda _: folds)
    (kernel,) = asked.kernels
    found = leave_out(context, kernel, 0.01, folds)
    own = support_of(context, kernel) if context.columns else None
    return found, X if own is None else own


def predictions(found: FoldModels, kernel: Kernel, support: np.ndarray) -> np.ndarray:
    """Return each fold's predictions for the new rows, (k, rows, q)."""
    by_fold = zip(*found.fits, strict=True)
    return np.stack([decision_values(kernel, fits, support, NEW) for fits in by_fold])


@pytest.mark.parametrize("folds", [FOLDS, EACH], ids=["5", "n"])
@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("learner", ["krr", "lssvm"])
def test_fits_without_a_fold_are_retrained_ones(learner: str, ridge: str, folds: Folds) -> None:
    """Coefficients and bias are those of retraining, and zero on the fold."""
    kernel, bias, per_fold = Gaussian(2.0), learner == "lssvm", ridge == "per-fold"
    found, _ = left_out(request(learner, kernel, ridge=ridge), folds)
    for y, fits, held in zip(Y, found.fits, found.held_out, strict=True):
        wanted = oracles_intervals.fold_fits(
            kernel.gram(Points(X)), y, folds.members, 0.01, bias, per_fold
        )
        for F, fit, (alpha, b) in zip(folds.members, fits, wanted, strict=True):
            assert np.abs(fit.alpha[0] - alpha).max() < 1e-10
            assert abs(fit.bias[0] - b) < 1e-10
            assert not fit.alpha[0, F].any()
            own = kernel.gram(Points(X[F], X)) @ fit.alpha[0] + fit.bias[0]
            assert np.abs(held[F] - own).max() < 1e-10


@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("learner", ["krr", "lssvm"])
@pytest.mark.parametrize(
    ("kernel", "nystrom"),
    [(Gaussian(2.0), 12), (Linear(), None), (Polynomial(2.0), None)],
    ids=["columns", "linear", "polynomial"],
)
def test_fits_without_a_fold_on_columns_are_retrained_ones(
    kernel: Kernel, nystrom: int | None, learner: str, ridge: str
) -> None:
    """With Nystrom columns, and with the exact features of a simple kernel, the landmarks are held fixed."""
    asked = request(learner, kernel, ridge=ridge, nystrom=nystrom)
    found, support = left_out(asked, FOLDS)
    values = predictions(found, kernel, support)
    if nystrom:
        V, W = (oracles_columns.features(kernel, Z, support) for Z in (X, NEW))
    for t, y in enumerate(Y):
        for F, mine in zip(FOLDS.members, values[:, :, t], strict=True):
            rest = oracles.without(F, len(X))
            gamma = oracles.fold_ridge(len(X), len(F), 0.01, ridge == "per-fold")
            if nystrom:
                wanted = oracles_columns.predict(V[rest], y[rest], W, gamma, learner == "lssvm")
            else:
                K = kernel.gram(Points(X[rest]))
                alpha, b = oracles.fit(K, y[rest], gamma, learner == "lssvm")
                wanted = oracles.predict(kernel.gram(Points(NEW, X[rest])), alpha, b)
            assert np.abs(mine - wanted).max() < 1e-8


def test_fits_of_the_quadratic_svr_without_a_fold_predict_the_fold() -> None:
    """Retraining gives the same decision values as held-out prediction, in both ridge modes."""
    kernel = Gaussian(2.0)
    for ridge in ("fixed", "per-fold"):
        found, _ = left_out(request("quadratic-svr", kernel, ridge=ridge), FOLDS)
        for fits, held in zip(found.fits, found.held_out, strict=True):
            for F, fit in zip(FOLDS.members, fits, strict=True):
                own = kernel.gram(Points(X[F], X)) @ fit.alpha[0] + fit.bias[0]
                assert np.abs(own - held[F]).max() < 1e-7
                assert not fit.alpha[0, F].any()


@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize(
    ("learner", "kernel", "nystrom"),
    [
        ("krr", Gaussian(2.0), None),
        ("lssvm", Gaussian(2.0), None),
        ("lssvm", Gaussian(2.0), 12),
        ("lssvm", Polynomial(2.0), None),
        ("quadratic-svr", Gaussian(2.0), None),
    ],
)
def test_weighted_fits_without_a_fold_predict_the_fold(
    learner: str, kernel: Kernel, nystrom: int | None, ridge: str
) -> None:
    """Held-out predictions with weights are those of weighted retraining, which other tests compare."""
    weights = Weights.of(RNG.uniform(0.2, 3.0, size=len(X)))
    asked = request(learner, kernel, ridge=ridge, nystrom=nystrom)
    context = training_context(X, Y, asked, lambda _: FOLDS)
    context = replace(context, weights=weights)
    if context.columns:
        context.columns = passes_of(X, context.targets, asked, weights)
    found = leave_out(context, kernel, 0.01, FOLDS)
    own = support_of(context, kernel) if context.columns else None
    K = kernel.gram(Points(X, X if own is None else own))
    for fits, held in zip(found.fits, found.held_out, strict=True):
        for F, fit in zip(FOLDS.members, fits, strict=True):
            assert np.abs(K[F] @ fit.alpha[0] + fit.bias[0] - held[F]).max() < 1e-7


@pytest.mark.parametrize("folds", [FOLDS, EACH], ids=["CV+", "Jackknife+"])
@pytest.mark.parametrize("level", [0.55, 0.85, 0.93])
def test_intervals_equal_their_definition(folds: Folds, level: float) -> None:
    """The bounds of an average of two kernels equal those of retraining and sorting to 1e-9."""
    kernels, bounds = (Gaussian(2.0), Laplacian(3.0)), []
    models = [left_out(request("lssvm", kernel), folds) for kernel in kernels]
    held = np.mean([found.held_out for found, _ in models], axis=0)
    residuals = HeldOutErrors(np.abs(Y - held), folds.numbers)
    values = [predictions(m, k, s) for (m, s), k in zip(models, kernels, strict=True)]
    mine = residuals.bounds(np.mean(values, axis=0), level)
    for y in Y:
        Ks = [kernel.gram(Points(X)) for kernel in kernels]
        fits = [oracles_intervals.fold_fits(K, y, folds.members, 0.01, True, False) for K in Ks]
        new = [kernel.gram(Points(NEW, X)) for kernel in kernels]
        trained, there = (oracles_intervals.mean_fits(fits, K) for K in (Ks, new))
        bounds.append(oracles_intervals.cv_plus(trained, there, y, folds.members, level))
    assert mine.shape == (17, 2, 2)
    assert np.abs(mine - np.array(bounds).transpose(1, 0, 2)).max() < 1e-9
    assert (mine[:, :, 0] < mine[:, :, 1]).all()


@pytest.mark.parametrize("given", [True, False], ids=["CV+", "Jackknife+"])
def test_intervals_of_held_out_rows_come_from_the_other_folds(given: bool) -> None:
    """Each row is predicted as a new one: nothing of its fold enters its interval."""
    asked = replace(
        request("krr", Gaussian(2.0)), kernels=(Gaussian(2.0), Laplacian(3.0)), ensemble=2
    )
    found = select(X, Y[:1], asked, FOLDS)
    mine = HeldOut(found, X, Y[:1], FOLDS, given).intervals_without(0.85)
    kernels = [one.point.kernel for one in found.members]
    for F in FOLDS.members:
        rest = np.delete(np.arange(41), F)
        inner = [np.flatnonzero(FOLDS.numbers[rest] == k) for k in np.unique(FOLDS.numbers[rest])]
        inner = inner if given else [np.array([i]) for i in range(len(rest))]
        Ks = [kernel.gram(Points(X[rest])) for kernel in kernels]
        fits = [oracles_intervals.fold_fits(K, Y[0, rest], inner, 0.01, False, False) for K in Ks]
        new = [kernel.gram(Points(X[F], X[rest])) for kernel in kernels]
        trained, there = (oracles_intervals.mean_fits(fits, K) for K in (Ks, new))
        wanted = oracles_intervals.cv_plus(trained, there, Y[0, rest], inner, 0.85)
        assert np.abs(mine[F, 0] - np.array(wanted)).max() < 1e-9


def test_ranks_are_exact_for_levels_with_few_digits() -> None:
    """0.55 * 100 is 55 and a little in floating point; its rank is 55."""
    assert rank(0.55, 99) == 55
    assert rank(0.9, 199) == 180
    assert rank(0.9, 9) == 9


@pytest.mark.parametrize(
    ("level", "n", "words"),
    [
        (0.9, 8, "an interval at the level 0.9 needs 9 training rows or more; the model has 8"),
        (0.99, 50, "needs 99 training rows or more; the model has 50"),
        (1.0, 50, "a level between 0 and 1, such as 0.9, not 1"),
        (90.0, 50, "a level between 0 and 1, such as 0.9, not 90"),
        (float("nan"), 50, "a level between 0 and 1"),
    ],
)
def test_impossible_levels_are_refused(level: float, n: int, words: str) -> None:
    """An infinite interval is refused; the message names the number of rows that is enough."""
    with pytest.raises(ConfigError, match=words):
        rank(level, n)


def test_few_rows_are_left_out_one_by_one_unless_the_folds_are_given() -> None:
    """Folds of the user's own may hold groups together."""
    assert len(interval_folds(FOLDS, given=False).members) == 41
    assert interval_folds(FOLDS, given=True) is FOLDS
    many = Folds.from_numbers(np.arange(JACKKNIFE_BELOW) % 5)
    assert interval_folds(many, given=False) is many


def test_a_learner_without_fold_fits_is_refused() -> None:
    """Only regressions have intervals, and the SVM is for classes."""
    targets = np.sign(Y[:1])
    asked = request("svm", Gaussian(2.0))
    context = training_context(X, targets, asked, lambda _: FOLDS)
    with pytest.raises(ConfigError, match="the learner svm has no fits without a fold"):
        leave_out(context, Gaussian(2.0), 0.01, FOLDS)


@pytest.mark.parametrize("folds", [FOLDS, EACH], ids=["CV+", "Jackknife+"])
def test_intervals_equal_those_of_mapie(folds: Folds) -> None:
    """MAPIE retrains scikit-learn's KernelRidge on the same folds with the same ridge."""
    mapie = pytest.importorskip("mapie.regression", reason="mapie is not installed")
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import PredefinedSplit

    found, support = left_out(request("krr", kernel := Gaussian(2.0)), folds)
    residuals = HeldOutErrors(np.abs(Y - found.held_out), folds.numbers)
    values = predictions(found, kernel, support)
    model = KernelRidge(kernel="rbf", gamma=1 / 4, alpha=41 * 0.01)
    split = PredefinedSplit(folds.numbers)
    for level in (0.85, 0.93):
        theirs = mapie.CrossConformalRegressor(
            model, confidence_level=level, method="plus", cv=split
        )
        _, bounds = theirs.fit_conformalize(X, Y[0]).predict_interval(NEW)
        assert np.abs(residuals.bounds(values, level)[:, 0] - bounds[:, :, 0]).max() < 1e-10
