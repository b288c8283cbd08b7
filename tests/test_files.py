"""Files are written completely or not at all, and a folder's lock admits one process."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kselect.errors import StoreError
from kselect.files import (
    STALE_SECONDS,
    locked,
    on_stderr,
    once,
    read_regular,
    remove_litter,
    write_changed,
    write_whole,
)


@pytest.fixture(autouse=True)
def _no_warnings_yet() -> Iterator[None]:
    """Forget which warnings were given, since each is given once per process."""
    once.cache_clear()
    yield
    once.cache_clear()


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script in a separate process."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def start_python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a script in a separate process, and wait until it has written a line."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    process.stdout.readline()
    return process


def test_text_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a/b/file.txt"
    write_whole(path, "τ = 1\n")
    assert path.read_text(encoding="utf-8") == "τ = 1\n"
    write_whole(path, b"\0\1")
    assert path.read_bytes() == b"\0\1"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_a_file_that_has_its_content_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    for text, written in (("τ", True), ("τ", False), ("π", True), ("", True)):
        before = path.stat().st_ino if path.exists() else 0
        write_changed(path, text)
        assert path.read_text(encoding="utf-8") == text
        assert (path.stat().st_ino != before) == written


WRITE = (
    "import os, pathlib, sys; from kselect.files import write_whole;"
    "os.umask(int(sys.argv[2])); write_whole(pathlib.Path(sys.argv[1]), 'new')"
)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_mode_of_a_new_file_and_of_an_old_one(tmp_path: Path, mask: int, mode: int) -> None:
    """The umask decides the mode of a new file; a file that exists keeps its mode."""
    new, old = tmp_path / "new.txt", tmp_path / "old.txt"
    old.write_text("old")
    for path in (new, old):
        old.chmod(0o640)
        run_python(WRITE, path, mask)
    assert stat.S_IMODE(new.stat().st_mode) == mode
    assert (stat.S_IMODE(old.stat().st_mode), old.read_text()) == (0o640, "new")


def test_a_private_file_is_private_at_all_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary file must not show the new content to others."""
    path = tmp_path / "file.txt"
    path.write_text("old")
    path.chmod(0o600)
    modes = []
    monkeypatch.setattr(os, "fsync", lambda handle: modes.append(os.fstat(handle).st_mode & 0o777))
    monkeypatch.setattr(os, "fchmod", lambda *_, **__: None)
    write_whole(path, "new")
    assert modes[0] == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_is_followed(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far/target.txt", tmp_path / "link.txt"
    if exists:
        target.write_text("old")
    link.symlink_to("far/target.txt")
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [p.name for p in tmp_path.rglob("*.t*")] == ["link.txt", "target.txt"]


def test_a_pipe_and_a_device_are_written_to(tmp_path: Path) -> None:
    """Neither is replaced by a file; /dev/null is one, and root may replace it."""
    pipe, device = tmp_path / "pipe", tmp_path / "device"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "new")
    assert os.read(reader, 100) == b"new"
    os.close(reader)
    assert pipe.is_fifo()
    device.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        write_whole(device, "new")
    assert device.is_symlink()
    assert device.is_char_device()
    assert len(list(tmp_path.iterdir())) == 2


def test_an_open_descriptor_is_written_to(tmp_path: Path) -> None:
    """As in ``-o >(command)``, which names a pipe, and ``-o /dev/stdout``, which may be a file."""
    reader, writer = os.pipe()
    write_whole(Path(f"/dev/fd/{writer}"), b"new")
    assert os.read(reader, 100) == b"new"
    os.close(reader)
    with pytest.raises(OSError, match="Broken pipe"):
        write_whole(Path(f"/proc/self/fd/{writer}"), b"new")
    os.close(writer)
    with pytest.raises(OSError, match=r"Bad file descriptor|No such file"):
        write_whole(Path(f"/dev/fd/{writer}"), b"new")
    code = "print('1', flush=True);" + WRITE + ";print('2')"
    with (tmp_path / "out").open("w") as out:
        subprocess.run([sys.executable, "-c", code, "/dev/stdout", "18"], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "1\nnew2\n"


def test_a_pipe_that_nobody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kselect.files.READER_SECONDS", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no process reads this pipe"):
        write_whole(tmp_path / "pipe", "new")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file.txt"
    write_whole(path, "old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]
    assert path.read_text() == "old"


def test_incomplete_files_are_never_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is synced under a temporary name before it replaces the old one."""
    path = tmp_path / "file.txt"
    write_whole(path, "old")
    steps = []
    fsync, replace = os.fsync, os.replace

    def sync(handle: int) -> None:
        steps.append(("fsync", path.read_text()))
        fsync(handle)

    def move(source: str, target: Path) -> None:
        steps.append(("replace", Path(source).read_text()))
        assert Path(source).parent == path.parent
        replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", move)
    write_whole(path, "new")
    assert steps == [("fsync", "old"), ("replace", "new"), ("fsync", "new")]


def test_the_folder_is_synced_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    write_whole(tmp_path / "file.txt", "new")
    file, folder = synced
    assert (file, folder) == ((tmp_path / "file.txt").stat().st_ino, tmp_path.stat().st_ino)


# --- what file systems refuse -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS, errno.ENOLCK, errno.EBADF])
def test_a_file_system_that_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Locks, modes and syncs that a file system refuses: each gives one warning, and the files are written."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    for module, name in ((fcntl, "flock"), (os, "chmod"), (os, "fchmod"), (os, "fsync")):
        monkeypatch.setattr(module, name, refuse)
    told: list[str] = []
    for i in range(3):
        with locked(tmp_path, say=told.append):
            write_whole(tmp_path / f"{i}.txt", "new", told.append)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.txt", "1.txt", "2.txt"]
    lock, sync = told
    assert lock.startswith(f"this file system has no locks ({os.strerror(number)})")
    assert sync.startswith(f"this file system does not sync ({os.strerror(number)})")


def test_a_warning_goes_to_stderr(tmp_path: Path) -> None:
    code = (
        "import fcntl, pathlib, sys\n"
        "def refuse(*_): raise OSError(38, 'Function not implemented')\n"
        "fcntl.flock = refuse\n"
        "from kselect.files import locked\n"
        "for _ in range(2):\n"
        "    with locked(pathlib.Path(sys.argv[1])): pass\n"
    )
    (line,) = run_python(code, tmp_path).stderr.splitlines()
    assert line.startswith("warning: this file system has no locks (Function not implemented)")


def test_a_warning_without_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _: str) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    for stream in (Full(), None):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            on_stderr("text")


@pytest.mark.parametrize("step", ["lock", "sync"])
def test_a_disk_error_is_not_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(*((fcntl, "flock", fail) if step == "lock" else (os, "fsync", fail)))
    with pytest.raises(OSError, match="Input/output error"), locked(tmp_path):
        write_whole(tmp_path / "file.txt", "new")
    assert list(tmp_path.iterdir()) == []


def many_writes(path: Path, letter: str) -> None:
    for _ in range(40):
        write_whole(path, letter * 50_000)


def test_two_writers(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_whole(path, "a" * 50_000)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=many_writes, args=(path, letter)) for letter in "ab"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        content = path.read_text()
        assert len(content) == 50_000
        assert len(set(content)) == 1
        time.sleep(0.0005)  # leave the core to the writers
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def count(folder: Path) -> None:
    for _ in range(50):
        with locked(folder):
            path = folder / "count"
            now = int(path.read_text()) if path.exists() else 0
            time.sleep(0.001)
            path.write_text(str(now + 1))


def test_the_lock(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    context = multiprocessing.get_context("spawn")
    counters = [context.Process(target=count, args=(folder,)) for _ in range(2)]
    for counter in counters:
        counter.start()
    for counter in counters:
        counter.join()
    assert (folder / "count").read_text() == "100"
    assert [p.name for p in folder.iterdir()] == ["count"]


HOLD = """
import pathlib, sys, time
from kselect.files import locked
with locked(pathlib.Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


def test_waiting_for_the_lock_names_its_holder_and_times_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kselect.files.SAY_SECONDS", 0.05)
    told: list[str] = []
    with start_python(HOLD, tmp_path) as holder:
        started = time.monotonic()
        with pytest.raises(StoreError) as caught, locked(tmp_path, wait=0.3, say=told.append):
            raise AssertionError("two have the lock")
        assert 0.3 <= time.monotonic() - started < 5
        (name,) = re.findall(r"\((.+?)\)", told[0])
        assert told == [
            f"waiting for process {holder.pid} ({name}), which has the lock of {tmp_path}"
        ]
        assert str(caught.value).startswith(
            f"{tmp_path}: locked by process {holder.pid} ({name}) for more than 0.3 s; "
        )
        holder.send_signal(signal.SIGKILL)
    with locked(tmp_path, wait=5.0, say=told.append):
        assert len(told) == 1


def test_a_short_wait_for_the_lock_prints_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    with start_python(HOLD.replace("60", "0.2"), tmp_path), locked(tmp_path, say=told.append):
        assert told == []


def test_the_holder_without_a_list_of_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise FileNotFoundError

    with start_python(HOLD, tmp_path) as holder:
        monkeypatch.setattr(Path, "read_text", fail)
        with (
            pytest.raises(StoreError, match="locked by another process for"),
            locked(tmp_path, wait=0.01),
        ):
            pass
        holder.kill()


# --- leftovers of killed processes --------------------------------------------------------------

KILLED = """
import os, pathlib, sys, time
import kselect.files as files
def stop(*_):
    print("here", flush=True)
    time.sleep(60)
os.replace = stop
files.write_whole(pathlib.Path(sys.argv[1]), "new")
"""


def test_the_next_write_removes_files_of_a_killed_writer(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_whole(path, "old")
    with start_python(KILLED, path) as writer:
        assert len(list(tmp_path.iterdir())) == 2
        # While the writer lives, other writers keep its file.
        write_whole(path, "other")
        assert len(list(tmp_path.iterdir())) == 2
        writer.kill()
    assert len(list(tmp_path.iterdir())) == 2
    write_whole(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_temporary_files_are_recognised_by_their_whole_name(tmp_path: Path) -> None:
    mine = [".a.csv.0123abcd.tmp", ".a.csv._x9_x9_x.tmp", ".b.csv.01234567.tmp"]
    others = ["a.csv", ".a.csv.tmp", ".a.csv.0123abcd.tmp2", "tmp01234567", ".axcsv.01234567.tmp"]
    for name in (*mine, *others):
        (tmp_path / name).write_text("")
    os.mkfifo(tmp_path / ".a.csv.fifofifo.tmp")
    remove_litter(tmp_path, ["a.csv", "b.csv"])
    assert {p.name for p in tmp_path.iterdir()} == {*others, ".a.csv.fifofifo.tmp"}
    remove_litter(tmp_path / "nowhere", ["a.csv"])


def test_without_locks_only_old_temporary_files_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    old, young = tmp_path / ".a.00000000.tmp", tmp_path / ".a.11111111.tmp"
    for path in (old, young):
        path.write_text("")
    os.utime(old, (0, time.time() - STALE_SECONDS - 60))
    remove_litter(tmp_path, ["a"])
    assert list(tmp_path.iterdir()) == [young]


# --- reading ----------------------------------------------------------------------------------------


def special(folder: Path, kind: str) -> Path:
    """Return a path that is not a plain file."""
    path = folder / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    return path


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("pipe", "is a pipe, not a file"),
        ("socket", "is a socket, not a file"),
        ("device", "is a device, not a file"),
        ("folder", "Is a directory"),
    ],
)
def test_only_plain_files_are_read(tmp_path: Path, kind: str, said: str) -> None:
    with pytest.raises(OSError, match=said):
        read_regular(special(tmp_path, kind), 100)


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_regular(path, 100) == b"x" * 100
    with pytest.raises(OSError, match="is too large: more than 99 bytes"):
        read_regular(path, 99)
    with path.open("r+b") as stream:
        stream.truncate(2**36)
    with pytest.raises(OSError, match="is too large"):
        read_regular(path, 10**6)
