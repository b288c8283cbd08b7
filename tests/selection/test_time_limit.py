"""A limit of time: what is looked at first, what is chosen from it, and what the output says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import kselect.selection.time_limit as time_limit
from kselect.cli.main import cli
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.laplacian import Laplacian
from kselect.kernels.weighted import Weighted
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.selection.candidates.families import Rows, make_candidates
from kselect.selection.engine import select
from kselect.selection.request import Request, make_request
from kselect.selection.time_limit import by_turns


def problem() -> tuple[Array, Array]:
    """Return rows and their target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=50)


def request(X: Array, y: Array, **more: Any) -> Request:
    """Return the default request of a regression."""
    found = make_candidates(("auto",), {}, Rows(X, y[None]))
    more = {"growing": found.growing, "search": "pruned", **more}
    given: dict[str, Any] = {"task": "regression", "params": {}, "loss": None, "ensemble": "auto"}
    return make_request("lssvm", "5-CV", "auto", found.kernels, "1e-4:1e0", **given, **more)


def clock(patch: pytest.MonkeyPatch) -> None:
    """Let a second pass whenever the time is asked for."""
    now = iter(range(10**6))
    patch.setattr(time_limit, "perf_counter", lambda: float(next(now)))


def test_families_take_turns() -> None:
    kernels = (
        *(Gaussian(2.0**i) for i in range(3)),
        Laplacian(1.0),
        *(Weighted(Gaussian(2.0**i), (1.0, 2.0), 1.0) for i in range(2)),
    )
    assert by_turns(kernels) == [3, 1, 5, 0, 4, 2]


@pytest.mark.parametrize("search", ["grid", "pruned"])
def test_the_best_of_what_was_looked_at(monkeypatch: pytest.MonkeyPatch, search: str) -> None:
    """The result is that of a search over the first kernels only."""
    X, y = problem()
    folds = draw_folds(50, 5, stream(0, "folds"))
    whole = request(X, y, search=search)
    with monkeypatch.context() as patch:
        clock(patch)
        found = select(X, y[None], replace(whole, time_limit=6.0), folds)
    seen = [whole.kernels[i] for i in by_turns(whole.kernels)][:6]
    assert set(found.unseen) == set(whole.kernels) - set(seen)
    assert found.request.kernels == whole.kernels
    few = tuple(kernel for kernel in whole.kernels if kernel in seen)
    expected = select(X, y[None], replace(whole, kernels=few, growing=frozenset()), folds)
    assert [m.point for m in found.members] == [m.point for m in expected.members]
    assert found.score == pytest.approx(expected.score)
    rows = [whole.kernels.index(kernel) for kernel in found.unseen]
    assert np.isnan(found.scores[rows]).all()


def test_time_enough_changes_nothing() -> None:
    X, y = problem()
    folds = draw_folds(50, 5, stream(0, "folds"))
    whole = request(X, y)
    expected = select(X, y[None], whole, folds)
    found = select(X, y[None], replace(whole, time_limit=1e6), folds)
    assert not found.unseen
    assert [m.point for m in found.members] == [m.point for m in expected.members]
    assert found.grown == expected.grown


def test_the_command_says_what_was_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = problem()
    lines = [",".join(f"{v:.6f}" for v in [*row, t]) for row, t in zip(X, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,y", *lines]) + "\n")
    clock(monkeypatch)
    typed = ["select", str(tmp_path / "t.csv"), "--time-limit", "4"]
    text = CliRunner().invoke(cli, typed, catch_exceptions=False).output
    assert "time limit: 28 of 32 kernels not looked at (" in text
    assert "ensemble=1" in text.partition("fit it:")[2]
    found = json.loads(CliRunner().invoke(cli, [*typed, "--json"], catch_exceptions=False).output)
    assert len({s["kernel"] for s in found["scores"]}) == 3
    assert found["not_looked_at"].startswith("28 of 32")
    for more, words in (
        (["--compare"], "--compare looks at every kernel: leave out --time-limit"),
        (["--nystrom", "9"], "one pass over the rows serves all kernels"),
        (["--kernel", "ard"], "the kernel ard is learned in one search: leave out the time limit"),
    ):
        ran = CliRunner().invoke(cli, [*typed, *more])
        assert words in str(ran.exception)
