"""A small Slurm for tests: sbatch, srun, scontrol, sacct and scancel run array jobs as processes of this machine.

``install`` writes the commands into a folder for PATH. Each of them calls this file. It keeps the state of a job in
``<folder>/state/<job>_<index>``, and the submitted script in ``<folder>/state/<job>.sh``.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

COMMANDS = ("sbatch", "srun", "scontrol", "sacct", "scancel")
STATE = Path(__file__).resolve().parent / "state"
FIRST = 100  # the number of the first job


def install(folder: Path) -> Path:
    """Write the commands into a folder and return it."""
    (folder / "state").mkdir(parents=True)
    own = shutil.copy(__file__, folder / "slurm.py")
    for name in COMMANDS:
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {own} {name} "$@"\n')
        path.chmod(0o755)
    return folder


def state(folder: Path, job: str) -> tuple[str, int]:
    """Return the state of an array job, and the process that runs it."""
    word, pid = (folder / "state" / job).read_text().split()
    return word, int(pid)


def write(job: str, word: str, pid: int) -> None:
    """Replace the state of an array job."""
    new = STATE / f"{job}.{os.getpid()}.tmp"
    new.write_text(f"{word} {pid}")
    new.replace(STATE / job)


def sbatch(script: str) -> None:
    """Start a process that runs the array jobs of a script, and print the number of the array."""
    number = FIRST + len(list(STATE.glob("*.sh")))
    text = Path(script).read_text()
    (STATE / f"{number}.sh").write_text(text)
    found = re.search(r"--array=0-(\d+)%(\d+)", text)
    last, at_once = map(int, found.groups()) if found else (0, 1)
    names = [f"{number}_{index}" if found else str(number) for index in range(last + 1)]
    for name in names:
        write(name, "PENDING", 0)
    subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, "run_array", str(at_once), *names],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    sys.stdout.write(f"Submitted batch job {number}\n")


def run_array(at_once: str, *names: str) -> None:
    """Run the array jobs, some at a time; a job that scontrol has queued again runs once more."""
    waiting, running = list(names), {}
    while waiting or running:
        while waiting and len(running) < int(at_once):
            name = waiting.pop(0)
            running[started(name)] = name
        pid, status = os.wait()
        name = running.pop(pid)
        word = (STATE / name).read_text().split()[0]
        if word == "REQUEUED":
            waiting.append(name)
        elif word == "RUNNING":
            code = os.waitstatus_to_exitcode(status)
            ends = {0: "COMPLETED", 128 + signal.SIGKILL: "OUT_OF_MEMORY"}
            write(name, ends.get(code, "FAILED"), 0)


def started(name: str) -> int:
    """Start an array job in a session of its own and return its process."""
    number, _, index = name.partition("_")
    env = {**os.environ, "SLURM_JOB_ID": number, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}
    if index:
        env |= {"SLURM_ARRAY_JOB_ID": number, "SLURM_ARRAY_TASK_ID": index}
    script = STATE / f"{number}.sh"
    process = subprocess.Popen(["bash", str(script)], env=env, start_new_session=True)
    write(name, "RUNNING", process.pid)
    return process.pid


def srun(*words: str) -> None:
    """Become the command, with its output in files."""
    flags = ("--output", "--error")
    command = list(words)
    job = os.environ["SLURM_JOB_ID"]
    index = os.environ.get("SLURM_ARRAY_TASK_ID", "")
    for number, flag in enumerate(flags, 1):
        at = command.index(flag)
        path = command[at + 1].replace("%A", job).replace("%a", index).replace("%j", job)
        del command[at : at + 2]
        os.dup2(os.open(path.replace("%t", "0"), os.O_CREAT | os.O_APPEND | os.O_WRONLY), number)
    while command[0].startswith("--"):
        del command[0]
    os.execvp(command[0], command)


def scontrol(action: str, job: str) -> None:
    """Queue a job again."""
    assert action == "requeue"
    write(job, "REQUEUED", 0)


def scancel(number: str) -> None:
    """Kill the jobs of an array."""
    for path in sorted(STATE.glob(f"{number}_[0-9]*")):
        word, pid = path.read_text().split()
        write(path.name, "CANCELLED", 0)
        if word == "RUNNING":
            os.killpg(int(pid), signal.SIGKILL)


def sacct(*_: str) -> None:
    """Print the state of every job."""
    lines = ["JobID|State|NodeList"]
    for path in sorted(STATE.glob("[0-9]*")):
        if path.suffix not in (".sh", ".tmp"):
            lines.append(f"{path.name}|{path.read_text().split()[0]}|here")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    command = sys.argv[1]
    assert command in (*COMMANDS, "run_array")
    globals()[command](*sys.argv[2:])
