r"""A diagonal metric learned from a fit: one round of average gradient outer products (Radhakrishnan et al. 2024).

From the best Laplacian kernel on features weighted by u, and its fit f,

    M_jj = mean over rows and targets of (df / dx_j)^2,    new weights  sqrt(M_jj) u_j, scaled to mean 1

so that M is in the units of x. There is one round: the kernels on the new weights are not a start for another one.
The derivative of ``|x - z|`` is its sign.

Thirteen kernels on the new weights join the candidates: Laplacian ones with 6 widths and Gaussian ones with 7, the
grids that the default has for weighted features, because the new weights take the place of the relevances there.
Cost: O(n^2 d) for the gradients, and a search of 13 more kernels, next to the 32 of the default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kselect.errors import ConfigError
from kselect.kernels import Kernel, Points
from kselect.kernels.default_families import Family
from kselect.kernels.laplacian import Laplacian
from kselect.kernels.weighted import Weighted
from kselect.learners import Fit
from kselect.learners.blocks import RowBlocks
from kselect.numerics.linalg import Array
from kselect.selection.candidates.extension import merged
from kselect.selection.request import Request, sampled_points
from kselect.selection.result import Selection

AGOP = "agop"
METRICS = ("none", AGOP)
FAMILIES = (Family("laplacian", 1, 4), Family("gaussian", 3, 3))


def with_agop(
    found: Selection, X: Array | RowBlocks, run: Callable[[Request], Selection]
) -> Selection:
    """Return the selection among the former candidates and kernels of a metric that is learned from one of them."""
    if found.request.metric != AGOP:
        return found
    request = found.request
    if not isinstance(X, np.ndarray) or request.nystrom is not None:
        raise ConfigError("the metric agop needs the whole kernel matrix: leave out nystrom")
    start = best_of_laplacians(found, run)
    scale = learned_scale(X, start.kernel, start.best.fits)
    points = sampled_points(X).scaled(scale)
    new = tuple(Weighted(k, scale, None, AGOP) for one in FAMILIES for k in one.kernels(points))
    strip = run(replace(request, kernels=new, time_limit=None))
    wider = replace(request, kernels=request.kernels + new)
    return merged(found, strip, wider, np.vstack([found.scores, strip.scores]))


def best_of_laplacians(found: Selection, run: Callable[[Request], Selection]) -> Selection:
    """Return the selection among the Laplacian kernels, on weighted features only if there are any."""
    request = found.request
    own = [k for k in request.kernels if isinstance(k, Laplacian)]
    weighted = [k for k in request.kernels if is_weighted(k)]
    starts = tuple(weighted or own)
    if not starts:
        raise ConfigError(
            "the metric agop starts from a laplacian or weighted-laplacian kernel; none is among the candidates"
        )
    if found.kernel in starts:
        return found
    return run(replace(request, kernels=starts, ensemble=1, time_limit=None))


def is_weighted(kernel: Kernel) -> bool:
    """Return whether a kernel is a Laplacian one on weighted features."""
    return isinstance(kernel, Weighted) and isinstance(kernel.inner, Laplacian)


def learned_scale(X: Array, kernel: Kernel, fits: Sequence[Fit]) -> tuple[float, ...]:
    """Return the weights of the features that the gradients of a Laplacian kernel's fit give, of mean 1."""
    K, u = kernel.gram(Points(X)), np.ones(X.shape[1])
    width = kernel.parameters["width"]
    if isinstance(kernel, Weighted):
        u = np.array(kernel.scale)
    M = np.zeros(X.shape[1])
    for fit in fits:
        weighted = K * fit.alpha[0]
        for j, x in enumerate(X.T):
            slopes = (weighted * np.sign(x[:, None] - x[None, :])).sum(axis=1)
            M[j] += float(np.square(u[j] / width * slopes).mean()) / len(fits)
    scale = np.sqrt(M) * u
    mean = float(scale.mean())
    return tuple((scale / mean).tolist()) if mean > 0 else tuple(np.ones_like(scale).tolist())
