"""Stress tests of results folders: killed processes, damaged files, concurrent runs. Started by hand.

    python tests/campaigns/results.py kills --count 60 --seed 1
    python tests/campaigns/results.py dask --count 40 --seed 1
    python tests/campaigns/results.py damage --count 200 --seed 1
    python tests/campaigns/results.py together --count 10 --seed 1

``kills`` kills run, report and time (the process, its group, or a worker) at random moments and starts them again
until they finish; records.csv must equal that of an undisturbed run, and no temporary files may remain. ``dask``
does the same for runs on a cluster of local processes, and for runs whose scheduler is a separate process.
``damage`` changes a job file, the manifest or records.csv at random; the change must be reported, or make no
difference. ``together`` starts two or three runs at once in one folder; no job may be computed twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from experiments import (  # noqa: E402 - of this tree
    children,
    kselect_in,
    litter,
    records,
    start,
    workers_of,
    write_config,
)

NOTING = """
import kselect.run.workers as workers
run_trial = workers.run_trial
def noting(experiment, trial):
    with open("computed.txt", "a") as notes:
        notes.write(f"{trial.dataset} {trial.split}\\n")
    return run_trial(experiment, trial)
workers.run_trial = noting
"""
RUN = ("run", "small.yaml", "-o", "out", "-j", "2")
DASK = (*RUN, "--backend", "dask")
SCHEDULER = "from distributed.cli import dask_{0} as m; m.main(standalone_mode=True)"
TIME = ("time", "small.yaml", "-o", "out", "--budget", "0.05", "-d", "sonar")


def reference(folder: Path) -> bytes:
    """Return records.csv of an undisturbed run."""
    write_config(folder)
    assert kselect_in(folder, "run", "small.yaml", "-o", "alone").returncode == 0
    return records(folder / "alone")


def strike(pid: int, rng: random.Random) -> str:
    """Kill a process, its group, or one of its workers."""
    kind = rng.choice(["process", "group", "worker", "interrupt"])
    with suppress(ProcessLookupError):
        if kind == "group":
            os.killpg(pid, signal.SIGKILL)
        elif kind == "worker" and (workers := workers_of(pid) or list(children(pid))):
            os.kill(rng.choice(workers), signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGINT if kind == "interrupt" else signal.SIGKILL)
    return kind


def kills(count: int, rng: random.Random, tally: Counter[str]) -> None:
    """Kill commands and start them again until they finish."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected = reference(folder)
        while tally["kills"] < count:
            shutil.rmtree(folder / "out", ignore_errors=True)
            for command in (RUN, ("report", "out"), TIME):
                until_done(folder, command, rng, tally)
            tally["rounds"] += 1
            tally["wrong records"] += records(folder / "out") != expected
            tally["litter"] += bool(litter(folder / "out"))


def dask(count: int, rng: random.Random, tally: Counter[str]) -> None:
    """Kill runs on dask, or their scheduler, and start them again until they finish."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected = reference(folder)
        while tally["kills"] < count:
            shutil.rmtree(folder / "out", ignore_errors=True)
            if rng.random() < 0.5:
                until_done(folder, DASK, rng, tally)
            else:
                without_scheduler(folder, rng, tally)
                until_done(folder, rng.choice([DASK, RUN]), rng, tally, kills=0)
            tally["rounds"] += 1
            tally["wrong records"] += records(folder / "out") != expected
            tally["litter"] += bool(litter(folder / "out"))


def without_scheduler(folder: Path, rng: random.Random, tally: Counter[str]) -> None:
    """Run with a scheduler and a worker in separate processes, and kill the scheduler at a random moment."""
    port = rng.randrange(20_000, 30_000)
    address = f"tcp://127.0.0.1:{port}"
    flags = ["--no-dashboard"], ["--nthreads", "1", "--no-dashboard", "--no-nanny"]
    python = [sys.executable, "-c"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    scheduler = subprocess.Popen(
        [*python, SCHEDULER.format("scheduler"), "--port", str(port), *flags[0]], **quiet
    )
    worker = subprocess.Popen([*python, SCHEDULER.format("worker"), address, *flags[1]], **quiet)
    time.sleep(3.0)
    run = start(folder, *DASK, "--scheduler", address)
    time.sleep(rng.uniform(0.5, 5.0))
    if run.poll() is None:
        tally["kills"] += 1
        tally["killed: scheduler"] += 1
        scheduler.kill()
    try:
        _, err = run.communicate(timeout=60)
        tally["tracebacks"] += "Traceback" in err
        tally[f"exit code of a run without its scheduler: {run.returncode}"] += 1
    except subprocess.TimeoutExpired:
        tally["hung"] += 1
        run.kill()
        run.communicate()
    for process in (scheduler, worker):
        process.kill()
        process.wait()


def until_done(
    folder: Path, command: tuple[str, ...], rng: random.Random, tally: Counter[str], kills: int = 2
) -> None:
    """Kill a command at most ``kills`` times, then let it finish."""
    for attempt in range(kills + 1):
        process = start(folder, *command)
        if attempt < kills:
            time.sleep(rng.uniform(0.1, 3.0))
            if process.poll() is None:
                tally["kills"] += 1
                tally[f"killed: {strike(process.pid, rng)} of {command[0]}"] += 1
        _, err = process.communicate(timeout=120)
        tally["tracebacks"] += "Traceback" in err
        if process.returncode == 0:
            return
    tally["not ended"] += 1


def change(content: bytes, rng: random.Random) -> bytes:
    """Return the content after one random change: a digit, a byte, a cut, a missing or repeated line, nothing."""
    place = rng.randrange(max(1, len(content)))
    lines = content.splitlines(keepends=True)
    digits = [i for i, b in enumerate(content) if 48 <= b <= 57]
    at = rng.choice(digits or [0])
    options: list[Callable[[], bytes]] = [
        lambda: content[:at] + bytes([48 + (content[at] - 47) % 10]) + content[at + 1 :],
        lambda: (
            content[:place]
            + bytes([content[place] ^ (1 << rng.randrange(8))])
            + content[place + 1 :]
        ),
        lambda: content[:place],
        lambda: b"".join(line for i, line in enumerate(lines) if i != place % len(lines)),
        lambda: b"".join([*lines, lines[place % len(lines)]]),
        lambda: content.replace(b"heart", b"sonar"),
        lambda: b"",
        lambda: rng.randbytes(len(content)),
    ]
    return rng.choice(options)()


def damage(count: int, rng: random.Random, tally: Counter[str]) -> None:
    """Check that run or report detects each damage, or that it leaves the records unchanged."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected = reference(folder)
        assert kselect_in(folder, *RUN).returncode == 0
        shutil.copytree(folder / "out", folder / "good")
        jobs = sorted((folder / "good/jobs").rglob("*.json"))
        for _ in range(count):
            shutil.rmtree(folder / "out")
            shutil.copytree(folder / "good", folder / "out")
            table = rng.random() < 0.2
            if table:
                shutil.rmtree(folder / "out/jobs")  # as in a clone
                path = folder / "out" / rng.choice(["records.csv", "manifest.json"])
            else:
                path = folder / "out" / rng.choice(jobs).relative_to(folder / "good")
            bad = change(path.read_bytes(), rng)
            if bad == path.read_bytes():
                continue
            path.write_bytes(bad)
            tally["damaged"] += 1
            judge(folder, path, expected, table, tally)


def judge(folder: Path, path: Path, expected: bytes, table: bool, tally: Counter[str]) -> None:
    """Check that a damage is reported or harmless, and that a run repairs it."""
    try:
        report = kselect_in(folder, "report", "out", "-q")
    except AssertionError:
        tally["tracebacks"] += 1
        return
    said = report.returncode != 0 and path.name in report.stderr + str(path)
    tally["said by report"] += said
    if not said and records(folder / "out") != expected:
        tally["silent"] += 1
    run = kselect_in(folder, *RUN)
    put_right = run.returncode == 0 and records(folder / "out") == expected
    tally["put right by run"] += put_right
    tally["neither put right nor said"] += not put_right and run.returncode == 0


def together(count: int, rng: random.Random, tally: Counter[str]) -> None:
    """Start two or three runs at once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        expected = reference(folder)
        for _ in range(count):
            shutil.rmtree(folder / "out", ignore_errors=True)
            (folder / "computed.txt").unlink(missing_ok=True)
            runs = []
            for _ in range(rng.choice([2, 3])):
                runs.append(start(folder, *RUN[:-1], "1", hook=NOTING))
                time.sleep(rng.uniform(0.0, 1.5))
            for run in runs:
                _, err = run.communicate(timeout=300)
                tally["runs"] += 1
                tally["failed"] += run.returncode != 0 or "Traceback" in err
            lines = (folder / "computed.txt").read_text().splitlines()
            tally["jobs"] += len(lines)
            tally["repeated jobs"] += len(lines) - len(set(lines))
            tally["wrong records"] += records(folder / "out") != expected


CAMPAIGNS = {"kills": kills, "dask": dask, "damage": damage, "together": together}


def main() -> None:
    """Run one campaign and print its counts as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("campaign", choices=list(CAMPAIGNS))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    tally: Counter[str] = Counter()
    CAMPAIGNS[arguments.campaign](arguments.count, random.Random(arguments.seed), tally)
    print(json.dumps(dict(sorted(tally.items())), indent=1))


if __name__ == "__main__":
    main()
