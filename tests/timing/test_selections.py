"""Timing of continuous searches: ours, and the paper's for the same objective."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kselect.config.load import load_config
from kselect.core.method import Choice, Method
from kselect.datasets.fetch import Places, resolve
from kselect.errors import TrialError
from kselect.report.sections import FIGURES
from kselect.run.signals import at_most
from kselect.store.timings import TimedMethod
from kselect.timing.measure import (
    TimingSettings,
    empty_cell,
    is_incomplete,
    measure_cell,
)
from kselect.timing.selections import Training, as_published, search_all_values
from kselect.timing.tables import make_sheet

CONFIG = Path(__file__).resolve().parents[2] / "configs/flkl2014.yaml"


@pytest.fixture(scope="module")
def training() -> Training:
    """Return every second row of thyroid's first training part."""
    found = load_config(CONFIG, FIGURES, {"datasets": ["thyroid"]})
    source = resolve(found.info("thyroid"), Places(Path("none"), None, offline=True))
    whole = Training.of(found, "thyroid", source)
    context = whole.parts.context
    context = replace(context, X=context.X[::2], targets=context.targets[:, ::2])
    parts = replace(whole.parts, context=context, y_train=whole.parts.y_train[::2])
    return replace(whole, parts=parts)


def found(training: Training, label: str) -> Method:
    return next(m for m in training.experiment.table if m.label == label)


def measured(training: Training, method: Method, budget: float = 60.0) -> TimedMethod:
    return measure_cell(training, method, empty_cell(method, TimingSettings(budget, "")))


def test_both_searches_reach_the_same_score(training: Training) -> None:
    """Both searches run completely, and their scores differ little."""
    ours = found(training, "RBF-FLKL")
    cell = measured(training, ours)
    assert cell.ours is not None
    assert cell.paper is not None
    assert cell.ours.cpu < cell.paper.cpu
    assert cell.difference is not None
    assert cell.difference < 1e-2


def test_a_search_of_the_paper_ends_with_the_budget(training: Training) -> None:
    """Ours runs to its end; a larger budget, and no other, measures the paper's again."""
    ours = found(training, "ARD-FLKL")
    before, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    cell = measured(training, ours, 1e-3)
    assert cell.ours is not None
    assert cell.ours.whole
    assert cell.paper is cell.difference is None
    assert cell.failure == ""
    assert signal.getsignal(signal.SIGALRM) == before
    # Under pytest-timeout, its timer continues.
    assert signal.getitimer(signal.ITIMER_REAL) == pytest.approx(timer, abs=100.0)
    asked = [is_incomplete(training.experiment, cell, ours, "thyroid", b) for b in (1e-3, 1.0)]
    assert asked == [False, True]
    xval = found(training, "ARD-XVAL")
    assert not is_incomplete(
        training.experiment, replace(cell, method="ARD-XVAL"), xval, "thyroid", 1.0
    )


def test_other_threads_are_not_interrupted() -> None:
    done: list[bool] = []

    def run() -> None:
        with at_most(1e-6):
            done.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done == [True]


def test_only_flkl_has_a_search_of_its_paper(training: Training) -> None:
    ours = found(training, "ARD-XVAL")
    assert as_published(ours) is None
    cell = measured(training, ours)
    assert cell.ours is not None
    assert cell.paper is None


def test_a_failure_is_a_cell_with_its_reason(training: Training) -> None:
    context = training.parts.context
    context = replace(context, X=np.ones_like(context.X))
    flat = replace(training, parts=replace(training.parts, context=context))
    ours = found(flat, "ARD-FLKL")
    with pytest.raises(TrialError, match="all rows are equal"):
        search_all_values(flat, ours)
    assert "all rows are equal" in measured(flat, ours).failure
    assert ours.search == Choice("flkl")


def test_the_caption_describes_searches(training: Training) -> None:
    """The caption mentions no grid, ridges or closed forms."""
    made = make_sheet(training.experiment, [], ["a CPU"], [])
    caption = " ".join(made.tables[0].caption)
    assert "all values of their parameters and of the ridge" in caption
    assert "FLKL, paper's: Nelder-Mead" in caption
    for word in ("grid", "0 ridges", "BIF", "one factorisation"):
        assert word not in caption
