"""Slow definitions of the default candidates: relevances, grids, and averages by retraining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kselect.kernels import Kernel, Points


def relevances(X: Any, Y: Any, columns: Any, folds: Sequence[list[int]]) -> list[float]:
    """Return the relevance of each feature, row by row."""
    found = []
    for column in columns.tolist():
        features = [j for j in range(X.shape[1]) if columns[j] == column]
        rows = [tuple(X[i, features].tolist()) for i in range(len(X))]
        if len(features) == 1 and len(set(rows)) > 12:
            cuts = [float(np.quantile(X[:, features[0]], k / 10)) for k in range(1, 10)]
            rows = [(float(sum(x >= cut for cut in cuts)),) for (x,) in rows]
        each = []
        for y in Y:
            left = 0.0
            for F in folds:
                rest = [i for i in range(len(X)) if i not in F]
                mean = sum(y[i] for i in rest) / len(rest)
                for i in F:
                    own = [y[j] for j in rest if rows[j] == rows[i]]
                    left += (y[i] - (sum(own) + 3 * mean) / (len(own) + 3)) ** 2
            spread = sum((v - np.mean(y)) ** 2 for v in y)
            each.append(max(0.0, 1 - left / spread))
        found.append(float(np.mean(each)))
    return found


def default_kernels(X: Any, r: Sequence[float]) -> list[tuple[str, Any, dict[str, float]]]:
    """Return name, scale and parameters of the default candidates."""
    found: list[tuple[str, Any, dict[str, float]]] = []
    z = np.ones(X.shape[1])
    u = {p: (np.array(r) + 0.01) ** p for p in (0.5, 1.0)}
    u = {p: w / w.mean() for p, w in u.items()}

    def median(scale: Any, squared: bool) -> float:
        A = X * scale
        pairs = [(a, b) for i, a in enumerate(A) for b in A[:i]]
        each = [np.sum((a - b) ** 2) if squared else np.sum(np.abs(a - b)) for a, b in pairs]
        return float(np.median(each))

    m, m1 = median(z, True), median(z, False)
    found += [("gaussian", z, {"tau": m * 2.0**i}) for i in range(-4, 3)]
    found += [("laplacian", z, {"width": m1 * 2.0**i}) for i in range(-1, 5)]
    for p in (0.5, 1.0):
        m1 = median(u[p], False)
        values = [{"width": m1 * 2.0**i, "power": p} for i in range(-1, 5)]
        found += [("weighted-laplacian", u[p], v) for v in values]
    m = median(u[0.5], True)
    values = [{"tau": m * 2.0**i, "power": 0.5} for i in range(-3, 4)]
    return found + [("weighted-gaussian", u[0.5], v) for v in values]


def fit(K: Any, y: Any, gamma: float) -> tuple[Any, float]:
    """Return alpha and bias of the LSSVM from its saddle-point system."""
    n = len(y)
    A = np.zeros((n + 1, n + 1))
    A[:n, :n] = K + gamma * np.eye(n)
    A[n, :n] = A[:n, n] = 1.0
    solution = np.linalg.solve(A, np.append(y, 0.0))
    return solution[:n], float(solution[n])


def average(
    X: Any, y: Any, Z: Any, kernels: Sequence[Kernel], lams: Sequence[float], folds: Any, most: int
) -> tuple[list[tuple[Kernel, float]], Any, Any]:
    """Return the members, their mean prediction of Z, and their mean held-out prediction, all by training."""
    n, every = len(y), []
    for kernel in kernels:
        K = kernel.gram(Points(X))
        for lam in lams:
            held = np.empty(n)
            for F in folds:
                T = [i for i in range(n) if i not in F]
                alpha, bias = fit(K[np.ix_(T, T)], y[T], n * lam)
                held[F] = K[np.ix_(F, T)] @ alpha + bias
            every.append((float(np.mean((y - held) ** 2)), kernel, lam, held))
    every.sort(key=lambda one: one[0])
    members = [one for one in every if one[0] <= 1.05 * every[0][0]][:most]
    values = []
    for _, kernel, lam, _ in members:
        alpha, bias = fit(kernel.gram(Points(X)), y, n * lam)
        values.append(kernel.gram(Points(Z, X)) @ alpha + bias)
    chosen = [(kernel, lam) for _, kernel, lam, _ in members]
    return chosen, np.mean(values, axis=0), np.mean([one[3] for one in members], axis=0)
