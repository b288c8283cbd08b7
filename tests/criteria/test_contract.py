"""Requirements on every criterion; a new file in criteria/ is tested without a change here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pytest
from experiments import message_of
from problems import any_kernel, bias_of, numbered, problem_of, rows

from kselect.contract.criteria import modified, unrepeatable, wrong_scores
from kselect.contract.problem import score
from kselect.criteria import CRITERIA, Criterion, find_criterion
from kselect.errors import ConfigError
from kselect.kernels import KERNELS
from kselect.learners import LEARNERS, Learner, Path
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.registry import Parameter

N = 18
SQUARE = ("lssvm", "krr", "quadratic-svr")
RIDGES = (0.05, 0.2, 0.8)
# The kernels of a grid; learned kernels have their own tests.
TRIED = sorted(name for name, cls in KERNELS.items() if not cls.learned)
# A parameter that has an effect in one form only is tried in that form.
CONTEXT: dict[tuple[str, str], dict[str, Any]] = {
    ("ELOO", "slope"): {"form": "smoothed"},
    ("BIF-k-KS", "c"): {"estimate": "projection"},
}
# The learner of an option that not every learner has.
LEARNER = {("k-FBIF", "operator"): "smooth-hinge"}


def allowed(criterion: Criterion, learner: str, kernel: str) -> bool:
    """Check the requirements of a criterion on a learner and a kernel, which are defined in one place."""
    return not list(criterion.misfits(criterion.name, LEARNERS[learner], [kernel]))


def combinations() -> Iterator[Any]:
    """Return every combination of criterion, learner and kernel that is allowed."""
    for criterion in CRITERIA.values():
        for learner in sorted(LEARNERS):
            for kernel in TRIED:
                if allowed(criterion, learner, kernel):
                    yield pytest.param(
                        criterion, learner, kernel, id=f"{criterion.name}-{learner}-{kernel}"
                    )


EVERY = pytest.mark.parametrize(("criterion", "learner", "kernel"), list(combinations()))
NAMES = pytest.mark.parametrize("criterion", list(CRITERIA.values()), ids=list(CRITERIA))


def make(learner: str, kernel: str, order: Any = slice(None)) -> Path:
    """Return a path on the rows in some order."""
    X, y = rows(N)
    positions = np.arange(N)[order]
    drawn = np.argsort(positions)[np.random.default_rng(4).permutation(N)]
    p = problem_of(any_kernel(kernel), X[order], y[order], RIDGES, order=drawn)
    return LEARNERS[learner].path(p)


def some_path(criterion: Criterion) -> Path:
    """Return a path on the first learner and kernel that a criterion allows."""
    learner, kernel = next(
        (learner, k)
        for learner in ("lssvm", *sorted(LEARNERS))
        for k in TRIED
        if allowed(criterion, learner, k)
    )
    return make(learner, kernel)


def numbers() -> Array:
    """Return the fold of each row; the folds differ in size."""
    folds = numbered(np.random.default_rng(3), N, 4, False)
    found = np.empty(N, dtype=np.intp)
    for k, F in enumerate(folds.members):
        found[F] = k
    return found


def bound(path: Path, learner: str, scores: Array) -> Array:
    """Return the bound of each score, which adds at most n terms of predictions within the bound of a fold.

    The bound holds for the square loss; another learner's trainer stops at 1e-8 of the targets' scale.
    """
    p, folds = path.problem, Folds.from_numbers(numbers())
    if learner not in SQUARE:
        return 4 * N * 1e-8 * (1.0 + np.abs(scores))
    off = 0.0
    for lam in p.lams:
        for members in (folds.members, oracles.singletons(N)):
            found = oracles.held_out_bound(p.K, p.y, members, lam, bias_of(learner), False)
            off = max(off, float(found.max()))
    # A logarithm of PRESS adds n/2 relative errors, a smoothed sign slope / 4.
    return 4 * N * off * (1.0 + np.abs(scores))


@EVERY
def test_shape_range_and_repetition(criterion: Criterion, learner: str, kernel: str) -> None:
    """Scores have shape (n_ridges,), are finite or plus infinity, and repeat on the same and on a fresh path."""
    assert wrong_scores(criterion, make(learner, kernel)) == ""
    assert unrepeatable(criterion, lambda: make(learner, kernel)) == ""


@EVERY
def test_nothing_is_modified(criterion: Criterion, learner: str, kernel: str) -> None:
    """A criterion changes neither the problem nor the results of others on the path, in any order."""
    assert modified(criterion, make(learner, kernel)) == ""


@EVERY
def test_order_of_rows_does_not_matter(criterion: Criterion, learner: str, kernel: str) -> None:
    """Rows and folds in another order give the same scores within the bound."""
    order = np.random.default_rng(8).permutation(N)
    path = make(learner, kernel)
    base = score(criterion, path, Folds.from_numbers(numbers()))
    other = score(criterion, make(learner, kernel, order), Folds.from_numbers(numbers()[order]))
    np.testing.assert_array_equal(np.isposinf(base), np.isposinf(other))
    finite = np.isfinite(base)
    base, other, limit = base[finite], other[finite], bound(path, learner, base)[finite]
    assert (np.abs(base - other) <= limit).all()
    assert limit.max(initial=0.0) < 1e-6 * (1 + np.abs(base).max(initial=0.0))


@EVERY
def test_other_criteria_on_the_path_do_not_matter(
    criterion: Criterion, learner: str, kernel: str
) -> None:
    """Other criteria on the same path do not change a score."""
    folds = Folds.from_numbers(numbers())
    alone = score(criterion, make(learner, kernel), folds)
    path = make(learner, kernel)
    for other in CRITERIA.values():
        if allowed(other, learner, kernel):
            score(other, path, folds)
    np.testing.assert_array_equal(score(criterion, path, folds), alone)


@NAMES
def test_documented(criterion: Criterion) -> None:
    """Every criterion documents one line and a paper, and its name reads back."""
    assert len(criterion.summary) > 10
    assert criterion.paper
    folds = 7 if criterion.takes_folds else None
    assert find_criterion(criterion.label(folds)) == (criterion, folds)
    if criterion.reconstructed:
        assert "reconstructed" in (criterion.function.__doc__ or "")


# Limits at which every guard excludes something.
GUARDS = {"identity": 10.0, "cap": 0.0}


def alternatives(parameter: Parameter) -> list[Any]:
    """Return values that differ from the default."""
    if parameter.choices:
        return [c for c in parameter.choices if c != parameter.default]
    if parameter.name in GUARDS:
        return [GUARDS[parameter.name]]
    return [parameter.default * 2 + 1 if parameter.whole else parameter.default / 16]


def options() -> Iterator[Any]:
    """Return every other value of every parameter."""
    for criterion in CRITERIA.values():
        for parameter in criterion.parameters:
            for value in alternatives(parameter):
                yield pytest.param(
                    criterion, parameter, value, id=f"{criterion.name}-{parameter.name}-{value}"
                )


@pytest.mark.parametrize(("criterion", "parameter", "value"), list(options()))
def test_no_option_is_ignored(criterion: Criterion, parameter: Parameter, value: Any) -> None:
    """Another value of a parameter gives another score; its default, given explicitly, gives the same one."""
    learner = LEARNER.get((criterion.name, parameter.name))
    path = make(learner, "gaussian") if learner else some_path(criterion)
    folds = Folds.from_numbers(numbers())
    context = CONTEXT.get((criterion.name, parameter.name), {})
    base = score(criterion, path, folds, **context)
    same = score(criterion, path, folds, **{parameter.name: parameter.default, **context})
    other = score(criterion, path, folds, **{**context, parameter.name: value})
    np.testing.assert_array_equal(same, base)
    assert np.abs(other - base).max() > 1e-6


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("1-CV", "'1-CV': cross-validation needs 2 folds or more"),
        ("0-KS", "'0-KS': cross-validation needs 2 folds or more"),
        ("5-CX", "unknown criterion '5-CX'; did you mean '5-CV'?"),
        ("5-fold", "unknown criterion '5-fold'; did you mean '5-CV'?"),
        ("cv", "unknown criterion 'cv'; did you mean '5-CV'?"),
        ("10", "unknown criterion '10'; did you mean '10-CV'?"),
        ("LOOCV", "unknown criterion 'LOOCV'; did you mean 'ELOO'?"),
        ("leave-one-out", "unknown criterion 'leave-one-out'; did you mean 'ELOO'?"),
        ("10 folds", "unknown criterion '10 folds'; did you mean '10-CV'?"),
        ("7-Fold-CV", "unknown criterion '7-Fold-CV'; did you mean '7-CV'?"),
        ("elo", "unknown criterion 'elo'; did you mean 'ELOO'?"),
    ],
)
def test_invalid_names(label: str, words: str) -> None:
    """An invalid name is a ConfigError with the nearest name."""
    assert words in message_of(ConfigError, find_criterion, label)


def test_parameters_are_parsed() -> None:
    """Choices, numbers, infinity and whole numbers are parsed as parameters."""
    eta = CRITERIA["k-KS"].parameter("eta")
    loss = CRITERIA["k-KS"].parameter("loss")
    assert eta is not None
    assert loss is not None
    assert CRITERIA["k-KS"].parameter("slope") is None
    assert (eta.parse("2^-3"), eta.parse(0), eta.parse("inf")) == (0.125, 0.0, float("inf"))
    assert loss.parse("hinge") == "hinge"
    for value in (-1, "nan", "-2", True):
        with pytest.raises(ConfigError):
            eta.parse(value)
    with pytest.raises(ConfigError, match="did you mean 'hinge'"):
        loss.parse("hing")
    whole = replace(eta, whole=True)
    assert whole.parse("3") == 3
    with pytest.raises(ConfigError, match="whole number"):
        whole.parse(2.5)
    with pytest.raises(ConfigError):
        whole.parse("inf")


def test_annotations_define_the_requirements() -> None:
    """Annotations define the requirements: a learner of decisions and held-out predictions only serves k-CV."""

    class Plain:
        def decision(self) -> None: ...
        def held_out(self) -> None: ...
        def fit(self) -> None: ...

    def plain(problem: object) -> Plain:
        raise AssertionError

    plain.__annotations__["return"] = Plain
    only = Learner("plain", plain, "", (), frozenset({"classification"}), None)
    told = {n: list(c.misfits(c.label(5), only, ["gaussian"])) for n, c in CRITERIA.items()}
    assert told["k-CV"] == told["k-KS"] == told["EP"] == []
    assert told["BIF-k-CV"] == ["BIF-5-CV needs a series, which plain does not have"]
    assert told["ELOO"] == ["ELOO needs a closed form of leave-one-out, which plain does not have"]
    assert told["GCV"] == ["GCV needs a hat matrix, which plain does not have"]
