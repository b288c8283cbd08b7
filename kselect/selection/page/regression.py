"""Held-out predictions of numbers: predicted against observed with intervals, and the residuals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kselect.core.table import Column, Group, Table, Values
from kselect.errors import ConfigError, TrialError, brief
from kselect.numerics.folds import stream
from kselect.numerics.linalg import Array, Index
from kselect.numerics.splits import tested_rows, weights_of
from kselect.numerics.weights import Weights, mean_loss
from kselect.report import style
from kselect.report.elements import File, Heading, Paragraph, Passage
from kselect.report.writers import numbers_file, table_files
from kselect.selection.held_out import HeldOut

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

CHAPTER = "held-out"
LEVEL = 0.9
# Beyond these rows, or folds, the intervals of held-out rows would take too long: CV+ once per fold.
MOST_ROWS, MOST_FOLDS = 2000, 20
# The rows that are drawn, and those whose interval is drawn.
DRAWN, WHISKERS = 2000, 500
ERRORS = (Column("measure", "measure", align="left"), Column("held out", "value", ".4g"))


@dataclass(frozen=True, eq=False)
class HeldOutNumbers:
    """Observed and held-out numbers of one target, with intervals ``bounds`` (rows, 2), or a ``reason`` why not."""

    observed: Array
    predicted: Array
    weights: Weights | None
    bounds: Array | None
    reason: str

    @property
    def residuals(self) -> Array:
        """Observed minus predicted."""
        return self.observed - self.predicted

    @property
    def covered(self) -> float:
        """The share of observed numbers inside their interval."""
        assert self.bounds is not None
        low, high = self.bounds.T
        return float(((low <= self.observed) & (self.observed <= high)).mean())


def held_out_numbers(held_out: HeldOut, target: int = 0) -> HeldOutNumbers:
    """Return the held-out predictions of a target."""
    weights = held_out.selection.request.weights
    rows = tested_rows(held_out.folds)
    bounds, reason = intervals_of(held_out)
    return HeldOutNumbers(
        held_out.targets[target][rows],
        held_out.decisions[target],
        weights_of(held_out.folds, weights and weights.reported),
        None if bounds is None else bounds[:, target],
        reason,
    )


def intervals_of(held_out: HeldOut) -> tuple[Array | None, str]:
    """Return the intervals (n, q, 2) of the held-out rows, or a reason why they cannot be formed."""
    n, k = len(held_out.X), len(held_out.folds.members)
    if not isinstance(held_out.X, np.ndarray):
        return None, "intervals need the rows in memory"
    if n > MOST_ROWS or k > MOST_FOLDS:
        return None, (
            f"intervals of held-out rows are formed for at most {MOST_ROWS} rows and {MOST_FOLDS} folds; "
            f"fit and predict --interval {LEVEL:g} form those of new rows"
        )
    try:
        return held_out.intervals_without(LEVEL), ""
    except (ConfigError, TrialError) as error:
        return None, str(error)


def measures(found: HeldOutNumbers) -> list[tuple[str, float]]:
    """Return R2 and the errors, weighted as R2 is."""
    w, residuals = found.weights, found.residuals
    square = float(mean_loss(np.square(residuals), w))
    variance = float(mean_loss(np.square(found.observed - mean_loss(found.observed, w)), w))
    return [
        ("R2", 1.0 - square / variance),
        ("root mean square error", float(np.sqrt(square))),
        ("mean absolute error", float(mean_loss(np.abs(residuals), w))),
        ("largest absolute error", float(np.abs(residuals).max())),
        ("mean residual", float(mean_loss(residuals, w))),
        ("standard deviation of the target", float(np.sqrt(variance))),
    ]


def show_numbers(held_out: HeldOut, names: Sequence[str], of: str) -> Iterator[File | Passage]:
    """Yield the errors, and the figure of predictions and residuals, for each target, under its name if several."""
    count = len(held_out.targets)
    for target in range(count):
        if count > 1:
            yield Passage(CHAPTER, (Heading(brief(names[target])),))
        yield from show_target(held_out, target, of, f"-{target + 1}" if count > 1 else "")


def show_target(held_out: HeldOut, target: int, of: str, ending: str) -> Iterator[File | Passage]:
    """Yield what is known of one target."""
    found = held_out_numbers(held_out, target)
    rows: tuple[Values, ...] = tuple(measures(found))
    table = Table(
        f"errors{ending}", ERRORS, (Group(rows),), ("Errors of the held-out predictions.",)
    )
    yield from table_files(table, of=of)
    yield Passage(CHAPTER, (table,))
    n = len(found.observed)
    order = stream(held_out.selection.request.seed, "drawn").permutation(n)
    shown = np.sort(order[:DRAWN])
    words = "Left: observed against held-out prediction; on the diagonal a prediction is exact. "
    if found.bounds is not None:
        words += (
            f"A vertical line is the interval at the level {LEVEL:g} by CV+ on the other folds, as if the row "
            f"were new: {100 * found.covered:.1f} % of the observed numbers are inside. "
        )
    words += "Right: the residuals, observed minus predicted; a trend or a funnel shows what the model misses."
    fewer = [f" {len(shown)} of {n} rows are drawn."] if len(shown) < n else []
    if found.bounds is not None and len(shown) > WHISKERS:
        fewer.append(f" {WHISKERS} of the intervals are drawn.")
    share, rmse = measures(found)[:2]
    title = f"Held-out R2 {share[1]:.3f}: the typical error is {rmse[1]:.3g}"
    if found.bounds is not None:
        title += f"; {100 * found.covered:.0f} % lie in their {100 * LEVEL:.0f} % interval"
    yield from style.show_figure(
        f"predictions{ending}",
        lambda width: draw_predictions(found, shown, width),
        "Observed against predicted numbers, and the residuals",
        words + "".join(fewer),
        title,
        chapter=CHAPTER,
    )
    if found.reason:
        yield Passage(CHAPTER, (Paragraph(f"No intervals: {found.reason}.", soft=True),))
    yield numbers_file(
        f"predictions{ending}", prediction_names(found), prediction_rows(held_out, found)
    )


def prediction_names(found: HeldOutNumbers) -> tuple[str, ...]:
    """Return the columns of the CSV of held-out predictions."""
    return ("row", "observed", "predicted", *(("low", "high") if found.bounds is not None else ()))


def prediction_rows(held_out: HeldOut, found: HeldOutNumbers) -> Iterator[Values]:
    """Yield the held-out predictions with the row, from 1, that each belongs to."""
    rows = np.arange(1, len(held_out.X) + 1)[tested_rows(held_out.folds)]
    parts = [found.observed[:, None], found.predicted[:, None]]
    parts += [] if found.bounds is None else [found.bounds]
    for row, values in zip(rows.tolist(), np.hstack(parts).tolist(), strict=True):
        yield (row, *values)


def draw_predictions(found: HeldOutNumbers, shown: Index, width: float) -> Canvas:
    """Draw observed against predicted numbers with intervals, and the residuals against the predictions."""
    canvas, (left, right) = style.lay_out(2, width, 2.6, 2.7)
    x, y = found.predicted[shown], found.observed[shown]
    look: Any = {"color": style.SERIES[0], "markersize": 2.6, "markeredgewidth": 0.0, "alpha": 0.75}
    if found.bounds is not None:
        few = shown[:: max(1, len(shown) // WHISKERS)][:WHISKERS]
        low, high = found.bounds[few].T
        left.vlines(found.predicted[few], low, high, color=style.LINE, linewidth=0.8, zorder=0)
    left.plot(x, y, "o", **look)
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    left.plot(ends, ends, linestyle=(0, (3, 3)), linewidth=0.9, color=style.SOFT)
    left.set_ylabel("observed")
    right.plot(x, found.residuals[shown], "o", **look)
    right.axhline(0.0, linestyle=(0, (3, 3)), linewidth=0.9, color=style.SOFT)
    right.set_ylabel("residual")
    for ax in (left, right):
        ax.set_xlabel("held-out prediction")
        style.tidy_up(ax)
    return canvas
