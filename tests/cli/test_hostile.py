"""Hostile files and grids given to ``select``: one line each."""

from __future__ import annotations

import bz2
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kselect.cli.main import cli

Refused = Callable[..., list[str]]
ROWS = "a,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(40))


BOMB = bz2.compress(bytes(2**24 + 1))


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "my.csv").write_text(ROWS)
    (tmp_path / "bomb.svm.bz2").write_bytes(BOMB)
    (tmp_path / "wide.svm").write_bytes(b"1 1:1\n-1 1000000:1\n" * 100_000)
    os.mkfifo(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("pipe", "pipe: is a pipe, not a file"),
        ("/dev/zero", "/dev/zero: is a device, not a file"),
        ("bomb.svm.bz2", "bomb.svm.bz2: unpacked, it is too large: more than 16777216 bytes"),
        (
            "wide.svm",
            "wide.svm: 200000 rows x 1000000 features need 4470.3 GiB of memory as 3 matrices; ",
        ),
        ("my.csv --folds pipe", "pipe: is a pipe, not a file"),
        ("my.csv --folds /dev/zero", "/dev/zero: is a device, not a file"),
        (
            "my.csv --tau 1:10000 --lam 1:1000",
            "10000000 candidates (kernels times ridges) are too many: 1000000 at most",
        ),
        ("my.csv --lam 1:10001", "lam: '1:10001' has more than 10000 values"),
        (
            "my.csv --criterion BIF-5-CV --param order=10001",
            "order must be at most 10000, not '10001'",
        ),
        (
            "my.csv --criterion BIF-5-CV --param order=1e308",
            "order must be at most 10000, not '1e308'",
        ),
    ],
)
def test_one_line(refused: Refused, typed: str, said: str) -> None:
    (line,) = refused("select", *typed.split())
    assert line.startswith(f"error: {said}")


def test_class_names_do_not_colour_a_terminal(tmp_path: Path) -> None:
    rows = ROWS.replace(",0\n", ",\x1b[31mno\n").replace(",1\n", "," + "yes" * 100 + "\n")
    (tmp_path / "named.csv").write_text(rows)
    run = CliRunner().invoke(
        cli, ["select", str(tmp_path / "named.csv"), "--tau", "1", "--lam", "1"]
    )
    assert run.exit_code == 0, run.output
    assert r"classes \x1b[31mno, yesyes" in run.output
    assert "\x1b" not in run.output
    assert max(map(len, run.output.splitlines())) < 300
