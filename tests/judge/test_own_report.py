"""``judge`` of ecml2014's errors against the committed report: numbers, tests, ranks, verdicts."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from kselect.core.method import SELECTED
from kselect.judge.analysis import Analysis, analyse
from kselect.judge.claims import judge_claim, read_claim
from kselect.judge.error_table import read_errors

RESULTS = Path(__file__).resolve().parents[2] / "results/ecml2014"
TABLES = RESULTS / "tables"
SETTINGS = ("lam=0.0001", "lam=0.001", "lam=0.01", "lam=0.1")
SIGNS = {"6.1a": "<", "6.1b": "<", "6.1c": "<=", "6.1d": "="}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysis]:
    """Return the analysis of each setting, from the records converted to a table of errors."""
    records = pd.read_csv(RESULTS / "records.csv")
    records = records[(records["part"] == "table") & (records["loss"] != "zero-one")]
    columns = ["dataset", "split", "method", "error", "n_train", "n_test", "metric"]
    analyses = {}
    for setting in SETTINGS:
        path = tmp_path_factory.mktemp("errors") / "errors.csv"
        records.loc[records["setting"] == setting, columns].to_csv(path, index=False)
        analyses[setting] = analyse(read_errors(path), 0.05, 1.0)
    return analyses


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a committed table."""
    with (TABLES / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_cells_and_t_tests(found: dict[str, Analysis]) -> None:
    rows = read("table1.csv")
    assert len(rows) == 4 * 9 * 7
    for row in rows:
        cell = found[row["setting"]].comparison.cells[SELECTED][row["dataset"], row["method"]]
        assert (cell.mean, cell.sd) == pytest.approx((float(row["mean"]), float(row["sd"])))
        flags = (cell.best, cell.not_worse, cell.not_worse_corrected)
        assert [str(flag).lower() for flag in flags] == [
            row[name] for name in ("best", "not_worse", "not_worse_corrected")
        ]
        for test, name in ((cell.worse, "p_value"), (cell.worse_corrected, "p_value_corrected")):
            if row[name]:
                assert test is not None
                assert test.p_value == pytest.approx(float(row[name]), rel=1e-9)


def test_pairs(found: dict[str, Analysis]) -> None:
    rows = read("table1-pairs.csv")
    assert len(rows) == 4 * 21
    for row in rows:
        pairs = {(p.first, p.second): p for p in found[row["setting"]].pairs}
        pair = pairs[row["first"], row["second"]]
        assert pair.difference == pytest.approx(float(row["difference"]), rel=1e-9)
        counts = tuple(int(row[name]) for name in ("lower", "equal", "higher"))
        assert pair.over_datasets.by_mean == counts
        assert pair.over_datasets.p_value == pytest.approx(float(row["p_wilcoxon_holm"]), rel=1e-9)


def cells(line: str) -> list[str]:
    """Return the cells of a row in Markdown."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_mean_ranks(found: dict[str, Analysis]) -> None:
    lines = (TABLES / "table1.md").read_text(encoding="utf-8").splitlines()
    ranks = [cells(line)[1:] for line in lines if line.startswith("| mean rank")]
    for setting, row in zip(SETTINGS, ranks, strict=True):
        assert [f"{r:.2f}" for r in found[setting].ranks.mean] == row


def test_verdicts(found: dict[str, Analysis]) -> None:
    """Every row of the claims about errors: one setting and pair, with its counts and its verdict."""
    lines = (TABLES / "claims.md").read_text(encoding="utf-8").splitlines()
    claim, compared = "", 0
    for line in lines:
        if line.startswith("### "):
            claim = line.removeprefix("### ").partition(":")[0]
        row = cells(line)
        if claim not in SIGNS or " against " not in line or not row[0].startswith("λ = "):
            continue
        setting = f"lam={row[0].removeprefix('λ = ')}"
        left, right = row[1].split(" against ")
        analysis = found[setting]
        judged = judge_claim(analysis, read_claim(f"{left} {SIGNS[claim]} {right}", analysis.table))
        assert judged.verdict == row[5]
        mean, plain, corrected = (text.split("/") for text in row[2:5])
        assert judged.counts == (
            f"{mean[0]} better, {mean[1]} equal, {mean[2]} worse; "
            f"significantly {plain[0]} better, {plain[2]} worse"
        )
        counts = f"{corrected[0]} are significantly better and {corrected[2]} worse"
        assert counts in judged.text
        compared += 1
    assert compared == 4 * (2 + 2 + 1 + 1)
