"""A section is one file: it registers itself, has its own caption, and computes nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from synthetic import TAUS, experiment, method, record, study

import kselect.report
from kselect.model.experiment import Columns
from kselect.model.method import Method, Ridges
from kselect.report.blocks import Block, File, Picture, Shown, Text
from kselect.report.panels import render
from kselect.report.sections import FIGURES, SECTIONS
from kselect.report.sections.base import figure, section
from kselect.report.sections.discrepancy import FLOOR, cut_off
from kselect.report.sections.map import short
from kselect.report.writer import write_report
from kselect.stats.discrepancy import RATE, VALUE, Discrepancy
from kselect.stats.maps import Map
from kselect.stats.study import Study
from kselect.stats.sweeps import Sweep

HERE = Path(kselect.report.__file__).parent
NUMERICAL = {"numpy", "scipy", "pandas", "statistics"}


@dataclass(frozen=True)
class Toy:
    """A figure that a config might ask for."""

    name: str
    kind: str = "toy"


@pytest.fixture
def toy() -> Iterator[str]:
    """A kind of figure and a section, registered as a file of their own would."""

    @figure("toy")
    class ToyFigure:
        def read(self, name: str, written: Mapping[str, Any], columns: Columns, wrong: Any) -> Toy:
            return Toy(name)

        def methods(self, figure: Toy, columns: Columns) -> tuple[Method, ...]:
            return ()

        def keep(self, figure: Toy, labels: frozenset[str]) -> Toy:
            return figure

        def show(self, figure: Toy, study: Study) -> Shown:
            picture = Picture(b"png", "a toy", "A caption of its own.")
            return Shown(
                [File(f"figures/{figure.name}.txt", f"{len(study.records)} records")],
                [Block("figures", (picture,))],
            )

    @section("toy")
    def show(study: Study) -> Shown:
        return Shown(blocks=[Block("toys", (Text("A section of its own."),), "tables/toys.md")])

    yield "toy"
    del FIGURES["toy"], SECTIONS["toy"]


def test_a_new_kind_needs_no_other_edit(toy: str, tmp_path: Path) -> None:
    spec = experiment(figures=(Toy("mine"),))
    paths = write_report(study(spec, [record("heart", 0, "5-CV", 0.1)]), tmp_path)
    assert tmp_path / "figures/mine.txt" in paths
    page = (tmp_path / "report.html").read_text()
    assert "A caption of its own." in page
    assert '<a href="#toys">Toys</a>' in page
    assert (tmp_path / "tables/toys.md").read_text() == "A section of its own.\n"


def test_every_section_is_registered_under_the_name_of_its_file() -> None:
    files = {p.stem for p in (HERE / "sections").glob("*.py")} - {"__init__", "base"}
    assert {name.replace("-", "_") for name in (*SECTIONS, *FIGURES)} == files


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.py")), ids=lambda p: p.stem)
def test_a_report_computes_nothing(path: Path) -> None:
    """Whatever needs a numerical library stands in stats/; cells.py takes one median to choose decimals."""
    names = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imported(node)
    }
    assert names & NUMERICAL <= ({"statistics"} if path.stem == "cells" else set())


def imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def pictures(found: Study) -> list[Picture]:
    """What the figures of a study show on the page."""
    shown = [FIGURES[f.kind].show(f, found) for f in found.experiment.figures]
    elements = [e for one in shown for block in one.blocks for e in block.elements]
    return [e for e in elements if isinstance(e, Picture)]


def both() -> Study:
    """A sweep and a discrepancy in one experiment."""
    sweep = Sweep("eta-sweep", ("5-KS",), "eta", (0.5, 2.0), 0.001)
    figures = (sweep, Discrepancy("f", ("5-CV",), (1, 3), ("heart",)))
    probes = [Method("5-CV", VALUE, 5, (("order", t),), "f", at="5-CV") for t in (1, 3)]
    probes.append(Method("5-CV", RATE, 5, (), "f", at="5-CV"))
    base = method("5-KS", "k-KS", 5, eta=2.0, loss="squared")
    swept = [replace(base, part="eta-sweep", lam=0.001)]
    table = (method("5-CV", "k-CV", 5, loss="squared"), base)
    spec = experiment(methods=(*table, *swept, *probes), figures=figures)
    rows = [record("heart", s, "5-KS", 0.2, part="eta-sweep", params=base.text) for s in (0, 1)]
    for m in probes:
        more = {"part": "f", "params": m.text, "criterion": m.criterion, "loss": "", "score": 0.25}
        rows.append(replace(record("heart", 0, "5-CV", 0.1, **more), error=None))
    return study(spec, rows)


def test_each_figure_has_a_caption_of_its_own() -> None:
    sweep, discrepancy = pictures(both())
    assert sweep.caption == (
        "Test error over eta at λ = 0.001: mean and standard deviation over splits of 5-KS; "
        "dashed: 5-CV."
    )
    assert discrepancy.caption.startswith("Mean square difference between the approximated and")
    assert "5-CV select" in discrepancy.caption
    assert sweep.alt != discrepancy.alt


def test_figures_are_the_same_twice_and_survive_having_no_data() -> None:
    found = both()
    first, second, empty = (pictures(s) for s in (found, both(), study(found.experiment, [])))
    for a, b, c in zip(first, second, empty, strict=True):
        assert a.png == b.png
        assert a.png.startswith(b"\x89PNG")
        assert c.png != a.png


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
        methods=(exact, fbif, *kept), figures=(figure,), lam=Ridges((0.1, 1.0), "select")
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


def test_a_map_has_two_pictures() -> None:
    """Over the grid and over the parameter; what is infinite is counted, and nothing at all is said."""
    maps, curves = pictures(mapped())
    assert "Circle: where 5-CV is lowest" in maps.caption
    assert "5-FBIF on heart 1 (infinite score)" in maps.caption
    assert "over c" in curves.caption
    shown = FIGURES["map"].show(mapped().experiment.figures[0], mapped())
    assert {file.name for file in shown.files} >= {"figures/map.png", "figures/map-over-c.png"}
    for first, again, empty in zip(
        (maps, curves), pictures(mapped()), pictures(mapped(rows=False)), strict=True
    ):
        assert first.png == again.png
        assert first.png != empty.png


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


def test_a_figure_is_saved_without_a_date() -> None:
    from matplotlib.figure import Figure

    files = render(lambda: Figure(figsize=(1, 1)))
    assert files.keys() == {"pdf", "png"}
    assert b"CreationDate" not in files["pdf"]


def test_rounding_is_cut_off() -> None:
    assert cut_off([(1.0, 0.5), (2.0, 0.0)]) == ([1.0, 2.0], [0.5, FLOOR])


def test_exclusions_name_their_reasons(tmp_path: Path) -> None:
    why = "2: no factor (tau=4;lam=0.1, ...)"
    rows = [record("heart", 0, "5-CV", 0.1, excluded=2, exclusions=why)]
    spec = experiment(kernels=TAUS[:3], lam=Ridges((0.001,), "fixed"))
    write_report(study(spec, rows), tmp_path)
    text = (tmp_path / "tables/claims.md").read_text()
    assert "of 3:" in text
    assert "| heart    |  2.0 |" in text
    assert f"heart, 5-CV: {why}" in text
