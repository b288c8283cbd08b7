"""Fixtures for commands that run in the test process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from experiments import write_config

from kselect.cli.main import LONGEST_LINE, main


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., list[str]]:
    """Return a function that runs a command in this process and returns its error lines."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KSELECT_DATA_DIR", "cache")
    write_config(tmp_path)

    def call(*typed: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["kselect", *typed])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capfd.readouterr()
        assert (caught.value.code, out) == (2, "")
        for line in (lines := err.split("\n")[:-1]):
            assert line.startswith("error: ")
            assert line.isprintable()
            assert len(line) <= LONGEST_LINE
        return lines

    return call
