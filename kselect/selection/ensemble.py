"""The average of the best candidates: which they are, their fits, and their held-out predictions.

The held-out predictions of the mean are the mean of the held-out predictions. So the average's own cross-validation
error is exact, given the choice of its members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kselect.core.grid_point import GridPoint
from kselect.core.method import Method
from kselect.criteria import CRITERIA
from kselect.kernels import Kernel
from kselect.learners import LEARNERS, Path
from kselect.learners.refits import held_out
from kselect.numerics.linalg import Array
from kselect.search.grid import NUMERICAL
from kselect.search.pruned import keeps_few_matrices
from kselect.search.training_context import TrainingContext
from kselect.selection.columns import passes_for_choice
from kselect.selection.defaults import NEAR
from kselect.selection.request import Request
from kselect.selection.result import Member, Selection


def best_candidates(scores: Array, most: int) -> list[tuple[int, int]]:
    """Return the positions of the best scores (kernels, ridges), those within a share of the best, in order.

    Of equal scores the first in grid order comes first. A score that was not computed is not a number.
    """
    known = np.where(np.isfinite(scores), scores, np.inf)
    best = float(known.min())
    order = np.argsort(known, axis=None, kind="stable")[:most]
    near = [i for i in order.tolist() if known.flat[i] <= best + NEAR * abs(best)]
    return [divmod(i, scores.shape[1]) for i in near]


def form_others(context: TrainingContext, found: Selection) -> tuple[Member, ...]:
    """Return the candidates to average with the best one, in the order of their scores.

    A candidate whose single fit fails is left out.
    """
    request, scores = found.request, found.scores
    points = [
        (GridPoint(request.kernels[i], request.lams[j]), float(scores[i, j]))
        for i, j in best_candidates(scores, request.ensemble)
    ]
    others = [(p, score) for p, score in points if p != found.best.point][: request.ensemble - 1]
    members: dict[GridPoint, Member] = {}
    # Kernels of one metric follow one another, so that one matrix of distances is in memory at a time.
    metrics = list(dict.fromkeys(point.kernel.metric for point, _ in others))
    every = dict.fromkeys(point.kernel for point, _ in others)
    for kernel in sorted(every, key=lambda one: metrics.index(one.metric)):
        own = [(p, score) for p, score in others if p.kernel == kernel]
        made = members_of_kernel(context, request, kernel, own, found.near)
        members |= {one.point: one for one in made}
    return tuple(members[p] for p, _ in others if p in members)


def members_of_kernel(
    context: TrainingContext,
    request: Request,
    kernel: Kernel,
    points: Sequence[tuple[GridPoint, float]],
    near: Mapping[GridPoint, Array],
) -> list[Member]:
    """Return the members with one kernel, which share its matrix; ``near`` has predictions that are known.

    A member whose predictions are known takes one Cholesky factor.
    """
    lams = np.array([point.lam for point, _ in points])
    if context.columns:
        columns = passes_for_choice(context.columns, request, kernel, float(lams.min()))
        context = replace(context, columns=columns)
    elif keeps_few_matrices(context.learner.name, context.n):
        context.points.keep_only(kernel.metric)
    learner, params = LEARNERS[context.learner.name], dict(context.learner.params)
    found = []
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        try:
            problem = context.problem(kernel, lams)
            for i, (point, score) in enumerate(points):
                targets, one, held = range(len(context.targets)), lams[[i]], near.get(point)
                its = problem if held is None else replace(problem, lams=one)
                paths = [learner.path(its.of_target(t, one), **params) for t in targets]
                fits = tuple(path.fit() for path in paths)
                if held is None:
                    held = held_out_of(context, request.method, paths)
                found.append(Member(point, score, fits, held))
        except NUMERICAL:
            pass
    return found


def held_out_of(context: TrainingContext, method: Method, paths: Sequence[Path]) -> Array | None:
    """Return each target's predictions (q, n) by the cross-validation of a criterion; None if it makes none."""
    if not holds_out(method):
        return None
    folds = context.folds(method.folds or 0)
    return np.array([held_out(path, folds)[0] for path in paths])


def holds_out(method: Method) -> bool:
    """Return whether a criterion is a cross-validation, which has held-out predictions."""
    return method.folds is not None and CRITERIA[method.criterion].need is Path
