r"""The Bayesian signed-rank test: how likely a method is better, practically the same, or worse over data sets.

Benavoli, Corani, Demsar and Zaffalon (2017), after Benavoli et al. (2014): the differences are a sample of a
distribution with a Dirichlet process as its prior, whose strength s sits on one pseudo-observation ``z_0 = 0``. A
posterior draw weights the observations by ``w ~ Dir(s, 1, ..., 1)``; the shares of the pairs on each side of the
region of practical equivalence (-r, r) are then

    below = sum_ij w_i w_j [z_i + z_j < -2r],   above = sum_ij w_i w_j [z_i + z_j > 2r],   inside = the rest,

and the probability of each verdict is the share of the draws in which it is the largest of the three.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array

# Percentage points of error below which two methods are the same in practice.
ROPE = 1.0
STRENGTH = 0.5
# The standard error of a probability is 0.0035 at most.
DRAWS = 20_000
SEED = 0


@dataclass(frozen=True)
class Posterior:
    """The probabilities that the first of two methods has practically lower errors, the same, or higher ones."""

    first: str
    second: str
    better: float
    same: float
    worse: float


def posteriors(errors: Array, methods: Sequence[str], rope: float = ROPE) -> tuple[Posterior, ...]:
    """Every pair of methods; ``errors`` is (data sets, methods), in percent. Empty below two data sets."""
    if len(errors) < 2:
        return ()
    pairs = combinations(range(len(methods)), 2)
    return tuple(
        Posterior(methods[i], methods[j], *compare(errors[:, i] - errors[:, j], rope))
        for i, j in pairs
    )


def compare(differences: Array, rope: float) -> tuple[float, float, float]:
    """The probabilities of below, inside and above, for differences over data sets."""
    shares = side_shares(differences, weights(len(differences)), rope)
    largest = np.bincount(shares.argmax(axis=0), minlength=3) / shares.shape[1]
    below, inside, above = largest.tolist()
    return below, inside, above


def side_shares(differences: Array, weights: Array, rope: float) -> Array:
    """(3, draws): below, inside, above; ``weights`` is (draws, 1 + differences), the pseudo-observation first."""
    z = np.concatenate([[0.0], differences])
    sums = z[:, None] + z
    below, above = (
        np.einsum("si,si->s", weights @ side, weights)
        for side in ((sums < -2.0 * rope).astype(float), (sums > 2.0 * rope).astype(float))
    )
    return np.stack([below, 1.0 - below - above, above])


@cache
def weights(count: int) -> Array:
    """The posterior's draws for so many differences: of a stream of their own, the same for every pair."""
    concentration = np.concatenate([[STRENGTH], np.ones(count)])
    return stream(SEED, "signed-ranks", count).dirichlet(concentration, size=DRAWS)
