"""Distances of approximations to the exact criterion over a grid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from synthetic import TAUS, experiment, method, record, study

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid, Method
from kselect.core.record import Record
from kselect.kernels.gaussian import Gaussian
from kselect.report.elements import File, Passage, Picture
from kselect.report.figures import FIGURES
from kselect.report.figures.map import DistanceMap, kernel_names, survey
from kselect.stats.study import Study

FIGURE = DistanceMap("map", ("5-FBIF", "5-BIF"), "5-CV", "c", (0.1, 1.0), ("heart", "sonar"))
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
    """Return one record per grid point, without a number if the score was infinite."""
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
    """Distances are relative to the exact score, and infinite if a score is."""
    found = survey(study(spec(), records()), FIGURE)
    fbif, bif = found["heart"][0].values()
    assert (fbif.method, bif.method) == ("5-FBIF", "5-BIF")
    np.testing.assert_allclose(fbif.errors, [[0.5, 0, 0], [0.5, np.inf, 0]])
    assert (fbif.exact, fbif.best, bif.best) == ((1, 0), (0, 0), (1, 2))
    assert (fbif.infinite, fbif.reasons) == (1, ("infinite score",))
    assert (bif.infinite, bif.reasons) == (0, ())
    assert found["sonar"] == ({}, [])


def test_traces_over_the_parameter() -> None:
    """A trace has the 0.9 quantile over the grid and the value at the exact minimum."""
    fbif, bif = survey(study(spec(), records()), FIGURE)["heart"][1]
    assert [x for x, _ in fbif.points] == [0.1, 1.0]
    assert not fbif.constant
    assert fbif.points[0][1] == (np.inf, pytest.approx(0.5))
    assert fbif.points[1][1] == (pytest.approx(0.5), 0.0)
    assert bif.constant
    assert bif.points[0][1] == (pytest.approx(0.95), pytest.approx(0.5))


def test_the_mean_over_splits() -> None:
    """A point without a score on one split has none in the mean."""
    second = [
        *rows(EXACT, [1.0] * 6, 1),
        *rows(FBIF, [1.0, None, 1.0, 1.0, 1.0, 1.0], 1),
    ]
    fbif = survey(study(spec(), [*records(), *second]), FIGURE)["heart"][0]["5-FBIF"]
    np.testing.assert_allclose(fbif.errors[0], [0.25, np.inf, 0])
    assert fbif.infinite == 2


def test_names_of_kernels() -> None:
    """A kernel with one parameter is named by its value."""
    assert kernel_names(study(spec(), [])) == ("tau", ("$2^{0}$", "$2^{2}$"))


def test_a_setting_names_its_kernel() -> None:
    """There is one setting per point, in the order of kernels and ridges."""
    assert [s.text for s in spec().settings_of(everywhere(FBIF))] == SETTINGS
    assert [s.text for s in spec().settings_of(FBIF)] == ["selected"]


def pictures(found: Study) -> list[Picture]:
    """Return the pictures of the map of a study."""
    (figure,) = found.experiment.figures
    passages = (p for p in FIGURES["map"].show(figure, found) if isinstance(p, Passage))
    return [e for p in passages for e in p.elements if isinstance(e, Picture)]


def mapped(rows: bool = True) -> Study:
    """Return the map of one approximation with an infinite score."""
    exact, fbif = (
        method("5-CV", "k-CV", 5, loss="squared"),
        method("5-FBIF", "k-FBIF", 5, c=0.1, loss="squared"),
    )
    figure = DistanceMap("map", ("5-FBIF",), "5-CV", "c", (0.1, 1.0), ("heart", "sonar"))
    kept = [
        replace(m, part="map", everywhere=True, datasets=figure.datasets)
        for m in (exact, fbif, fbif.with_params(c=1.0))
    ]
    spec = experiment(
        methods=(exact, fbif, *kept),
        figures=(figure,),
        lam=LamGrid((0.1, 1.0), "select"),
        kernels=TAUS[:3],
    )
    made = [
        replace(
            record("heart", 0, m.label, 0.1, part="map", params=m.text, criterion=m.criterion),
            setting=s.text, error=None, reason="infinite score" if i == 3 and m is not kept[0] else "",
            score=None if i == 3 and m is not kept[0] else 0.1 + 0.01 * i * (m is not kept[0]),
        )
        for m in kept
        for i, s in enumerate(spec.settings_of(m))
    ]  # fmt: skip
    return study(spec, made if rows else [])


@pytest.mark.usefixtures("pictures_alone")
def test_a_map_has_two_pictures() -> None:
    """One picture is over the grid, one over the parameter; infinite scores are counted."""
    found = mapped()
    shown = FIGURES["map"].show(found.experiment.figures[0], found)
    files = {file.name for file in shown if isinstance(file, File)}
    maps, curves = pictures(found)
    assert "Circle: where 5-CV is lowest" in maps.caption
    assert "5-FBIF on heart 1 (infinite score)" in maps.caption
    assert "over c" in curves.caption
    assert files >= {"figures/map.png", "figures/map-over-c.png"}
    for first, empty in zip((maps, curves), pictures(mapped(rows=False)), strict=True):
        assert len({first.wide, first.narrow, empty.wide, empty.narrow}) == 4


@pytest.mark.usefixtures("pictures_alone")
def test_a_map_without_a_parameter_has_one_picture() -> None:
    (figure,) = mapped().experiment.figures
    assert isinstance(figure, DistanceMap)
    alone = replace(figure, parameter="", values=())
    shown = FIGURES["map"].show(alone, mapped())
    assert sum(isinstance(file, File) and file.name.endswith(".png") for file in shown) == 1


def test_a_map_with_some_of_its_columns() -> None:
    """A map without its exact criterion is dropped."""
    (figure,) = mapped().experiment.figures
    kind = FIGURES["map"]
    assert kind.keep(figure, frozenset({"5-FBIF", "5-CV"})) == figure
    assert kind.keep(figure, frozenset({"5-FBIF"})) is None
    assert kind.keep(figure, frozenset({"5-CV"})) is None
