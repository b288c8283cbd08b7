"""Jobs are read back unchanged, and every change that affects numbers changes the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from experiments import forge, load_config, write_config
from problems import learners

from kselect.core.experiment import Experiment
from kselect.core.job import (
    LEARNER_VERSIONS,
    SEARCH_VERSIONS,
    Cell,
    Job,
    Trial,
    fact_hashes,
    identities,
    missing_methods,
    protocol_of,
)
from kselect.core.method import Choice, LamGrid
from kselect.core.record import record_keys
from kselect.datasets.dataset import Source
from kselect.errors import StoreError
from kselect.kernels import KERNELS
from kselect.run.trial import failed_job
from kselect.store.jobs import Store, job_text

SOURCE = Source(Path("heart.bz2"), "embedded", "a" * 64)


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return load_config(write_config(tmp_path))


def trial_of(experiment: Experiment, *labels: str) -> Trial:
    methods = tuple(m for m in experiment.methods if m.label in labels)
    return Trial("heart", 0, methods, SOURCE)


def job_of(experiment: Experiment, trial: Trial, error: float = 0.25) -> Job:
    """Return a job whose records are ok, made from a failed one."""
    job = failed_job(experiment, trial, "")
    values: dict[str, Any] = {
        "error": error,
        "score": 0.1 + 0.2,
        "lam": 0.1,
        "n_train": 189,
        "n_test": 81,
    }
    good = (replace(r, status="ok", **values) for r in job.records)
    known = {"split_sha256": "b" * 64, "environment": "env"}
    cells = tuple(map(Cell, good, (cell.identity for cell in job.cells)))
    return replace(job, cells=cells, seconds={"search": 1.5, "test": 0.25}, **known)


def add(
    store: Store, experiment: Experiment, *labels: str, fresh: bool = False, error: float = 0.25
) -> None:
    store.add(job_of(experiment, trial_of(experiment, *labels), error), fresh)


def test_a_job_is_read_back(tmp_path: Path, experiment: Experiment) -> None:
    store = Store(tmp_path / "out")
    assert store.read("heart", 0) is None
    add(store, experiment, "5-CV", "5-KS")
    job = store.read("heart", 0)
    assert job is not None
    assert (job.dataset, job.split, job.environment) == ("heart", 0, "env")
    assert (job.data_sha256, job.split_sha256) == (SOURCE.sha256, "b" * 64)
    assert job.seconds == {"search": 1.5, "test": 0.25}
    assert [r.score for r in job.records] == [0.1 + 0.2] * 4
    assert job_text(job) == (tmp_path / "out/jobs/heart/0.json").read_text()
    assert store.stored() == [("heart", 0)]


def test_other_methods_are_kept(tmp_path: Path, experiment: Experiment) -> None:
    store = Store(tmp_path)
    add(store, experiment, "5-CV")
    for fresh in (False, True):
        add(store, experiment, "5-KS", fresh=fresh, error=0.5)
        job = store.read("heart", 0)
        assert job is not None
        assert [(r.method, r.error) for r in job.records] == [
            ("5-CV", 0.25), ("5-CV", 0.25), ("5-KS", 0.5), ("5-KS", 0.5),
        ]  # fmt: skip


def test_cells_of_another_config_stay_until_they_are_replaced(
    tmp_path: Path, experiment: Experiment
) -> None:
    """A job may hold cells of several configs; each knows its own."""
    store, other = Store(tmp_path), replace(experiment, seed=1)
    add(store, experiment, "5-CV")
    add(store, other, "5-KS")
    both = trial_of(experiment, "5-CV", "5-KS")
    cv, ks = experiment.methods
    assert missing_methods(experiment, both, store.cells("heart", 0), False) == (ks,)
    assert missing_methods(other, both, store.cells("heart", 0), False) == (cv,)
    add(store, other, "5-CV")
    assert missing_methods(other, both, store.cells("heart", 0), False) == ()
    assert missing_methods(experiment, both, store.cells("heart", 0), False) == (cv, ks)


def test_cells_of_another_data_file_are_dropped(tmp_path: Path, experiment: Experiment) -> None:
    store, trial = Store(tmp_path), trial_of(experiment, "5-KS")
    add(store, experiment, "5-CV")
    source = replace(SOURCE, sha256="c" * 64)
    store.add(job_of(experiment, replace(trial, source=source)), fresh=False)
    assert {cell.record.method for cell in store.cells("heart", 0)} == {"5-KS"}


def test_another_version_is_replaced_only_with_force(
    tmp_path: Path, experiment: Experiment
) -> None:
    store = Store(tmp_path)
    add(store, experiment, "5-CV")
    path = store.job_path("heart", 0)
    forge(path, '"version": ', '"version": 99')
    for use in (lambda: store.read("heart", 0), lambda: add(store, experiment, "5-CV")):
        with pytest.raises(
            StoreError, match=r"0\.json: a job file of format 997, written by .*--force"
        ):
            use()
    assert '"version": 99' in path.read_text()
    add(store, experiment, "5-CV", fresh=True)
    assert store.read("heart", 0) is not None


def test_pending(tmp_path: Path, experiment: Experiment) -> None:
    store = Store(tmp_path)
    store.add(failed_job(experiment, trial_of(experiment, "5-CV"), "why"), fresh=False)
    cells, every = store.cells("heart", 0), trial_of(experiment, "5-CV", "5-KS")
    cv, ks = experiment.methods
    assert missing_methods(experiment, every, cells, False) == (ks,)
    assert missing_methods(experiment, every, cells, True) == (cv, ks)
    # One more lam in the config has an empty cell.
    more = replace(experiment, lam=LamGrid((*experiment.lam.values, 1.0), "fixed"))
    assert missing_methods(more, replace(every, methods=(cv,)), cells, False) == (cv,)


def test_a_cell_contains_the_definition_of_its_label(experiment: Experiment) -> None:
    """A change of a scoring learner or of a probe's method changes the cell."""
    cv, _ = experiment.methods
    asked = (
        replace(cv, scored_by=()),
        replace(cv, scored_by=(("classification", Choice("krr")),)),
        replace(cv, scored_by=(("classification", Choice("smooth-hinge", (("h", 0.1),))),)),
        replace(cv, scored_by=(("classification", Choice("smooth-hinge", (("h", 0.2),))),)),
    )
    texts = [replace(experiment, methods=(m,)).methods_on("heart")[0].text for m in asked]
    assert len(set(texts)) == len(texts)
    elsewhere = replace(cv, scored_by=(("regression", Choice("krr")),))
    assert replace(experiment, methods=(elsewhere,)).methods_on("heart")[0].text == texts[0]
    probe = replace(cv, criterion="discrepancy", part="figure", at=cv.label)
    seen = [replace(experiment, methods=(c, probe)).methods_on("heart")[1].text for c in asked]
    assert len(set(seen)) == len(seen)


def test_a_new_record_replaces_the_old_one(tmp_path: Path, experiment: Experiment) -> None:
    store, trial = Store(tmp_path), trial_of(experiment, "5-CV")
    add(store, experiment, "5-CV", error=0.25)
    new = job_of(experiment, trial, 0.5)
    store.add(replace(new, cells=new.cells[:1]), fresh=False)
    job = store.read("heart", 0)
    assert job is not None
    assert [r.error for r in job.records] == [0.5, 0.25]
    assert {r.key for r in job.records} == set(record_keys(experiment, trial.methods[0]))


CHANGES: list[Callable[[Experiment], Experiment]] = [
    lambda e: replace(e, learners=learners("krr")),
    lambda e: replace(e, scale="minmax"),
    lambda e: replace(e, scale_on="all"),
    lambda e: replace(e, train=0.6),
    lambda e: replace(e, train=None),
    lambda e: replace(e, tune_folds=5),
    lambda e: replace(e, lam=LamGrid(e.lam.values, "fixed", "n lam")),
    lambda e: replace(e, stratify=not e.stratify),
    lambda e: replace(e, seed=1),
    lambda e: replace(e, ridge="per-fold"),
    lambda e: replace(e, kernels=e.kernels[1:]),
    lambda e: replace(e, kernels=e.kernels[::-1]),
    lambda e: replace(e, lam=LamGrid(e.lam.values, "select")),
    lambda e: replace(e, lam=LamGrid(e.lam.values[:1], "fixed")),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_identity_changes_with_whatever_changes_numbers(
    experiment: Experiment, number: int
) -> None:
    assert protocol_of(CHANGES[number](experiment), "heart", "a") != protocol_of(
        experiment, "heart", "a"
    )


def test_identity_of_data_and_version(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = protocol_of(experiment, "heart", "a")
    assert protocol_of(experiment, "heart", "b") != before
    monkeypatch.setattr("kselect.core.job.RESULT_VERSION", 999)
    assert protocol_of(experiment, "heart", "a") != before


def test_identity_of_experiments_with_one_learner(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    svm = replace(experiment, learners=learners("svm"))
    before = [protocol_of(e, "heart", "a") for e in (experiment, svm)]
    monkeypatch.setitem(LEARNER_VERSIONS, "svm", 999)
    after = [protocol_of(e, "heart", "a") for e in (experiment, svm)]
    assert after[0] == before[0]
    assert after[1] != before[1]


@pytest.mark.parametrize(
    "change",
    [
        lambda e: replace(e, title="other"),
        lambda e: replace(e, splits=(7,)),
        lambda e: replace(e, datasets=("sonar",)),
        lambda e: replace(e, methods=e.methods[:1]),
    ],
)
def test_identity_ignores_additions(
    experiment: Experiment, change: Callable[[Experiment], Experiment]
) -> None:
    assert protocol_of(change(experiment), "heart", "a") == protocol_of(experiment, "heart", "a")


def identity(experiment: Experiment, **changed: Any) -> str:
    """Return the identity of the first method, with some of its fields changed."""
    method = replace(experiment.methods[0], **changed)
    one = replace(experiment, methods=(*experiment.methods, method))
    asked = one.methods_on("heart")[-1]
    known = identities(one, "heart", fact_hashes(one, "heart", "a"))
    return known[asked.part, asked.label, asked.text]


WIDER: dict[str, Callable[[Experiment], Experiment]] = {
    "kernels": lambda e: replace(e, kernels=e.kernels[1:]),
    "fixed lam": lambda e: replace(e, lam=LamGrid((*e.lam.values, 1.0), "fixed")),
    "tune-folds": lambda e: replace(e, tune_folds=7),
    "search": lambda e: replace(e, search="pruned"),
    "seed": lambda e: replace(e, seed=1),
}
GAUSSIAN = KERNELS["gaussian"].of({"tau": 2.0})
# What a method depends on, of the keys above.
DEPENDS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"kernels", "search", "seed"}),
    ({"tuned": (("average", ("points",)),)}, {"kernels", "search", "seed", "tune-folds"}),
    ({"fixed": GAUSSIAN, "lam": 0.1}, {"seed"}),
    ({"everywhere": True, "part": "map"}, {"seed"}),
    ({"search": Choice("flkl"), "kernel": "ard"}, {"seed"}),
    ({"criterion": "R_emp", "part": "figure", "at": "5-CV"}, {"kernels", "search", "seed"}),
]


@pytest.mark.parametrize("key", WIDER)
@pytest.mark.parametrize("case", range(len(DEPENDS)))
def test_a_cell_depends_on_what_determines_it_and_on_nothing_else(
    experiment: Experiment, case: int, key: str
) -> None:
    changed, depends = DEPENDS[case]
    differs = identity(WIDER[key](experiment), **changed) != identity(experiment, **changed)
    assert differs == (key in depends)


def test_a_selected_lam_depends_on_its_grid(experiment: Experiment) -> None:
    one = replace(experiment, lam=LamGrid((0.1, 1.0), "select"))
    more = replace(experiment, lam=LamGrid((0.1, 1.0, 10.0), "select"))
    assert identity(one) != identity(more)
    flkl: dict[str, Any] = {"search": Choice("flkl"), "kernel": "ard"}
    assert identity(one, **flkl) == identity(more, **flkl)


def test_versions_of_a_search_and_of_a_scoring_learner_are_of_their_cells_only(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    flkl: dict[str, Any] = {"search": Choice("flkl"), "kernel": "ard"}
    scored: dict[str, Any] = {"scored_by": (("classification", Choice("svm")),)}
    before = [identity(experiment, **one) for one in ({}, flkl, scored)]
    monkeypatch.setitem(SEARCH_VERSIONS, "flkl", 999)
    monkeypatch.setitem(LEARNER_VERSIONS, "svm", 999)
    after = [identity(experiment, **one) for one in ({}, flkl, scored)]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, False]


def test_not_a_number_is_never_written(tmp_path: Path, experiment: Experiment) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        add(Store(tmp_path), experiment, "5-CV", error=float("nan"))
    assert not list(tmp_path.rglob("*.json"))


def test_other_files_below_jobs_are_ignored(tmp_path: Path, experiment: Experiment) -> None:
    store = Store(tmp_path)
    for name in ("jobs/heart/.0.json.x.tmp", "jobs/heart/notes.json", "jobs/notes.json"):
        store.write(name, "{")
    assert store.stored() == []


def test_write_errors_are_reported(tmp_path: Path, experiment: Experiment) -> None:
    (tmp_path / "out").write_text("a file")
    store = Store(tmp_path / "out")
    with pytest.raises(StoreError, match=r"out/records\.csv: cannot write: "):
        store.write("records.csv", "")
    with pytest.raises(StoreError, match="cannot write: "):
        add(store, experiment, "5-CV", fresh=True)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a digit": lambda b: b.replace(b'"error": 0.25', b'"error": 0.35', 1),
    "a name": lambda b: b.replace(b'"heart"', b'"sonar"'),
    "a type": lambda b: b.replace(b'"error": 0.25', b'"error": "0.25"', 1),
    "cut off": lambda b: b[: len(b) // 2],
    "empty": lambda b: b"",
    "a byte": lambda b: bytes([*b[:200], b[200] ^ 1, *b[201:]]),
    "a key more": lambda b: b.replace(b'{"version"', b'{"more": 1, "version"', 1),
    "no checksum": lambda b: b.rpartition(b',\n"checksum"')[0] + b"}\n",
    "a record less": lambda b: b.replace(b.split(b"\n")[2] + b"\n", b"", 1),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_detected(tmp_path: Path, experiment: Experiment, name: str) -> None:
    store = Store(tmp_path)
    add(store, experiment, "5-CV", "5-KS")
    path = store.job_path("heart", 0)
    good = path.read_bytes()
    bad = DAMAGES[name](good)
    assert bad != good
    path.write_bytes(bad)
    with pytest.raises(StoreError, match=r"0\.json: damaged"):
        store.read("heart", 0)
    add(store, experiment, "5-CV", "5-KS")
    assert path.read_bytes() == good


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"metric": "zero-one"', '"metric": "foo"', "unknown metric 'foo'"),
        ('"status": "ok"', '"status": "foo"', "unknown status 'foo'"),
        ('"error": 0.25', '"error": 1e308', r"error is 1e\+308"),
        ('"error": 0.25', '"error": 5', "error is 5"),
        ('"error": 0.25', '"error": -1', "error is -1"),
        ('"lam": 0.1', '"lam": 1e400', "lam is inf"),
        ('"excluded": 0', '"excluded": 100000000000000000000', "excluded is 1000"),
        ('"excluded": 0', '"excluded": 1e20', r"excluded is 1e\+20"),
        ('"excluded": 0', '"excluded": -1', "excluded is -1"),
        ('"n_train": 189', '"n_train": 0', "n_train is 0"),
        ('"n_test": 81', '"n_test": 1' + "0" * 400, "n_test is 1000"),
    ],
)
def test_impossible_values_of_a_sealed_job(
    tmp_path: Path, experiment: Experiment, old: str, new: str, said: str
) -> None:
    store = Store(tmp_path)
    add(store, experiment, "5-CV")
    path = store.job_path("heart", 0)
    assert old in path.read_text()
    forge(path, old, new)
    with pytest.raises(StoreError, match=rf"0\.json: damaged \({said}"):
        store.read("heart", 0)


def test_a_job_in_the_wrong_file_is_damaged(tmp_path: Path, experiment: Experiment) -> None:
    store = Store(tmp_path)
    add(store, experiment, "5-CV")
    store.job_path("heart", 0).rename(store.job_path("heart", 1))
    with pytest.raises(StoreError, match=r"1\.json: damaged \(it holds heart, split 0\)"):
        store.read("heart", 1)


def test_an_unreadable_folder_is_an_error(
    tmp_path: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unreadable folder is reported; it does not count as empty."""
    store = Store(tmp_path)
    add(store, experiment, "5-CV")
    assert store.stored() == [("heart", 0)]
    listing = Path.iterdir

    def refuse(self: Path) -> Iterator[Path]:
        if self.name == "heart":
            raise PermissionError(13, "Permission denied")
        return listing(self)

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(StoreError, match="jobs/heart: Permission denied"):
        store.stored()
