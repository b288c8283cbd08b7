"""What a selection says while it runs: nothing for a moment, a bar for more, one hint for a long one."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import kselect.cli.watching as watching
from kselect.cli.watching import Watch, nystrom_hint
from kselect.core.method import Choice
from kselect.selection.engine import select
from kselect.selection.request import Request, make_folds, make_kernels, make_lams, make_method

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.sign(X[:1].T @ X[:1] @ X.T)[:1] + 0.0


def request(learner: str = "krr") -> Request:
    """Three kernels."""
    method = make_method("5-CV", None, {}, True)
    return Request(
        Choice(learner), make_kernels("gaussian", {"tau": "1,2,4"}), make_lams("0.1"), method
    )


def watched(seconds: float, terminal: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    """What three kernels of so many seconds each have said."""
    now = iter([0.0, seconds, 2 * seconds, 3 * seconds])
    monkeypatch.setattr(watching.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(watching, "is_terminal", lambda stream: terminal)
    stream = io.StringIO()
    watch = Watch(lambda: "a hint", stream)
    for done in (1, 2, 3):
        watch(done, 3)
    return stream.getvalue()


def test_a_moment_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched(0.5, True, monkeypatch) == ""


def test_a_bar_that_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    said = watched(2.0, True, monkeypatch)
    assert "1/3 kernels, 0:02 passed, 0:04 left" in said
    assert said.endswith("\r\x1b[K")
    assert "hint" not in said


@pytest.mark.parametrize("terminal", [True, False])
def test_a_hint_above_a_minute(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said = watched(30.0, terminal, monkeypatch)
    assert said.startswith("about 1:30 in all; a hint\n")
    assert said.count("hint") == 1
    assert ("kernels" in said) is terminal


def test_each_kernel_is_told() -> None:
    told: list[tuple[int, int]] = []
    asked = request()
    folds = make_folds(asked.method, 60, 0, None)
    select(X, Y, asked, folds, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "SAMPLED", 40)
    said = nystrom_hint(X, Y, request())()
    assert said.startswith("--nystrom 30 would take about 0:0")
    assert "on 40 rows 20 columns moved the score by " in said
    said = nystrom_hint(X, Y, request("quadratic-svr"))()
    assert said == "fewer candidates take less: --tau, --lam"


def test_in_the_command(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from kselect.cli.main import cli

    monkeypatch.setattr(watching, "LONG_SECONDS", -1.0)
    path = tmp_path / "my.csv"
    path.write_text("a,y\n" + "".join(f"{i * i % 17},{i % 2}\n" for i in range(40)))
    result = CliRunner().invoke(
        cli, ["select", str(path), "--tau", "1,2", "--lam", "0.1", "--json"]
    )
    assert "--nystrom 20 would take about" in result.stderr
    assert result.stdout.startswith("{")
