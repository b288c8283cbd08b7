"""What the theory of kernel stability can be held against: the variance of k-CV, and how beta grows with n."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kselect.stats.samples import within

if TYPE_CHECKING:
    import pandas as pd

    from kselect.stats.study import Study

# The probes, and the parameter of the first.
BETA, UNIFORM, SHARE = "beta", "uniform-stability", "share"


@dataclass(frozen=True)
class Theory:
    """A figure of a config: variance of a column's score against beta along the widths, at one fixed lam.

    ``shares`` of the training rows show how beta grows; ``uniform`` are the data sets, and ``uniform_taus`` the
    widths, on which uniform stability is estimated.
    """

    name: str
    criterion: str
    taus: tuple[float, ...]
    lam: float
    shares: tuple[float, ...]
    datasets: tuple[str, ...]
    uniform: tuple[str, ...] = ()
    uniform_taus: tuple[float, ...] = ()
    kind: str = "theory"


@dataclass(frozen=True)
class Width:
    """One width on one data set: over splits the mean beta of each share, and the variance of the score.

    ``uniform`` is the mean estimate of uniform stability, NaN where it was not asked for.
    """

    tau: float
    betas: tuple[float, ...]
    variance: float
    uniform: float
    runs: int


@dataclass(frozen=True)
class Panel:
    """One data set: its widths, how many rows train, and Spearman's correlation of beta and variance."""

    dataset: str
    widths: tuple[Width, ...]
    n_train: int
    correlation: float

    def exponents(self, shares: tuple[float, ...]) -> tuple[float, ...]:
        """Per width the slope of log beta over log n, from the smallest share on: 0 for K = I, 1/2 for K = 1."""
        span = math.log(shares[-1] / shares[0])
        return tuple(math.log(w.betas[-1] / w.betas[0]) / span for w in self.widths)


def study_theory(study: Study, figure: Theory) -> tuple[Panel, ...]:
    """The panels of a figure, one per data set that it names, also where it is empty."""
    mine = within(study.records, study.experiment)
    mine = mine[(mine["part"] == figure.name) & (mine["status"] == "ok")]
    names = zip(mine["part"], mine["method"], mine["params"], strict=True)
    made = [study.methods.get(name) for name in names]
    rows = mine.assign(
        tau=[m.fixed.parameters["tau"] if m and m.fixed else math.nan for m in made],
        share=[float(dict(m.params).get(SHARE, math.nan)) if m else math.nan for m in made],
    )
    return tuple(make_panel(rows[rows["dataset"] == d], d, figure) for d in figure.datasets)


def make_panel(rows: pd.DataFrame, dataset: str, figure: Theory) -> Panel:
    """One data set; a width with fewer than two splits has no variance and is left out."""
    found = [make_width(rows[rows["tau"] == tau], tau, figure) for tau in figure.taus]
    widths = tuple(w for w in found if w is not None)
    n_train = int(rows["n_train"].iloc[0]) if len(rows) else 0
    pairs = [(w.betas[-1], w.variance) for w in widths]
    return Panel(dataset, widths, n_train, spearman(pairs))


def make_width(rows: pd.DataFrame, tau: float, figure: Theory) -> Width | None:
    """The means and the variance over splits at one width."""
    probes = rows["criterion"].isin([BETA, UNIFORM])
    scores = rows[~probes]["score"]
    betas = rows[rows["criterion"] == BETA]
    means = [betas[betas["share"] == s]["score"].mean() for s in figure.shares]
    if len(scores) < 2 or any(math.isnan(m) for m in means):
        return None
    uniform = rows[rows["criterion"] == UNIFORM]["score"]
    return Width(
        tau,
        tuple(map(float, means)),
        float(scores.var(ddof=1)),
        float(uniform.mean()) if len(uniform) else math.nan,
        len(scores),
    )


def spearman(pairs: list[tuple[float, float]]) -> float:
    """The correlation of ranks, NaN below three pairs."""
    from scipy.stats import spearmanr

    if len(pairs) < 3 or len({x for x, _ in pairs}) < 2 or len({y for _, y in pairs}) < 2:
        return math.nan
    return float(spearmanr([x for x, _ in pairs], [y for _, y in pairs]).statistic)
