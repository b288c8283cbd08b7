"""Check dist/ as somebody who has nothing else: test the unpacked sdist, and type commands with the wheel.

Usage: ``python tests/check_dist.py dist`` (``make dist`` calls it). The sdist is installed in a new venv, with the
versions of its own constraints.txt, and its tests run there. The wheel is installed in another venv, and its
commands are typed in an empty folder.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

# What needs no results pages and starts few processes; --all runs everything.
TESTED = (
    "tests/test_samples.py",
    "tests/test_packaged.py",
    "tests/test_estimators.py",
    "tests/test_contract.py",
    "tests/test_plugins.py",
    *("tests/config", "tests/core", "tests/criteria", "tests/datasets", "tests/kernels"),
    *("tests/numerics", "tests/selection", "tests/stats", "tests/store", "tests/timing"),
)
# command -> what it prints
TYPED = {
    "kselect --version": "kselect, version ",
    "kselect run quickstart --offline -j 2": "63 to compute",
    "kselect run quickstart --offline": "63 cells stored, 0 to compute",
    "kselect report": "results/quickstart/report.html",
    "kselect list papers": "ecml2014",
    "kselect verify ecml2014 --cells 50 --offline -j 2": "50 of 50 cells agree",
}
LARGEST = 8_000_000  # bytes of each file


def run(folder: Path, *command: object) -> str:
    """Run a command in a folder without our variables; print it, and return its output."""
    ours = ("KSELECT_", "PYTHON", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    words = list(map(str, command))
    print(f"$ {shlex.join(words)}", flush=True)  # noqa: T201
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}\nstatus {done.returncode}: {words}")
    return done.stdout + done.stderr


def new_venv(folder: Path) -> Path:
    """Create a venv and return its folder of commands."""
    run(folder, sys.executable, "-m", "venv", folder / "venv")
    return folder / "venv/bin"


def check_sdist(sdist: Path, folder: Path, every: bool) -> None:
    """Install the unpacked sdist in a new venv and run its tests."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (root,) = (path for path in folder.iterdir() if path.is_dir())
    commands = new_venv(folder)
    run(root, commands / "pip", "install", "-q", "-c", "constraints.txt", "-e", ".[dev]")
    tests = () if every else TESTED
    print(run(root, commands / "pytest", "-n", "2", *tests)[-300:])  # noqa: T201


def check_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel in a new venv and type commands in an empty folder."""
    commands = new_venv(folder)
    pins = Path(__file__).resolve().parents[1] / "constraints.txt"
    run(folder, commands / "pip", "install", "-q", "-c", pins, wheel)
    empty = folder / "empty"
    empty.mkdir()
    for typed, expected in TYPED.items():
        name, *arguments = typed.split()
        if expected not in (said := run(empty, commands / name, *arguments)):
            raise SystemExit(f"{typed}: no {expected!r} in\n{said}")


def main() -> None:
    """Check both files of a folder."""
    folder = Path(sys.argv[1]).resolve()
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    for file in (sdist, wheel):
        size = file.stat().st_size
        print(f"{file.name}: {size:,} bytes")  # noqa: T201
        if size > LARGEST:
            raise SystemExit(f"{file.name}: more than {LARGEST:,} bytes")
    for check in ("wheel", "sdist"):
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch).chmod(0o755)  # a test reads the package as another user
            if check == "wheel":
                check_wheel(wheel, Path(scratch))
            else:
                check_sdist(sdist, Path(scratch), "--all" in sys.argv)


if __name__ == "__main__":
    main()
