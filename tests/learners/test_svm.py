"""The SVM's path against LIBSVM, its optimality conditions, and retraining."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracles_svm as slow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import Case, cases, numbered, problem_of, rows

from kselect.errors import ConfigError, TrialError
from kselect.kernels import Kernel, Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.nystrom import NystromColumns
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import Problem
from kselect.learners.svm import ladder, smo_fallback, svm
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array

# C = 2^-10 to 2^14 on 60 rows.
LAMS = 1.0 / (2 * 60 * 2.0 ** np.arange(-10, 15, 3))
TAUS = (2.0**-15, 2.0**-6, 2.0**-3, 1.0, 2.0**4, 2.0**15)
KINDS = ("random", "separable", "duplicated", "noise", "unequal", "columns")


def data(kind: str, n: int = 60, seed: int = 1) -> tuple[Array, Array]:
    """Return data that are hard to train on."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    y = np.where(np.sin(3 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    if kind == "separable":
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        X[:, 0] += 0.5 * y
    if kind == "duplicated":
        X[n // 2 :] = X[: n - n // 2]
        y[n // 2 :] = rng.choice([-1.0, 1.0], size=n - n // 2)
    if kind == "noise":
        y = rng.choice([-1.0, 1.0], size=n)
    if kind == "unequal":
        y = np.where(np.arange(n) < 3, 1.0, -1.0)
    if kind == "columns":
        X = np.round(X)
    return X, y


def problem(
    kind: str, kernel: Kernel, *, n: int = 60, lams: Array = LAMS, ridge: str = "fixed"
) -> Problem:
    return problem_of(kernel, *data(kind, n), lams, ridge=ridge)


def in_single(p: Problem) -> Problem:
    """Round the kernel matrix to single precision, as LIBSVM stores it."""
    return replace(p, K=p.K.astype(np.float32).astype(np.float64))


def folds_of(n: int, k: int, seed: int = 3) -> Folds:
    return numbered(np.random.default_rng(seed), n, k, False)


def nowhere(q: object, space: object, Cs: object, at: int, *_: object) -> int:
    """Replace the compiled path by one that stops where it starts."""
    return at


def box(p: Problem) -> list[float]:
    """Return C for each ridge."""
    return [1.0 / (2 * p.n * lam) for lam in p.lams.tolist()]


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_libsvms(kind: str, tau: float) -> None:
    """Decisions agree with LIBSVM's at tolerance 1e-8 to 1e-5."""
    if (kind, tau) == ("noise", 2.0**15):
        pytest.skip("f varies by 1e-3 in all, so that LIBSVM's tolerance allows an error of 6e-5")
    p = in_single(problem(kind, Gaussian(tau)))
    found = svm(p).decision()
    for at, C in enumerate(box(p)):
        expected = slow.libsvm(p.K, p.y, C, p.K)
        np.testing.assert_allclose(found[at], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kernel", [*map(Gaussian, TAUS), Linear(), Polynomial(2), Polynomial(5)])
@pytest.mark.parametrize("kind", KINDS)
def test_optimality(kind: str, kernel: Kernel, bias: bool) -> None:
    """Optimality conditions hold to 1e-8 plus the rounding error of K beta."""
    p = problem(kind, kernel)
    path = svm(p, bias=bias)
    dual = path.fit()
    for at, C in enumerate(box(p)):
        beta, b = dual.alpha[at], float(dual.bias[at])
        rounding = 1e-14 * np.abs(p.K).max() * np.abs(beta).sum()
        assert slow.violation(p.K, p.y, beta, b, C, bias) <= 1e-8 + rounding
        np.testing.assert_allclose(path.decision()[at], p.K @ beta + b, atol=1e-8 + rounding)
        assert bias or b == 0.0


@settings(max_examples=40)
@given(cases(labels=True, lowest=-4.0), st.booleans())
def test_any_problem(case: Case, bias: bool) -> None:
    """Any kernel, ridges in any order, and labels of one class satisfy the conditions."""
    p = case.problem
    dual = svm(p, bias=bias).fit()
    for at, C in enumerate(box(p)):
        beta, b = dual.alpha[at], float(dual.bias[at])
        rounding = 1e-13 * np.abs(p.K).max() * np.abs(beta).sum()
        assert slow.violation(p.K, p.y, beta, b, C, bias) <= 1e-8 + rounding


def test_no_other_fit_is_better() -> None:
    """With C = 1 / (2 n lam) no random perturbation lowers the papers' objective."""
    p = problem("random", Gaussian(0.5))
    dual = svm(p).fit()
    rng = np.random.default_rng(0)
    for at, lam in enumerate(p.lams.tolist()):
        beta, b = dual.alpha[at], float(dual.bias[at])
        least = slow.objective(p.K, p.y, beta, b, lam)
        for _ in range(20):
            other = beta + 1e-3 * np.abs(beta).max() * rng.normal(size=p.n)
            assert slow.objective(p.K, p.y, other, b + 1e-3 * rng.normal(), lam) > least


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tau", [2.0**-6, 0.5, 2.0**6])
def test_the_fallback_finds_the_same(
    tau: float, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the compiled path stops at every C, SMO solves each."""
    p = problem("duplicated", Gaussian(tau))
    fast = svm(p, bias=bias).decision()
    monkeypatch.setattr(ladder, "stride", nowhere)
    np.testing.assert_allclose(svm(p, bias=bias).decision(), fast, atol=1e-6)


def test_repeated_ridges_and_any_order() -> None:
    """The order and repetition of ridges does not change a fit."""
    order = np.array([3, 0, 3, 8, 1])
    p = problem("random", Gaussian(0.5))
    whole = svm(p).decision()
    some = svm(replace(p, lams=p.lams[order])).decision()
    np.testing.assert_allclose(some, whole[order], atol=1e-8)


def test_the_kernel_matrix_is_shared_between_targets() -> None:
    """Negated labels on the same kernel negate the decisions."""
    p = problem("random", Gaussian(0.5))
    svm(p).decision()
    other = p.changed(y=-p.y)
    np.testing.assert_allclose(svm(other).decision(), -svm(p).decision(), atol=1e-8)


@pytest.mark.parametrize("ridge", ["fixed", "per-fold"])
@pytest.mark.parametrize("tau", [2.0**-6, 0.5, 2.0**6])
@pytest.mark.parametrize("kind", KINDS)
def test_held_out_is_libsvms(kind: str, tau: float, ridge: str) -> None:
    """Held-out decisions are LIBSVM's without the fold, with C for n rows or the others."""
    p = in_single(problem(kind, Gaussian(tau), ridge=ridge))
    folds = folds_of(p.n, 3)
    held = svm(p).held_out(folds)
    for F in folds.members:
        rest = np.setdiff1d(np.arange(p.n), F)
        if len(set(p.y[rest])) < 2:
            continue
        size = p.n if ridge == "fixed" else len(rest)
        for at, lam in enumerate(p.lams.tolist()):
            K, across = p.K[np.ix_(rest, rest)], p.K[np.ix_(F, rest)]
            expected = slow.libsvm(K, p.y[rest], 1.0 / (2 * size * lam), across)
            np.testing.assert_allclose(held[at, F], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear(), Polynomial(3)])
def test_held_out_is_training_without_the_fold(kernel: Kernel, bias: bool) -> None:
    """A new path on the other rows gives the same predictions."""
    p = problem("duplicated", kernel, ridge="per-fold", lams=LAMS[:6])
    folds = folds_of(p.n, 4)
    held = svm(p, bias=bias).held_out(folds)
    for F in folds.members:
        rest = np.setdiff1d(np.arange(p.n), F)
        alone = svm(problem_of(kernel, p.X[rest], p.y[rest], p.lams), bias=bias).fit()
        across = kernel.gram(Points(p.X[F], p.X[rest]))
        for at in range(len(p.lams)):
            np.testing.assert_allclose(held[at, F], alone.decision(at, across), atol=1e-6)


def test_leave_one_out_is_training_without_the_row() -> None:
    """Leave-one-out keeps the ridge n lam in both ridge modes."""
    p = problem("random", Gaussian(0.5), n=30)
    singles = Folds(tuple(np.array([i]) for i in range(p.n)))
    np.testing.assert_allclose(svm(p).loo(), svm(p).held_out(singles), atol=1e-8)
    per_fold = svm(replace(p, ridge="per-fold"))
    np.testing.assert_allclose(per_fold.loo(), svm(p).loo(), atol=1e-8)


SEVEN = np.array([[0.4299], [0.696], [-1.1841], [-0.6617], [-0.4364], [-1.1698], [1.7394]])


def singles(n: int) -> Folds:
    """Return one fold for each row."""
    return Folds(tuple(np.array([i]) for i in range(n)))


def test_a_row_without_a_coefficient_can_bound_the_bias() -> None:
    """No row is free and the last one, whose beta is 0, is an end of the interval of the bias."""
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, -1.0])
    p = problem_of(Linear(), SEVEN, y, (1.0,))
    path = svm(p)
    assert path.fit().alpha[0, 6] == 0.0
    np.testing.assert_array_equal(path.loo(), path.held_out(singles(7)))
    assert np.square(y - path.loo()).mean() == pytest.approx(2.42622, abs=1e-5)
    K, C = p.K[:6, :6], 1.0 / 14
    beta, b = slow.every_status(K, y[:6], C)
    assert path.loo()[0, 6] == pytest.approx(p.K[6, :6] @ beta + b, abs=1e-9)
    np.testing.assert_allclose(path.without(6)[0], p.K[:, :6] @ beta + b, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_small_problems_by_every_status(seed: int) -> None:
    """Fits and leave-one-out are those of the only statuses that are optimal."""
    rng = np.random.default_rng(seed)
    X, y = np.round(2 * rng.normal(size=(6, 2))) / 2, np.tile([1.0, -1.0], 3)
    kernel = (Linear(), Gaussian(2.0**-3), Gaussian(4.0))[seed % 3]
    p = problem_of(kernel, X, y, (0.5, 0.08, 0.01))
    path = svm(p)
    np.testing.assert_array_equal(path.loo(), path.held_out(singles(6)))
    for at, C in enumerate(box(p)):
        beta, b = slow.every_status(p.K, y, C)
        np.testing.assert_allclose(path.decision()[at], p.K @ beta + b, atol=1e-8)
        for i in range(6):
            T = np.delete(np.arange(6), i)
            beta, b = slow.every_status(p.K[np.ix_(T, T)], y[T], C)
            assert path.loo()[at, i] == pytest.approx(p.K[i, T] @ beta + b, abs=1e-8)


def test_a_fold_that_leaves_one_class() -> None:
    """The SVM with a bias predicts the label of the only class, its optimum nearest to 0."""
    X, y = rows(20)
    y = np.where(np.arange(20) < 4, 1.0, -1.0)
    folds = Folds.from_numbers((np.arange(20) < 4).astype(np.intp))
    held = svm(problem_of(Gaussian(1.0), X, y)).held_out(folds)
    np.testing.assert_allclose(held[:, :4], -1.0)


@pytest.mark.parametrize("seed", [4, 207, 241, 290])
def test_a_large_C_alone_is_solved_as_next_to_others(seed: int) -> None:
    """Far rows in a linear kernel: where SMO reaches its limit, smaller values of C lead to the solution."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2)) * np.array([[1e3]] + 8 * [[1.0]])
    y = np.where(rng.permutation(9) < 4, 1.0, -1.0)
    p = problem_of(Linear(), X, y, 1.0 / (18 * 10.0 ** np.arange(5)))
    alone, together = svm(p.changed(lams=p.lams[-1:])).decision()[0], svm(p).decision()[-1]
    np.testing.assert_allclose(np.minimum(y * alone, 1), np.minimum(y * together, 1), atol=1e-4)


def test_coefficients_that_rounding_hides_on_the_way() -> None:
    """A row at 4000 in a cubic kernel: the steps to a large C pass coefficients too large for the solution."""
    X = np.array([
        [0, -1000, 4000], [3, 3, 1], [-1, 2, 3], [3, 0, 0], [-3, 3, 2], [1, -2, 0], [0, 1, -2], [0, -1, 3],
        [-3, -1, -1], [-1, 0, 1], [-1, 1, 5], [3, 3, 1], [-1, -1, 0], [3, -1, -1], [2, 1, -1], [-4, -1, -2],
        [2, -1, 0], [2, 1, 0], [-1, 2, 0],
    ], dtype=np.float64)  # fmt: skip
    y = np.where(np.isin(np.arange(19), [4, 6, 7, 9, 13, 14, 17, 18]), -1.0, 1.0)
    lams = (3.912740037840937e-06, 0.012685577634422398)
    p = problem_of(Polynomial(3), X, y, lams)
    alone = svm(p.changed(lams=p.lams[:1])).decision()[0]
    np.testing.assert_allclose(np.minimum(y * alone, 1), np.minimum(y * svm(p).decision()[0], 1))


def test_an_iteration_limit_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the kernel and C."""
    monkeypatch.setattr(ladder, "stride", nowhere)
    monkeypatch.setattr(smo_fallback, "search_down", lambda *_: np.nan)
    with pytest.raises(TrialError, match=r"iteration limit: gaussian tau=0.25 C="):
        svm(problem("noise", Gaussian(0.25))).decision()


def test_a_failure_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path caches its failure for other criteria."""
    asked = []

    def fails(*_: object) -> None:
        asked.append(1)
        raise TrialError("no fit")

    monkeypatch.setattr(ladder, "climb", fails)
    path = svm(problem("random", Gaussian(1.0)))
    for ask in (path.decision, path.fit, path.decision):
        with pytest.raises(TrialError, match="no fit"):
            ask()
    assert len(asked) == 1


def test_problems_that_are_refused() -> None:
    """Targets of other values and Nystrom columns are refused."""
    X, _ = rows(12)
    with pytest.raises(ConfigError, match="two classes"):
        svm(problem_of(Gaussian(1.0), X, X[:, 0]))
    p = problem("random", Gaussian(1.0))
    with pytest.raises(ConfigError, match="Nystrom"):
        svm(replace(p, columns=NystromColumns(np.ones((60, 1)), np.ones((1, 1)))))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(2.0**-15), Gaussian(2.0**-6), Polynomial(5)])
def test_the_risk_of_rows_that_are_separated_is_zero(kernel: Kernel, bias: bool) -> None:
    """The hinge loss is exactly 0, so that rounding errors cannot choose between kernels."""
    p = problem("noise", kernel, lams=LAMS[-3:])
    hinge = np.maximum(0.0, 1.0 - p.y * svm(p, bias=bias).decision())
    assert (hinge == 0.0).all()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_rows_have_equal_decisions(kind: str, bias: bool) -> None:
    """Equal rows share one coefficient in the dual."""
    X, y = data(kind)
    X, y = np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]])
    p = problem_of(Gaussian(0.5), X, y, LAMS)
    path = svm(p, bias=bias)
    np.testing.assert_array_equal(path.decision()[:, :20], path.decision()[:, 60:])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_row_is_on_its_side(kind: str, tau: float, bias: bool) -> None:
    """Slacks have the sign that the coefficients demand: ``a = 0``, ``a = C``, or between."""
    p = problem(kind, Gaussian(tau))
    path = svm(p, bias=bias)
    slack = 1.0 - p.y * path.decision()
    for at, C in enumerate(box(p)):
        a = p.y * path.fit().alpha[at]
        whole = np.array(
            [a[(p.X[i] == p.X).all(axis=1) & (p.y == p.y[i])].sum() for i in range(p.n)]
        )
        several = np.array(
            [((p.X[i] == p.X).all(axis=1) & (p.y == p.y[i])).sum() for i in range(p.n)]
        )
        assert (slack[at, whole <= 0] <= 0).all()
        assert (slack[at, whole >= several * C] >= 0).all()


def balanced(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Return rows and labels, equally many of each class."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, size=(n, 3)), np.where(rng.permutation(n) % 2 == 0, 1.0, -1.0)


@pytest.mark.parametrize("n", [4, 10, 50, 72])
def test_the_bias_of_balanced_classes_at_the_identity_is_zero(n: int) -> None:
    """All rows at C, or all free: exactly 0, also without one row of each class, which are then wrong."""
    X, y = balanced(n)
    lams = 1.0 / (2 * n * np.array([0.005, 0.05, 0.7, 1.0, 1.1, 5.0, 50.0]))
    p = problem_of(Gaussian(2.0**-30), X, y, lams)
    np.testing.assert_array_equal(p.K, np.eye(n))
    path = svm(p)
    np.testing.assert_array_equal(path.fit().bias, 0.0)
    pairs = zip(np.flatnonzero(y > 0), np.flatnonzero(y < 0), strict=True)
    np.testing.assert_array_equal(path.held_out(Folds(tuple(map(np.sort, pairs)))), 0.0)


@pytest.mark.parametrize("C", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("size", [1e-25, 1e-14, 1e-10])
def test_a_tiny_bias_has_its_sign(size: float, C: float) -> None:
    """Near the identity: the sum of small terms, which rounding of y would hide, relative to these terms."""
    X, y = balanced(8)
    off = size * np.random.default_rng(1).uniform(size=(8, 8))
    p = replace(problem_of(Gaussian(1.0), X, y, (1.0 / (16 * C),)), K=np.eye(8))
    p = replace(p, K=p.K + np.triu(off, 1) + np.triu(off, 1).T)
    expected = slow.bias_near_identity(p.K, y, C)
    assert 0.0 < abs(expected) < size
    assert svm(p).fit().bias[0] == pytest.approx(expected, rel=1e-6, abs=1e-3 * size)


def test_margins_lost_in_rounding_are_refused_whatever_the_other_ridges_are() -> None:
    """Features near 1e6: lam = 1e-4 was refused alone and scored next to others."""
    rng = np.random.default_rng(11)
    X, y = 1e6 + 10.0 * rng.normal(size=(10, 1)), rng.choice([-1.0, 1.0], size=10)
    for lams in ((1e-4,), (1e-4, 0.1), (1e-4, 0.1, 1.0), (1.0, 1e-4, 10.0)):
        with pytest.raises(TrialError, match="margins are lost in the rounding"):
            svm(problem_of(Polynomial(1), X, y, lams)).decision()
    alone = svm(problem_of(Polynomial(1), X, y, (10.0,))).decision()
    both = svm(problem_of(Polynomial(1), X, y, (10.0, 100.0))).decision()
    np.testing.assert_allclose(alone[0], both[0], atol=1e-4)
