"""Data files are read only if they are plain files, and only as far as memory allows, packed or not."""

from __future__ import annotations

import bz2
import gzip
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from experiments import message_of

from kselect.datasets import content
from kselect.datasets.content import (
    LARGEST_RATIO,
    SMALLEST_LIMIT,
    content_limit,
    read_content,
    text_limit,
    unpack,
)
from kselect.errors import DataError

TEXT = b"1 1:0.5\n-1 2:1\n" * 50
PACK = {".bz2": bz2.compress, ".gz": gzip.compress}
PACKED = pytest.mark.parametrize("ending", PACK)


@pytest.fixture(scope="module")
def bombs() -> dict[str, bytes]:
    """Return a few kilobytes that unpack to 64 megabytes."""
    return {ending: pack(bytes(2**26)) for ending, pack in PACK.items()}


@PACKED
def test_packed_content_is_unpacked(ending: str) -> None:
    path = Path(f"a.svm{ending}")
    raw = PACK[ending](TEXT)
    assert unpack(path, raw) == ("a.svm", TEXT)
    assert unpack(path, raw + raw)[1] == TEXT + TEXT  # like ``cat a.bz2 b.bz2``
    assert unpack(Path("A.svm"), raw) == ("a.svm", TEXT)
    assert unpack(Path("A.svm"), TEXT) == ("a.svm", TEXT)


@PACKED
def test_damaged(ending: str) -> None:
    """A damaged file is an error, and so is a damaged second part, which bz2.decompress ignores."""
    raw = PACK[ending](TEXT)
    for bad in (
        raw[:-1],
        raw[:-5],
        raw[: len(raw) // 2],
        raw[:3],
        b"plain",
        raw[:20] + b"\0\0" + raw[22:],
        raw + raw[: len(raw) // 2],
    ):
        text = message_of(DataError, unpack, Path(f"a{ending}"), bad)
        assert text.startswith(f"a{ending}: not a whole {ending} file: it is cut off")
        assert "\n" not in text


@PACKED
def test_a_bomb_is_not_unpacked(ending: str, bombs: dict[str, bytes], tmp_path: Path) -> None:
    raw = bombs[ending]
    assert len(raw) < 2**17
    path = tmp_path / f"a{ending}"
    with pytest.raises(DataError, match=r"a\.\w+: unpacked, it is too large: more than 1000 bytes"):
        unpack(path, raw, 1000)
    with pytest.raises(DataError, match="unpacked, it is too large"):
        unpack(path, bz2.compress(bytes(2**26)) if ending == ".bz2" else raw[:10000], 2**20)


def test_the_limit_of_a_packed_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A packed file may hold a thousand times its size, at least some megabytes, and never more than memory."""
    monkeypatch.setattr(content, "available_memory", lambda: 10**12)
    assert text_limit(100) == SMALLEST_LIMIT
    assert text_limit(10**6) == LARGEST_RATIO * 10**6
    assert text_limit(10**9) == content_limit() < 10**12
    monkeypatch.setattr(content, "available_memory", lambda: 2400)
    assert text_limit(10**6) == 100


def test_a_file_larger_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.svm"
    path.write_bytes(TEXT)
    monkeypatch.setattr(content, "available_memory", lambda: 24 * len(TEXT))
    assert read_content(path) == TEXT
    monkeypatch.setattr(content, "available_memory", lambda: 24 * len(TEXT) - 1)
    with pytest.raises(DataError, match=rf"a\.svm: is too large: more than {len(TEXT) - 1}"):
        read_content(path)
    assert read_content(path, len(TEXT)) == TEXT


def test_paths_that_are_not_readable_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
    for path, said in (
        (tmp_path / "pipe", "is a pipe"),
        (tmp_path / "socket", "is a socket"),
        (Path("/dev/zero"), "is a device"),
        (tmp_path, "Is a directory"),
        (tmp_path / "a\n\x1b[31m", r"a\\n\\x1b\[31m: No such file"),
        (tmp_path / ("z" * 5000), "File name too long"),
    ):
        with pytest.raises(DataError, match=said) as caught:
            read_content(path)
        assert "\n" not in str(caught.value)


READ = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
from kselect.datasets.content import read_content, unpack
from kselect.datasets.svmlight import parse_svmlight
from kselect.errors import DataError
try:
    path = Path(sys.argv[1])
    parse_svmlight(unpack(path, read_content(path))[1], path)
except DataError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["wide", ".bz2", ".gz"])
def test_within_a_gigabyte(tmp_path: Path, bombs: dict[str, bytes], kind: str) -> None:
    """A process with 1 GiB refuses 5 KB that ask for 149 GiB, and packed bombs, in seconds."""
    path = tmp_path / f"a{kind}"
    path.write_bytes(b"1 1:1\n-1 1000000:1\n" * 10_000 if kind == "wide" else bombs[kind])
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True
    )
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 5
    said = (
        "20000 rows x 1000000 features need 447.0 GiB"
        if kind == "wide"
        else "unpacked, it is too large"
    )
    assert said in run.stdout
    assert len(run.stdout.splitlines()) == 1
