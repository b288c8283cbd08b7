"""claims.csv of ecml2014, recomputed from records.csv with pandas and scipy alone."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import oracles_claims as oracle
import pytest

from kselect.cli.report import read_study
from kselect.report.claims.effects import draws
from kselect.report.elements import File
from kselect.report.sections.claims import show

RESULTS = Path(__file__).resolve().parents[3] / "results/ecml2014"
FOLDS = (5, 10)
STABLE = [(f"{k}-KS", f"{k}-CV") for k in FOLDS]
RIVALS = {
    "6.1a": (STABLE, "lower"),
    "6.1b": ([(f"{k}-KS", "BR") for k in FOLDS], "lower"),
    "6.1c": ([("BR", "ELOO")], "not higher"),
    "6.1d": ([("5-KS", "10-KS")], "same"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the committed records, because reading a study writes into its folder."""
    found = tmp_path_factory.mktemp("results") / "ecml2014"
    found.mkdir()
    for name in ("records.csv", "config.resolved.yaml", "manifest.json"):
        shutil.copy(RESULTS / name, found / name)
    return found


@pytest.fixture(scope="module")
def claims(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    """Return (id, loss) -> row of claims.csv."""
    files = [item for item in show(read_study(folder)) if isinstance(item, File)]
    text = next(str(f.content) for f in files if f.name == "tables/claims.csv")
    return {(row["id"], row["loss"]): row for row in csv.DictReader(io.StringIO(text))}


def test_verdicts_effects_and_counts_about_errors(folder: Path, claims: Any) -> None:
    rows = oracle.read(folder / "records.csv")
    for loss in ("squared", "zero-one"):
        wide = oracle.table(rows, loss)
        for name, (pairs, kind) in RIVALS.items():
            verdict, effect, counts = oracle.errors(wide, pairs, kind)
            if (name, loss) == ("6.1c", "zero-one"):
                assert (name, loss) not in claims  # neither BR nor ELOO averages a loss
                continue
            row = claims[name, "" if loss == "squared" else loss]
            assert (row["verdict"], row["counts"]) == (verdict, counts), name
            assert float(row["effect"]) == pytest.approx(effect, rel=1e-5, abs=1e-9)
            assert (row["unit"], row["kind"]) == ("points", kind)


def test_verdicts_and_effects_of_ranges_and_settings(folder: Path, claims: Any) -> None:
    rows = oracle.read(folder / "records.csv")
    for name, robust in (("6.2", True), ("6.2b", False)):
        verdict, effect, held = oracle.ranges(rows, ("5-KS", "10-KS"), 0.25, 32.0, robust)
        row = claims[name, ""]
        assert row["verdict"] == verdict
        assert row["counts"].startswith(f"on {held} of 18 curves")
        assert float(row["effect"]) == pytest.approx(effect, rel=1e-5, abs=1e-9)
    for loss in ("squared", "zero-one"):
        verdict, effect, held = oracle.setting(oracle.table(rows, loss), "lam=0.001")
        row = claims["fig1", "" if loss == "squared" else loss]
        assert (row["verdict"], row["counts"].split()[1]) == (verdict, str(held))
        assert float(row["effect"]) == pytest.approx(effect, rel=1e-5, abs=1e-9)


def test_the_interval_of_one_effect(folder: Path, claims: Any) -> None:
    wide = oracle.table(oracle.read(folder / "records.csv"), "squared")
    apart = [(rows["BR"] - rows["ELOO"]).mean() for _, rows in wide.groupby("dataset", sort=False)]
    order = {d: i for i, d in enumerate(dict.fromkeys(wide.index.get_level_values("dataset")))}
    assert len(order) == 9
    names = list(read_study(folder).experiment.datasets)
    values = [apart[order[d]] for d in names]
    low, high = oracle.interval(values, draws)
    row = claims["6.1c", ""]
    assert [float(row["low"]), float(row["high"])] == pytest.approx([low, high], rel=1e-5, abs=1e-9)


def test_one_row_per_claim_and_further_rows_for_other_losses(claims: Any) -> None:
    ids = ["6.1a", "6.1b", "6.1c", "6.1d", "6.2", "6.2b", "fig1"]
    assert [name for name, loss in claims if not loss] == ids
    assert {name for name, loss in claims if loss} == {"6.1a", "6.1b", "6.1d", "fig1"}
    assert {row["variant"] for row in claims.values()} == {""}
    assert all(np.isfinite(float(row["effect"])) for row in claims.values())
    assert claims["6.1a", ""]["paper_counts"].startswith("8 or more of 9 data sets")
