"""What the choice predicts of rows that its fit has not seen: against fits without them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import r2_score

from kselect.core.method import Choice
from kselect.kernels import Points
from kselect.numerics.folds import draw_folds
from kselect.selection.engine import Request, select
from kselect.selection.held_out import folds_for, held_out_decisions, quality_of
from kselect.selection.request import make_folds, make_kernels, make_lams, make_method

RNG = np.random.default_rng(5)
X = RNG.normal(size=(33, 2))
Y = np.stack([np.sign(X[:, 0] + 0.2), np.sign(X[:, 1] - 0.1)])


def request(criterion: str, learner: str, nystrom: int | None = None) -> Request:
    """Few candidates."""
    method = make_method(criterion, None, {}, True)
    kernels = make_kernels("gaussian", {"tau": "1,4"})
    return Request(Choice(learner), kernels, make_lams("0.01,0.1"), method, nystrom=nystrom)


@pytest.mark.parametrize("learner", ["krr", "lssvm"])
@pytest.mark.parametrize("criterion", ["5-CV", "ELOO"])
def test_by_fits_without_the_fold(learner: str, criterion: str) -> None:
    asked = request(criterion, learner)
    folds = make_folds(asked.method, len(X), 0, None)
    found = select(X, Y, asked, folds)
    folds = folds_for(found, len(X), folds)
    assert len(folds.members) == 5
    mine = held_out_decisions(found, X, Y, folds)
    K = found.kernel.gram(Points(X))
    for F in folds.members:
        T = np.setdiff1d(np.arange(len(X)), F)
        for y, f in zip(Y, mine, strict=True):
            system = np.zeros((len(T) + 1, len(T) + 1))
            system[1:, 1:] = K[np.ix_(T, T)] + len(X) * found.lam * np.eye(len(T))
            if learner == "lssvm":
                system[0, 1:] = system[1:, 0] = 1
            else:
                system[0, 0] = 1
            solution = np.linalg.solve(system, np.concatenate([[0], y[T]]))
            np.testing.assert_allclose(
                f[F], K[np.ix_(F, T)] @ solution[1:] + solution[0], rtol=1e-7
            )


@pytest.mark.parametrize("criterion", ["5-CV", "5-KS", "BIF-5-CV", "ELOO"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_kept_where_the_criterion_has_made_them(criterion: str, n_jobs: int) -> None:
    """No second path is needed then, and what is kept is what it would say."""
    asked = replace(request(criterion, "lssvm"), n_jobs=n_jobs)
    folds = make_folds(asked.method, len(X), 0, None)
    found = select(X, Y, asked, folds)
    assert (found.held_out is not None) is (criterion in ("5-CV", "5-KS"))
    if found.held_out is not None and folds is not None:
        anew = held_out_decisions(replace(found, held_out=None), X, Y, folds)
        np.testing.assert_allclose(held_out_decisions(found, X, Y, folds), anew, rtol=1e-9)
        assert held_out_decisions(found, X, Y, folds) is found.held_out


def test_of_an_approximated_kernel() -> None:
    asked = request("5-CV", "krr", nystrom=10)
    folds = make_folds(asked.method, len(X), 0, None)
    found = select(X, Y[:1], asked, folds)
    assert folds is not None
    held = held_out_decisions(found, X, Y[:1], folds)
    assert np.mean(np.square(held - Y[:1])) == pytest.approx(found.score)


def test_accuracy() -> None:
    folds = draw_folds(40, 4, np.random.default_rng(0))
    targets = np.where(np.arange(40) < 25, -1.0, 1.0)[None]
    decisions = targets.copy()
    wrong = [0, 3, 30]
    decisions[:, wrong] *= -1
    quality = quality_of(decisions, targets, "classification", folds)
    each = [1 - len(set(wrong) & set(F.tolist())) / 10 for F in folds.members]
    assert quality.value == pytest.approx(37 / 40)
    assert quality.trivial == pytest.approx(25 / 40)
    assert quality.spread == pytest.approx(np.std(each, ddof=1))
    three = -np.ones((3, 40))
    three[np.arange(40) % 3, np.arange(40)] = 1
    assert quality_of(three, three, "classification", folds).value == 1
    assert quality_of(np.roll(three, 1, axis=0), three, "classification", folds).value == 0


def test_r2_is_scikit_learns() -> None:
    folds = draw_folds(40, 4, np.random.default_rng(0))
    y = RNG.normal(size=(2, 40))
    f = y + RNG.normal(size=(2, 40))
    quality = quality_of(f, y, "regression", folds)
    assert quality.value == pytest.approx(r2_score(y.T, f.T))
    means = np.empty_like(y)
    for F in folds.members:
        means[:, F] = np.delete(y, F, axis=1).mean(axis=1, keepdims=True)
    assert quality.trivial == pytest.approx(r2_score(y.T, means.T))
    assert "R2" in quality.text
    assert "for the mean alone" in quality.text
