"""When a recomputed record agrees with the committed one, and how a difference is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from experiments import load_config, write_config

from kselect.core.experiment import Experiment
from kselect.core.job import Trial
from kselect.core.method import Method
from kselect.core.record import Record, significant
from kselect.datasets.fetch import Places, resolve
from kselect.run.trial import run_trial
from kselect.stats.agreement import at_committed, compare

GRID = Record(
    "heart", 3, "table", "5-CV", "k-CV", "average=folds", "squared", "lam=0.1", "gaussian", "tau=4",
    0.1, 0.375, 0.2, 0, "zero-one", 189, 81, "ok", "",
)  # fmt: skip
SEARCHED = replace(GRID, chosen="theta1=2;theta2=3", state="converged")
OTHER_POINT = {"chosen": "tau=8"}


@pytest.mark.parametrize(
    ("committed", "changes", "agrees", "tied"),
    [
        (GRID, {}, True, False),
        (GRID, {"score": 0.375 * (1 + 1e-9), "error": 0.2 * (1 - 1e-9)}, True, False),
        (GRID, {"score": 0.375 * (1 + 1e-7)}, False, False),
        (GRID, {"error": 0.2 * (1 + 1e-7)}, False, False),
        (GRID, {"error": None}, False, False),
        (GRID, {"n_train": 188}, False, False),
        (GRID, {"n_test": 82}, False, False),
        (GRID, OTHER_POINT | {"score": 0.375 * (1 + 1e-7)}, False, False),
        (GRID, OTHER_POINT | {"error": 0.3}, True, True),
        (GRID, {"lam": 0.2}, True, True),
        (GRID, {"tuned": "eta=2"}, True, True),
        (GRID, {"kernel": "laplacian"}, True, True),
        (GRID, {"status": "failed", "reason": "no memory"}, False, False),
        (GRID, {"excluded": 3, "exclusions": "3: no factor"}, True, False),
        (replace(GRID, score=2e-17), {"score": 3e-17}, True, False),
        (replace(GRID, score=2e-14), {"score": 3e-14}, False, False),
        (SEARCHED, {"score": 0.375 * (1 + 1e-6)}, True, False),
        (SEARCHED, {"score": 0.375 * (1 + 1e-4)}, False, False),
        (SEARCHED, {"chosen": "theta1=2.1;theta2=3"}, True, True),
        (SEARCHED, {"chosen": "theta1=2.1;theta2=3", "error": 0.3}, False, False),
    ],
)
def test_agreement(committed: Record, changes: Mapping[str, Any], agrees: bool, tied: bool) -> None:
    found = compare(committed, replace(committed, **changes))
    assert (found.agrees, found.tied) == (agrees, tied)
    assert bool(found.differences) == (tied or not agrees)


def test_the_words_have_both_numbers() -> None:
    cell = "heart, split 3, table, 5-CV (average=folds), lam=0.1: "
    found = compare(GRID, replace(GRID, error=0.25, n_test=80))
    assert found.text == f"{cell}error 0.2 committed, 0.25 here; n_test 81 committed, 80 here"
    found = compare(GRID, replace(GRID, chosen="tau=8", score=0.4))
    assert found.text == (
        f"{cell}gaussian tau=4 lam=0.1 committed, gaussian tau=8 lam=0.1 here; score 0.375 committed, 0.4 here"
    )
    failed = replace(GRID, status="failed", reason="no memory")
    assert compare(GRID, failed).text == f"{cell}ok committed, failed (no memory) here"
    assert compare(GRID, None).text == f"{cell}not computed here"
    assert not compare(GRID, None).agrees
    many = replace(SEARCHED, chosen=";".join(f"theta{i}=0.123456789" for i in range(60)))
    assert len(compare(many, replace(many, chosen="theta1=1")).text) < 300


# --- ties -------------------------------------------------------------------------------------------

TIES = """\
name: ties
learner: lssvm
splits: 1
kernels: {gaussian: {tau: [1, 2, 4, 1024, 2048]}}
lam: {LAM}
loss: zero-one
tune-folds: 2
criteria: [5-CV, {5-KS: {eta: {tune: [0.5, 1]}}}]
datasets: [heart]
"""


def run(experiment: Experiment, *methods: Method) -> list[Record]:
    """Return the records of some methods on the first split of heart."""
    source = resolve(experiment.info("heart"), Places(Path("nowhere"), offline=True))
    return list(run_trial(experiment, Trial("heart", 0, methods, source)).records)


@pytest.mark.parametrize("lam", ["fixed: [0.001, 0.1], unit: n lam", "select: [0.001, 0.1]"])
def test_a_choice_can_be_computed_again(tmp_path: Path, lam: str) -> None:
    """The experiment at a choice has the choice's numbers, and at another grid point those of that point."""
    text = TIES.replace("LAM", lam)
    experiment = load_config(write_config(tmp_path, text))
    for record in run(experiment, *experiment.methods):
        found = at_committed(experiment, record)
        assert found
        one, method = found
        (same,) = (r for r in run(one, method) if r.setting == record.setting)
        assert (same.score, same.error, same.chosen) == (record.score, record.error, record.chosen)
    values = product(experiment.kernels, experiment.lam.lams(record.n_train))
    scores = {}
    for kernel, lam_ in values:
        other = replace(record, chosen=kernel.text, lam=significant(lam_))
        found = at_committed(experiment, other)
        assert found
        there = run(*found)[0]
        assert (there.chosen, there.lam) == (other.chosen, other.lam)
        scores[there.chosen, there.lam] = there.score
    assert min(scores.values()) < max(scores.values())


def test_what_no_grid_point_explains(tmp_path: Path) -> None:
    text = TIES.replace("LAM", "select: [0.001, 0.1]")
    experiment = load_config(write_config(tmp_path, text))
    record = run(experiment, experiment.methods[1])[0]
    assert at_committed(experiment, record)
    for changes in (
        {"method": "absent"},
        {"chosen": "tau=3"},
        {"lam": 0.5},
        {"tuned": "eta=3"},
    ):
        assert at_committed(experiment, replace(record, **changes)) is None
    everywhere = replace(experiment.methods[1], everywhere=True)
    assert at_committed(replace(experiment, methods=(everywhere,)), record) is None
