r"""Data sets that are drawn from a formula: Breiman's twonorm, ringnorm and waveform (1996, 1984), with own seeds.

Raetsch's sets of these names are samples of the same distributions (ringnorm's with the mean ``2 / sqrt(20)``);
these here are other samples, so numbers agree with published ones in distribution only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array, Index

Drawn = tuple[Array, Array]

DIMENSIONS = 20
MEAN = 2.0 / np.sqrt(DIMENSIONS)
POSITIONS = np.arange(1.0, 22.0)
# The waves peak at positions 11, 15 and 7.
WAVES = np.array([np.maximum(6.0 - np.abs(POSITIONS - peak), 0.0) for peak in (11.0, 15.0, 7.0)])
# The two waves that each of the three classes mixes.
MIXED = np.array([(0, 1), (0, 2), (1, 2)])


def twonorm(rows: int, rng: np.random.Generator) -> Drawn:
    r"""``N(+a, I)`` (label +1) and ``N(-a, I)`` (-1) in 20 dimensions, ``a = 2 / sqrt(20)`` in each.

    The optimal boundary is the hyperplane ``sum x = 0``, its error ``Phi(-2)`` = 2.28 %.
    """
    y = signs(rows, rng)
    return y[:, None] * MEAN + rng.normal(size=(rows, DIMENSIONS)), y


def ringnorm(rows: int, rng: np.random.Generator) -> Drawn:
    r"""``N(0, 4 I)`` (label -1) around ``N(a, I)`` (+1) in 20 dimensions, ``a = 2 / sqrt(20)`` in each.

    The optimal boundary is a sphere: +1 inside ``|x - a|^2 - |x|^2 / 4 = 20 log 4``, whose error is 1.25 %.
    """
    y = signs(rows, rng)
    inner = (y > 0)[:, None]
    noise = rng.normal(size=(rows, DIMENSIONS))
    return np.where(inner, MEAN + noise, 2.0 * noise), y


def waveform(rows: int, rng: np.random.Generator) -> Drawn:
    """Class 2 of waveform (label +1) against classes 1 and 3 (-1), as Raetsch's set has it."""
    X, classes = three_waveforms(rows, rng)
    return X, np.where(classes == 1, 1.0, -1.0)


def three_waveforms(rows: int, rng: np.random.Generator) -> tuple[Array, Index]:
    r"""``u h_a + (1 - u) h_b + N(0, I)`` in 21 positions, u uniform; the classes mix waves (1, 2), (1, 3), (2, 3).

    ``h_1(i) = max(6 - |i - 11|, 0)``, ``h_2(i) = h_1(i - 4)``, ``h_3(i) = h_1(i + 4)`` (Breiman et al. 1984).
    """
    classes = rng.integers(3, size=rows)
    u = rng.uniform(size=(rows, 1))
    first, second = (WAVES[MIXED[classes, side]] for side in (0, 1))
    return u * first + (1.0 - u) * second + rng.normal(size=(rows, len(POSITIONS))), classes


def signs(rows: int, rng: np.random.Generator) -> Array:
    """-1 and +1, equally likely."""
    return np.where(rng.uniform(size=rows) < 0.5, 1.0, -1.0)


@dataclass(frozen=True)
class Generator:
    """What draws a data set, and how many rows it has and is trained on in flkl2014."""

    draw: Callable[[int, np.random.Generator], Drawn]
    features: int
    train: int
    test: int

    @property
    def rows(self) -> int:
        """All of them."""
        return self.train + self.test


GENERATORS = {
    "ringnorm-generated": Generator(ringnorm, DIMENSIONS, 400, 7000),
    "twonorm-generated": Generator(twonorm, DIMENSIONS, 400, 7000),
    "waveform-generated": Generator(waveform, len(POSITIONS), 400, 4600),
}


def generate(name: str, seed: int = 0) -> Drawn:
    """The rows of a generated data set: always the same ones for a name and a seed."""
    generator = GENERATORS[name]
    return generator.draw(generator.rows, stream(seed, name, "rows"))
