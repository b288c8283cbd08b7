"""What a search of the first level looked for the least of: errors over (lam, mu), and the decision at its end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

import numpy as np

from kselect.core.method import Choice, Method
from kselect.datasets.fetch import Places, default_cache, resolve
from kselect.errors import KselectError
from kselect.kernels import Points
from kselect.kernels.ard import Ard
from kselect.kernels.base import read_parameters
from kselect.learners.lssvm_errors import LSSVMSolution
from kselect.numerics.linalg import Array
from kselect.run.trial import PreparedSplit, load, prepare, split_of
from kselect.stats.learned import learned_records
from kselect.stats.study import Study

STEPS = 121
MARGIN = 0.06
LEVELS = 16


@dataclass(frozen=True)
class Surfaces:
    """A column of the first level on one split of a data set, the grids of lam (n times that of a place) and mu."""

    name: str
    at: str
    dataset: str
    split: int
    lams: tuple[float, ...]
    mus: tuple[float, ...]
    kind: ClassVar[str] = "surfaces"

    def methods(self, column: Method) -> Iterator[Method]:
        """One per point, the mus within the lams."""
        for lam, mu in product(self.lams, self.mus):
            choice = Choice("flkl-at", (("lam", lam), ("mu", mu)))
            yield replace(
                column,
                part=self.name,
                search=choice,
                datasets=(self.dataset,),
                splits=(self.split,),
            )


@dataclass(frozen=True, eq=False)
class Decision:
    """Decision values over a grid of the plane, and the training rows with their labels."""

    x: Array
    y: Array
    values: Array
    rows: Array
    labels: Array


@dataclass(frozen=True, eq=False)
class Seen:
    """Held-out error, test error in percent, (lams, mus), NaN where there is none; where the search ended."""

    held_out: Array
    test: Array
    best: tuple[float, float] | None
    decision: Decision | None


def levels(values: Array) -> list[float]:
    """Where a surface changes colour: as much of it in each, so that a flat valley shows; empty without values."""
    known = values[np.isfinite(values)]
    if not known.size:
        return []
    found: list[float] = np.unique(np.quantile(known, np.linspace(0.0, 1.0, LEVELS))).tolist()
    return found if len(found) > 1 else []


def see(study: Study, figure: Surfaces) -> Seen:
    """Everything from the records; the decision from the data set, where it is at hand."""
    column = next(m for m in study.experiment.table if m.label == figure.at)
    rows = study.records
    rows = rows[(rows["part"] == figure.name) & (rows["status"] == "ok")]
    known = {
        str(p): (s, 100.0 * e)
        for p, s, e in zip(rows["params"], rows["score"], rows["error"], strict=True)
    }
    pairs = [known.get(m.text, (math.nan, math.nan)) for m in figure.methods(column)]
    values = np.array(pairs).reshape(len(figure.lams), len(figure.mus), 2)
    best, kernel = best_of(study, figure)
    decision = decide(study, figure, best, kernel) if best and kernel else None
    return Seen(values[:, :, 0], values[:, :, 1], best, decision)


def best_of(study: Study, figure: Surfaces) -> tuple[tuple[float, float] | None, Ard | None]:
    """(lam, mu) and the kernel where the search ended on that split."""
    table = study.once(learned_records)
    row = table[
        (table["dataset"] == figure.dataset)
        & (table["method"] == figure.at)
        & (table["split"] == figure.split)
    ]
    if row.empty:
        return None, None
    first = row.iloc[0]
    mu = read_parameters(str(first["tuned"])).get("mu", math.nan)
    widths = tuple(read_parameters(str(first["chosen"])).values())
    return (float(first["lam"]) * int(first["n_train"]), mu), Ard(widths)


def decide(
    study: Study, figure: Surfaces, best: tuple[float, float], kernel: Ard
) -> Decision | None:
    """The decision surface of two features; None where the rows are not at hand or are not those of the records."""
    experiment = study.experiment
    info = experiment.info(figure.dataset)
    sums = {f.dataset: f.sha256 for f in study.facts.data}
    if info.features != 2 or len(kernel.theta) != 2:
        return None
    try:
        source = resolve(info, Places(default_cache(), offline=True))
        if sums.get(info.name, source.sha256) != source.sha256:
            return None
        data = load(info, source)
        parts = prepare(experiment, data, split_of(experiment, data, figure.split))
        return over_the_plane(parts, kernel, best[0])
    except KselectError:
        return None


def over_the_plane(parts: PreparedSplit, kernel: Ard, lam: float) -> Decision:
    """The fit at the place, on a grid around the training rows."""
    fit = LSSVMSolution(kernel.gram(Points(parts.train)), parts.y_train, lam)
    low, high = parts.train.min(axis=0), parts.train.max(axis=0)
    pad = MARGIN * (high - low)
    x, y = (np.linspace(low[j] - pad[j], high[j] + pad[j], STEPS) for j in (0, 1))
    plane = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = kernel.gram(Points(plane, parts.train)) @ fit.alpha + fit.bias
    return Decision(x, y, values.reshape(STEPS, STEPS), parts.train, parts.y_train)
