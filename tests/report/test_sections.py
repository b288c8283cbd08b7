"""Sections and figures register themselves, have captions, and compute no numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import pytest
from synthetic import TAUS, experiment, method, record, study

import kselect.report
from kselect.core.method import LamGrid, Method
from kselect.report.elements import Details, File, Paragraph, Passage, Picture
from kselect.report.figures.base import FigureBase, FigureReader
from kselect.report.figures.discrepancy import RATE, VALUE, Discrepancy
from kselect.report.figures.sweep import Sweep
from kselect.report.page import write_report
from kselect.report.sections import FIGURES, SECTIONS, section
from kselect.stats.study import Study

HERE = Path(kselect.report.__file__).parent
NUMERICAL = {"numpy", "scipy", "pandas", "statistics"}


@pytest.fixture
def toy() -> Iterator[Any]:
    """Register a kind of figure and a section, as separate files would."""

    @dataclass(frozen=True)
    class Toy(FigureBase, kind="toy"):
        @classmethod
        def parse(cls, name: str, config: FigureReader) -> Self:
            return cls(name)

        def show(self, study: Study) -> Iterator[File | Passage]:
            picture = Picture(b"<svg/>", b"<svg/>", "a toy", "A caption of its own.")
            yield File(f"figures/{self.name}.txt", f"{len(study.records)} records")
            yield Passage("figures", (picture,))

    @section("toy")
    def show(study: Study) -> Iterator[Passage]:
        yield Passage("toys", (Paragraph("A section of its own."),), "tables/toys.md")

    yield Toy
    del FIGURES["toy"], SECTIONS["toy"]


def test_a_new_kind_needs_no_other_edit(toy: Any, tmp_path: Path) -> None:
    spec = experiment(figures=(toy("mine"),))
    paths = write_report(study(spec, [record("heart", 0, "5-CV", 0.1)]), tmp_path)
    assert tmp_path / "figures/mine.txt" in paths
    page = (tmp_path / "report.html").read_text()
    assert "A caption of its own." in page
    assert '<a href="#toys">Toys</a>' in page
    assert (tmp_path / "tables/toys.md").read_text() == "A section of its own.\n"


def test_every_module_registers_a_section_or_a_kind_of_figure() -> None:
    """The exceptions are the bases, and the drawings and the literature of a ranking."""
    folders = ("sections", "figures")
    files = {f"kselect.report.{d}.{p.stem}" for d in folders for p in (HERE / d).glob("*.py")}
    others = {f"kselect.report.{d}.{name}" for d in folders for name in ("__init__", "base")}
    others |= {f"kselect.report.figures.{name}" for name in ("rank_diagram", "literature")}
    found = {getattr(one, "__module__") for one in (*SECTIONS.values(), *FIGURES.values())}  # noqa: B009
    assert found == files - others


TABLES = sorted(p for p in HERE.rglob("*.py") if p.parent.name not in ("figures", "claims"))


@pytest.mark.parametrize("path", TABLES, ids=lambda p: p.stem)
def test_only_figures_and_claims_import_numerical_libraries(path: Path) -> None:
    """main_table.py may compute a median to choose its decimals."""
    names = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imported(node)
    }
    assert names & NUMERICAL <= ({"statistics"} if path.stem == "main_table" else set())


def imported(node: ast.AST) -> list[str]:
    """Return the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


@pytest.fixture(scope="module")
def shown() -> list[Picture]:
    """Return the pictures of a sweep and a discrepancy."""
    return pictures(both())


def pictures(found: Study) -> list[Picture]:
    """Return the pictures that the figures of a study show on the page."""
    shown = [FIGURES[f.kind].show(f, found) for f in found.experiment.figures]
    passages = [item for one in shown for item in one if isinstance(item, Passage)]
    elements = [e for passage in passages for e in passage.elements]
    opened = [i for e in elements for i in (e.elements if isinstance(e, Details) else (e,))]
    return [e for e in opened if isinstance(e, Picture)]


def both() -> Study:
    """Return a study with a sweep and a discrepancy."""
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


def test_each_figure_has_its_own_caption(shown: list[Picture]) -> None:
    gaps, errors, discrepancy, squares = shown
    assert "linear axes" in squares.caption
    assert gaps.caption.startswith("Test error of 5-KS minus 5-CV over eta at λ = 0.001, mean of")
    assert "Dotted: eta = 2, as in the table." in gaps.caption
    assert errors.caption == (
        "Test error over eta at λ = 0.001: mean and standard deviation (band) over splits of 5-KS; "
        "dashed: 5-CV. Axes end four standard deviations above the dashed lines."
    )
    assert discrepancy.caption.startswith("Root mean square difference between the approximated")
    assert "5-CV select" in discrepancy.caption
    assert len({gaps.alt, errors.alt, discrepancy.alt}) == 3


def test_a_sweep_shows_differences_and_folds_the_errors_away() -> None:
    found = both()
    shown = FIGURES["sweep"].show(found.experiment.figures[0], found)
    items = list(shown)
    (first,), (second,) = (item.elements for item in items if isinstance(item, Passage))
    assert isinstance(first, Picture)
    assert isinstance(second, Details)
    names = [i.name for i in items if isinstance(i, File) and i.name.endswith("png")]
    assert names == ["figures/eta-sweep.png", "figures/eta-sweep-errors.png"]


def test_a_sweep_without_cross_validation_shows_its_errors() -> None:
    """Without cross-validation there are no differences."""
    found = both()
    methods = tuple(m for m in found.experiment.methods if m.label != "5-CV")
    spec = replace(found.experiment, methods=methods, figures=found.experiment.figures[:1])
    (picture,) = pictures(Study(spec, found.records.itertuples(index=False)))
    assert picture.caption.endswith("of 5-KS.")


def test_figures_are_reproducible_and_work_without_data(shown: list[Picture]) -> None:
    found = both()
    second, empty = (pictures(s) for s in (found, study(found.experiment, [])))
    for a, b, c in zip(shown, second, empty, strict=True):
        assert (a.wide, a.narrow) == (b.wide, b.narrow)
        assert a.wide.startswith(b"<?xml")
        assert len({a.wide, a.narrow, c.wide, c.narrow}) == 4


def test_exclusions_name_their_reasons(tmp_path: Path) -> None:
    why = "2: no factor (tau=4;lam=0.1, ...)"
    rows = [record("heart", 0, "5-CV", 0.1, excluded=2, exclusions=why)]
    spec = experiment(kernels=TAUS[:3], lam=LamGrid((0.001,), "fixed"))
    write_report(study(spec, rows), tmp_path)
    text = (tmp_path / "tables/claims.md").read_text()
    assert "of 3." in text
    assert "| heart    |  2.0 |" in text
    assert "heart, 5-CV: 2: no factor (tau=2^2;lam=0.1, ...)" in text
