"""Progress: a bar in a terminal, lines in a log file, nothing with --quiet."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import termios
from contextlib import closing
from pathlib import Path

import pytest
from experiments import JOBS, kselect_in, start, write_config

from kselect.run.progress import Progress, clock


def in_terminal(tmp_path: Path, columns: int) -> str:
    """Return what a run writes to a terminal of this width."""
    write_config(tmp_path)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with start(tmp_path, "run", "small.yaml", "-o", "out", stderr=slave) as run:
        os.close(slave)
        chunks = []
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # Linux reports a closed terminal like this
                break
            if not chunk:
                break
            chunks.append(chunk)
    os.close(master)
    assert run.returncode == 0
    return b"".join(chunks).decode()


def test_a_bar_in_a_terminal(tmp_path: Path) -> None:
    text = in_terminal(tmp_path, 80)
    assert re.search(rf"\r{JOBS}/{JOBS} jobs 100%\|█+\| \d\d:\d\d<\d\d:\d\d", text)
    assert "of the work" not in text


def test_lines_in_a_terminal_without_a_width(tmp_path: Path) -> None:
    assert f"{JOBS}/{JOBS} jobs, 100% of the work" in in_terminal(tmp_path, 0)


def test_lines_in_a_pipe(tmp_path: Path) -> None:
    write_config(tmp_path)
    run = kselect_in(tmp_path, "run", "small.yaml", "-o", "out")
    assert "\r" not in run.stderr
    assert "\x1b" not in run.stderr
    lines = [line for line in run.stderr.splitlines() if "of the work" in line]
    assert 2 <= len(lines) <= 10
    shown = rf"{JOBS}/{JOBS} jobs, 100% of the work, \d+:\d\d passed, 0:00 left"
    assert re.fullmatch(shown, lines[-1])


def test_the_time_left_is_estimated_by_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("kselect.run.progress.time.monotonic", lambda: now[0])
    out = io.StringIO()
    with closing(Progress(3, 100.0, False, out)) as progress:
        now[0] = 80.0
        progress.advance("a", 80.0)
        now[0] = 81.0
        progress.advance("b", 1.0)
        now[0] = 100.0
        progress.advance("c", 19.0, failure="no reason")
    assert out.getvalue().splitlines() == [
        "1/3 jobs,  80% of the work, 1:20 passed, 0:20 left",
        "failed: c: no reason",
        "3/3 jobs, 1 failed, 100% of the work, 1:40 passed, 0:00 left",
    ]


def test_a_line_each_half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("kselect.run.progress.time.monotonic", lambda: now[0])
    out = io.StringIO()
    with closing(Progress(1000, 1000.0, False, out)) as progress:
        for second in range(1, 70):
            now[0] = float(second)
            progress.advance("job", 1.0)
    assert len(out.getvalue().splitlines()) == 2


def test_silence() -> None:
    out = io.StringIO()
    with closing(Progress(1, 1.0, True, out)) as progress:
        progress.say("something")
        progress.advance("a", 1.0, failure="no reason")
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (187, "3:07"), (3787, "1:03:07")]
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
