r"""Probabilities from held-out decision values: Platt's sigmoid (Platt 1999; Lin, Lin and Weng 2007).

``p(f) = 1 / (1 + exp(a f + b))`` minimises the cross-entropy against the smoothed targets
``t_+ = (N_+ + 1) / (N_+ + 2)`` and ``t_- = 1 / (N_- + 2)``: a finite optimum where the classes are separated.
The problem is convex in (a, b); Newton's method with backtracking solves it in a few steps of O(n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from kselect.errors import TrialError
from kselect.numerics.linalg import Array

STEPS = 100
FLAT = 1e-10  # of the mean gradient, whose terms are at most 1 in units of the largest decision
RIDGE = 1e-12  # keeps the Hessian regular where all decisions are alike
ENOUGH = 1e-4  # of the decrease that the gradient promises
SHORTEST = 1e-10


@dataclass(frozen=True)
class Sigmoid:
    """``p(f) = 1 / (1 + exp(a f + b))``; a is negative where a larger decision makes the class likelier."""

    a: float
    b: float


def fit_sigmoid(decisions: ArrayLike, labels: ArrayLike) -> Sigmoid:
    """The sigmoid of one class; ``labels`` are positive for its rows."""
    f, positive = np.asarray(decisions, dtype=np.float64), np.asarray(labels) > 0
    if f.ndim != 1 or f.shape != positive.shape or not f.size:
        raise ValueError(f"decisions of shape {f.shape} for labels of {positive.shape}")
    if not np.isfinite(f).all():
        raise TrialError("no sigmoid: a held-out decision is not finite")
    unit = float(np.abs(f).max()) or 1.0
    a, b = minimise(f / unit, smoothed(positive))
    return Sigmoid(a / unit, b)


def smoothed(positive: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Array:
    """Platt's targets: the posterior means of the two classes' rates under a uniform prior."""
    n_positive = int(positive.sum())
    n_negative = positive.size - n_positive
    high, low = (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2)
    return np.where(positive, high, low)


def minimise(f: Array, t: Array) -> tuple[float, float]:
    """Newton's method from the sigmoid that knows the classes' sizes alone."""
    design = np.stack([f, np.ones_like(f)])
    n_positive = int((t > 0.5).sum())
    theta = np.array([0.0, np.log((f.size - n_positive + 1) / (n_positive + 1))])
    value = cross_entropy(theta @ design, t)
    for _ in range(STEPS):
        p = expit(-(theta @ design))
        gradient = design @ (t - p)
        if np.abs(gradient).max() <= FLAT * f.size:
            break
        hessian = (design * (p * (1 - p))) @ design.T + RIDGE * np.eye(2)
        step = -np.linalg.solve(hessian, gradient)
        found = backtrack(theta, step, float(gradient @ step), value, design, t)
        if found is None:  # rounding hides any further descent
            break
        theta, value = found
    return float(theta[0]), float(theta[1])


def cross_entropy(z: Array, t: Array) -> float:
    """``-sum t log p + (1 - t) log(1 - p)`` for ``p = 1 / (1 + exp(z))``, without overflow."""
    return float((np.logaddexp(0.0, -z) + t * z).sum())


def backtrack(
    theta: Array, step: Array, slope: float, value: float, design: Array, t: Array
) -> tuple[Array, float] | None:
    """The first of the steps 1, 1/2, 1/4, ... that descends enough, None if none does."""
    length = 1.0
    while length >= SHORTEST:
        there = theta + length * step
        reached = cross_entropy(there @ design, t)
        if reached < value + ENOUGH * length * slope:
            return there, reached
        length /= 2.0
    return None


def probability(sigmoid: Sigmoid, decisions: ArrayLike) -> Array:
    """The class's probability at each decision value."""
    f = np.asarray(decisions, dtype=np.float64)
    return np.asarray(expit(-(sigmoid.a * f + sigmoid.b)))


def fit_sigmoids(decisions: Array, targets: Array) -> tuple[Sigmoid, ...]:
    """One sigmoid per row of held-out decisions (q, n) with its targets (q, n) of -1 and +1."""
    return tuple(fit_sigmoid(f, y) for f, y in zip(decisions, targets, strict=True))


def probabilities(sigmoids: Sequence[Sigmoid], decisions: Array) -> Array:
    """(rows, classes) from decisions (rows, q): two classes by one sigmoid, more by one against the rest.

    The latter are divided by their sum; where all of them vanish, no class is likelier than another.
    """
    each = np.stack([probability(s, f) for s, f in zip(sigmoids, decisions.T, strict=True)], axis=1)
    if len(sigmoids) == 1:
        return np.hstack([1.0 - each, each])
    total = each.sum(axis=1, keepdims=True)
    uniform = np.full_like(each, 1.0 / each.shape[1])
    np.divide(each, total, out=uniform, where=total > 0)
    return uniform
