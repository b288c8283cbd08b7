"""What the theory of kernel stability can be held against: the variance of k-CV, and how beta grows with n."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kselect.stats.samples import within

if TYPE_CHECKING:
    import pandas as pd

    from kselect.stats.study import Study

# The probes, the parameter of the first, and the label of the second for a learner whose bias is left out.
BETA, UNIFORM, SHARE = "beta", "uniform-stability", "share"
UNBIASED = "uniform-stability without bias"


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

    ``uniform`` is the mean estimate of uniform stability, ``unbiased`` that of the learner without its bias, each
    NaN where it was not asked for.
    """

    tau: float
    betas: tuple[float, ...]
    variance: float
    uniform: float
    unbiased: float
    runs: int


@dataclass(frozen=True)
class Panel:
    """One data set: its widths, how many rows train, n lam, and Spearman's correlation of beta and variance."""

    dataset: str
    widths: tuple[Width, ...]
    n_train: int
    ridge: float
    correlation: float

    def bound(self, scale: float = 1.0) -> float:
        """``scale / (2 n lam)`` on uniform stability without a bias, for a loss of slope 1.

        Bousquet and Elisseeff (2002), with ``scale = max K_ii``, 1 for a Gaussian; beta is at least that, and so
        may stand in its place.
        """
        return scale / (2.0 * self.ridge)

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
    whole = study.experiment.lam.unit == "n lam"
    return tuple(make_panel(rows[rows["dataset"] == d], d, figure, whole) for d in figure.datasets)


def make_panel(rows: pd.DataFrame, dataset: str, figure: Theory, whole: bool) -> Panel:
    """One data set; a width with fewer than two splits has no variance and is left out.

    ``whole``: the figure's ridge is n lam, not lam.
    """
    found = [make_width(rows[rows["tau"] == tau], tau, figure) for tau in figure.taus]
    widths = tuple(w for w in found if w is not None)
    n_train = int(rows["n_train"].iloc[0]) if len(rows) else 0
    pairs = [(w.betas[-1], w.variance) for w in widths]
    ridge = figure.lam * (1 if whole else n_train)
    return Panel(dataset, widths, n_train, ridge, spearman(pairs))


def make_width(rows: pd.DataFrame, tau: float, figure: Theory) -> Width | None:
    """The means and the variance over splits at one width."""
    probes = rows["criterion"].isin([BETA, UNIFORM])
    scores = rows[~probes]["score"]
    betas = rows[rows["criterion"] == BETA]
    means = [betas[betas["share"] == s]["score"].mean() for s in figure.shares]
    if len(scores) < 2 or any(math.isnan(m) for m in means):
        return None
    unbiased = rows[rows["method"] == UNBIASED]["score"]
    uniform = rows[(rows["criterion"] == UNIFORM) & (rows["method"] != UNBIASED)]["score"]
    return Width(
        tau,
        tuple(map(float, means)),
        float(scores.var(ddof=1)),
        float(uniform.mean()) if len(uniform) else math.nan,
        float(unbiased.mean()) if len(unbiased) else math.nan,
        len(scores),
    )


def rising(panels: Iterable[Panel]) -> tuple[int, int]:
    """On how many data sets the variance grows with beta along the widths, of how many with a correlation."""
    known = [p.correlation for p in panels if not math.isnan(p.correlation)]
    return sum(rho > 0 for rho in known), len(known)


def spearman(pairs: list[tuple[float, float]]) -> float:
    """The correlation of ranks, NaN below three pairs."""
    from scipy.stats import spearmanr

    if len(pairs) < 3 or len({x for x, _ in pairs}) < 2 or len({y for _, y in pairs}) < 2:
        return math.nan
    return float(spearmanr([x for x, _ in pairs], [y for _, y in pairs]).statistic)
