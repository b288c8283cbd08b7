"""A criterion's surface over the kernel's parameter and the ridge, with the choice marked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kselect.errors import ConfigError
from kselect.files import write_whole
from kselect.grids import show_number
from kselect.numerics.linalg import Array
from kselect.selection.relevances import MOST, draw_bars

if TYPE_CHECKING:
    from kselect.selection.engine import Selection

INCHES_A_CELL = 0.42
KINDS = ("png", "pdf", "svg")


def draw_surface(found: Selection, path: Path) -> Path:
    """One coloured cell a candidate: ridges across, kernels up; a learned kernel as bars. PNG, PDF or SVG."""
    kind = check_plot(path)
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, columns = found.scores.shape
    if found.kernel.learned:
        rows = len(found.kernel.parameters)
    size = (
        2.6 + INCHES_A_CELL * max(columns, 6),
        1.5 + 0.75 * INCHES_A_CELL * min(max(rows, 6), MOST),
    )
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if found.kernel.learned:
        draw_bars(axes, found)
    else:
        draw_cells(figure, axes, found)
    target = io.BytesIO()
    figure.savefig(target, format=kind, dpi=150)
    try:
        write_whole(path, target.getvalue())
    except OSError as error:
        raise ConfigError(f"--plot {path}: {error.strerror}") from None
    return path


def check_plot(path: Path) -> str:
    """The kind of file that a name asks for; what cannot be written is said before the search."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise ConfigError(f"--plot {path}: the name must end in .png, .pdf or .svg")
    folder = path.parent
    if path.is_dir():
        raise ConfigError(f"--plot {path}: that is a folder")
    if not folder.is_dir():
        raise ConfigError(f"--plot {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"--plot {path}: the folder {folder} cannot be written to")
    return kind


def draw_cells(figure: Any, axes: Any, found: Selection) -> None:
    """The cells, a bar that explains them, and a ring around the choice."""
    shown, label = compressed(found)
    image = axes.imshow(shown, aspect="auto", origin="lower", cmap="cividis")
    bar = figure.colorbar(image, ax=axes)
    bar.set_label(label)
    request = found.request
    names = [";".join(map(show_number, k.parameters.values())) or k.name for k in request.kernels]
    axes.set_xticks(range(len(request.lams)), map(show_number, request.lams), rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("lam")
    axes.set_ylabel(", ".join(found.kernel.parameters) or "kernel")
    row, column = found.position
    axes.plot([column], [row], "o", ms=11, mfc="none", mec="#d62728", mew=2.2)
    best = ", ".join(filter(None, (found.kernel.text, f"lam={show_number(found.lam)}")))
    axes.set_title(f"{request.method.label}, {request.learner.name}: {best}", fontsize=10)


def compressed(found: Selection) -> tuple[Array, str]:
    """The scores, or their excess over the best in logs where they span more than a decade."""
    scores = np.where(np.isfinite(found.scores), found.scores, np.nan)
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    if low > 0 and high / low > 10:
        return np.log10(scores), f"log10 of {found.request.method.label}"
    return scores, found.request.method.label
