import math

import pandas as pd
import pytest
from synthetic import experiment, sample_records

from kselect.stats.comparison import compare
from kselect.stats.published import Distance, count_verdicts, measure

COLUMNS = ["paper", "table", "dataset", "method", "setting", "mean", "spread", "spread_kind"]
OURS = (0.10, 0.20, 0.30)  # mean 20, sd 10, standard error 10 / sqrt(3)


def against(*rows: tuple[object, ...], runs: int = 4, errors: object = OURS) -> list[Distance]:
    records = sample_records({("heart", "5-CV"): errors})  # type: ignore[dict-item]
    comparison = compare(experiment(), records, "squared", [])
    lines = [("ecml2014", 1, *row) for row in rows]
    return list(measure(comparison, pd.DataFrame(lines, columns=COLUMNS), runs))


def test_the_distance_by_hand() -> None:
    (d,) = against(("heart", "5-CV", "lambda=0.001", 14.0, 6.0, "sd"))
    assert (d.setting, d.mean, d.difference) == ("lam=0.001", pytest.approx(20), pytest.approx(6))
    assert d.errors == pytest.approx(6 / math.sqrt(6**2 / 4 + 10**2 / 3))
    assert d.verdict == "within 2"


def test_the_papers_runs_and_the_kind_of_spread_matter() -> None:
    row = ("heart", "5-CV", "lambda=0.001", 14.0, 6.0, "sd")
    (four,), (hundred,) = against(row, runs=4), against(row, runs=100)
    assert hundred.errors == pytest.approx(6 / math.sqrt(0.36 + 100 / 3))
    (se,) = against((*row[:5], "se"))
    assert four.errors != pytest.approx(hundred.errors)
    assert se.errors == pytest.approx(6 / math.sqrt(36 + 100 / 3))


def test_verdicts() -> None:
    step = 10 / math.sqrt(3)
    rows = [
        ("heart", "5-CV", "lambda=0.001", 20 + k * step, 0.0, "sd") for k in (1.9, -2.1, 3.9, -4.1)
    ]
    found = [d.verdict for d in against(*rows)]
    assert found == ["within 2", "2 to 4", "2 to 4", "beyond 4"]


def test_what_we_do_not_have_stays_listed() -> None:
    rows = [
        ("sonar", "5-CV", "lambda=0.001", 1.0, 1.0, "sd"),
        ("heart", "BR", "lambda=0.001", 1.0, 1.0, "sd"),
        ("heart", "5-CV", "lambda=0.1", 1.0, 1.0, "sd"),
        ("heart", "5-CV", float("nan"), 1.0, 1.0, "sd"),
        ("heart", "5-CV", "lambda=0.001", 20.0, 1.0, "sd"),
    ]
    distances = against(*rows)
    assert [d.verdict for d in distances] == ["missing"] * 4 + ["within 2"]
    assert distances[3].setting == "selected"
    assert count_verdicts(distances)["missing"] == 4


def test_times_are_not_errors() -> None:
    assert against(("heart", "5-CV", "lambda=0.001", 0.9, 0.1, "seconds")) == []


def test_one_split_has_no_spread() -> None:
    (d,) = against(("heart", "5-CV", "lambda=0.001", 1.0, 1.0, "sd"), errors=(0.1,))
    assert d.verdict == "no spread"
