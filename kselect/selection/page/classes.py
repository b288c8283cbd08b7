"""Held-out predictions of classes: the confusion matrix, and for two classes the ROC curve and the calibration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kselect.core.table import Column, Group, Table, Values, percent
from kselect.errors import TrialError, brief
from kselect.numerics.linalg import Array, Index
from kselect.numerics.sigmoid import codes, probabilities
from kselect.numerics.splits import tested_rows, weights_of
from kselect.report import style
from kselect.report.elements import File, Paragraph, Passage
from kselect.report.writers import numbers_file, table_files
from kselect.selection.held_out import HeldOut

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

CHAPTER = "held-out"
# More classes have no matrix on the page, only their shares of right predictions.
MOST_CLASSES = 12
BINS = 10
# Points of the ROC curve in the figure; the CSV has all of them.
MOST_POINTS = 400
CALIBRATION = (
    Column("predicted probability", align="left"),
    Column(csv="low"),
    Column(csv="high"),
    Column("rows", "rows"),
    Column("mean prediction", "predicted", ".3f"),
    Column("observed share", "observed", ".3f"),
    Column("standard error", "error", ".3f"),
)


@dataclass(frozen=True, eq=False)
class HeldOutClasses:
    """The true and predicted class of each held-out row with its weight, and the decision values (q, rows)."""

    names: tuple[str, ...]
    truth: Index
    predicted: Index
    weights: Array
    decisions: Array
    weighted: bool

    @property
    def confusion(self) -> Array:
        """The weight of the rows of each true class (rows) and predicted class (columns)."""
        size = len(self.names)
        cells = self.truth * size + self.predicted
        counts = np.bincount(cells, self.weights, size * size)
        return np.asarray(counts, dtype=np.float64).reshape(size, size)


@dataclass(frozen=True, eq=False)
class Curve:
    """The ROC curve from (0, 0) to (1, 1) with the threshold of each point, and the area under it."""

    false: Array
    true: Array
    thresholds: Array
    area: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """Bins of equally many rows: their ends, sizes, mean predicted probability and share of the second class."""

    ends: Array
    rows: Index
    predicted: Array
    observed: Array
    errors: Array
    brier: float


# --- numbers ----------------------------------------------------------------------------------------


def held_out_classes(held_out: HeldOut, names: tuple[str, ...]) -> HeldOutClasses:
    """Return the held-out classes; rows weigh as in the accuracy."""
    weights = held_out.selection.request.weights
    own = weights_of(held_out.folds, weights and weights.reported)
    truth = codes(held_out.targets[:, tested_rows(held_out.folds)])
    given = np.ones(len(truth)) if own is None else own.given
    decisions = held_out.decisions
    return HeldOutClasses(names, truth, codes(decisions), given, decisions, own is not None)


def roc_curve(found: HeldOutClasses) -> Curve:
    """Return the ROC curve of the second of two classes, pooled over folds."""
    from sklearn.metrics import auc
    from sklearn.metrics import roc_curve as curve_of

    false, true, thresholds = curve_of(
        found.truth, found.decisions[0], sample_weight=found.weights, drop_intermediate=True
    )
    return Curve(false, true, thresholds, float(auc(false, true)))


def calibration(found: HeldOutClasses, slope: float) -> Calibration:
    """Return the calibration of the probabilities of the second of two classes, in bins of equally many rows."""
    likely = probabilities(slope, found.decisions.T)[:, 1]
    second, w = (found.truth == 1).astype(np.float64), found.weights
    order = np.argsort(likely, kind="stable")
    bins = [b for b in np.array_split(order, min(BINS, max(1, len(order) // 5))) if len(b)]
    share = np.array([np.average(second[b], weights=w[b]) for b in bins])
    sizes = np.array([len(b) for b in bins])
    return Calibration(
        np.array([(likely[b].min(), likely[b].max()) for b in bins]),
        sizes,
        np.array([np.average(likely[b], weights=w[b]) for b in bins]),
        share,
        np.sqrt(share * (1.0 - share) / sizes),
        float(np.average(np.square(second - likely), weights=w)),
    )


# --- words and tables -------------------------------------------------------------------------------


def show_classes(held_out: HeldOut, names: tuple[str, ...], of: str) -> Iterator[File | Passage]:
    """Yield the confusion matrix, and for two classes the figure of ROC curve and calibration."""
    found = held_out_classes(held_out, names)
    table = confusion_table(found)
    yield from table_files(table, of=of)
    yield Passage(CHAPTER, (table,))
    if len(names) > 2:
        return
    try:
        slope = held_out.slope
    except TrialError as error:
        yield Passage(CHAPTER, (Paragraph(str(error)),))
        return
    curve, bins = roc_curve(found), calibration(found, slope)
    name = brief(names[1])
    off = float(np.average(np.abs(bins.predicted - bins.observed), weights=bins.rows))
    yield from style.show_figure(
        "roc",
        lambda width: draw_curves(curve, bins, width),
        f"ROC curve of class {name}, and the share of {name} against its predicted probability",
        f"Held-out decision values of all folds together; the positive class is {name}. Left: one point per "
        f"threshold. Right: {len(bins.rows)} bins of equally many rows, each with one standard error; on the "
        "diagonal a probability means what it says. One slope makes probabilities of decision values; it was "
        f"fitted to the same rows. Brier score {bins.brier:.4g}.",
        f"AUC {curve.area:.4f}; probabilities are off by {off:.2g} on average",
        chapter=CHAPTER,
    )
    points = zip(curve.false, curve.true, curve.thresholds, strict=True)
    numbers = ((float(a), float(b), float(t)) for a, b, t in points)
    yield numbers_file("roc", ("false_positive_rate", "true_positive_rate", "threshold"), numbers)
    lines = zip(bins.ends, bins.rows, bins.predicted, bins.observed, bins.errors, strict=True)
    rows: tuple[Values, ...] = tuple(
        (
            f"{e[0]:.3f} to {e[1]:.3f}",
            float(e[0]),
            float(e[1]),
            int(n),
            float(p),
            float(o),
            float(s),
        )
        for e, n, p, o, s in lines
    )
    words = (
        f"The held-out rows by their predicted probability of {name}, and their share of {name}.",
    )
    table = Table("calibration", CALIBRATION, (Group(rows),), words)
    yield from table_files(table, of=of)
    yield Passage(CHAPTER, (table,))


def confusion_table(found: HeldOutClasses) -> Table:
    """Return the confusion matrix with the share of right predictions per class; many classes have no matrix."""
    matrix, names = found.confusion, [brief(name) for name in found.names]
    few = len(names) <= MOST_CLASSES
    sums, right = matrix.sum(axis=1), np.diag(matrix)
    shown = matrix.sum(axis=0)
    with np.errstate(invalid="ignore"):
        recall, precision = right / sums, right / shown
    number = ".4g" if found.weighted else ".0f"
    cells = [Column(f"predicted {n}", f"predicted_{n}", number) for n in names] if few else []
    columns = (
        Column("class", "class", align="left"),
        *cells,
        Column("weight" if found.weighted else "rows", "rows", number),
        Column("found (recall)", "recall", percent),
        Column("right when predicted (precision)", "precision", percent),
    )
    lines = tuple(
        (
            name,
            *(matrix[i].tolist() if few else []),
            float(sums[i]),
            float(recall[i]),
            float(precision[i]),
        )
        for i, name in enumerate(names)
    )
    what = "Weights of held-out rows" if found.weighted else "Held-out rows"
    right_share = f"{100 * right.sum() / matrix.sum():.2f} % are predicted right"
    caption = (
        f"{what} by their true class (lines) and their predicted class (columns). {right_share}."
    )
    return Table("confusion", columns, (Group(lines),), (caption,))


# --- drawing ----------------------------------------------------------------------------------------


def draw_curves(curve: Curve, bins: Calibration, width: float) -> Canvas:
    """Draw the ROC curve, and the observed share over the predicted probability."""
    canvas, (left, right) = style.lay_out(2, width, 2.6, 2.7)
    step = max(1, len(curve.false) // MOST_POINTS)
    kept = np.unique(np.append(np.arange(0, len(curve.false), step), len(curve.false) - 1))
    left.plot(curve.false[kept], curve.true[kept], color=style.SERIES[0], linewidth=1.4)
    left.set_title(f"ROC curve, area {curve.area:.4f}")
    left.set_xlabel("false positive rate")
    left.set_ylabel("true positive rate")
    right.errorbar(
        bins.predicted, bins.observed, yerr=bins.errors, fmt="o-", color=style.SERIES[0], markersize=3.5,
        linewidth=1.0, elinewidth=0.8,
    )  # fmt: skip
    right.set_title("calibration")
    right.set_xlabel("predicted probability")
    right.set_ylabel("observed share")
    for ax in (left, right):
        draw_diagonal(ax)
    return canvas


def draw_diagonal(ax: Axes) -> None:
    """Draw the diagonal of the unit square."""
    ax.plot([0, 1], [0, 1], linestyle=(0, (3, 3)), linewidth=0.8, color=style.SOFT)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    style.tidy_up(ax)
