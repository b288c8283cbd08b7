"""Keep the English, the names, the folders and the README from growing back.

The list below finds habits of translated prose, not errors: a sentence that passes may still be unclear.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "kselect").rglob("*.py"))
HABITS = re.compile(
    "|".join(
        (
            r"\b(is said|are said|says? of|says so|to be said|is told|said of|speaks? of)\b",
            r"(^|[.;:] )(What|Who|Whoever|All that|That which)\b",
            r"\b([Ss]o many|[Ss]o much|[Aa]s many|[Tt]hat many)\b",
            r"\b(is|be|was|were) had\b",
            r"\b([Tt]hat which|[Tt]hose of|[Tt]hat of)\b",
            r"\b(is none|are none|is no \w+|are no \w+)\b",
            r"\b(seconds|lines?|points?|rows?|records?|files?|bytes?|times) a "
            r"(data|kernel|worker|row|split|job|fold|set|width|class|value|page|step|run|cell|ridge|search|column)\b",
            r", (however|whatever|whichever|whoever|be it)\b",
            r"\balone\b",
            r"\bby (flags|all|hand|itself|themselves|its|their|name|C|ours|what|one)\b",
            r"\b(anew|beside|goes on|go on|under way|at hand|in hand|by now|nor may|seldom|is there already)\b",
            r"\bwhere (it|they|there|that|one|none|nobody|somebody|all|some|nothing)\b",
        )
    )
)
MOST_PERCENT = 2.0


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, without code and tables."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    text = re.sub(r"^\|.*$|^    .*$", "", text, flags=re.M)
    found = re.split(r"(?<=[.:;!?])\s+(?=[A-Z`*])", " ".join(text.split()))
    return [sentence for sentence in found if len(sentence) > 12]


def docstrings() -> Iterator[str]:
    """Yield every docstring sentence of the package."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, documented):
                yield from sentences(ast.get_docstring(node) or "")


def documents() -> Iterator[str]:
    """Yield every sentence of the Markdown documents that people write."""
    patterns = ("README.md", "results/*/README.md", "configs/*.md", "data/*.md", ".github/*.md")
    for pattern in (*patterns, "kselect/**/*.md", "tests/**/*.md"):
        for path in ROOT.glob(pattern):
            yield from sentences(path.read_text(encoding="utf-8"))


def check_habits(found: list[str]) -> None:
    """Fail if too many sentences have a habit of translated prose, and show the first ones."""
    translated = [sentence for sentence in found if HABITS.search(sentence)]
    assert found
    assert 100 * len(translated) <= MOST_PERCENT * len(found), "\n".join(translated[:20])


def test_docstrings_read_as_english() -> None:
    """At most two percent of the docstring sentences have a habit of translated prose."""
    check_habits(list(docstrings()))


def test_documents_read_as_english() -> None:
    """The same holds for the documents."""
    check_habits(list(documents()))


def test_habits_are_found() -> None:
    """The list still recognises what it was made for."""
    assert HABITS.search("What has failed is not tried anew.")
    assert not HABITS.search("Cache failures, so that later criteria do not repeat the attempt.")


def defined_types(path: Path) -> Iterator[str]:
    """Yield the classes and type aliases that a module defines."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(name := node.targets[0], ast.Name):
            yield from re.findall(r"^[A-Z][a-z]\w+$", name.id)


def test_a_type_name_has_one_meaning() -> None:
    """At most six type names are defined in more than one module."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for name in defined_types(path):
            places[name].append(str(path.relative_to(ROOT)))
    several = {name: found for name, found in places.items() if len(found) > 1}
    assert len(several) <= 6, several


def test_no_folder_is_crowded() -> None:
    """A folder listing reads as a table of contents: at most 22 modules."""
    counts = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    crowded = {str(folder.relative_to(ROOT)): n for folder, n in counts.items() if n > 22}
    assert crowded == {}


def test_the_readme_stays_short() -> None:
    """The README has at most 250 lines and 2,000 words; its head shows the two commands."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    head = "\n".join(text.splitlines()[:10])
    assert text.count("\n") <= 250
    assert len(text.split()) <= 2000
    assert "make quickstart" in head
    assert "make test" in head
