"""Maps over the whole grid: what is drawn and said of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import TAUS, experiment, method, record, study

from kselect.core.method import LamGrid
from kselect.report.blocks import Picture
from kselect.report.drawings.map import short
from kselect.report.sections import FIGURES
from kselect.stats.maps import Map
from kselect.stats.study import Study


def pictures(found: Study) -> list[Picture]:
    """What the map of a study shows."""
    (figure,) = found.experiment.figures
    blocks = FIGURES["map"].show(figure, found).blocks
    return [e for block in blocks for e in block.elements if isinstance(e, Picture)]


def mapped(rows: bool = True) -> Study:
    """A map of one approximation, one of whose scores is infinite."""
    exact, fbif = (
        method("5-CV", "k-CV", 5, loss="squared"),
        method("5-FBIF", "k-FBIF", 5, c=0.1, loss="squared"),
    )
    figure = Map("map", ("5-FBIF",), "5-CV", "c", (0.1, 1.0), ("heart", "sonar"))
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
    """Over the grid and over the parameter; what is infinite is counted, and nothing at all is drawn too."""
    found = mapped()
    shown = FIGURES["map"].show(found.experiment.figures[0], found)
    maps, curves = (e for block in shown.blocks for e in block.elements)
    assert isinstance(maps, Picture)
    assert isinstance(curves, Picture)
    assert "Circle: where 5-CV is lowest" in maps.caption
    assert "5-FBIF on heart 1 (infinite score)" in maps.caption
    assert "over c" in curves.caption
    assert {file.name for file in shown.files} >= {"figures/map.png", "figures/map-over-c.png"}
    for first, empty in zip((maps, curves), pictures(mapped(rows=False)), strict=True):
        assert len({first.wide, first.narrow, empty.wide, empty.narrow}) == 4


@pytest.mark.usefixtures("pictures_alone")
def test_a_map_without_a_parameter_has_one_picture() -> None:
    (figure,) = mapped().experiment.figures
    assert isinstance(figure, Map)
    alone = replace(figure, parameter="", values=())
    assert len(FIGURES["map"].show(alone, mapped()).files) == 2


def test_a_map_with_some_of_its_columns() -> None:
    """Nothing is left of it without the exact one."""
    (figure,) = mapped().experiment.figures
    kind = FIGURES["map"]
    assert kind.keep(figure, frozenset({"5-FBIF", "5-CV"})) == figure
    assert kind.keep(figure, frozenset({"5-FBIF"})) is None
    assert kind.keep(figure, frozenset({"5-CV"})) is None


def test_how_ticks_are_written() -> None:
    """Powers of two as such."""
    assert [short(text) for text in ("0.03125", "8", "0.1", "degree=2")] == [
        "$2^{-5}$", "$2^{3}$", "0.1", "degree=2",
    ]  # fmt: skip
