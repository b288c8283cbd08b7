"""Progress of a selection: nothing at first, then a bar, and one hint if the search takes long."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import kselect.cli.progress as progress
from kselect.cli.progress import nystrom_hint, watched
from kselect.core.method import Choice
from kselect.errors import KselectError
from kselect.selection.engine import select
from kselect.selection.request import Request, make_folds, make_kernels, make_lams, make_method
from kselect.store import environment

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.sign(X[:1].T @ X[:1] @ X.T)[:1] + 0.0


def request(learner: str = "krr") -> Request:
    """Return a request with three kernels."""
    method = make_method("5-CV", None, {}, True)
    return Request(
        Choice(learner), make_kernels("gaussian", {"tau": "1,2,4"}), make_lams("0.1"), method
    )


def printed(
    seconds: float, terminal: bool, monkeypatch: pytest.MonkeyPatch, delay: float = 0.0
) -> str:
    """Return the output for three kernels that take these seconds each."""
    now = iter([0.0, seconds, 2 * seconds, 3 * seconds])
    stream = io.StringIO()
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(progress, "is_terminal", lambda stream: terminal)
    monkeypatch.setattr(progress, "QUIET_SECONDS", delay)
    monkeypatch.setattr("sys.stderr", stream)
    with watched(3, lambda: "a hint") as watch:
        for done in (1, 2, 3):
            watch(done, 3)
    return stream.getvalue()


def test_a_short_selection_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(0.5, True, monkeypatch, delay=60.0).strip("\r ") == ""
    assert printed(0.5, False, monkeypatch) == ""


def test_the_bar_is_removed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found = printed(2.0, True, monkeypatch)
    assert "0/3 kernels, 00:00 elapsed" in found
    assert found.rpartition("\r")[0].endswith(" ")
    assert "hint" not in found


@pytest.mark.parametrize("terminal", [True, False])
def test_a_hint_above_a_minute(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = printed(25.0, terminal, monkeypatch)
    assert "about 1:15 in all; a hint\n" in found
    assert found.count("hint") == 1
    assert ("kernels" in found) is terminal


def test_kernels_of_one_pass_are_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven kernels in eight seconds, three of them after loading: 33 kernels take a quarter of a minute."""
    now = iter([0.0, 8.0, 16.0, 23.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with watched(33, lambda: "a hint") as watch:
        for done in (7, 14, 20):
            watch(done, 33)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("first", [4.0, 20.0])
def test_loading_is_no_work(first: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow first kernel does not stand for the others, unless it is slower than loading modules."""
    now = iter([0.0, first, first + 1, first + 2])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with watched(10, lambda: "a hint") as watch:
        for done in (1, 2, 3):
            watch(done, 10)
    assert stream.getvalue() == ("" if first == 4.0 else "about 2:30 in all; a hint\n")


SMALL_RUN = """
name: small
learner: svm
scale: zscore
train: 0.7
splits: 1
kernels: {gaussian: {tau: [1.0]}}
lam: {select: [0.1]}
criteria: [5-CV]
datasets: [sonar]
"""


@pytest.mark.parametrize("command", ["select", "run"])
def test_compiling_is_not_timed(
    command: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loops of a learner are there before the clock of a selection, or of a run, starts."""
    from click.testing import CliRunner

    from kselect.cli import choosing
    from kselect.cli.main import cli
    from kselect.learners.svm import compilation
    from kselect.run import scheduler

    said: list[str] = []

    def clock(*_: object) -> None:
        said.append("clock")
        raise KselectError("stop here")

    monkeypatch.setattr(compilation, "ensure_compiled", lambda: said.append("compile"))
    monkeypatch.setattr(choosing, "watched", clock)
    monkeypatch.setattr(scheduler, "Progress", clock)
    path = tmp_path / "small.yaml"
    path.write_text(SMALL_RUN)
    flags = ["-o", str(tmp_path / "out"), "--offline"]
    if command == "select":
        path = tmp_path / "my.csv"
        path.write_text("a,y\n" + "".join(f"{i * i % 17},{i % 2}\n" for i in range(40)))
        flags = ["--learner", "svm", "--tau", "1", "--lam", "0.1"]
    CliRunner().invoke(cli, [command, str(path), *flags])
    assert said == ["compile", "clock"]


def test_each_kernel_reports_its_progress() -> None:
    told: list[tuple[int, int]] = []
    asked = request()
    folds = make_folds(asked.method, 60, 0, None)
    select(X, Y, asked, folds, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SAMPLED", 40)
    said = nystrom_hint(X, Y, request())
    assert said.startswith("--nystrom 30 would take about 0:0")
    assert "on 40 rows 20 columns moved the score by " in said
    said = nystrom_hint(X, Y, request("quadratic-svr"))
    assert said == "fewer candidates take less time: --tau, --lam"


def test_in_the_command(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from kselect.cli.main import cli

    monkeypatch.setattr(progress, "LONG_SECONDS", -1.0)
    path = tmp_path / "my.csv"
    path.write_text("a,y\n" + "".join(f"{i * i % 17},{i % 2}\n" for i in range(40)))
    result = CliRunner().invoke(
        cli, ["select", str(path), "--tau", "1,2", "--lam", "0.1", "--json"]
    )
    assert "--nystrom 20 would take about" in result.stderr
    assert result.stdout.startswith("{")


def test_a_long_selection_names_a_faster_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "nystrom_hint", lambda *_: "fewer columns")
    for line, said in (("a faster one", "fewer columns; a faster one"), ("", "fewer columns")):
        monkeypatch.setattr(environment, "faster_blas", lambda *_, line=line: line)
        assert progress.time_hint(X, Y, request()) == said
