"""Debian's chromium with pages of a small experiment and of the committed results; a skip where it is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from synthetic import full_experiment, full_records, study

from kselect.core.method import Setting
from kselect.report.front import make_entry, write_index
from kselect.report.page import write_report
from kselect.stats.sources import Published

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = (
    *("--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
LIMIT = 20_000  # milliseconds for any single step
THEIRS = tuple(
    Published("1", "heart", method, Setting(value=0.001), mean, 2.0, "sd")
    for method, mean in (("5-CV", 17.0), ("BR", 12.0))
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start chromium once, with a new profile."""
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("playwright is not installed: make test-browser installs it")
    if not CHROMIUM:
        pytest.skip("chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        found = tool.chromium.launch(
            executable_path=CHROMIUM, args=[*FLAGS], chromium_sandbox=False, timeout=60_000
        )
        yield found
        found.close()


@pytest.fixture
def console() -> list[str]:
    """Collect what pages write to the console, and errors of their scripts."""
    return []


@pytest.fixture
def view(browser: Any, console: list[str]) -> Iterator[Any]:
    """Return a function that opens a file at a width, light or dark; the console stays empty."""
    contexts = []

    def opened(path: Path, width: int = 1200, scheme: str = "light", place: str = "") -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        context.set_default_timeout(LIMIT)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: console.append(message.text))
        page.on("pageerror", lambda error: console.append(str(error)))
        page.goto(path.as_uri() + place, timeout=LIMIT)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert console == []


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of a small experiment and a front page; return their folder."""
    folder = tmp_path_factory.mktemp("pages")
    spec = full_experiment(datasets=("heart", "sonar", "a2a"), splits=(0, 1))
    found = study(spec, full_records(spec), published=THEIRS)
    write_report(found, folder / "one", home="../index.html", standalone=True)
    entry = make_entry(found, "one/report.html")
    write_index([entry], folder / "index.html")
    write_index([entry] * 3, folder / "many.html")
    return folder


@pytest.fixture(scope="session")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the pages of a choice among two classes and of a regression; return their folder."""
    folder = tmp_path_factory.mktemp("choices")
    for name, load in (("classes", load_breast_cancer), ("numbers", load_diabetes)):
        table = load(as_frame=True).frame.iloc[:150]
        table.to_csv(folder / f"{name}.csv", index=False)
        flags = ["--kernel", "gaussian", "--compare", "5-CV,ELOO", "--report", f"{name}.html"]
        command = [sys.executable, "-m", "kselect", "select", f"{name}.csv", *flags]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the script of axe-core, which ``make test-browser`` installs with its checksum."""
    path = Path(os.environ.get("KSELECT_AXE", ROOT / ".venv/axe/axe.min.js"))
    if not path.is_file():
        pytest.skip("axe-core is not installed: make test-browser installs it with npm")
    return path.read_text(encoding="utf-8")
