"""The folder in which the tests of configs work."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the test's own folder, so that messages contain paths as typed."""
    monkeypatch.chdir(tmp_path)
