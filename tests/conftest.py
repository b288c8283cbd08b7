"""Settings of every test: one thread for numbers; hypothesis draws the same examples and never fails on time.

Where several processes test, one beside them compiles the SVM's loops, and what uses these comes last.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

# Before numpy is loaded: the matrices here are small, and threads that wait for each other keep a core busy.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from problems import Case

settings.register_profile(
    "kselect", derandomize=True, deadline=None, database=None, max_examples=60
)
settings.load_profile("kselect")


COMPILER = pytest.StashKey[subprocess.Popen[bytes]]()
COMPILED = ("svm", "test_excluded_trial")
SCRIPT = Path(__file__).with_name("compile_loops.py")


def uses_loops(item: pytest.Item) -> bool:
    """Or may do so."""
    return any(word in item.nodeid for word in COMPILED)


def pytest_configure(config: pytest.Config) -> None:
    """In the process that tests nothing itself; its script is locked until it ends."""
    if not getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        return
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with SCRIPT.open() as lock, suppress(BlockingIOError):  # another run of the tests compiles
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        command = [sys.executable, str(SCRIPT)]
        config.stash[COMPILER] = subprocess.Popen(command, env=env, pass_fds=[lock.fileno()])


def pytest_unconfigure(config: pytest.Config) -> None:
    """It goes with the tests."""
    if (compiler := config.stash.get(COMPILER, None)) is not None:
        compiler.kill()
        compiler.wait()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Else in the order in which they are written."""
    items.sort(key=uses_loops)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What another process is about to have compiled is not compiled again."""
    if uses_loops(item):
        with SCRIPT.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)


@pytest.fixture
def pictures_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every figure the SVG: for tests of it or of the words, as embedding fonts takes longer than drawing."""
    from kselect.report import style

    save = style.save
    monkeypatch.setattr(style, "save", lambda c, kind: save(c, kind) if kind == "svg" else b"-")


@pytest.fixture
def labelled() -> Case:
    """Two classes, a Gaussian kernel, three ridges, folds of different sizes: every option shows."""
    import numpy as np
    from problems import Case, numbered, problem_of, rows

    from kselect.kernels.gaussian import Gaussian

    X, y = rows(18)
    folds = numbered(np.random.default_rng(3), 18, 4, False)
    return Case("lssvm", problem_of(Gaussian(2.0), X, y, [0.01, 0.1, 1.0]), folds)
