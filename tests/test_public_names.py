"""The public names: listed, loaded lazily, typed, and documented with examples that run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import kselect

PUBLIC = sorted(set(kselect.__all__) - {"__version__"})
SECTIONS = {
    "KernelSelectClassifierCV": ["Parameters", "Attributes"],
    "read_table": ["Parameters", "Returns"],
}
SECTIONS["KernelSelectRegressorCV"] = SECTIONS["KernelSelectClassifierCV"]


def test_listed() -> None:
    assert dir(kselect) == sorted(kselect.__all__)
    for name in kselect.__all__:
        assert getattr(kselect, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'select_kernel'"):
        kselect.select_kernel  # noqa: B018 - the access is the test
    with pytest.raises(ImportError):
        importlib.import_module("kselect.nothing")


def test_typed() -> None:
    assert (Path(kselect.__file__).parent / "py.typed").is_file()


def test_loaded_lazily() -> None:
    code = (
        "import sys, kselect; dir(kselect); print('numpy' in sys.modules, 'sklearn' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False False\n"


@pytest.mark.parametrize("name", PUBLIC)
def test_documented(name: str) -> None:
    """Every public name has numpydoc sections and an example that runs."""
    public = getattr(kselect, name)
    text = inspect.getdoc(public) or ""
    for section in [*SECTIONS.get(name, []), "Examples"]:
        assert f"\n{section}\n{'-' * len(section)}\n" in text
    (test,) = doctest.DocTestFinder(recurse=False).find(public, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = doctest.DocTestRunner().run(test)
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize("name", [n for n in PUBLIC if n.endswith("CV")])
def test_every_parameter_is_documented(name: str) -> None:
    public = getattr(kselect, name)
    text = inspect.getdoc(public).partition("Parameters\n")[2].partition("Attributes\n")[0]
    documented = [
        word.strip()
        for line in text.splitlines()
        if " : " in line and not line.startswith(" ")
        for word in line.partition(" : ")[0].split(",")
    ]
    assert set(documented) == set(inspect.signature(public).parameters)
