"""Settings for all tests: one numerical thread, and reproducible hypothesis examples without a deadline.

If several processes test, a separate one compiles the SVM's loops, and the tests that use them run last.
"""

from __future__ import annotations

import fcntl
import gc
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Set before numpy is loaded: the matrices here are small, and waiting threads keep a core busy.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import pytest
from hypothesis import settings

from kselect.report.second_process import SecondProcess

if TYPE_CHECKING:
    from problems import Case

settings.register_profile(
    "kselect", derandomize=True, deadline=None, database=None, max_examples=60
)
settings.load_profile("kselect")

# The reports of tests are small: a process takes longer to start than they take to draw.
SecondProcess.LEAST = 1000

COMPILER = pytest.StashKey[subprocess.Popen[bytes]]()
COMPILED = ("svm", "test_excluded_trial", "test_stable_risk", "test_tuned_trial")
SCRIPT = Path(__file__).with_name("compile_loops.py")


def uses_loops(item: pytest.Item) -> bool:
    """Return whether a test may use the compiled loops."""
    return any(word in item.nodeid for word in COMPILED)


def pytest_configure(config: pytest.Config) -> None:
    """Start the compilation in the main process of pytest-xdist; its script stays locked until it ends."""
    if not getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        return
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with SCRIPT.open() as lock, suppress(BlockingIOError):  # another test run is already compiling
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        command = [sys.executable, str(SCRIPT)]
        config.stash[COMPILER] = subprocess.Popen(command, env=env, pass_fds=[lock.fileno()])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the compilation when the tests end."""
    if (compiler := config.stash.get(COMPILER, None)) is not None:
        compiler.kill()
        compiler.wait()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests that use compiled loops to the end; keep the order of the others."""
    items.sort(key=uses_loops)


def pytest_collection_finish() -> None:
    """Take the collected tests and modules, which last, out of the garbage collector's way."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Wait until the loops are compiled, so that this process does not compile them again."""
    if uses_loops(item):
        with SCRIPT.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)


@pytest.fixture
def pictures_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw every figure as SVG only: embedding fonts takes longer than drawing."""
    from kselect.report import style

    render = style.render

    def svg_alone(canvas: Any, kinds: Any) -> dict[str, bytes]:
        return dict.fromkeys(kinds, b"-") | render(canvas, ("svg",))

    monkeypatch.setattr(style, "render", svg_alone)


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no figure, for tests of tables and words."""
    from kselect.report import style

    blank = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'
    monkeypatch.setattr(style, "render", lambda canvas, kinds: dict.fromkeys(kinds, blank))


@pytest.fixture
def labelled() -> Case:
    """Return two classes, a Gaussian kernel, three ridges and unequal folds: every option has an effect."""
    import numpy as np
    from problems import Case, numbered, problem_of, rows

    from kselect.kernels.gaussian import Gaussian

    X, y = rows(18)
    folds = numbered(np.random.default_rng(3), 18, 4, False)
    return Case("lssvm", problem_of(Gaussian(2.0), X, y, [0.01, 0.1, 1.0]), folds)
