"""Slow definitions for selections on columns: explicit features of all rows, and retraining without each fold."""

from __future__ import annotations

import numpy as np

from kselect.kernels import Kernel, Points
from kselect.numerics.linalg import Array, Index


def features(kernel: Kernel, X: Array, support: Array) -> Array:
    """Return ``V = C W^{-1/2}`` (n, r) from an eigendecomposition of W."""
    s, U = np.linalg.eigh(kernel.gram(Points(support)))
    kept = s > 1e-12 * s[-1]
    return np.asarray(kernel.gram(Points(X, support)) @ (U[:, kept] / np.sqrt(s[kept])))


def predict(V: Array, y: Array, W: Array, gamma: float, bias: bool) -> Array:
    """Fit ridge regression on V by QR, which does not square the condition number; predict W."""
    mean, middle = (V.mean(axis=0), y.mean()) if bias else (np.zeros(V.shape[1]), 0.0)
    r = V.shape[1]
    A = np.vstack([V - mean, np.sqrt(gamma) * np.eye(r)])
    w = np.linalg.lstsq(A, np.concatenate([y - middle, np.zeros(r)]), rcond=None)[0]
    return np.asarray((W - mean) @ w + middle)


def held_out(
    V: Array, y: Array, members: tuple[Index, ...], lam: float, ridge: str, bias: bool
) -> Array:
    """Return each row's prediction by retraining without its fold."""
    n, out = len(y), np.empty(len(y))
    for F in members:
        train = np.setdiff1d(np.arange(n), F)
        gamma = lam * (len(train) if ridge == "per-fold" else n)
        out[F] = predict(V[train], y[train], V[F], gamma, bias)
    return out


def leave_one_out(V: Array, y: Array, lam: float, bias: bool) -> Array:
    """Return each row's prediction by retraining without it, at the ridge of all rows."""
    every = tuple(np.array([i]) for i in range(len(y)))
    return held_out(V, y, every, lam, "fixed", bias)


def generalised(V: Array, y: Array, lam: float, bias: bool) -> float:
    """Return GCV from the hat matrix, column by column."""
    n = len(y)
    S = np.column_stack([predict(V, e, V, n * lam, bias) for e in np.eye(n)])
    return float(np.square(y - S @ y).mean() / (1.0 - np.trace(S) / n) ** 2)
