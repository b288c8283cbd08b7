"""Rankings: published columns, substitutes, Wilcoxon's marks, and the files."""

from __future__ import annotations

from dataclasses import replace

import pytest
from printed_flkl import ROOT, paper, printed, row
from synthetic import method

from kselect.config.load import load_config
from kselect.core.experiment import FigureContext
from kselect.report.elements import File, Heading, Passage
from kselect.report.figures import FIGURES
from kselect.report.figures.ranking import Ranking, rank_columns
from kselect.report.figures.widths import learned_widths
from kselect.stats.study import Study


def test_a_substitute_replaces_a_missing_published_set() -> None:
    spec, _ = paper()
    only = [row("twonorm-generated", s, "ARD-FLKL", 3.0, "theta1=1;theta2=3") for s in (0, 1)]
    found = Study(spec, only)
    assert learned_widths(found, "twonorm", "ARD-FLKL").dataset == "twonorm-generated"
    both = Study(spec, [*only, *(row("twonorm", s, "ARD-FLKL", 3.0, "theta1=1") for s in (0, 1))])
    ranks = rank_columns(both, Ranking("", ("ARD-FLKL",)))
    assert ranks.ranks.datasets == ("twonorm",)
    assert ranks.absent == ("twonorm-generated",)


def test_literature_columns_are_ranked_with_ours() -> None:
    """MKL and IKL come from the printed table 4; a data set without them is not ranked."""
    found = rank_columns(
        printed(), Ranking("t", ("RBF-XVAL", "ARD-FLKL"), ("MKL-separate", "IKL-products"))
    )
    assert len(found.ranks.datasets) == 13
    assert found.absent == ("synthetic",)
    assert found.literature == {"MKL-separate", "IKL-products"}
    assert found.rows["heart"][2].mean == 16.7


def test_the_title_is_the_heading() -> None:
    """Without a title, the name is."""
    for title, expected in (("One width", "One width"), ("", "table2")):
        figure = Ranking("table2", ("RBF-XVAL", "ARD-FLKL"), title=title)
        passages = [p for p in figure.show(printed()) if isinstance(p, Passage)]
        assert passages[0].elements[0] == Heading(expected)


def test_marks_of_wilcoxon() -> None:
    """Too few splits make no difference, and the best method is always marked."""
    spec = load_config(ROOT / "configs/flkl2014.yaml", FIGURES, {"splits": "12"})
    errors = {"ARD-FLKL": 10.0, "ARD-LOO": 10.4, "ARD-XVAL": 10.0}
    wobble = {"ARD-FLKL": 0.0, "ARD-LOO": 0.0, "ARD-XVAL": 0.3}
    records = [
        row("heart", s, m, e + wobble[m] * (-1) ** s + 0.01 * s, "theta1=1")
        for m, e in errors.items()
        for s in range(12)
    ]
    entries = rank_columns(Study(spec, records), Ranking("t", tuple(errors))).rows["heart"]
    assert [e.close for e in entries] == [True, False, True]


def test_files_of_every_figure() -> None:
    """Every kind of figure has its files, and two runs give the same bytes."""
    study = printed()
    by_name = {f.name: f for f in study.experiment.figures}
    shown = FIGURES["ranking"].show(by_name["table4"], study)
    files = {f.name: f.content for f in shown if isinstance(f, File)}
    assert set(files) == {
        *(f"tables/table4.{kind}" for kind in ("csv", "md", "tex")),
        *(
            f"figures/{name}{end}"
            for name in ("table4", "table4-pairs")
            for end in (".png", ".pdf", ".svg", "-narrow.pdf", "-narrow.svg")
        ),
        *("tables/table4-ranks.csv", "tables/table4-pairs.csv"),
    }
    assert "MKL-separate (lit.)" in str(files["tables/table4.md"])
    assert "second better" in str(files["tables/table4.md"])
    again = FIGURES["ranking"].show(by_name["table4"], printed())
    assert {f.name: f.content for f in again if isinstance(f, File)} == files


@pytest.mark.usefixtures("pictures_alone")
@pytest.mark.parametrize("name", ["table2", "widths", "overfitting", "surfaces"])
def test_figures_with_few_or_no_data(name: str) -> None:
    """Every kind of figure of the paper works with few data and none."""
    spec, rows = paper()
    figure = next(f for f in spec.figures if f.name == name)
    kind = FIGURES[figure.kind]
    assert list(kind.show(figure, Study(spec, (), rows)))
    assert list(kind.show(figure, few()))


def few() -> Study:
    """Return one data set with two columns."""
    spec, _ = paper()
    labels = ("ARD-XVAL", "ARD-FLKL")
    return Study(
        spec, [row("thyroid", s, m, 4.0, "theta1=1;theta2=0") for m in labels for s in (0, 1)]
    )


def test_spreads_and_numbers_of_kernels_of_table_4() -> None:
    """Table 4 has standard deviations, and the numbers of kernels that MKL and IKL use."""
    study = printed()
    by_name = {f.name: f for f in study.experiment.figures}
    table4, table2 = (by_name[name] for name in ("table4", "table2"))
    assert (table4.spread, table2.spread) == ("deviation", "error")
    error, deviation = (
        rank_columns(study, replace(table4, spread=spread)).rows["heart"][0].spread
        for spread in ("error", "deviation")
    )
    assert deviation == pytest.approx(error * 2**0.5)
    shown = FIGURES["ranking"].show(table4, study)
    files = {f.name: str(f.content) for f in shown if isinstance(f, File)}
    head, *lines = [line for line in files["tables/table4.md"].splitlines() if line.startswith("|")]
    assert "kernels of MKL-separate" in head
    heart = next(line for line in lines if line.startswith("| heart"))
    assert [cell.strip() for cell in heart.split("|")[-3:-1]] == ["9.0", "28.2"]
    assert "standard deviation over splits" in files["tables/table4.md"]
    wrong: list[str] = []
    written = {"criteria": ["5-CV"], "spread": "range"}
    context = FigureContext(
        {"5-CV": method("5-CV", "k-CV", 5)}, study.experiment.lam, (), False, {}
    )
    Ranking.read("t", written, context, lambda keys, text: wrong.append(text))
    assert wrong == ["must be error or deviation"]
