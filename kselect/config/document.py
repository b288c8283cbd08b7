"""Read YAML with line numbers: plain values, and the line on which each of them was written.

Scalars follow the core schema of YAML 1.2, not the 1.1 rules of PyYAML: ``1:10`` is text and not a number to base
60, ``1e-4`` is a number, ``no`` and ``2014-09-15`` are text. No tag creates an object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import yaml

from kselect.datasets.registry import DataSetInfo, find_dataset
from kselect.errors import ConfigError, brief, cut, printable, quoted
from kselect.files import read_regular, reason
from kselect.formats import CONFIG
from kselect.grids import LONGEST_NUMBER
from kselect.registry import Plugin

Location = tuple[str | int, ...]
LARGEST_FILE = 2**20
LONGEST_TEXT = 4096  # of a title, a name, a grid
MOST_VALUES = 10_000  # in a config; with ranges such as 2^-6:2^8 it is short
MOST_PROBLEMS = 50
UNCLOSED = ("while parsing a flow", "while scanning a quoted", "while scanning a simple key")
LONGEST_PROBLEM = 400
CORE = "tag:yaml.org,2002:"
SCALARS = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
}


class CoreLoader(yaml.SafeLoader):
    """A SafeLoader with the scalars of YAML 1.2; only its composer is used."""

    values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node; aliases are refused, because an alias to itself would never end."""
        self.values += 1
        if self.values > MOST_VALUES:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            text = f"more than {MOST_VALUES} values; write grids as ranges, as in 2^-6:2^8"
            raise yaml.composer.ComposerError(None, None, text, mark)
        if self.check_event(yaml.AliasEvent):
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            text = f"the alias *{quoted(event.anchor)[1:-1]} is not allowed; write the value out"
            raise yaml.composer.ComposerError(None, None, text, event.start_mark)
        return super().compose_node(parent, index)


CoreLoader.yaml_implicit_resolvers = {
    None: [(CORE + name, re.compile(f"(?:{rule})\\Z")) for name, rule in SCALARS.items()]
}


@dataclass
class Document:
    """A config as read: its values, the line of each, and the problems found so far.

    ``sources`` names the flags that replaced a key: a problem there has no line. ``own`` are the data sets that the
    config describes itself, ``plugins`` the files that it has loaded.
    """

    path: str
    data: Any = None
    lines: dict[Location, int] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)
    own: dict[str, DataSetInfo] = field(default_factory=dict)
    plugins: list[Plugin] = field(default_factory=list)

    def dataset(self, name: str) -> DataSetInfo:
        """Return the facts about a data set, from the config itself or from the registry."""
        return self.own[name] if name in self.own else find_dataset(name)

    def line(self, location: Location) -> int:
        """Return the line of a location, or of the nearest location around it that was written."""
        while location not in self.lines and location:
            location = location[:-1]
        return self.lines.get(location, 1)

    def wrong(self, location: Location, text: str, line: int | None = None) -> None:
        """Note a problem at a location, or on another ``line``."""
        flag = self.sources.get(str(location[0])) if location else None
        if flag:
            self.note(0, flag, text)
            return
        line = line or self.line(location)
        # As in criteria[2].eta
        keys = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in location)
        where = f"{keys.removeprefix('.')}: " if location else ""
        self.note(line, f"{self.path}:{line}", f"{where}{text}")

    def note(self, line: int, place: str, text: str) -> None:
        """Keep a problem as one line of limited length; after MOST_PROBLEMS, raise them all."""
        words = cut(printable(text), LONGEST_PROBLEM)
        self.problems.append((line, f"{printable(place)}: {words}"))
        if len(self.problems) > MOST_PROBLEMS:
            self.check()

    def check(self) -> None:
        """Raise all problems that were noted, one line each, in the order of the lines."""
        if self.problems:
            in_order = sorted(self.problems[:MOST_PROBLEMS], key=lambda problem: problem[0])
            told = list(dict.fromkeys(text for _, text in in_order))
            if len(self.problems) > MOST_PROBLEMS:
                told.append(f"{printable(self.path)}: and further problems")
            raise ConfigError("\n".join(told))


def read_text(path: Path) -> str:
    """Return the text of a config; raise ConfigError with the reason if it cannot be read."""
    shown, content = printable(path), b""
    try:
        content = read_regular(path, LARGEST_FILE)
        return content.decode("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{shown}: no such file") from None
    except IsADirectoryError:
        raise ConfigError(f"{shown}: is a folder, not a config file") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ConfigError(f"{shown}:{line}: not UTF-8 text; save the file as UTF-8") from None
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else error
        raise ConfigError(f"{shown}: cannot be read: {why}") from None


def read_document(path: Path) -> Document:
    """Return the values of a YAML file with their lines; a syntax error is a ConfigError.

    A later format is an OtherFormat, which no caller mistakes for an invalid config.
    """
    document = Document(str(path))
    text = read_text(path)
    try:
        node = compose(text)
        if node is None:
            raise ConfigError(f"{printable(path)}:1: the file is empty")
        document.data = value_of(node, (), document)
    except yaml.YAMLError as error:
        refuse(path, text, error)
    except RecursionError:
        raise ConfigError(f"{printable(path)}:1: not a config: it is nested too deeply") from None
    if isinstance(document.data, dict) and isinstance(document.data.get("format"), int):
        place = f"{document.path}:{document.line(('format',))}"
        CONFIG.check(place, document.data["format"], document.data.get("kselect"))
    return document


@lru_cache(maxsize=16)
def compose(text: str) -> yaml.Node | None:
    """Return the node of a YAML text; a report reads the same files for each of its variants."""
    loader = CoreLoader(text)
    try:
        node: yaml.Node | None = loader.get_single_node()
    except (ValueError, OverflowError):
        # As in the escape "\UFFFFFFFF", or in a YAML version of thousands of digits.
        why = "an escape or a number without meaning"
        raise yaml.scanner.ScannerError(None, None, why, loader.get_mark()) from None
    return node


def refuse(path: Path, text: str, error: yaml.YAMLError) -> NoReturn:
    """Raise a YAML syntax error as one line."""
    line, why = 1, str(error).partition("\n")[0]
    if isinstance(error, yaml.MarkedYAMLError):
        # The problem shows where the next line begins; the part that is not closed begins where the mistake is.
        within = error.context_mark if str(error.context).startswith(UNCLOSED) else None
        mark = within or error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        why = ", ".join(part for part in (error.context, error.problem) if part)
        if str(error.context).startswith(UNCLOSED[0]) and error.problem_mark:
            why += f" in line {error.problem_mark.line + 1}"
    elif isinstance(error, yaml.reader.ReaderError):
        line = text[: error.position].count("\n") + 1
        why = f"the character {text[error.position]!r} is not allowed"
    shown = cut(printable(why), LONGEST_PROBLEM)
    raise ConfigError(f"{printable(path)}:{line}: not valid YAML: {shown}") from None


def value_of(node: yaml.Node, location: Location, document: Document) -> Any:
    """Return the value of a node; note its line, and the lines of everything inside it."""
    document.lines.setdefault(location, node.start_mark.line + 1)
    if node.tag.removeprefix(CORE) not in {"map", "seq", "str", *SCALARS}:
        reject(node, f"the tag {brief(node.tag.replace(CORE, '!!'))} is not allowed")
    if isinstance(node, yaml.SequenceNode):
        return [value_of(v, (*location, i), document) for i, v in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        return scalar_of(node)
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != CORE + "str":
            is_scalar = isinstance(key_node, yaml.ScalarNode)
            shown = brief(key_node.value) if is_scalar else "a list or mapping"
            hint = "; within braces a list needs brackets, as in {tau: [0.5, 1, 2]}"
            document.wrong(location, f"a key must be a word, not {shown}{hint}", line)
            continue
        here = (*location, scalar_of(key_node))
        if here in document.lines:
            words = f"repeated; first on line {document.lines[here]}"
            document.wrong(here, words, line)
        else:
            document.lines[here] = line
            values[here[-1]] = value_of(value_node, here, document)
    return values


def reject(node: yaml.Node, text: str) -> NoReturn:
    """Report a node that is not allowed as a syntax error."""
    raise yaml.constructor.ConstructorError(None, None, text, node.start_mark)


def scalar_of(node: yaml.Node) -> Any:
    """Return text, a number, true, false or None; refuse half of a surrogate pair, which cannot be printed."""
    text, kind = str(node.value), node.tag.removeprefix(CORE)
    if kind == "str":
        if len(text) > LONGEST_TEXT:
            reject(node, f"a text of {len(text)} characters: {LONGEST_TEXT} at most")
        if found := re.search("[\ud800-\udfff]", text):
            reject(node, f"{found[0]!r} is half a character")
        return text
    if len(text) > LONGEST_NUMBER:
        reject(node, f"{text[:20]}... is too long for a number")
    if not re.fullmatch(SCALARS.get(kind, r"(?!)"), text):
        reject(node, f"{quoted(text)} does not fit the tag !!{kind}")
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "float":
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


class CoreDumper(yaml.SafeDumper):
    """A dumper that quotes text which YAML 1.1 or 1.2 would read as something else."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write out equal values each time."""
        return True


CoreDumper.yaml_implicit_resolvers = {
    **yaml.SafeDumper.yaml_implicit_resolvers,
    **CoreLoader.yaml_implicit_resolvers,
}


def write_yaml(pairs: Iterable[tuple[str, Any]]) -> str:
    """Return pairs as YAML in the order given, short lists on one line; ``read_document`` reads it."""
    return yaml.dump(
        dict(pairs),
        Dumper=CoreDumper,
        sort_keys=False,
        default_flow_style=None,
        allow_unicode=True,
        width=100,
    )
