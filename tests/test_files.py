"""Files are whole or not there, and a folder's lock lets one process in."""

from __future__ import annotations

import multiprocessing
import os
import stat
import time
from pathlib import Path

import pytest

from kselect.files import locked, write_whole


def test_text_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a/b/file.txt"
    write_whole(path, "τ = 1\n")
    assert path.read_text(encoding="utf-8") == "τ = 1\n"
    write_whole(path, b"\0\1")
    assert path.read_bytes() == b"\0\1"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


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


def test_nothing_is_seen_before_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Synced under another name first; only then it takes the place of the old file."""
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
    assert steps == [("fsync", "old"), ("replace", "new")]


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
