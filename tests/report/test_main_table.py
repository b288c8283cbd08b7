"""The rows of the main table: decimals, powers of ten, marks and captions."""

import math

import pytest
from synthetic import experiment, method, sample_records, study

from kselect.core.claim import Paper
from kselect.core.method import Setting
from kselect.core.table import Measure, Table, Values
from kselect.report.elements import File, Passage
from kselect.report.sections.main_table import (
    describe_printed,
    main_table,
    method_notes,
    show,
    show_row,
)
from kselect.report.words import describe_fewer, show_p
from kselect.stats.samples import SplitErrors, TTest
from kselect.stats.sources import Published

NAN = math.nan
TIMES = "\N{MULTIPLICATION SIGN}"


def cell(mean: float, sd: float = NAN, failures: int = 0, p: float | None = None) -> SplitErrors:
    """Return a sample with this mean, of two runs with a deviation or of one run."""
    test = None if p is None else TTest(10, 1.0, p, p < 0.05, NAN)
    values = [] if math.isnan(mean) else [mean] if math.isnan(sd) else [mean - sd, mean, mean + sd]
    best = p is None and bool(values)
    return SplitErrors(
        dict(enumerate(values)), {}, failures, best=best, worse=test, worse_corrected=test
    )


def measures(row: Values) -> list[Measure]:
    return [c for c in row if isinstance(c, Measure)]


def texts(row: Values) -> list[str]:
    return [f"{c.mean_text} {c.sd_text}".strip() for c in measures(row)]


def test_percentages_have_two_decimals() -> None:
    assert texts(show_row("d", "%", [cell(14.327, 2.61), cell(9.0, 2.9)], 1)) == [
        "14.33 2.61",
        "9.00 2.90",
    ]
    assert texts(show_row("d", "%", [cell(30.0, 12.0)], 1)) == ["30.00 12.00"]
    assert texts(show_row("d", "%", [cell(0.0, 0.0)], 1)) == ["0.00 0.00"]


@pytest.mark.parametrize(
    ("mean", "sd", "power", "text"),
    [
        (4.5e-5, 1.4e-5, "⁻⁵", "4.5 1.4"),
        (0.015, 0.00097, "⁻²", "1.500 0.097"),
        (0.23, 0.036, "", "0.230 0.036"),
        (8.7, 0.83, "", "8.70 0.83"),
        (593.1, 95.0, "", "593 95"),
        (52000.0, 1500.0, "⁴", "5.20 0.15"),
    ],
)
def test_squared_errors_of_any_size(mean: float, sd: float, power: str, text: str) -> None:
    row = show_row("d", "MSE", [cell(mean, sd)], 1)
    assert (row[0], texts(row)) == (f"d ({TIMES} 10{power})" if power else "d", [text])


def test_a_row_has_common_decimals_and_power() -> None:
    row = show_row("d", "MSE", [cell(4.5e-5, 1.4e-5), cell(6.1e-5, 1.2e-5), cell(7e-4, 9e-6)], 1)
    assert row[0] == f"d ({TIMES} 10⁻⁵)"
    assert texts(row) == ["4.5 1.4", "6.1 1.2", "70.0 0.9"]


def test_an_enormous_value_does_not_widen_the_row() -> None:
    assert (
        texts(show_row("d", "MSE", [cell(4.5e-5, 1.2e-5), cell(800.0, 1.2e-5)], 1))[1]
        == "8.0e+07 1.2"
    )


def test_marks_failures_and_empty_cells() -> None:
    cells = [cell(1, 1), cell(2, 1, p=0.3), cell(3, 1, 4, p=0.01), cell(math.nan, failures=10)]
    row = show_row("d", "%", cells, 1)
    assert [c.mark for c in measures(row)] == ["best", "close", "", ""]
    assert [c.failures for c in measures(row)] == [0, 0, 4, 10]
    assert measures(row)[3].mean_text == ""
    assert "p = 0.3" in measures(row)[1].hint


def test_one_run_has_no_deviation() -> None:
    assert texts(show_row("d", "%", [cell(14.327)], 1)) == ["14.33"]
    assert texts(show_row("d", "MSE", [cell(4.5e-5)], 1)) == ["4.50"]


def test_p_values() -> None:
    assert [show_p(p) for p in (0.0001, 0.0343, 0.5)] == ["< 0.001", "0.034", "0.5"]


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([10, 10], ""),
        ([12, 10], ""),
        ([4, 4], " (4 splits)"),
        ([1], " (1 split)"),
        ([3, 10], " (3 to 10 splits)"),
        ([], ""),
    ],
)
def test_fewer_splits_are_shown_in_the_row(counts: list[int], text: str) -> None:
    assert describe_fewer(counts, 10) == text


def test_a_method_without_runs_does_not_count_as_fewer_splits() -> None:
    """Of ten runs one failed; a method without any run shows dashes."""
    tried, nothing = SplitErrors({0: 1.0, 1: 3.0}, {}, 1, planned=10), SplitErrors(planned=10)
    assert show_row("d", "%", [tried, nothing], 10)[0] == "d (3 splits)"
    assert show_row("d", "%", [nothing], 10)[0] == "d"
    assert measures(show_row("d", "%", [tried], 10))[0].hint == "2 runs; 1 failed; 7 not run"


def test_the_error_of_a_scorer_is_named_with_its_score() -> None:
    """The caption says how the score is turned; the numbers are not percentages."""
    methods = (method("5-CV", "k-CV", 5, loss="roc_auc"),)
    spec = experiment(paper="", loss="roc_auc", methods=methods, datasets=("heart",))
    errors = {("heart", "5-CV"): [0.08, 0.1, 0.12]}
    records = sample_records(errors, metric="1 - roc_auc", loss="roc_auc")
    found = study(spec, records)
    comparison = found.comparison("roc_auc")
    assert comparison.units == {"heart": "1 - roc_auc"}
    table = main_table(found, comparison)
    assert table.caption[0].startswith("The error 1 - roc_auc on the test part")
    assert "chooses by roc_auc of scikit-learn, as the error 1 - roc_auc" in table.caption[0]
    (row,) = table.groups[0].rows
    assert (row[0], texts(row)) == (f"heart (3 splits) ({TIMES} 10⁻¹)", ["1.00 0.20"])


def test_the_caption_counts_the_printed_cells() -> None:
    """Of the paper's table, unless all or none are legible; a method that is not in it has no printed one."""
    cells = [(d, m) for d in ("heart", "sonar") for m in ("5-CV", "5-KS")]
    records = sample_records(dict.fromkeys(cells, (0.1, 0.2)))
    said = []
    for count in (0, 1, 3, 4):
        theirs = tuple(
            Published("1", d, m, Setting(value=0.001), 9.0, 2.0, "sd") for d, m in cells[:count]
        )
        found = study(experiment(), records, published=theirs)
        said.append(describe_printed(found, found.comparison("squared")))
    none, one, three, every = said
    assert none == ""
    assert every == " Below a number: what the paper printed."
    assert one == f"{every} A number without a second line is not in its table."
    assert three.startswith(f"{every} 3 of 4 cells of its table are legible; ")


def test_notes_on_methods_stand_below_the_table() -> None:
    """Those on the methods of the table, on the page and in its files; a pattern means any number of folds."""
    notes = {"k-KS": "A note on k-KS.", "5-CV": "A note on 5-CV.", "k-BIF": "A note on another."}
    spec = experiment(source=Paper("p", "A paper", notes=notes))
    found = study(spec, sample_records({("heart", "5-CV"): (0.1, 0.2)}))
    wanted = ("A note on k-KS.", "A note on 5-CV.")
    assert tuple(method_notes(found, found.comparison("squared"))) == wanted
    items = list(show(found))
    shown = next(i for i in items if isinstance(i, Passage) and i.chapter == "tables").elements[0]
    assert isinstance(shown, Table)
    assert shown.notes == wanted
    (markdown,) = [
        str(i.content) for i in items if isinstance(i, File) and i.name.endswith("table1.md")
    ]
    assert "* A note on k-KS." in markdown
    none = study(experiment(source=None, paper=""), [])
    assert not list(method_notes(none, none.comparison("squared")))
