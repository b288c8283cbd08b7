"""Output that cannot be written, closed streams, too few file handles: one line, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from experiments import SECONDS, SMALL, environment, kselect_in, write_config

from kselect.cli.main import LESS_MEMORY, LONGEST_ARGUMENT

COMMANDS = (("list", "criteria"), ("data", "list"), ("--help",), ("sys-info",))


def shell(folder: Path, line: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which ``kselect`` is this package's command."""
    command = f"kselect() {{ '{sys.executable}' -m kselect \"$@\"; }}; {line}"
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment(folder, **more), text=True, capture_output=True,
        timeout=SECONDS,
    )  # fmt: skip


@pytest.mark.parametrize("typed", COMMANDS, ids=" ".join)
def test_a_full_disk(tmp_path: Path, typed: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        run = kselect_in(tmp_path, *typed, stdout=full)
    assert run.returncode == 1
    assert run.stderr == "error: output: No space left on device\n"


def test_a_full_disk_for_stderr(tmp_path: Path) -> None:
    """If stderr is on a full disk, the exit status is still that of the mistake."""
    assert shell(tmp_path, "kselect list critera 2>/dev/full").returncode == 2
    assert shell(tmp_path, "kselect run no-such.yaml 2>/dev/full").returncode == 2
    assert shell(tmp_path, "kselect list criteria 2>/dev/full").returncode == 0


def test_a_reader_that_stops_early(tmp_path: Path) -> None:
    """A reader may stop early, as ``| head -1`` does; by the third command it has ended."""
    long = "for i in 1 2 3; do kselect list datasets || echo $? >&2; done | head -1"
    run = shell(tmp_path, long)
    assert len(run.stdout.splitlines()) == 1
    assert set(run.stderr.splitlines()) <= {"1"}
    assert "1" in run.stderr


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("kselect list criteria >&-", 0),
        ("kselect list critera 2>&-", 2),
        ("kselect list criteria 2>&- >/dev/null", 0),
        ("kselect list critera <&- >&- 2>&-", 2),
        ("kselect run small.yaml --dry-run <&- >&- 2>&-", 0),
        ("kselect run small.yaml -o out <&- >&- 2>&-", 0),
    ],
)
def test_closed_streams(tmp_path: Path, line: str, status: int) -> None:
    write_config(tmp_path, SMALL.replace("heart, sonar, liver-disorders", "heart"))
    run = shell(tmp_path, line)
    assert (run.returncode, run.stderr) == (status, "")
    if "-o out" in line:
        assert (tmp_path / "out/records.csv").read_text().startswith("dataset,")


def test_a_file_does_not_become_stderr(tmp_path: Path) -> None:
    """With stream 2 closed, no opened file becomes number 2, so that warnings do not end up in it."""
    code = (
        "import os, sys, kselect.cli.main as main; main.open_streams();"
        "file = os.open('file', os.O_CREAT | os.O_WRONLY); print(file); sys.stderr.write('warning')"
    )
    run = shell(tmp_path, f"'{sys.executable}' -c \"{code}\" 2>&- <&-")
    assert int(run.stdout) > 2
    assert (tmp_path / "file").read_text() == ""


def test_a_deleted_current_folder(tmp_path: Path) -> None:
    for typed in ("data list", "data fetch a2a --offline", "run small.yaml"):
        run = shell(tmp_path, f"mkdir gone; cd gone; rmdir ../gone; kselect {typed}")
        assert run.returncode in (1, 2)
        (line,) = run.stderr.splitlines()
        assert line.startswith("error: ")
    assert (
        shell(tmp_path, "mkdir gone; cd gone; rmdir ../gone; kselect list kernels").returncode == 0
    )


@pytest.mark.parametrize("files", [13, 14, 16])
def test_too_few_file_handles(tmp_path: Path, files: int) -> None:
    """With too few file handles, a run ends in one line, whichever library fails first."""
    write_config(tmp_path, SMALL.replace("heart, sonar, liver-disorders", "heart"))
    run = shell(tmp_path, f"ulimit -n {files}; kselect run small.yaml -o out -j 2 -q")
    # The number of handles that suffices depends on the machine; here it is 18.
    assert (run.returncode, run.stderr) in (
        (0, ""),
        (1, "error: Too many open files (ulimit -n)\n"),
    )
    assert files > 14 or run.returncode == 1


def test_too_little_memory(tmp_path: Path) -> None:
    hook = "import kselect.cli.reference as reference\ndef fail(*_): raise MemoryError('Unable to\\nallocate')\n"
    run = kselect_in(
        tmp_path, "list", "criteria", hook=hook + "reference.LISTS['criteria'] = fail\n"
    )
    assert (run.returncode, run.stderr) == (
        2,
        f"error: not enough memory (Unable to\\nallocate); {LESS_MEMORY}\n",
    )


def test_a_programming_error_keeps_its_traceback(tmp_path: Path) -> None:
    hook = "import kselect.cli.reference as reference\ndef fail(*_): raise {}\nreference.LISTS['criteria'] = fail\n"
    for error in ("ZeroDivisionError", "ImportError('no such library')", "UnboundLocalError"):
        with pytest.raises(AssertionError, match="Traceback"):
            kselect_in(tmp_path, "list", "criteria", hook=hook.format(error))


@pytest.mark.parametrize(
    "typed",
    [
        ["run", "my.yaml", "--splits", "9" * 5000],
        ["select", "my.csv", "--lam", "9" * 5000],
        ["select", "my.csv", "--seed", "9" * 5000],
        ["z" * 5000],
        ["run", "z" * 4000],
        ["run", "small.yaml", "-d", "z" * 4000],
        ["run", "small.yaml", "-c", "z" * 4000],
        ["run", "small.yaml", "--splits", "9" * 4000],
        ["run", "small.yaml", "--shard", "1/" + "9" * 4000 + "x"],
        ["run", "small.yaml", "--offline", "--mirror", "z" * 4000, "-d", "a2a"],
        ["run", "small.yaml", "--offline", "--data-dir", "z" * 4000, "-d", "a2a"],
        ["select", "my.csv", "--lam", "9" * 300 + ":" + "9" * 301],
        ["select", "my.csv", "--criterion", "z" * 4000],
        ["data", "fetch", "z" * 4000],
        ["data", "fetch", "a2a", "--offline", "--mirror", "z" * 4000],
        ["data", "verify", "--data-dir", "z" * 4000],
        ["data", "lock", "z" * 4000],
        ["--" + "z" * 4000],
    ],
    ids=range(18),
)
def test_long_arguments(
    tmp_path: Path, refused: Callable[..., list[str]], typed: list[str]
) -> None:
    (tmp_path / "my.csv").write_text("a,y\n" + "1,1\n2,0\n3,1\n4,0\n5,1\n" * 4)
    lines = refused(*typed)
    if max(map(len, typed)) > LONGEST_ARGUMENT:
        assert lines[0].startswith("error: an argument of 500")


@pytest.mark.parametrize(
    "typed",
    [
        ["run", "a\n\x1b[31mb.yaml"],
        ["run", "small.yaml", "-d", "\x1b[31m"],
        ["select", "a\nerror: b.csv"],
        ["select", "\u202ecsv.a"],
        ["data", "fetch", "a2a", "--offline", "--mirror", "a\nb"],
        ["data", "fetch", "a2a", "--offline", "--data-dir", "\x1b[31m"],
        ["data", "lock", "\x1b[31m"],
        ["report", "\x1b[31m"],
        ["\x1b[31m"],
        ["data", "\x1b[31m"],
    ],
    ids=range(10),
)
def test_control_characters_of_arguments(
    tmp_path: Path, refused: Callable[..., list[str]], typed: list[str]
) -> None:
    (tmp_path / "\x1b[31m").write_text("x")
    assert len(refused(*typed)) == 1


def latin(folder: Path) -> Path:
    """Return a folder whose name is not UTF-8."""
    return Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9"))


@pytest.mark.parametrize("make", [latin, lambda folder: folder / "\u03c4"])
@pytest.mark.parametrize("coding", ["utf-8", "ascii"])
def test_names_that_the_output_cannot_encode(
    tmp_path: Path, make: Callable[[Path], Path], coding: str
) -> None:
    mirror = make(tmp_path)
    (mirror / "libsvm").mkdir(parents=True)
    (mirror / "libsvm/a2a").write_text("1 1:1\n")
    where = {"PYTHONIOENCODING": coding, "PYTHONUTF8": "0"}
    typed = ("data", "list", "--mirror", str(mirror))
    run = kselect_in(tmp_path, *typed, env=where)
    assert (run.returncode, run.stderr) == (0, "")
    assert "wrong checksum" in run.stdout
