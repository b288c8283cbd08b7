"""What a practitioner types about a table of one's own: names, formats, ids, test rows, and what a model is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from kselect.cli.main import cli
from kselect.errors import KselectError

N = 60
GRID = ("--tau", "1,4", "--lam", "1e-2:1e-1")


def write(path: Path, n: int = N, seed: int = 0, delimiter: str = ",") -> Path:
    """Write a regression with an id per row and a group of five rows each."""
    rng = np.random.default_rng(seed)
    lines = [delimiter.join(("key", "x", "z", "y"))]
    for i in range(n):
        x, z = rng.normal(size=2)
        lines.append(delimiter.join((f"k{i}", f"{x:.6f}", f"{z:.6f}", f"{np.sin(x) + z:.5f}")))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "my.csv")


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run a command that succeeds."""
    result = CliRunner().invoke(cli, list(arguments), input=stdin)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def refusal(*arguments: str, stdin: bytes | None = None) -> str:
    """Return the message of a command that fails, which is one line."""
    result = CliRunner().invoke(cli, list(arguments), input=stdin)
    assert isinstance(result.exception, KselectError), (result.output, result.exception)
    assert "\n" not in str(result.exception)
    return str(result.exception)


def selected(*arguments: str) -> Any:
    """Return the object of ``select --json`` without its times."""
    found = json.loads(run("select", *arguments, *GRID, "--json").stdout)
    return {k: v for k, v in found.items() if not k.startswith("seconds")}


def test_rbf_is_the_gaussian_kernel() -> None:
    named = selected("my.csv", "--kernel", "rbf")
    assert named == selected("my.csv", "--kernel", "gaussian")
    assert named["kernel"] == "gaussian"


def test_a_grid_by_decades() -> None:
    scores = json.loads(run("select", "my.csv", "--tau", "1", "--lam", "1e-3:1e0", "--json").stdout)
    assert [s["lam"] for s in scores["scores"]] == [1e-3, 1e-2, 0.1, 1.0]
