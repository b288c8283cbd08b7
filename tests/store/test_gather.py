"""records.csv follows the order of the config, and seconds.csv stands next to it."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from experiments import load_config, write_config

from kselect.core.experiment import Experiment
from kselect.core.job import Trial
from kselect.core.record import COLUMNS, Record
from kselect.datasets.content import sha256_of
from kselect.datasets.dataset import Source
from kselect.errors import StoreError
from kselect.run.trial import failed_job
from kselect.store.gather import (
    check_leftover,
    csv_text,
    gather,
    read_rows,
    stored_records,
    write_gathered,
)
from kselect.store.jobs import Store
from kselect.store.manifest import read_manifest


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return load_config(write_config(tmp_path))


def fill(
    experiment: Experiment, store: Store, pairs: list[tuple[str, int]], environment: str
) -> None:
    """Add jobs in the order of ``pairs``, one method at a time, the last one first."""
    for name, split in pairs:
        for method in reversed(experiment.methods):
            trial = Trial(name, split, (method,), Source(Path("x"), "cache", name))
            job = failed_job(experiment, trial, 'a, "b"\nc')
            seconds = {"search": float(split), "test": 0.5}
            known = {"split_sha256": f"{name}{split}", "environment": environment}
            store.add(replace(job, seconds=seconds, **known), fresh=False)


PAIRS = [(name, split) for name in ("sonar", "heart", "liver-disorders") for split in (2, 0, 1)]


@pytest.fixture
def store(tmp_path: Path, experiment: Experiment) -> Store:
    """Return a store with all jobs."""
    found = Store(tmp_path)
    fill(experiment, found, PAIRS, "env")
    return found


@pytest.fixture
def gathered(experiment: Experiment, store: Store) -> Store:
    """Return a store with all jobs and the gathered tables."""
    write_gathered(experiment, store)
    return store


def test_rows_follow_the_order_of_the_config(tmp_path: Path, experiment: Experiment) -> None:
    texts = set()
    for number, pairs in enumerate((PAIRS, PAIRS[::-1])):
        store = Store(tmp_path / str(number))
        fill(experiment, store, pairs, "env")
        records = write_gathered(experiment, store).records
        assert [(r.dataset, r.split, r.method) for r in records[::2]] == [
            (name, split, method)
            for name in experiment.datasets
            for split in (0, 1, 2)
            for method in ("5-CV", "5-KS")
        ]
        texts.add((store.folder / "records.csv").read_text())
    (text,) = texts
    rows = list(csv.DictReader(io.StringIO(text)))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 36
    assert "seconds" not in text.partition("\n")[0]


def test_only_jobs_of_the_config_are_gathered(experiment: Experiment, store: Store) -> None:
    part = replace(experiment, datasets=("heart",), splits=(1, 2), methods=experiment.methods[:1])
    assert {(r.dataset, r.split, r.method) for r in gather(part, store).records} == {
        ("heart", 1, "5-CV"),
        ("heart", 2, "5-CV"),
    }


def test_jobs_of_another_config_are_not_gathered(
    tmp_path: Path, experiment: Experiment, store: Store
) -> None:
    other = replace(experiment, seed=1)
    assert write_gathered(other, store).records == ()
    assert not (tmp_path / "records.csv").exists()
    fill(other, store, [("heart", 1)], "other")
    found = write_gathered(other, store).records
    assert {(r.dataset, r.split) for r in found} == {("heart", 1)}


def test_jobs_of_another_data_file_are_not_gathered(experiment: Experiment, store: Store) -> None:
    """Without a file at hand, the one in the manifest counts; its jobs stay together."""
    write_gathered(experiment, store)
    for method in experiment.methods:
        trial = Trial("heart", 0, (method,), Source(Path("x"), "cache", "another"))
        store.add(failed_job(experiment, trial, "why"), fresh=False)

    def splits(files: dict[str, str]) -> set[int]:
        return {r.split for r in gather(experiment, store, files).records if r.dataset == "heart"}

    assert splits({"heart": "another"}) == {0}
    assert splits({"heart": "heart"}) == splits({}) == {0, 1, 2}
    store.rows = {}
    shutil.rmtree(store.folder / "jobs/sonar")
    (store.folder / "records.csv").unlink()
    assert splits({}) == {1, 2}


def test_seconds_have_a_file_of_their_own(tmp_path: Path, gathered: Store) -> None:
    rows = list(csv.DictReader(io.StringIO((tmp_path / "seconds.csv").read_text())))
    assert len(rows) == 9
    assert rows[2] == {
        "dataset": "heart", "split": "2", "environment": "env", "search": "2", "test": "0.5",
    }  # fmt: skip


def test_seconds_of_absent_jobs_are_kept(
    tmp_path: Path, experiment: Experiment, gathered: Store
) -> None:
    """In a clone without jobs, a new job replaces only its own row of seconds.csv."""
    before = (tmp_path / "seconds.csv").read_text()
    shutil.rmtree(tmp_path / "jobs")
    fill(experiment, gathered, [("heart", 2)], "other")
    write_gathered(experiment, gathered)
    assert (tmp_path / "seconds.csv").read_text() == before.replace("heart,2,env", "heart,2,other")
    for damaged in ("", "dataset,split\nheart,2\n", before.replace("heart,1", "heart,one")):
        (tmp_path / "seconds.csv").write_text(damaged)
        write_gathered(experiment, gathered)
        assert (tmp_path / "seconds.csv").read_text().splitlines()[1:] == ["heart,2,other,2,0.5"]


def test_environments_of_a_run_in_parts(tmp_path: Path, experiment: Experiment) -> None:
    """The manifest lists all machines that shared a run, each with its number of jobs."""
    from kselect.store.environment import digest

    store = Store(tmp_path)
    for pairs, facts in ((PAIRS[:4], {"cpu": "one"}), (PAIRS[4:], {"cpu": "two"})):
        fill(experiment, store, pairs, digest(facts))
        write_gathered(experiment, store, facts, {pairs[0][0]: "embedded"}, {"a2a": "no file"})
    found = json.loads((tmp_path / "manifest.json").read_text())
    assert sorted((e["cpu"], e["jobs"]) for e in found["environments"].values()) == [
        ("one", 4),
        ("two", 5),
    ]
    assert found["jobs"] == 9
    assert found["failed_records"] == 36
    assert found["missing"] == {"a2a": "no file"}
    assert found["data"]["sonar"]["from"] == "embedded"
    assert found["data"]["heart"]["splits"] == {str(i): f"heart{i}" for i in range(3)}
    assert found["data"]["heart"]["sha256"] == "heart"


def test_environments_count_each_job_once(tmp_path: Path, experiment: Experiment) -> None:
    """Jobs that are gone count for the machines of the manifest; some were computed again elsewhere."""
    from kselect.store.environment import digest

    store, one, two = Store(tmp_path), {"cpu": "one"}, {"cpu": "two"}
    for pairs, facts, jobs in (
        (PAIRS, one, [("one", 9)]),
        (PAIRS[:8], two, [("one", 1), ("two", 8)]),
        (PAIRS[:2], two, [("one", 1), ("two", 8)]),
    ):
        shutil.rmtree(tmp_path / "jobs", ignore_errors=True)
        fill(experiment, store, pairs, digest(facts))
        write_gathered(experiment, store, facts)
        found = json.loads((tmp_path / "manifest.json").read_text())["environments"].values()
        assert sorted((e["cpu"], e["jobs"]) for e in found) == jobs


def test_environments_have_the_days_of_their_jobs(tmp_path: Path, experiment: Experiment) -> None:
    """The first and the last day on which jobs were written; the days of jobs that are gone stay."""
    store = Store(tmp_path)

    def days() -> list[str]:
        write_gathered(experiment, store)
        (found,) = json.loads((tmp_path / "manifest.json").read_text())["environments"].values()
        return list(found["days"])

    fill(experiment, store, PAIRS, "env")
    noon = 1768996800  # 2026-01-21
    for number, pair in enumerate(PAIRS):
        os.utime(store.job_path(*pair), (noon, noon + 86400 * (number % 3)))
    assert days() == ["2026-01-21", "2026-01-23"]
    shutil.rmtree(tmp_path / "jobs")
    fill(experiment, store, PAIRS[:1], "env")
    os.utime(store.job_path(*PAIRS[0]), (noon, noon + 86400 * 30))
    assert days() == ["2026-01-21", "2026-02-20"]


@pytest.mark.parametrize("text", ["", "{", "[]", "7"])
def test_a_manifest_that_cannot_be_read_is_empty(tmp_path: Path, text: str) -> None:
    assert read_manifest(Store(tmp_path)) == {}
    (tmp_path / "manifest.json").write_text(text)
    assert read_manifest(Store(tmp_path)) == {}


def test_numbers_in_a_table() -> None:
    rows = [[1 / 3, None, 7, "a,b"], [1e-300, 0.1 + 0.2, -0.0, ""]]
    assert csv_text("abcd", rows) == ('a,b,c,d\n0.333333333333,,7,"a,b"\n1e-300,0.3,-0,\n')


def test_a_narrower_run_keeps_the_other_rows(
    tmp_path: Path, experiment: Experiment, store: Store
) -> None:
    """In a clone without jobs, new jobs replace their rows of records.csv and keep the others."""
    write_gathered(experiment, store, {"cpu": "one"}, {"heart": "embedded"})
    before = (tmp_path / "records.csv").read_bytes()
    facts = read_manifest(store)
    shutil.rmtree(tmp_path / "jobs")
    fill(experiment, store, [("heart", 1)], "other")
    found = write_gathered(experiment, store)
    assert (tmp_path / "records.csv").read_bytes() == before
    assert len(found.records) == 36
    after = read_manifest(store)
    assert (after["jobs"], after["data"]) == (facts["jobs"], facts["data"])


def test_rows_of_another_config_are_refused(
    tmp_path: Path, experiment: Experiment, gathered: Store
) -> None:
    shutil.rmtree(tmp_path / "jobs")
    other = replace(experiment, seed=1)
    fill(other, gathered, [("heart", 1)], "other")
    gathered.rows = read_rows(other, gathered, experiment)
    with pytest.raises(StoreError, match=r"8 rows of heart in records\.csv were"):
        check_leftover(other, gathered)
    gathered.rows = read_rows(experiment, gathered)
    check_leftover(experiment, gathered)
    everything = [(n, s) for n in experiment.datasets for s in range(3)]
    fill(other, gathered, everything, "other")
    gathered.rows = read_rows(other, gathered)
    check_leftover(other, gathered)
    assert len(write_gathered(other, gathered).records) == 36


def without_facts(store: Store) -> None:
    """Write the manifest as versions did that knew one hash per data set only."""
    facts = read_manifest(store)
    for entry in facts["data"].values():
        del entry["facts"]
    checksum = sha256_of(json.dumps(facts, sort_keys=True).encode())
    store.write("manifest.json", {**facts, "checksum": checksum})


def test_rows_of_a_manifest_without_facts(
    tmp_path: Path, experiment: Experiment, gathered: Store
) -> None:
    """They belong to the config with the hash of the manifest, or to the one that the folder keeps."""
    shutil.rmtree(tmp_path / "jobs")
    without_facts(gathered)
    wider = replace(experiment, lam=replace(experiment.lam, values=(0.001, 0.1, 10.0)))
    for one, before, count in (
        (experiment, None, 36),
        (wider, None, 0),
        (wider, experiment, 36),
        (replace(experiment, seed=1), experiment, 0),
    ):
        gathered.rows = read_rows(one, gathered, before)
        assert sum(map(len, gathered.rows.values())) == 36
        assert len(gather(one, gathered).records) == count


def test_a_changed_table_is_refused(
    tmp_path: Path, experiment: Experiment, gathered: Store
) -> None:
    """A records.csv that was changed does not replace jobs."""
    shutil.rmtree(tmp_path / "jobs")
    path = tmp_path / "records.csv"
    path.write_text(path.read_text().replace("failed", "ok", 1))
    with pytest.raises(StoreError, match=r"records\.csv: changed since kselect wrote it"):
        gather(experiment, gathered)


def test_a_changed_manifest_is_ignored(tmp_path: Path, gathered: Store) -> None:
    path = tmp_path / "manifest.json"
    assert read_manifest(gathered)
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))
    assert read_manifest(gathered) == {}


def test_records_are_read_back_from_the_table(
    tmp_path: Path, experiment: Experiment, gathered: Store
) -> None:
    path = tmp_path / "records.csv"
    expected = list(gather(experiment, gathered).records)
    expected[0] = replace(expected[0], lam=0.1, score=1 / 4, error=0.0, status="ok", reason="")
    good = csv_text(COLUMNS, ([getattr(r, name) for name in COLUMNS] for r in expected))

    def read(text: str) -> list[Record]:
        path.write_text(text)
        return stored_records(gathered, {"records_sha256": sha256_of(text.encode())})

    assert read(good) == expected
    with pytest.raises(StoreError, match=r"records\.csv:2: not a record"):
        read(good.replace(",0,", ",x,", 1))
    with pytest.raises(StoreError, match=r"records\.csv: not the columns of this version"):
        read(good.replace("split,", "fold,", 1))


def test_environments_of_jobs_whose_run_was_killed(experiment: Experiment, store: Store) -> None:
    """The facts are stored before the first job; a damaged file counts as absent."""
    store.keep_environment("env", {"cpu": "one"})
    store.keep_environment("env", {"cpu": "two"})
    store.write("jobs/environment-other.json", "{")
    (found,) = write_gathered(experiment, store).manifest["environments"].values()
    assert (found["cpu"], found["jobs"]) == ("one", len(PAIRS))
    assert sorted(store.stored()) == sorted(PAIRS)
