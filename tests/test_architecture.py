"""The rules that keep the package readable, read off its syntax trees."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kselect"
MODULES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}

PARTS = {"datasets", "kernels", "learners", "criteria", "search", "losses", "folds", "linalg"}
STAGES = {
    "config",
    "plan",
    "run",
    "store",
    "stats",
    "report",
    "cli",
    "commands",
    "gather",
    "workers",
    "trial",
    "timing",
}
# What is imported under another name than it is installed.
DISTRIBUTIONS = {"yaml": "pyyaml", "sklearn": "scikit-learn", "pydantic_core": "pydantic"}

EVERY = pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, anywhere in it, by its full name."""
    package = ["kselect", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def place(path: Path) -> str:
    """``kselect/learners/krr.py`` -> ``learners``."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@EVERY
def test_parts_do_not_import_stages(path: Path) -> None:
    """What is computed does not know when or why."""
    if place(path) in PARTS:
        used = {name.split(".")[1] for name in imports(path) if name.startswith("kselect.")}
        assert not used & STAGES


def test_parts_are_where_they_are_thought_to_be() -> None:
    """The rule above is not empty."""
    assert {place(p) for p in MODULES} >= PARTS | STAGES


@EVERY
def test_names_and_lengths(path: Path) -> None:
    """No drawer for everything, and no module that cannot be read at a sitting."""
    assert path.stem not in {"utils", "util", "helpers", "helper", "common", "misc"}
    assert len(path.read_text(encoding="utf-8").splitlines()) < 300


def undocumented(node: ast.AST, prefix: str = "") -> Iterator[str]:
    """Public functions, classes and methods without a docstring."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if child.name.startswith("_"):
            continue
        if not ast.get_docstring(child):
            yield f"{prefix}{child.name}"
        if isinstance(child, ast.ClassDef):
            yield from undocumented(child, f"{child.name}.")


@EVERY
def test_everything_public_is_documented(path: Path) -> None:
    """The module, and what is public in it."""
    assert ast.get_docstring(TREES[path])
    assert list(undocumented(TREES[path])) == []


@EVERY
def test_no_bare_except(path: Path) -> None:
    """``except:`` would take Ctrl-C for a failure."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"line {node.lineno}"


def declared(requirements: list[str]) -> set[str]:
    """The names of requirements."""
    found = (re.match(r"[A-Za-z0-9_.-]+", text) for text in requirements)
    return {match[0].lower().replace("_", "-") for match in found if match}


def third_party() -> dict[str, set[str]]:
    """Distribution -> the modules of kselect that import it."""
    found: dict[str, set[str]] = {}
    for path in MODULES:
        for name in {full.split(".")[0] for full in imports(path)}:
            if name not in sys.stdlib_module_names and name != "kselect":
                found.setdefault(DISTRIBUTIONS.get(name, name), set()).add(place(path))
    return found


def test_what_is_imported_is_declared() -> None:
    """In the dependencies, or in the extra for dask, which workers.py alone imports."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    always = declared(project["dependencies"])
    extra = declared(project["optional-dependencies"]["dask"])
    used = third_party()
    assert set(used) <= always | extra
    for name in extra & set(used):
        assert used[name] == {"workers"}


def test_command_line_starts_light() -> None:
    """``kselect --help`` waits for no numerical library."""
    heavy = ("numpy", "scipy", "pandas", "matplotlib", "sklearn")
    code = f"import sys, kselect.cli; print([m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_shown_paths_of_tests_mirror_the_package() -> None:
    """Every parts folder has its tests."""
    for folder in ("criteria", "datasets", "kernels", "learners", "search"):
        assert list((ROOT / "tests" / folder).glob("test_*.py")), folder
