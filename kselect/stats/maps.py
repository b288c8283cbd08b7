"""A figure's numbers: how far approximations of a criterion are from it, at every place of the grid.

Of a score s and the exact one e, ``|s - e| / e``: the hinge loss of no model at all is 1, a squared error has the
target's unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kselect.core.method import Method
from kselect.grids import show_number
from kselect.numerics.linalg import Array
from kselect.stats.samples import within

if TYPE_CHECKING:
    import pandas as pd

    from kselect.stats.study import Study

# Where lam is large nothing is left of the model, and every approximation is near: the median would say so alone.
QUANTILE = 0.9


@dataclass(frozen=True)
class Map:
    """A figure of a config: columns beside the exact one over the whole grid, and over one of their parameters."""

    name: str
    of: tuple[str, ...]
    against: str
    parameter: str
    values: tuple[float, ...]
    datasets: tuple[str, ...]
    kind: str = "map"


@dataclass(frozen=True)
class Surface:
    """One column's error at every place, (kernels, ridges): the mean over splits, infinite where a score is.

    ``best`` is the place with the lowest of its own scores, ``exact`` that of the exact criterion's, on the mean
    of the splits; ``infinite`` counts the places without a score on some split, and ``reasons`` says why.
    """

    method: str
    errors: Array
    best: tuple[int, int] | None
    exact: tuple[int, int] | None
    infinite: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Trace:
    """One column over the parameter: the error below which nine tenths of the grid are, and that where it matters.

    The latter is at the place that the exact criterion chooses. A column without the parameter has one point, which
    holds everywhere.
    """

    method: str
    points: tuple[tuple[float, tuple[float, float]], ...]
    constant: bool


@dataclass(frozen=True)
class Panel:
    """One data set."""

    dataset: str
    surfaces: tuple[Surface, ...]
    traces: tuple[Trace, ...]


def kernel_names(study: Study) -> tuple[str, tuple[str, ...]]:
    """What the kernels differ in, and each one's value of it."""
    kernels = study.experiment.kernels
    names = {name for kernel in kernels for name in kernel.parameters}
    if len(names) != 1:
        return "kernel", tuple(kernel.text or kernel.name for kernel in kernels)
    return names.pop(), tuple(show_number(*k.parameters.values()) for k in kernels)


def survey(study: Study, figure: Map) -> tuple[Panel, ...]:
    """The panels of a figure, one per data set that it names."""
    mine = within(study.records, study.experiment)
    found = mine[mine["part"] == figure.name]
    return tuple(
        make_panel(study, figure, d, found[found["dataset"] == d]) for d in figure.datasets
    )


def make_panel(study: Study, figure: Map, dataset: str, rows: pd.DataFrame) -> Panel:
    """Surfaces at the columns' own parameters, traces over all values."""
    by_text = {str(t): group for t, group in rows.groupby("params")} if len(rows) else {}
    stacks = {
        m: scores_of(study, by_text[m.text][by_text[m.text]["method"] == m.label])
        for m in study.methods.values()
        if m.part == figure.name and m.text in by_text
    }
    exact = next((s for m, s in stacks.items() if m.label == figure.against), None)
    if exact is None:
        return Panel(dataset, (), ())
    own = {m.label: m for m in own_methods(study, dataset)}
    surfaces = [
        surface(stacks[m], exact, m.label, rows)
        for m in stacks
        if m.label in figure.of and m.params == own[m.label].params
    ]
    order = {label: i for i, label in enumerate(figure.of)}
    surfaces.sort(key=lambda s: order[s.method])
    traces = tuple(trace(label, stacks, exact, figure) for label in figure.of)
    return Panel(dataset, tuple(surfaces), tuple(t for t in traces if t.points))


def own_methods(study: Study, dataset: str) -> Sequence[Method]:
    """The columns of the table on a data set, under the experiment's own loss."""
    experiment = study.experiment
    known = [m for m in experiment.methods_on(dataset) if m.part == "table"]
    losses = ("squared" if experiment.task(dataset) == "regression" else experiment.loss, "")
    return [m for m in known if m.loss in losses]


def scores_of(study: Study, rows: pd.DataFrame) -> Array:
    """(splits, kernels, ridges): infinite where a record has no score, or is not there."""
    experiment = study.experiment
    settings = [s.text for k in experiment.kernels for s in experiment.lam.settings_at(k.text)]
    table = rows.pivot(index="split", columns="setting", values="score")
    whole = table.reindex(columns=settings).to_numpy(float)
    shape = (len(table), len(experiment.kernels), len(experiment.lam.values))
    return np.where(np.isnan(whole), np.inf, whole).reshape(shape)


def relative_errors(scores: Array, exact: Array) -> Array:
    """``|s - e| / e``, infinite where either is, the mean over the splits that both have."""
    splits = min(len(scores), len(exact))
    s, e = scores[:splits], exact[:splits]
    known = np.isfinite(s) & np.isfinite(e) & (e > 0)
    found = np.full(s.shape, np.inf)
    found[known] = np.abs(s[known] - e[known]) / e[known]
    return np.asarray(found.mean(axis=0))


def lowest(scores: Array) -> tuple[int, int] | None:
    """The place of the lowest mean score."""
    mean = scores.mean(axis=0)
    if not np.isfinite(mean).any():
        return None
    kernel, ridge = np.unravel_index(int(np.argmin(mean)), mean.shape)
    return int(kernel), int(ridge)


def surface(scores: Array, exact: Array, label: str, rows: pd.DataFrame) -> Surface:
    """One column."""
    mine = rows[(rows["method"] == label) & rows["score"].isna()]
    reasons = tuple(sorted({str(r) for r in mine["reason"]}))
    errors = relative_errors(scores, exact)
    infinite = int((~np.isfinite(scores)).any(axis=0).sum())
    return Surface(label, errors, lowest(scores), lowest(exact), infinite, reasons)


def trace(label: str, stacks: Mapping[Method, Array], exact: Array, figure: Map) -> Trace:
    """One column over the parameter."""
    mine = {m: relative_errors(s, exact) for m, s in stacks.items() if m.label == label}
    points = [
        (float(dict(m.params).get(figure.parameter, math.nan)), summary(errors, lowest(exact)))
        for m, errors in mine.items()
    ]
    constant = any(math.isnan(x) for x, _ in points)
    return Trace(label, tuple(sorted(points)), constant)


def summary(errors: Array, place: tuple[int, int] | None) -> tuple[float, float]:
    """The error of nine tenths of the places, infinite ones being places too, and that at one place."""
    ordered = np.sort(errors.ravel())
    most = float(ordered[min(len(ordered) - 1, int(QUANTILE * len(ordered)))])
    return most, float(errors[place]) if place else math.nan
