"""Slow definitions of flkl2014: models are retrained, kernels written out, derivatives differenced.

Nothing here uses a closed form of cross-validation or code of kselect. A theta may be slightly negative, so
that a derivative at zero can be taken from both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def ard(theta: Sequence[float]) -> Callable[[Array, Array], float]:
    """Return ``exp(-sum_j theta_j (x_j - z_j)^2)``."""
    return lambda x, z: math.exp(
        -sum(t * (a - b) ** 2 for t, a, b in zip(theta, x, z, strict=True))
    )


def differences(X: Array, Z: Array, *, one: bool, absolute: bool = False) -> Array:
    """Return ``D_r,ij``: squared or absolute differences (features, rows, columns), or their sum."""
    power = 1 if absolute else 2
    D = np.array([np.abs(x[:, None] - z[None, :]) ** power for x, z in zip(X.T, Z.T, strict=True)])
    return D.sum(axis=0, keepdims=True) if one else D


def kernel(D: Array, theta: Array) -> Array:
    """Return ``exp(-sum_r theta_r D_r)``."""
    return np.asarray(np.exp(-np.tensordot(theta, D, axes=1)))


def fit(K: Array, y: Array, lam: float) -> tuple[Array, float]:
    """Return alpha and b of ``min sum 0.5 (y - f)^2 + (lam / 2) ||w||^2``, from its optimality conditions."""
    n = len(y)
    one = np.ones((n, 1))
    system = np.block([[K + lam * np.eye(n), one], [one.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return solution[:n], float(solution[n])


def objective(K: Array, y: Array, lam: float, mu: float, theta: Array) -> float:
    """Return ``L`` of the first level of inference, term by term, for the model fitted to the rows."""
    alpha, b = fit(K, y, lam)
    residual = y - K @ alpha - b
    return float(
        0.5 * residual @ residual + 0.5 * lam * alpha @ K @ alpha + 0.5 * mu * theta @ theta
    )


def held_out_errors(K: Array, y: Array, lam: float, members: Sequence[Index]) -> Array:
    """Return ``y - f`` on each fold for the model retrained without it, with the ridge unchanged."""
    errors = np.empty_like(y)
    for F in members:
        rest = np.setdiff1d(np.arange(len(y)), F)
        alpha, b = fit(K[np.ix_(rest, rest)], y[rest], lam)
        errors[F] = y[F] - K[np.ix_(F, rest)] @ alpha - b
    return errors


def kernel_stability(K: Array) -> float:
    """Return ``max_i ||K - K^i||_2``, K^i with row and column i at zero, from singular values."""
    found = []
    for i in range(len(K)):
        without = K.copy()
        without[i], without[:, i] = 0.0, 0.0
        found.append(float(np.linalg.norm(K - without, 2)))
    return max(found)


def derivative(f: Callable[[float], float | Array], x: float, step: float) -> float | Array:
    """Return central differences of fourth order."""
    near = np.subtract(f(x + step), f(x - step))
    far = np.subtract(f(x + 2.0 * step), f(x - 2.0 * step))
    return (8.0 * near - far) / (12.0 * step)


def gradient(f: Callable[[Array], float | Array], x: Array, step: float) -> Array:
    """Return one derivative per component of x; along the last axis if f has several values."""

    def moved(r: int, value: float) -> float | Array:
        point = x.copy()
        point[r] = value
        return f(point)

    found = [derivative(lambda value, r=r: moved(r, value), x[r], step) for r in range(len(x))]
    return np.stack([np.asarray(d) for d in found], axis=-1)


def term_sizes(D: Array, K: Array, alpha: Array, lam: float, mu: float, theta: Array) -> Array:
    """Return the gradient's terms in absolute value: ``(lam/2) |alpha|' (K o D_r) |alpha| + mu theta_r``."""
    size = np.abs(alpha)
    return 0.5 * lam * np.einsum("i,rij,j->r", size, K * D, size) + mu * np.abs(theta)
