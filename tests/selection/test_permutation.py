"""Relevances by permutation against retraining without the held-out rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import r2_score

from kselect.core.method import Choice
from kselect.errors import ConfigError
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.laplacian import Laplacian
from kselect.learners import LEARNERS
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.numerics.splits import Splits, as_folds
from kselect.numerics.weights import Weights
from kselect.selection.engine import select, training_context
from kselect.selection.held_out import HeldOut
from kselect.selection.page import permutation
from kselect.selection.page.permutation import REPEATS, effort, permuted_columns
from kselect.selection.request import Request, make_folds, make_method
from kselect.selection.result import mean_values

RNG = np.random.default_rng(11)
N = 37
X = RNG.normal(size=(N, 4))
NUMBERS = (np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * RNG.normal(size=N))[None]
CLASSES = np.where(NUMBERS > 0, 1.0, -1.0)
# Features 1 and 2 are levels of one column.
COLUMNS = np.array([0, 1, 1, 2])


def chosen(
    learner: str, task: str, pairs: Any = None, weights: Array | None = None, **more: Any
) -> HeldOut:
    """Return the held-out predictions of a small selection, for folds or for given splits."""
    targets = NUMBERS if task == "regression" else CLASSES
    method = make_method("3-CV", None, {}, task == "classification")
    params = tuple(sorted(LEARNERS[learner].defaults.items()))
    asked = Request(
        *(Choice(learner, params), (Gaussian(2.0), Laplacian(4.0)), (0.003, 0.01), method),
        task=task,
        weights=Weights.of(weights),
        **more,
    )
    folds = as_folds(pairs, N) if pairs else make_folds(method, N, 0, None)
    assert folds is not None
    return HeldOut(select(X, targets, asked, folds), X, targets, folds)


def retrained(held_out: HeldOut, train: Array, rows: Array) -> Array:
    """Return the (q, rows) predictions of new rows by models trained on some rows only."""
    selection = held_out.selection
    request, members = selection.request, []
    weights = request.weights and request.weights.part(train)
    mass = len(train) if request.weights is None else request.weights.values[train].sum()
    asked = replace(request, weights=weights)
    context = training_context(X[train], held_out.targets[:, train], asked, lambda _: None)
    learner = LEARNERS[request.learner.name]
    for one in selection.members:
        lams = np.array([one.point.lam * N / mass])
        problem = context.problem(one.point.kernel, lams)
        paths = (
            learner.path(problem.of_target(t, lams), **dict(request.learner.params))
            for t in range(len(held_out.targets))
        )
        members.append((one.point.kernel, [path.fit() for path in paths]))
    return mean_values(members, X[train], rows).T


def score(held_out: HeldOut, values: Array, tested: Array, weights: Array) -> float:
    """Return the accuracy or R2 by scikit-learn's definition."""
    y = held_out.targets[0][tested]
    if held_out.selection.request.task == "regression":
        return float(r2_score(y, values[0], sample_weight=weights))
    return float(np.average((values[0] > 0) == (y > 0), weights=weights))


def relevances_by_retraining(held_out: HeldOut) -> dict[int, float]:
    """Return {column: loss}: each split is trained anew, and each column is shuffled in its test rows."""
    folds = held_out.folds
    if isinstance(folds, Splits):
        pairs = list(folds.pairs)
    else:
        pairs = [(np.delete(np.arange(N), F), F) for F in folds.members]
    tested = folds.rows if isinstance(folds, Splits) else np.arange(N)
    own = held_out.selection.request.weights
    weights = np.ones(len(tested)) if own is None else own.given[tested]
    draw = stream(0, "permutation")
    draw.permutation(len(tested))

    def shuffled(column: int | None) -> float:
        order = np.arange(len(tested))
        for at in folds.members if column is not None else ():
            order[at] = draw.permutation(at)
        new = X[tested]
        if column is not None:
            new[:, column == COLUMNS] = X[tested[order]][:, column == COLUMNS]
        values = np.empty((1, len(tested)))
        for (train, _), at in zip(pairs, folds.members, strict=True):
            values[:, at] = retrained(held_out, train, new[at])
        return score(held_out, values, tested, weights)

    base = shuffled(None)
    return {c: base - np.mean([shuffled(c) for _ in range(REPEATS)]) for c in (0, 1, 2)}


def windows() -> list[tuple[Array, Array]]:
    """Return expanding windows of time."""
    return [(np.arange(a), np.arange(a, a + 9)) for a in (10, 19, 28)]


def repeated() -> list[tuple[Array, Array]]:
    """Return two partitions into folds, one after the other."""
    every = (draw_folds(N, 3, stream(seed, "test")) for seed in (1, 2))
    return [(np.delete(np.arange(N), F), F) for folds in every for F in folds.members]


@pytest.mark.parametrize(
    ("learner", "task", "how"),
    [
        ("krr", "regression", {"ensemble": 4}),
        ("lssvm", "classification", {}),
        ("lssvm", "regression", {"pairs": windows()}),
        ("lssvm", "classification", {"pairs": repeated()}),
        ("krr", "regression", {"weights": RNG.integers(1, 4, N).astype(float)}),
        ("smooth-hinge", "classification", {}),
        ("quadratic-svr", "regression", {}),
    ],
)
def test_the_losses_are_those_of_retraining(learner: str, task: str, how: dict[str, Any]) -> None:
    """The folds' fits have not seen the shuffled rows: a leak would change the losses."""
    held_out = chosen(learner, task, **how)
    found = permuted_columns(held_out, COLUMNS)
    wanted = relevances_by_retraining(held_out)
    assert dict(zip(found.columns.tolist(), found.drops.tolist(), strict=True)) == pytest.approx(
        wanted, abs=1e-7
    )
    assert (np.diff(found.drops) <= 0).all()
    assert found.errors.min() >= 0


def test_on_columns_the_fits_are_those_of_the_held_out_predictions() -> None:
    """With Nystrom columns, rows in their own order have the held-out predictions."""
    held_out = chosen("krr", "regression", nystrom=12)
    found = permuted_columns(held_out, np.zeros(4, dtype=int))
    assert found.columns.tolist() == [0]
    quality = held_out.quality.value
    # All features shuffled together: what is left is the quality of other rows' predictions.
    assert quality - 3.0 < quality - found.drops[0] < 0.5


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer repeats first, then fewer rows, but not fewer than the least; then fewer columns."""
    assert effort(1000, 1000, 10, 10) == (REPEATS, 1000)
    assert effort(1000, 10_000, 100, 10) == (1, 1000)
    assert effort(10_000, 10_000, 100, 10) == (1, 1000)
    assert effort(10_000, 10_000, 1000, 1000) == (1, 200)
    monkeypatch.setattr(permutation, "MOST_COLUMNS", 2)
    held_out = chosen("krr", "regression")
    found = permuted_columns(held_out, COLUMNS)
    assert (sorted(found.columns.tolist()), found.left_out) == ([0, 1], 1)
    monkeypatch.setattr(permutation, "effort", lambda *sizes: (1, 20))
    few = permuted_columns(held_out, COLUMNS)
    assert (few.rows, few.tested, few.repeats) == (20, N, 1)


def test_rows_on_a_cluster_are_refused() -> None:
    held_out = chosen("krr", "regression")
    held_out.X = object()
    with pytest.raises(ConfigError, match="rows in memory"):
        permuted_columns(held_out, COLUMNS)
