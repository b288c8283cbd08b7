"""Distances to published numbers: standard errors, column names, and missing cells."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import experiment, sample_records, study

from kselect.core.claim import Paper
from kselect.core.method import SELECTED, LamGrid, Setting
from kselect.errors import DataError
from kselect.stats.distances import (
    Agreement,
    Distance,
    count_agreements,
    distances,
    off_everywhere,
    whole_counts,
)
from kselect.stats.sources import Published, read_published

OURS = (0.10, 0.20, 0.30)  # mean 20, sd 10, standard error 10 / sqrt(3)
HEAD = "paper,table,dataset,method,setting,mean,spread,spread_kind"
LAM = Setting(value=0.001)


def printed(
    mean: float,
    spread: float,
    kind: str = "sd",
    dataset: str = "heart",
    method: str = "5-CV",
    setting: Setting = LAM,
) -> Published:
    return Published("1", dataset, method, setting, mean, spread, kind)  # type: ignore[arg-type]


@pytest.fixture
def four() -> Paper:
    """Return a paper with four splits, nine on sonar, and its own name for 5-CV."""
    return Paper("four", "", splits=4, splits_of={"sonar": 9}, aliases={"CV5": "5-CV"})


def against(
    paper: Paper | None, *rows: Published, errors: tuple[float, ...] = OURS, **spec: object
) -> tuple[Distance, ...]:
    records = sample_records({("heart", "5-CV"): errors, ("sonar", "5-CV"): errors})
    return distances(study(experiment(source=paper, **spec), records, published=rows), "squared")


def test_the_distance_by_hand(four: Paper) -> None:
    (d,) = against(four, printed(14.0, 6.0))
    assert (d.setting, d.mean, d.difference) == (
        Setting(0, 0.001),
        pytest.approx(20),
        pytest.approx(6),
    )
    assert d.errors == pytest.approx(6 / math.sqrt(6**2 / 4 + 10**2 / 3))
    assert d.verdict == "within 2"


@pytest.mark.parametrize("splits", [3, 50])
def test_the_papers_standard_error_is_over_its_own_splits(four: Paper, splits: int) -> None:
    """The paper's number of splits counts, not the number in our config."""
    (d,) = against(four, printed(14.0, 6.0), splits=tuple(range(splits)))
    assert d.errors == pytest.approx(6 / math.sqrt(6**2 / 4 + 10**2 / 3))


def test_a_data_set_may_have_its_own_number_of_splits(four: Paper) -> None:
    (d,) = against(four, printed(14.0, 6.0, dataset="sonar"))
    assert d.errors == pytest.approx(6 / math.sqrt(6**2 / 9 + 10**2 / 3))


def test_a_printed_standard_error_is_not_divided(four: Paper) -> None:
    (d,) = against(four, printed(14.0, 6.0, "se"))
    assert d.errors == pytest.approx(6 / math.sqrt(6**2 + 10**2 / 3))


def test_the_papers_name_of_a_column(four: Paper) -> None:
    (d,) = against(four, printed(14.0, 6.0, method="CV5"))
    assert (d.method, d.runs) == ("5-CV", 3)


def test_verdicts(four: Paper) -> None:
    step = 10 / math.sqrt(3)
    found = against(four, *(printed(20 + k * step, 0.0) for k in (1.9, -2.1, 3.9, -4.1)))
    assert [d.verdict for d in found] == ["within 2", "2 to 4", "2 to 4", "beyond 4"]


def test_missing_cells_are_listed(four: Paper) -> None:
    rows = [
        printed(1.0, 1.0, dataset="diabetes"),
        printed(1.0, 1.0, method="BR"),
        printed(1.0, 1.0, setting=Setting(value=0.1)),
        printed(1.0, 1.0, setting=SELECTED),
        printed(1.0, 1.0, setting=Setting(value=0.001, unit="n lam")),
        printed(20.0, 1.0),
    ]
    found = against(four, *rows)
    assert [d.verdict for d in found] == ["missing"] * 5 + ["within 2"]
    assert found[2].setting.text == "lam=0.1"
    assert count_agreements(found)[-1].verdicts["missing"] == 5


def test_deviations_of_a_single_split_by_hand(four: Paper) -> None:
    """Distances in standard deviations of a split; a standard error is converted first."""
    one, other = against(four, printed(14.0, 6.0), printed(14.0, 6.0, "se"))
    assert one.deviations == pytest.approx(6 / math.hypot(6, 10))
    assert other.deviations == pytest.approx(6 / math.hypot(6 * math.sqrt(4), 10))


def test_columns_are_counted(four: Paper) -> None:
    """Verdicts are counted per column and in total, and so are the cells within one deviation."""
    rows = [
        printed(20.0, 1.0),
        printed(28.0, 1.0, dataset="sonar"),
        printed(40.0, 1.0, dataset="sonar"),
        printed(1.0, 1.0, method="BR"),
    ]
    mine, missing, every = count_agreements(against(four, *rows))
    assert (mine.method, mine.cells, mine.near) == ("5-CV", 3, 2)
    assert [mine.verdicts[v] for v in ("within 2", "2 to 4", "beyond 4")] == [2, 1, 0]
    assert (missing.method, missing.verdicts["missing"], missing.near) == ("BR", 1, 0)
    assert (every.method, every.cells, every.near) == ("all", 4, 2)


def test_a_selected_ridge_matches_an_empty_setting(four: Paper) -> None:
    records = sample_records({("heart", "5-CV"): OURS}, setting="selected")
    spec = experiment(source=four, lam=LamGrid((0.1, 1.0), "select"))
    (d,) = distances(
        study(spec, records, published=(printed(20.0, 1.0, setting=SELECTED),)), "squared"
    )
    assert (d.runs, d.verdict) == (3, "within 2")


def test_one_split_has_no_spread(four: Paper) -> None:
    (d,) = against(four, printed(1.0, 1.0), errors=(0.1,))
    assert d.verdict == "no spread"


def test_an_unknown_paper_has_no_distances() -> None:
    assert against(None, printed(14.0, 6.0)) == ()


def test_a_tidy_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    lines = [
        HEAD,
        "p,1,heart,5-CV,lam=0.001,14.5,2,sd",
        "p,2,heart,5-CV,,9,0.5,se",
        "p,2,heart,5-CV,seconds,0.9,,seconds",
        "p,4,heart,5-CV,kernels,3,,count",
        "p,4,heart,5-CV,n lam=10,7,,sd",
        "p,4,heart,5-CV,,,,sd",
    ]
    path.write_text("\n".join(lines))
    found = read_published(path)
    assert [(p.table, p.setting, p.mean, p.kind) for p in found] == [
        ("1", Setting(value=0.001), 14.5, "sd"),
        ("2", SELECTED, 9.0, "se"),
        ("4", Setting(value=10.0, unit="n lam"), 7.0, "sd"),
    ]
    assert math.isnan(found[2].spread)


@pytest.mark.parametrize("line", ["p,1,heart,5-CV,mu=1,14,2,sd", "p,1,heart,5-CV,,x,2,sd"])
def test_other_tables_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "table.csv"
    for text, why in ((f"{HEAD}\n{line}", "not a table of published"), ("a,b\n1,2", "spread_kind")):
        path.write_text(text)
        with pytest.raises(DataError, match=why):
            read_published(path)


NAN = math.nan


def cell(
    dataset: str, mean: float, verdict: Agreement = "within 2", column: str = "5-CV"
) -> Distance:
    row = Published("1", dataset, column, SELECTED, mean, 1.0, "sd")
    return Distance(row, column, SELECTED, NAN, NAN, 0, NAN, NAN, verdict)


def test_every_count_is_found_again() -> None:
    """A printed rate k/n gives k, and a rate next to it gives none; heart has 81 of 270 test rows."""
    for more, expected in ((0.0, [("5-CV", k) for k in range(82)]), (0.4, [])):
        printed = [cell("heart", float(f"{100 * (k + more) / 81:.2f}")) for k in range(82)]
        found = whole_counts(experiment(), printed).sets
        assert [pair for _, _, pairs in found for pair in pairs] == expected


def test_whole_counts_by_hand() -> None:
    """heart has 81 of 270 test rows; a regression has no counts."""
    found = [cell("heart", 13.58), cell("heart", 13.60), cell("heart", 12.35), cell("mpg", 50.0)]
    spec = replace(experiment(), train=0.7, datasets=("heart", "mpg"))
    whole = whole_counts(spec, found)
    assert whole.sets == (("heart", 81, (("5-CV", 11), ("5-CV", 10))),)
    assert (whole.whole, whole.cells) == (2, 3)
    assert whole.expected == pytest.approx(3 * 81 / 10_000)
    assert whole_counts(spec, [cell("heart", 13.6)] * 4 + found[:1]).whole == 1
    assert whole_counts(spec, []).whole == 0
    assert whole_counts(replace(spec, train=None), found).cells == 0


def test_sets_that_are_off_in_every_column() -> None:
    """Only cells with a verdict count."""
    found = [
        *(cell("heart", 1.0, "beyond 4"), cell("heart", 1.0, "missing")),
        *(cell("sonar", 1.0, "beyond 4"), cell("sonar", 1.0, "2 to 4")),
        cell("mpg", 1.0, "no spread"),
    ]
    assert off_everywhere(found) == ("heart",)
