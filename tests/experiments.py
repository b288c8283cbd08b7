"""Functions that run the command in separate processes, with hooks that slow down or kill workers."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from forks import Fork, forks
from launch import launched

import kselect
from kselect.config import load as config_load
from kselect.config.load import NO_OVERRIDES
from kselect.core.experiment import Experiment
from kselect.report.sections import FIGURES
from kselect.run.workers import POOLS

ROOT = Path(kselect.__file__).resolve().parents[1]
SECONDS = 240.0  # a time-out: with ten other processes on two cores, starting takes half a minute

SMALL = """\
name: small
learner: lssvm
splits: 3
kernels: {gaussian: {tau: 2^-2:2^3}}
lam: {fixed: [0.001, 0.1]}
criteria: [5-CV, 5-KS]
datasets: [heart, sonar, liver-disorders]
"""
JOBS = 9

# Content of a module named sitecustomize, which runs in the parent and in every worker.
SLOW = """
import time
import kselect.run.workers as workers
run_trial = workers.run_trial
def slow(experiment, trial):
    time.sleep(0.15)
    return run_trial(experiment, trial)
workers.run_trial = slow
"""
DEADLY = """
import os
import kselect.run.workers as workers
run_trial = workers.run_trial
def deadly(experiment, trial):
    if (trial.dataset, trial.split) == ("sonar", 1):
        os.kill(os.getpid(), 9)
    return run_trial(experiment, trial)
workers.run_trial = deadly
"""
BROKEN = """
import pathlib
import kselect.run.workers as workers
run_trial = workers.run_trial
def broken(experiment, trial):
    if (trial.dataset, trial.split) == ("sonar", 1):
        pathlib.Path("/nowhere/at-home/file").read_text()
    return run_trial(experiment, trial)
workers.run_trial = broken
"""
NO_NETWORK = """
import socket
def refuse(self, address, *_):
    raise SystemExit(f"a network call to {address}")
socket.socket.connect = refuse
socket.socket.connect_ex = refuse
def lookup(*arguments, **_):
    raise SystemExit(f"a name was looked up: {arguments}")
socket.getaddrinfo = lookup
"""


def load_config(path: Path, overrides: Mapping[str, object] = NO_OVERRIDES) -> Experiment:
    """Return the experiment of a config with every figure kind, as the commands read it."""
    return config_load.load_config(path, FIGURES, overrides)


def message_of(
    kind: type[Exception], call: Callable[..., object], *values: Any, **more: Any
) -> str:
    """Return the message of the error that a call raises."""
    with pytest.raises(kind) as caught:
        call(*values, **more)
    return str(caught.value)


def refused_in(folder: Path, *arguments: str, **more: Any) -> list[str]:
    """Return the error lines of a command that fails with status 2."""
    run = kselect_in(folder, *arguments, **more)
    assert run.returncode == 2, run
    return run.stderr.splitlines()


def write_config(folder: Path, text: str = SMALL, name: str = "small.yaml") -> Path:
    """Write a config file into a folder."""
    path = folder / name
    path.write_text(text)
    return path


def environment(folder: Path, hook: str = "", **more: str) -> dict[str, str]:
    """Return the variables for a run in ``folder``: embedded data only, no proxy, and the hook if any.

    The thread limits of the tests are removed, because the command must set its own.
    """
    ours = ("KSELECT_", "PYTEST_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(ours) and k not in POOLS}
    paths = [str(ROOT)]
    if hook:
        hooks = folder / f"hook-{abs(hash(hook))}"
        hooks.mkdir(exist_ok=True)
        (hooks / "sitecustomize.py").write_text(hook)
        paths.insert(0, str(hooks))
    fixed = {"PYTHONPATH": os.pathsep.join(paths), "KSELECT_DATA_DIR": str(folder / "cache")}
    return {**clean, **fixed, "NO_PROXY": "127.0.0.1", "COLUMNS": "100", **more}


class Command(subprocess.Popen[str]):
    """A process that is killed when its ``with`` block fails: otherwise the block would wait for its end."""

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, *rest)


def start(folder: Path, *arguments: str, hook: str = "", **more: Any) -> Command:
    """Start ``kselect ARGUMENTS`` in a folder, as the leader of a new process group."""
    env = environment(folder, hook, **more.pop("env", {}))
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    command = launched(sys.executable, "-m", "kselect", *arguments)
    return Command(
        command,
        cwd=folder,
        env=env,
        text=True,
        start_new_session=True,
        **streams,
    )


def kselect_in(
    folder: Path, *arguments: str, hook: str = "", **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end in a fork of a process that has imported kselect; workers are forks too."""
    if more:
        return started_in(folder, *arguments, hook=hook, **more)
    with forked(folder, *arguments, hook=hook) as process:
        out, err = process.communicate(timeout=SECONDS)
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(process.args, process.wait(), out, err)


def forked(folder: Path, *arguments: str, hook: str = "") -> Fork:
    """Start ``kselect ARGUMENTS`` as ``start`` does, in a fork of a process that has imported kselect."""
    return forks(os.getpid()).start(arguments, folder, environment(folder), hook)


def started_in(
    folder: Path, *arguments: str, hook: str = "", **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end in a fresh process with fresh workers."""
    with start(folder, *arguments, hook=hook, **more) as process:
        out, err = process.communicate(timeout=SECONDS)
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def until(condition: Callable[[], Any], what: str, seconds: float = SECONDS) -> float:
    """Wait for a condition, and return the seconds that it took."""
    started = time.monotonic()
    while not condition():
        passed = time.monotonic() - started
        assert passed < seconds, f"{what}: not within {seconds:g} s"
        time.sleep(0.01)
    return time.monotonic() - started


def job_files(results: Path) -> list[Path]:
    """Return the existing job files."""
    return sorted(results.glob("jobs/*/*.json"))


def stamps(results: Path) -> dict[str, tuple[int, int]]:
    """Return job file -> inode and time, which change whenever the file is written."""
    found = {str(path.relative_to(results)): path.stat() for path in job_files(results)}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in found.items()}


def job(results: Path, dataset: str, split: int) -> dict[str, Any]:
    """Return the content of a job file."""
    found: dict[str, Any] = json.loads((results / f"jobs/{dataset}/{split}.json").read_text())
    return found


def statuses(results: Path) -> dict[tuple[str, int], set[str]]:
    """Return (data set, split) -> the statuses of its records."""
    jobs = [json.loads(path.read_text()) for path in job_files(results)]
    return {(j["dataset"], j["split"]): {r["status"] for r in j["records"]} for j in jobs}


def forge(path: Path, old: str, new: str) -> None:
    """Change a job file, and give it the right checksum."""
    body, _, _ = path.read_bytes().rpartition(b'"checksum": ')
    body = body.replace(old.encode(), new.encode())
    path.write_bytes(body + f'"checksum": "{hashlib.sha256(body).hexdigest()}"}}\n'.encode())


def records(results: Path) -> bytes:
    """Return the bytes of records.csv."""
    return (results / "records.csv").read_bytes()


def litter(results: Path) -> list[str]:
    """Return the temporary files."""
    return [str(p) for p in results.rglob("*") if p.name.startswith(".") or p.suffix == ".tmp"]


def workers_of(parent: int) -> list[int]:
    """Return the worker processes of a run, from /proc."""
    ours = ("popen_loky", "forks.py")
    return [pid for pid in children(parent) if any(word in command_of(pid) for word in ours)]


def children(parent: int) -> Iterable[int]:
    """Yield the child processes of a process."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            yield int(path.parent.name)


def command_of(pid: int) -> str:
    """Return the command line of a process, empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
