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
from kselect.core.experiment import FigureContext
from kselect.core.method import LamGrid, Method
from kselect.report.blocks import Block, File, Fold, Picture, Shown, Text
from kselect.report.drawings.discrepancy import LOWEST, in_percent
from kselect.report.panels import METADATA, render
from kselect.report.sections import FIGURES, SECTIONS
from kselect.report.sections.base import figure, section
from kselect.report.writer import write_report
from kselect.stats.discrepancy import RATE, VALUE, Discrepancy, Track
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
        def read(
            self, name: str, written: Mapping[str, Any], columns: FigureContext, wrong: Any
        ) -> Toy:
            return Toy(name)

        def methods(self, figure: Toy, columns: FigureContext) -> tuple[Method, ...]:
            return ()

        def keep(self, figure: Toy, labels: frozenset[str]) -> Toy:
            return figure

        def show(self, figure: Toy, study: Study) -> Shown:
            picture = Picture(b"<svg/>", b"<svg/>", "a toy", "A caption of its own.")
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


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.py")), ids=lambda p: p.stem)
def test_a_report_computes_nothing(path: Path) -> None:
    """Whatever needs a numerical library stands in stats/; main_table.py takes one median to choose decimals."""
    names = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imported(node)
    }
    assert names & NUMERICAL <= ({"statistics"} if path.stem == "main_table" else set())


def imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


@pytest.fixture(scope="module")
def shown() -> list[Picture]:
    """The pictures of a sweep and a discrepancy."""
    return pictures(both())


def pictures(found: Study) -> list[Picture]:
    """What the figures of a study show on the page."""
    shown = [FIGURES[f.kind].show(f, found) for f in found.experiment.figures]
    elements = [e for one in shown for block in one.blocks for e in block.elements]
    opened = [i for e in elements for i in (e.elements if isinstance(e, Fold) else (e,))]
    return [e for e in opened if isinstance(e, Picture)]


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
    for m in (m for m in spec.methods_on("heart") if m.at):
        more = {"part": "f", "params": m.text, "criterion": m.criterion, "loss": "", "score": 0.25}
        rows.append(replace(record("heart", 0, "5-CV", 0.1, **more), error=None))
    return study(spec, rows)


def test_each_figure_has_a_caption_of_its_own(shown: list[Picture]) -> None:
    gaps, errors, discrepancy = shown
    assert gaps.caption.startswith("Test error of 5-KS minus 5-CV over eta at λ = 0.001, mean of")
    assert "Dotted: eta = 2, as in the table." in gaps.caption
    assert errors.caption == (
        "Test error over eta at λ = 0.001: mean and standard deviation (band) over splits of 5-KS; "
        "dashed: 5-CV. Axes end four standard deviations above these."
    )
    assert discrepancy.caption.startswith("Root mean square difference between the approximated")
    assert "5-CV select" in discrepancy.caption
    assert len({gaps.alt, errors.alt, discrepancy.alt}) == 3


def test_the_differences_come_first_and_the_errors_behind_a_line() -> None:
    found = both()
    shown = FIGURES["sweep"].show(found.experiment.figures[0], found)
    (first,), (second,) = (block.elements for block in shown.blocks)
    assert isinstance(first, Picture)
    assert isinstance(second, Fold)
    names = [file.name for file in shown.files if file.name.endswith("png")]
    assert names == ["figures/eta-sweep.png", "figures/eta-sweep-errors.png"]


def test_a_sweep_without_cross_validation_shows_its_errors() -> None:
    """There is nothing to subtract."""
    found = both()
    methods = tuple(m for m in found.experiment.methods if m.label != "5-CV")
    spec = replace(found.experiment, methods=methods, figures=found.experiment.figures[:1])
    (picture,) = pictures(Study(spec, found.records))
    assert picture.caption.endswith("of 5-KS.")


def test_figures_are_the_same_twice_and_survive_having_no_data(shown: list[Picture]) -> None:
    found = both()
    second, empty = (pictures(s) for s in (found, study(found.experiment, [])))
    for a, b, c in zip(shown, second, empty, strict=True):
        assert (a.wide, a.narrow) == (b.wide, b.narrow)
        assert a.wide.startswith(b"<?xml")
        assert len({a.wide, a.narrow, c.wide, c.narrow}) == 4


def test_a_figure_is_saved_without_a_date() -> None:
    from matplotlib.figure import Figure

    files = render(lambda: Figure(figsize=(1, 1)), METADATA)
    assert files.keys() == {"pdf", "png", "svg"}
    assert b"CreationDate" not in files["pdf"]
    assert b"<dc:date>" not in files["svg"]


def test_what_is_as_good_as_exact_stays_below_the_axis() -> None:
    track = Track("5-CV", (), (), 0.1, 2.0, {})
    orders, shares = in_percent(track, [(1.0, 0.04), (2.0, 0.0)])
    assert (orders, shares[0]) == ([1.0, 2.0], pytest.approx(10.0))
    assert 0 < shares[1] < LOWEST


def test_exclusions_name_their_reasons(tmp_path: Path) -> None:
    why = "2: no factor (tau=4;lam=0.1, ...)"
    rows = [record("heart", 0, "5-CV", 0.1, excluded=2, exclusions=why)]
    spec = experiment(kernels=TAUS[:3], lam=LamGrid((0.001,), "fixed"))
    write_report(study(spec, rows), tmp_path)
    text = (tmp_path / "tables/claims.md").read_text()
    assert "of 3." in text
    assert "| heart    |  2.0 |" in text
    assert f"heart, 5-CV: {why}" in text
