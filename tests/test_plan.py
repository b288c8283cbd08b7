"""The trials of a plan, their order, and the trials that it leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from experiments import load_config, write_config

from kselect.core.experiment import Experiment, SplitLimit
from kselect.core.job import Trial
from kselect.datasets.dataset import Source
from kselect.datasets.fetch import Places
from kselect.plan import Plan, find_sources, make_plan
from kselect.run.trial import failed_job
from kselect.store.jobs import Store

HERE = Places(Path("nowhere"), offline=True)


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return load_config(write_config(tmp_path))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "out")


def plan_of(experiment: Experiment, store: Store, **flags: Any) -> Plan:
    sources, missing = find_sources(experiment, HERE)
    return make_plan(experiment, sources, missing, store, **flags)


def pairs(plan: Plan) -> list[tuple[str, int]]:
    return [(t.dataset, t.split) for t in plan.trials]


def fail(experiment: Experiment, store: Store, dataset: str, split: int) -> None:
    """Store a failed job."""
    sources, _ = find_sources(replace(experiment, datasets=(dataset,)), HERE)
    trial = Trial(dataset, split, experiment.methods, sources[dataset])
    store.add(failed_job(experiment, trial, "why"), fresh=False)


def test_the_largest_first(experiment: Experiment, store: Store) -> None:
    plan = plan_of(experiment, store)
    assert [name for name, _ in pairs(plan)] == [
        *["liver-disorders"] * 3, *["heart"] * 3, *["sonar"] * 3,
    ]  # fmt: skip
    costs = [plan.cost(experiment, trial) for trial in plan.trials]
    assert costs == sorted(costs, reverse=True)
    assert not store.folder.exists()


def test_done_failed_forced(experiment: Experiment, store: Store) -> None:
    fail(experiment, store, "heart", 1)
    resumed = plan_of(experiment, store)
    assert (len(resumed.trials), resumed.done) == (8, 1)
    assert ("heart", 1) not in pairs(resumed)
    for flag in ("retry_failed", "force"):
        again = plan_of(experiment, store, **{flag: True})
        assert (len(again.trials), again.done) == (9, 0)


@pytest.mark.parametrize("shards", [2, 3, 4, 20])
def test_shards_are_a_partition(experiment: Experiment, store: Store, shards: int) -> None:
    whole = sorted(pairs(plan_of(experiment, store)))
    parts = [pairs(plan_of(experiment, store, shard=(i + 1, shards))) for i in range(shards)]
    assert sorted(pair for part in parts for pair in part) == whole
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_shards_of_machines_with_different_data(experiment: Experiment, store: Store) -> None:
    """A machine without a data set runs fewer jobs, and none of another machine's."""
    sources, _ = find_sources(experiment, HERE)
    poor = {name: source for name, source in sources.items() if name != "heart"}
    one = make_plan(experiment, poor, {"heart": "gone"}, store, shard=(1, 2))
    two = make_plan(experiment, sources, {}, store, shard=(2, 2))
    assert not set(pairs(one)) & set(pairs(two))
    assert {p for p in pairs(one) + pairs(two) if p[0] != "heart"} == {
        (name, split) for name in poor for split in experiment.splits
    }


def test_sources_and_missing_data_sets(experiment: Experiment) -> None:
    sources, missing = find_sources(replace(experiment, datasets=("heart", "a2a")), HERE)
    assert list(sources) == ["heart"]
    assert missing["a2a"].startswith("a2a: no file found")


def changed(sources: Mapping[str, Source], name: str) -> dict[str, Source]:
    return {**sources, name: replace(sources[name], sha256="0" * 64, kind="mirror")}


def test_another_file_of_a_data_set(experiment: Experiment, store: Store) -> None:
    """Its cells are computed again; those of other data sets are not."""
    for name in ("heart", "sonar"):
        fail(experiment, store, name, 1)
    sources, _ = find_sources(experiment, HERE)
    plan = make_plan(experiment, changed(sources, "heart"), {}, store)
    assert (plan.done, plan.stored, plan.cells, plan.replaced) == (1, 2, 16, 2)
    assert ("heart", 1) in pairs(plan)
    assert ("sonar", 1) not in pairs(plan)


def test_cells_are_counted(experiment: Experiment, store: Store) -> None:
    """A cell is a column on a split of a data set; one of another config is stored but to be computed."""
    plan = plan_of(experiment, store)
    assert (plan.stored, plan.cells, plan.replaced) == (0, 18, 0)
    fail(experiment, store, "heart", 1)
    plan = plan_of(experiment, store)
    assert (plan.stored, plan.cells, plan.replaced) == (2, 16, 0)
    for flag in ("retry_failed", "force"):
        plan = plan_of(experiment, store, **{flag: True})
        assert (plan.stored, plan.cells, plan.replaced) == (0, 18, 0)
    plan = plan_of(replace(experiment, seed=1), store)
    assert (plan.stored, plan.cells, plan.replaced) == (0, 18, 2)
    plan = plan_of(experiment, store, shard=(1, 3))
    assert plan.stored + plan.cells == 6


def test_fewer_splits_on_some_data_sets(experiment: Experiment, store: Store) -> None:
    """Splits are limited by data set name, or above a number of training rows."""
    fewer = replace(
        experiment, fewer_splits=(SplitLimit(1, dataset="sonar"), SplitLimit(2, rows=200))
    )
    assert sorted(pairs(plan_of(fewer, store))) == [
        *(("heart", i) for i in range(3)),
        *(("liver-disorders", i) for i in range(2)),
        ("sonar", 0),
    ]
