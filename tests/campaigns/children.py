"""A command in a forked child: its status, its words and its time, within a memory and a time of its own.

A fork has everything imported already, so that thousands of calls take minutes.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MEMORY = 2**30
SECONDS = 5.0
HANGS = 60.0
LONGEST_LINE = 1100


@dataclass(frozen=True)
class Ending:
    """How a child ended; ``status`` is negative where a signal ended it, ``seconds`` are of the processor.

    Other processes of the machine would count in the time of a clock; a hang ends by SIGALRM.
    """

    status: int
    seconds: float
    out: str
    err: str

    def fault(self) -> str:
        """What must not happen, in a word; empty where nothing is wrong."""
        if self.status < 0:
            return f"signal {-self.status}"
        if "Traceback" in self.err:
            return "traceback"
        if self.status not in (0, 1, 2):
            return f"status {self.status}"
        if self.seconds > SECONDS:
            return f"{self.seconds:.1f} s"
        if self.status and not self.err.startswith(("error: ", "failed: ", "skipped: ")):
            return "no error line"
        if any(len(line) > LONGEST_LINE for line in self.err.splitlines()):
            return "a long line"
        if not all(c.isprintable() or c == "\n" for c in self.err):
            return "control characters"
        return ""


def call(arguments: list[str], folder: Path) -> Ending:
    """``kselect ARGUMENTS`` in a forked child whose current folder this is."""
    out, err = folder / ".out", folder / ".err"
    sys.stdout.flush()
    if not (child := os.fork()):
        run_in_child(arguments, folder, out, err)
    _, status, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in (out, err)]
    return Ending(os.waitstatus_to_exitcode(status), seconds, *texts)


def run_in_child(arguments: list[str], folder: Path, out: Path, err: Path) -> None:
    """What the child does; it never comes back."""
    status = 99
    try:
        os.chdir(folder)
        for path, number in ((out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
        gc.freeze()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.alarm(int(HANGS))
        sys.argv = ["kselect", *arguments]
        from kselect.cli.main import main

        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


@dataclass
class Tally:
    """What a campaign has seen."""

    what: str
    keep: Path | None
    statuses: Counter[str] = field(default_factory=Counter)
    faults: int = 0
    slowest: float = 0.0

    def add(self, number: int, ending: Ending, words: str, data: bytes) -> None:
        """Count an ending; what must not happen is told, and kept where a folder for it was named."""
        self.statuses[f"status {ending.status}"] += 1
        self.slowest = max(self.slowest, ending.seconds)
        if not (fault := ending.fault()):
            return
        self.faults += 1
        tell(f"{number}: {fault}: {words:.200}: {ending.err[-300:]!r}")
        if self.keep:
            self.keep.mkdir(parents=True, exist_ok=True)
            (self.keep / f"{number}.data").write_bytes(data)
            (self.keep / f"{number}.txt").write_text(f"{words}\n{fault}\n{ending.err}")

    def finish(self) -> None:
        """The counts; the exit status says whether there were faults."""
        seen = ", ".join(f"{name}: {times}" for name, times in sorted(self.statuses.items()))
        tell(f"{self.what}: {seen}; slowest {self.slowest:.2f} s; faults: {self.faults}")
        sys.exit(bool(self.faults))


def tell(text: str) -> None:
    """A line of the campaign's own."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


Attempt = Callable[[random.Random, int, Tally], None]


def campaign(what: str, count: int, attempt: Attempt) -> None:
    """``--count`` attempts with numbers drawn from ``--seed``."""
    import numpy as np

    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None, help="folder for what goes wrong")
    options = parser.parse_args()
    np.linalg.eigh(np.eye(3))  # the library is loaded once, before the forks
    rng = random.Random(options.seed)
    tally = Tally(f"{options.count} {what}, seed {options.seed}", options.keep)
    for number in range(options.count):
        attempt(rng, number, tally)
    tally.finish()
