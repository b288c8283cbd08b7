"""Workers that die or fail, flags that select jobs, and results that must not be mixed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from experiments import (
    BROKEN,
    DEADLY,
    JOBS,
    NO_NETWORK,
    ROOT,
    SECONDS,
    SLOW,
    SMALL,
    forge,
    forked,
    job,
    job_files,
    kselect_in,
    litter,
    records,
    stamps,
    started_in,
    statuses,
    until,
    workers_of,
    write_config,
)

from kselect import __version__
from kselect.errors import without_folders
from kselect.run.scheduler import DIED_TWICE
from kselect.run.workers import (
    WORKER_ENVIRONMENT,
    local_executor,
    run_safely,
    stop,
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results folder of a full, undisturbed run."""
    folder = tmp_path_factory.mktemp("reference")
    write_config(folder)
    assert started_in(folder, "run", "small.yaml", "-o", "out").returncode == 0
    return folder / "out"


@pytest.fixture
def done(tmp_path: Path, reference: Path) -> Path:
    """Return a folder with the config and a copy of its finished results in ``out``."""
    write_config(tmp_path)
    shutil.copytree(reference, tmp_path / "out")
    return tmp_path


def refused(folder: Path, *arguments: str, hook: str = "") -> str:
    """Return the single line of a command that must exit with 2 and change nothing."""
    before = snapshot(folder)
    run = kselect_in(folder, *arguments, hook=hook)
    assert run.returncode == 2, run
    assert run.stdout == ""
    assert snapshot(folder) == before
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: ")
    return line


def snapshot(folder: Path) -> dict[str, int]:
    """Return every file with its time, except for the hooks."""
    files = (p for p in folder.rglob("*") if p.is_file() and "hook-" not in str(p))
    return {str(p): p.stat().st_mtime_ns for p in files}


def test_a_worker_killed_once(tmp_path: Path, reference: Path) -> None:
    write_config(tmp_path)
    out = tmp_path / "out"
    with forked(tmp_path, "run", "small.yaml", "-o", "out", "-j", "2", hook=SLOW) as run:
        until(lambda: job_files(out), "a job")
        os.kill(workers_of(run.pid)[0], signal.SIGKILL)
        _, err = run.communicate(timeout=SECONDS)
    assert run.returncode == 0, err
    assert re.search(r"^a worker died: retrying .*, split \d$", err, re.MULTILINE)
    assert "Traceback" not in err
    assert records(out) == records(reference)


@pytest.mark.parametrize("n_jobs", ["1", "2"])
@pytest.mark.slow
def test_a_job_that_kills_its_worker_each_time(
    tmp_path: Path, reference: Path, n_jobs: str
) -> None:
    write_config(tmp_path)
    out = tmp_path / "out"
    begin = started_in if n_jobs == "2" else kselect_in
    run = begin(tmp_path, "run", "small.yaml", "-o", "out", "-j", n_jobs, hook=DEADLY)
    assert run.returncode == 1
    found = statuses(out)
    assert found.pop(("sonar", 1)) == {"failed"}
    assert len(found) == JOBS - 1
    assert set.union(*found.values()) == {"ok"}
    assert {r["reason"] for r in job(out, "sonar", 1)["records"]} == {DIED_TWICE}
    assert f"failed: sonar, split 1, 5-CV: {DIED_TWICE}" in run.stderr

    before = stamps(out)
    again = kselect_in(tmp_path, "run", "small.yaml", "-o", "out")
    assert again.returncode == 1, "a failure is kept, and repeated with --retry-failed only"
    assert f"0 jobs to run, {JOBS} done" in again.stderr
    assert stamps(out) == before

    retried = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", "--retry-failed")
    assert retried.returncode == 0
    assert f"1 jobs to run, {JOBS - 1} done" in retried.stderr
    assert {n for n, s in stamps(out).items() if s != before[n]} == {"jobs/sonar/1.json"}
    assert records(out) == records(reference)


def test_an_exception_in_a_worker(tmp_path: Path) -> None:
    write_config(tmp_path)
    run = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", hook=BROKEN)
    assert run.returncode == 1
    found = job(tmp_path / "out", "sonar", 1)
    reasons = {r["reason"] for r in found["records"]}
    assert reasons == {"FileNotFoundError: [Errno 2] No such file or directory: 'file'"}
    assert "FileNotFoundError" in found["traceback"]
    assert 'File "kselect/run/workers.py", line' in found["traceback"]
    assert_private(tmp_path / "out")


def test_fail_fast(tmp_path: Path) -> None:
    # Of the three sizes, sonar is the smallest and runs last: its split 2 comes after the failure.
    write_config(tmp_path)
    run = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", "--fail-fast", hook=BROKEN)
    assert run.returncode == 1
    found = statuses(tmp_path / "out")
    assert found[("sonar", 1)] == {"failed"}
    assert ("sonar", 2) not in found
    assert len(found) == JOBS - 1


def test_paths_are_cut() -> None:
    assert (
        without_folders("at '/home/me/x.svm', 1/2 of http://a.b/c")
        == "at 'x.svm', 1/2 of http://a.b/c"
    )
    text = 'File "/opt/v/lib/site-packages/scipy/a.py", line 3, in /home/me/kselect/run.py'
    assert without_folders(text) == 'File "site-packages/scipy/a.py", line 3, in kselect/run.py'


def blas_threads() -> list[int]:
    """Return the threads of every BLAS, after both numpy's and scipy's are loaded."""
    import numpy as np
    import scipy.linalg
    from threadpoolctl import threadpool_info

    scipy.linalg.eigh(np.eye(3) @ np.eye(3))
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def environment_of_worker() -> dict[str, str | None]:
    """Return the variables that set the number of threads."""
    return {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Return two workers that can import the tests."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(Path(__file__).parents[1])]))
    found = local_executor(2)
    yield found
    stop(found)


def test_one_blas_thread_per_worker(executor) -> None:  # type: ignore[no-untyped-def]
    threads = executor.submit(blas_threads).result(timeout=SECONDS)
    assert threads
    assert set(threads) == {1}
    assert executor.submit(environment_of_worker).result(timeout=SECONDS) == WORKER_ENVIRONMENT


def test_one_blas_thread_in_a_process_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dask worker is not started by kselect: the limit is set around each trial too."""
    from threadpoolctl import threadpool_limits

    monkeypatch.setattr("kselect.run.workers.run_trial", lambda *_: blas_threads())
    with threadpool_limits(2):
        assert 2 in blas_threads()
        assert set(run_safely(None, None)) == {1}  # type: ignore[arg-type,call-overload]


def test_dry_run(tmp_path: Path) -> None:
    write_config(tmp_path)
    before = snapshot(tmp_path)
    run = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", "--dry-run")
    assert run.returncode == 0
    assert f"small: 0 cells stored, 18 to compute; {JOBS} jobs to run" in run.stderr
    assert "heart: embedded" in run.stderr
    assert re.fullmatch(r"about (\d+:\d\d|a second) with -j 1\n", run.stdout)
    assert snapshot(tmp_path) == before


def test_estimates_grow_with_the_work(tmp_path: Path) -> None:
    write_config(
        tmp_path, SMALL.replace("splits: 3", "splits: 2000").replace("2^-2:2^3", "2^-9:2^9")
    )

    def seconds(*flags: str) -> int:
        run = kselect_in(tmp_path, "run", "small.yaml", "-n", "-q", *flags)
        minutes, rest = re.match(r"about (?:\d+:)?(\d+):(\d+)", run.stdout).groups()  # type: ignore[union-attr]
        return 60 * int(minutes) + int(rest)

    # Twenty times the work; the samples take milliseconds, so that other processes disturb them.
    assert seconds("-d", "heart", "--splits", "2000") > 3 * seconds(
        "-d", "heart", "--splits", "100"
    )


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (("-d", "hart"), "'heart'"),
        (("-c", "5-KV"), "'5-KS'"),
        (("--splits", "3-1"), "--splits"),
        (("--splits", "none"), "--splits"),
        (("--shard", "3/2"), "I/N"),
        (("--shard", "0/2"), "I/N"),
        (("-j", "0"), "--n-jobs"),
        (("--backend", "dusk"), "dask"),
        (("--scheduler", "tcp://127.0.0.1:1"), "--backend dask"),
        (("--shards", "2"), "--shards needs --backend slurm"),
        (("--backend", "dask", "--max-running", "2"), "--max-running needs --backend slurm"),
        (("--time", "60"), "--time needs --backend slurm"),
        (("--mem", "4"), "--mem needs --backend slurm"),
        (("--backend", "slurm", "--time", "4"), "at least 5 minutes"),
        (("--backend", "slurm", "--time", "1:75"), "write minutes or H:MM"),
        (("--backend", "slurm", "--mem", "0"), "--mem"),
        (("--backend", "slurm", "--scheduler", "tcp://127.0.0.1:1"), "--backend dask"),
        (("--backend", "slurm", "--shard", "1/2"), "--shards N"),
        (("--backend", "slurm", "--force"), "another --output"),
        (("--backend", "slurm", "--fail-fast"), "the other parts"),
        (("--backend", "slurm", "--no-gather"), "when all parts have ended"),
        (("--dry-rn",), "'--dry-run'"),
        (("-o", "small.yaml"), "small.yaml: a file, not a folder"),
    ],
)
def test_contradictory_flags_are_refused(tmp_path: Path, flags: tuple[str, ...], hint: str) -> None:
    write_config(tmp_path)
    for more in ((), ("--dry-run",)):
        assert hint in refused(tmp_path, "run", "small.yaml", *flags, *more)


def test_too_many_folds_for_a_data_set(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL.replace("5-KS", "150-CV"))
    line = refused(tmp_path, "run", "small.yaml", "-n")
    assert line.endswith("150-CV needs 150 training rows, sonar has 146")


def test_parts_add_up(tmp_path: Path, reference: Path) -> None:
    write_config(tmp_path)
    out = tmp_path / "out"

    def part(*flags: str) -> set[str]:
        before = stamps(out)
        run = kselect_in(tmp_path, "run", "small.yaml", "-o", "out", *flags)
        assert run.returncode == 0, run.stderr
        return {name for name, stamp in stamps(out).items() if before.get(name) != stamp}

    assert part("-d", "heart", "--splits", "2", "-c", "5-KS") == {
        "jobs/heart/0.json",
        "jobs/heart/1.json",
    }
    assert {r["method"] for r in job(out, "heart", 0)["records"]} == {"5-KS"}
    assert part("-d", "sonar", "-d", "heart", "--splits", "1-2") == {
        f"jobs/{name}/{split}.json" for name in ("heart", "sonar") for split in (1, 2)
    }
    assert len(job(out, "heart", 1)["records"]) == 4
    assert len(part()) == JOBS - 4  # heart 1 and 2, sonar 1 and 2 are complete
    assert records(out) == records(reference)


def test_a_faster_blas_is_named_once(done: Path) -> None:
    hook = "import kselect.cli.run as r; r.faster_blas = lambda *_: 'a faster one'"
    run = kselect_in(done, "run", "small.yaml", "-o", "out", hook=hook)
    assert run.stderr.splitlines().count("a faster one") == 1
    assert not kselect_in(done, "run", "small.yaml", "-o", "out", "-q", hook=hook).stderr


def test_shards_cover_everything_once(tmp_path: Path, reference: Path) -> None:
    write_config(tmp_path)
    out = tmp_path / "out"
    kselect_in(tmp_path, "run", "small.yaml", "-o", "out", "--shard", "1/2")
    first = stamps(out)
    kselect_in(tmp_path, "run", "small.yaml", "-o", "out", "--shard", "2/2")
    assert 0 < len(first) < JOBS
    assert len(job_files(out)) == JOBS
    assert first.items() <= stamps(out).items()
    assert records(out) == records(reference)


def test_a_criterion_added_afterwards(done: Path, reference: Path) -> None:
    before = {path: path.read_text() for path in job_files(done / "out")}
    write_config(done, SMALL.replace("5-KS]", "5-KS, ELOO]"))
    run = kselect_in(done, "run", "small.yaml", "-o", "out")
    assert run.returncode == 0
    lines = records(done / "out").decode().splitlines()
    assert [line for line in lines if ",ELOO," not in line] == records(
        reference
    ).decode().splitlines()
    assert len(lines) == 1 + JOBS * 3 * 2
    for path, text in before.items():
        now = json.loads(path.read_text())
        assert now["records"][:4] == json.loads(text)["records"]
        assert [r["method"] for r in now["records"][4:]] == ["ELOO", "ELOO"]


def test_quiet_and_verbose(done: Path) -> None:
    quiet = kselect_in(done, "run", "small.yaml", "-o", "out", "-q", "--force", "-d", "heart")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    usual = kselect_in(done, "run", "small.yaml", "-o", "out")
    verbose = kselect_in(done, "run", "small.yaml", "-o", "out", "-v")
    assert "heart: embedded, " in verbose.stderr
    assert "heart: embedded, " not in usual.stderr


def test_another_config(done: Path) -> None:
    """A wider grid is computed again, after the key is named; the result is that of a run from the start."""
    write_config(done, SMALL.replace("2^-2:2^3", "2^-2:2^4"))
    named = "18 of them are stored but no longer valid: kernels.gaussian.tau: 2^-2:2^3 there, 2^-2:2^4 here"
    dry = kselect_in(done, "run", "small.yaml", "-o", "out", "--dry-run")
    assert named in dry.stderr
    run = kselect_in(done, "run", "small.yaml", "-o", "out")
    assert run.returncode == 0
    assert f"small: 0 cells stored, 18 to compute; {JOBS} jobs to run" in run.stderr
    assert named in run.stderr
    assert kselect_in(done, "run", "small.yaml", "-o", "fresh").returncode == 0
    assert records(done / "out") == records(done / "fresh")


def test_another_config_for_a_part(done: Path) -> None:
    """Jobs outside a run stay, but are not gathered with those of another config."""
    write_config(done, SMALL.replace("2^-2:2^3", "2^-2:2^4"))
    before = stamps(done / "out")
    assert kselect_in(done, "run", "small.yaml", "-o", "out", "-d", "sonar").returncode == 0
    kept = {name for name, stamp in stamps(done / "out").items() if stamp == before[name]}
    assert kept == {name for name in before if "sonar" not in name}
    rows = records(done / "out").decode().splitlines()[1:]
    assert {row.partition(",")[0] for row in rows} == {"sonar"}
    write_config(done)
    again = kselect_in(done, "run", "small.yaml", "-o", "out")
    assert "small: 12 cells stored, 6 to compute" in again.stderr


def test_rows_without_jobs_are_not_lost(done: Path) -> None:
    """In a clone without jobs, a part of another config would drop the other rows of records.csv."""
    shutil.rmtree(done / "out/jobs")
    stored = kselect_in(done, "run", "small.yaml", "-o", "out", "--dry-run")
    assert "small: 18 cells stored, 0 to compute" in stored.stderr
    write_config(done, SMALL.replace("2^-2:2^3", "2^-2:2^4"))
    before = records(done / "out")
    for more in ((), ("--force",)):
        line = refused(done, "run", "small.yaml", "-o", "out", "-d", "sonar", *more)
        assert "12 rows of heart in records.csv were computed with another config (kernels." in line
        assert "choose another --output" in line
    assert records(done / "out") == before
    assert kselect_in(done, "run", "small.yaml", "-o", "out").returncode == 0


def test_report_of_another_config(done: Path) -> None:
    path = done / "out/config.resolved.yaml"
    path.write_text(path.read_text().replace("seed: 0", "seed: 1"))
    assert "another config" in refused(done, "report", "out")


def test_another_data_file(done: Path, reference: Path) -> None:
    path = done / "out/jobs/sonar/2.json"
    facts = json.loads(path.read_text())
    forge(path, facts["data_sha256"], "0" * 64)
    for cell in facts["records"]:
        forge(path, cell["identity"], "0" * 16)
    part = kselect_in(done, "run", "small.yaml", "-o", "out", "-d", "heart")
    assert part.returncode == 0
    again = kselect_in(done, "run", "small.yaml", "-o", "out")
    assert "2 of them are stored but no longer valid: another config, data file" in again.stderr
    assert records(done / "out") == records(reference)


def test_a_job_of_another_version(done: Path) -> None:
    forge(done / "out/jobs/sonar/1.json", '"version": ', '"version": 99')
    for flags in ((), ("-d", "heart"), ("--dry-run",)):
        line = refused(done, "run", "small.yaml", "-o", "out", *flags)
        assert (
            f"out/jobs/sonar/1.json: a job file of format 997, written by kselect {__version__}; "
            in line
        )


@pytest.mark.parametrize("text", ["", "[]", "7", "\0\0", '{"version": 4, "records": [7]}'])
def test_a_damaged_job_is_reported_and_run_again(done: Path, reference: Path, text: str) -> None:
    (done / "out/jobs/sonar/1.json").write_text(text)
    for command in (("report", "out"), ("run", "small.yaml", "-o", "out", "-d", "heart")):
        assert "out/jobs/sonar/1.json: damaged" in refused(done, *command)
    before = stamps(done / "out")
    run = kselect_in(done, "run", "small.yaml", "-o", "out")
    assert run.returncode == 0
    assert "warning: out/jobs/sonar/1.json: damaged" in run.stderr
    assert "it is run again" in run.stderr
    changed = {name for name, stamp in stamps(done / "out").items() if stamp != before[name]}
    assert changed == {"jobs/sonar/1.json"}
    assert records(done / "out") == records(reference)


def test_force_recomputes_and_keeps_other_methods(done: Path, reference: Path) -> None:
    before = stamps(done / "out")
    run = kselect_in(done, "run", "small.yaml", "-o", "out", "--force", "-c", "5-KS", "-d", "heart")
    assert run.returncode == 0
    changed = {name for name, stamp in stamps(done / "out").items() if stamp != before[name]}
    assert changed == {f"jobs/heart/{split}.json" for split in range(3)}
    assert records(done / "out") == records(reference)


def test_missing_data_sets(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL.replace("sonar, liver-disorders", "a2a, fourclass"))
    before = snapshot(tmp_path)
    for more in ((), ("--dry-run",)):
        run = kselect_in(
            tmp_path, "run", "small.yaml", "-o", "out", "--offline", *more, hook=NO_NETWORK
        )
        assert run.returncode == 2
        assert snapshot(tmp_path) == before
        lines = run.stderr.splitlines()
        assert [line.split(": ")[1] for line in lines] == ["a2a", "fourclass"]
        for line, name in zip(lines, ("a2a", "fourclass"), strict=True):
            assert line.startswith("error: ")
            assert "--mirror" in line
            assert f"kselect data fetch {name}" in line
            assert "--skip-missing" in line


def test_skip_missing(tmp_path: Path, reference: Path) -> None:
    write_config(tmp_path, SMALL.replace("sonar, liver-disorders", "a2a, sonar, liver-disorders"))
    flags = ("run", "small.yaml", "-o", "out", "--offline", "--skip-missing")
    run = kselect_in(tmp_path, *flags, hook=NO_NETWORK)
    assert run.returncode == 0
    assert "skipped: a2a: no file found" in run.stderr
    assert records(tmp_path / "out") == records(reference)
    assert list(json.loads((tmp_path / "out/manifest.json").read_text())["missing"]) == ["a2a"]
    assert "no data set is left" in refused(tmp_path, *flags, "-d", "a2a")


def test_the_network_is_used_unless_offline(tmp_path: Path) -> None:
    """The hook of the tests above does catch a network call."""
    write_config(tmp_path)
    run = kselect_in(tmp_path, "run", "small.yaml", "-d", "a2a", "-n", hook=NO_NETWORK)
    assert "a name was looked up" in run.stderr


def test_results_do_not_identify_the_machine(reference: Path) -> None:
    assert_private(reference)
    assert not litter(reference)


def assert_private(results: Path) -> None:
    """Check that no result file has an absolute path, a host name or a user name."""
    import platform
    import sys

    private = {
        str(ROOT),
        sys.prefix,
        str(Path.home()),
        str(results.parent),
        "/tmp/",
        "site-packages/../",
    }
    host = platform.node()
    for path in (p for p in results.rglob("*") if p.is_file()):
        text = path.read_text()
        assert not [word for word in private if word in text], path
        assert not re.search(r"[\"' =:]/(?:\w+/)+", text), path
        assert len(host) < 5 or host not in text, path


def test_manifest(reference: Path) -> None:
    found = json.loads((reference / "manifest.json").read_text())
    assert found["seed"] == 0
    assert found["jobs"] == JOBS
    assert found["failed_records"] == 0
    assert found["blas_threads_per_worker"] == 1
    (environment,) = found["environments"].values()
    assert environment["jobs"] == JOBS
    assert environment["cpu"]
    assert {"kselect", "numpy", "scipy"} <= set(environment["packages"])
    assert environment["blas"]
    assert {pool["num_threads"] for pool in environment["blas"]} == {1}
    if environment["git"]:
        assert re.fullmatch(r"[0-9a-f]{40}", environment["git"]["commit"])
        assert environment["git"]["dirty"] in (True, False)
    assert list(found["data"]) == ["heart", "sonar", "liver-disorders"]
    for name, entry in found["data"].items():
        assert entry["from"] == "embedded"
        assert re.fullmatch(r"[0-9a-f]{64}", entry["sha256"])
        sums = [job(reference, name, split)["split_sha256"] for split in range(3)]
        assert list(entry["splits"].values()) == sums
        assert len(set(sums)) == 3
