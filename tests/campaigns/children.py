"""Run a command in a forked child and record its status, output and time.

A fork inherits all imports, so that thousands of calls take minutes. Each child has limits of its
own for memory and time.
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
    """The result of a child; ``status`` is negative if a signal ended it.

    ``seconds`` is processor time, which does not depend on the load of the machine; SIGALRM ends a
    hang.
    """

    status: int
    seconds: float
    out: str
    err: str

    def fault(self) -> str:
        """Return what went wrong in a word, or an empty text."""
        if self.status < 0:
            return f"signal {-self.status}"
        if "Traceback" in self.err:
            return "traceback"
        if self.status not in (0, 1, 2):
            return f"status {self.status}"
        if self.seconds > SECONDS:
            return f"{self.seconds:.1f} s"
        lines = self.err.splitlines()
        if self.status and not any(
            x.startswith(("error: ", "failed: ", "skipped: ")) for x in lines
        ):
            return "no error line"
        if any(len(line) > LONGEST_LINE for line in lines):
            return "a long line"
        if not all(c.isprintable() or c == "\n" for c in self.err):
            return "control characters"
        return ""


def call(arguments: list[str], folder: Path) -> Ending:
    """Run ``kselect ARGUMENTS`` in a forked child with ``folder`` as its current folder."""
    out, err = folder / ".out", folder / ".err"
    sys.stdout.flush()
    if not (child := os.fork()):
        run_in_child(arguments, folder, out, err)
    _, status, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in (out, err)]
    return Ending(os.waitstatus_to_exitcode(status), seconds, *texts)


def run_in_child(arguments: list[str], folder: Path, out: Path, err: Path) -> None:
    """Run the command in the child and exit; this function never returns."""
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
    """Counts of the endings in a campaign."""

    what: str
    keep: Path | None
    statuses: Counter[str] = field(default_factory=Counter)
    faults: int = 0
    slowest: float = 0.0

    def add(self, number: int, ending: Ending, words: str, data: bytes) -> None:
        """Count an ending; print a fault, and keep its files if a folder was given."""
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
        """Print the counts, and return 1 if there were faults."""
        seen = ", ".join(f"{name}: {times}" for name, times in sorted(self.statuses.items()))
        tell(f"{self.what}: {seen}; slowest {self.slowest:.2f} s; faults: {self.faults}")
        sys.exit(bool(self.faults))


def tell(text: str) -> None:
    """Print one line of the campaign."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


Attempt = Callable[[random.Random, int, Tally], None]


def campaign(what: str, count: int, attempt: Attempt) -> None:
    """Make ``--count`` attempts with random numbers from ``--seed``."""
    import numpy as np

    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None, help="folder for the inputs that fail")
    options = parser.parse_args()
    np.linalg.eigh(np.eye(3))  # the library is loaded once, before the forks
    rng = random.Random(options.seed)
    tally = Tally(f"{options.count} {what}, seed {options.seed}", options.keep)
    for number in range(options.count):
        attempt(rng, number, tally)
    tally.finish()
