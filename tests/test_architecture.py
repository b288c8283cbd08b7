"""Rules that keep the package readable, checked on its syntax trees."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kselect"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Every entry at the root of the package, lowest first: a module may import from lower lines and from its own
# folder. Parts come before stages, so that a computation does not depend on when or why it runs.
LAYERS = (
    {"errors"},
    {"grids", "files", "formats", "packaged"},
    {"numerics"},
    {"registry"},
    {"plugins"},
    {"kernels", "datasets"},
    {"learners"},
    {"criteria"},
    {"core"},
    {"search"},
    {"estimators"},
    {"contract"},
    {"config"},
    {"plan"},
    {"run"},
    {"store"},
    {"stats"},
    {"report"},
    {"timing", "selection", "judge"},
    {"cli"},
    {"__init__", "__main__"},
)
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}
# Packages whose import name differs from their distribution name.
DISTRIBUTIONS = {
    "fontTools": "fonttools",
    "pydantic_core": "pydantic",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


@functools.cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a module, parsed only if a test needs it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def offences(of: Callable[[Path], Collection[object]]) -> dict[str, Collection[object]]:
    """Return the offences of each module against a rule."""
    found = {str(path.relative_to(PACKAGE)): of(path) for path in MODULES}
    return {name: wrong for name, wrong in found.items() if wrong}


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the full name of every module that a file imports, anywhere in it."""
    return tuple(imports_in(path))


def imports_in(path: Path) -> Iterator[str]:
    """Yield the imports of a file in order."""
    package = ["kselect", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def place(path: Path) -> str:
    """Return the entry of a module: ``kselect/learners/krr.py`` -> ``learners``."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def rooms(path: Path) -> set[str]:
    """Return the entries at the root of the package that a module imports from."""
    names = (name.split(".") for name in imports(path))
    return {parts[1] for parts in names if parts[0] == "kselect" and len(parts) > 1} & set(LEVELS)


def test_every_entry_has_a_layer() -> None:
    """The layers list every entry, and only existing ones."""
    entries = {place(p) for p in MODULES}
    assert entries == set(LEVELS)


def imported_from_above(path: Path) -> set[str]:
    """Return the imported entries on the same layer as a module, or above."""
    here = place(path)
    return {r for r in rooms(path) if LEVELS[r] >= LEVELS[here] and r != here}


def test_modules_import_lower_layers_only() -> None:
    """Errors are below numbers, numbers below parts, parts below stages, also for imports inside functions."""
    assert offences(imported_from_above) == {}


def modules_of(path: Path) -> set[str]:
    """Return the modules of the package that a module imports."""
    return {name for name in imports(path) if name in NAMES} - {name_of(path)}


def name_of(path: Path) -> str:
    """Return the full name: ``kselect/learners/primal.py`` -> ``kselect.learners.primal``."""
    return ".".join(["kselect", *path.relative_to(PACKAGE).with_suffix("").parts])


NAMES = frozenset(map(name_of, MODULES))


def test_no_circular_imports() -> None:
    """The modules do not import each other in a circle, including imports in functions and for types only."""
    graphlib.TopologicalSorter({name_of(p): modules_of(p) for p in MODULES}).prepare()


def shadows(path: Path) -> set[str]:
    """Return the standard modules with the name of a module or of one of its folders."""
    names = {path.stem, *path.relative_to(PACKAGE).parts[:-1]} - {"__init__", "__main__"}
    return names & sys.stdlib_module_names


def test_nothing_shadows_the_standard_library() -> None:
    """No module has the name of a standard one: inside such a folder, Python could not start a process."""
    assert offences(shadows) == {}


def too_long(path: Path) -> list[int]:
    """Return the number of lines if it is too large."""
    lines = len(path.read_text(encoding="utf-8").splitlines())
    return [lines] if lines > 400 else []


def test_names_and_lengths() -> None:
    """No module has a catch-all name or is too long to read in one go."""
    drawers = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert offences(lambda path: drawers & {path.stem}) == {}
    assert offences(too_long) == {}


def undocumented(node: ast.AST, prefix: str = "") -> Iterator[str]:
    """Return the public functions, classes and methods without a docstring."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if child.name.startswith("_"):
            continue
        if not ast.get_docstring(child):
            yield f"{prefix}{child.name}"
        if isinstance(child, ast.ClassDef):
            yield from undocumented(child, f"{child.name}.")


def test_everything_public_is_documented() -> None:
    """Every module has a docstring, and so has everything public in it."""
    assert offences(lambda path: [] if ast.get_docstring(tree(path)) else ["itself"]) == {}
    assert offences(lambda path: list(undocumented(tree(path)))) == {}


def bare_excepts(path: Path) -> list[int]:
    """Return the lines with ``except:``."""
    handlers = (n for n in ast.walk(tree(path)) if isinstance(n, ast.ExceptHandler))
    return [node.lineno for node in handlers if node.type is None]


def test_no_bare_except() -> None:
    """No module has a bare ``except:``, which would treat Ctrl-C as a failure."""
    assert offences(bare_excepts) == {}


def declared(requirements: list[str]) -> set[str]:
    """Return the names of requirements."""
    found = (re.match(r"[A-Za-z0-9_.-]+", text) for text in requirements)
    return {match[0].lower().replace("_", "-") for match in found if match}


def third_party() -> dict[str, set[str]]:
    """Return distribution -> the modules of kselect that import it."""
    found: dict[str, set[str]] = {}
    for path in MODULES:
        for name in {full.split(".")[0] for full in imports(path)}:
            if name not in sys.stdlib_module_names and name != "kselect":
                found.setdefault(DISTRIBUTIONS.get(name, name), set()).add(place(path))
    return found


def test_what_is_imported_is_declared() -> None:
    """Every import is in the dependencies, or in an extra, which only some folders import."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    always = declared(project["dependencies"])
    extras = {
        "dask": {"run", "selection", "cli"},
        "excel": {"datasets"},
        "slurm": {"run"},
        "parquet": {"datasets"},
    }
    used, known = third_party(), set(always)
    for extra, folders in extras.items():
        names = declared(project["optional-dependencies"][extra])
        known |= names
        for name in names & set(used):
            assert used[name] <= folders
    assert set(used) <= known
    for line in (*project["dependencies"], *project["optional-dependencies"]["dev"]):
        assert re.match(r"[A-Za-z0-9-]+>=[0-9.]+(,|$)", line), line  # make test-lowest reads it


def test_help_imports_no_numerical_library() -> None:
    """``kselect --help`` imports no numerical library."""
    heavy = ("numpy", "scipy", "pandas", "matplotlib", "sklearn", "numba")
    code = f"import sys, kselect.cli.main; print([m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_folders_mirror_the_package() -> None:
    """Every folder of the package has a folder of tests."""
    for folder in ("criteria", "datasets", "kernels", "learners", "search"):
        assert list((ROOT / "tests" / folder).glob("test_*.py")), folder
