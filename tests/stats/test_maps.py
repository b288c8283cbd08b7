"""Distances of approximations to the exact criterion over a grid, from records made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from synthetic import experiment, method, record, study

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid, Method
from kselect.core.record import Record
from kselect.kernels.gaussian import Gaussian
from kselect.stats.maps import Map, kernel_names, survey

FIGURE = Map("map", ("5-FBIF", "5-BIF"), "5-CV", "c", (0.1, 1.0), ("heart", "sonar"))
EXACT = method("5-CV", "k-CV", 5, loss="hinge")
FBIF = method("5-FBIF", "k-FBIF", 5, c=0.1, loss="hinge")
BIF = method("5-BIF", "k-BIF", 5, loss="hinge")
SETTINGS = [f"tau={tau};lam={lam}" for tau in (1, 4) for lam in (0.1, 1, 10)]


def everywhere(one: Method) -> Method:
    return replace(one, part="map", everywhere=True, datasets=FIGURE.datasets)


def spec(**more: Any) -> Experiment:
    swept = [everywhere(FBIF), everywhere(FBIF.with_params(c=1.0)), everywhere(BIF)]
    facts: dict[str, Any] = {
        "methods": (EXACT, FBIF, BIF, everywhere(EXACT), *swept),
        "figures": (FIGURE,),
        "kernels": (Gaussian(1.0), Gaussian(4.0)),
        "lam": LamGrid((0.1, 1.0, 10.0), "select"),
        "loss": "hinge",
        "splits": (0, 1),
    }
    return experiment(**(facts | more))


def rows(one: Method, scores: list[float | None], split: int = 0) -> list[Record]:
    """One record per place; no number where the score was infinite."""
    more = {"part": "map", "params": one.text, "criterion": one.criterion, "loss": "hinge"}
    return [
        replace(
            record("heart", split, one.label, 0.1, **more),
            setting=setting,
            score=score,
            error=None,
            reason="" if score is not None else "infinite score",
        )
        for setting, score in zip(SETTINGS, scores, strict=True)
    ]


def records() -> list[Record]:
    exact = [0.5, 0.4, 1.0, 0.2, 0.8, 1.0]
    return [
        *rows(EXACT, exact),
        *rows(FBIF, [0.25, 0.4, 1.0, 0.3, None, 1.0]),
        *rows(FBIF.with_params(c=1.0), [0.5, 0.4, 1.0, 0.2, 0.4, 1.0]),
        *rows(BIF, [0.1, 0.1, 0.1, 0.1, 0.1, 0.05]),
    ]


def test_distances_by_hand() -> None:
    """Relative to the exact score; infinite where there is none; the lowest places of both."""
    panel, nothing = survey(study(spec(), records()), FIGURE)
    fbif, bif = panel.surfaces
    assert (fbif.method, bif.method) == ("5-FBIF", "5-BIF")
    np.testing.assert_allclose(fbif.errors, [[0.5, 0, 0], [0.5, np.inf, 0]])
    assert (fbif.exact, fbif.best, bif.best) == ((1, 0), (0, 0), (1, 2))
    assert (fbif.infinite, fbif.reasons) == (1, ("infinite score",))
    assert (bif.infinite, bif.reasons) == (0, ())
    assert (nothing.dataset, nothing.surfaces, nothing.traces) == ("sonar", (), ())


def test_traces_over_the_parameter() -> None:
    """Nine tenths of the grid, and where the exact criterion is lowest; BIF has no columns."""
    panel, _ = survey(study(spec(), records()), FIGURE)
    fbif, bif = panel.traces
    assert [x for x, _ in fbif.points] == [0.1, 1.0]
    assert not fbif.constant
    assert fbif.points[0][1] == (np.inf, pytest.approx(0.5))
    assert fbif.points[1][1] == (pytest.approx(0.5), 0.0)
    assert bif.constant
    assert bif.points[0][1] == (pytest.approx(0.95), pytest.approx(0.5))


def test_the_mean_over_splits() -> None:
    """Of the distances; a place that one split has no score at has none."""
    second = [
        *rows(EXACT, [1.0] * 6, 1),
        *rows(FBIF, [1.0, None, 1.0, 1.0, 1.0, 1.0], 1),
    ]
    panel, _ = survey(study(spec(), [*records(), *second]), FIGURE)
    np.testing.assert_allclose(panel.surfaces[0].errors[0], [0.25, np.inf, 0])
    assert panel.surfaces[0].infinite == 2


def test_what_kernels_are_called() -> None:
    """By their one parameter; else by their whole text."""
    assert kernel_names(study(spec(), [])) == ("tau", ("1", "4"))


def test_a_setting_names_its_kernel() -> None:
    """One for each place, in the order of kernels and ridges."""
    assert [s.text for s in spec().settings_of(everywhere(FBIF))] == SETTINGS
    assert [s.text for s in spec().settings_of(FBIF)] == ["selected"]
