"""Papers as data: read ``published/<paper>.yaml`` and check everything that it refers to.

A paper is looked for in the folder ``published`` next to the config, then among the papers that come with kselect.
Its claims and the rows of its table, ``<paper>.csv``, must agree with the config that names the paper. Each mistake
is one line with the file, the line, the key, and the nearest valid name.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kselect.config.claim_entries import Scope, read_claims, scope_of
from kselect.config.document import Document, read_document, read_text
from kselect.config.schema import ConfigFile
from kselect.config.validators import as_text, attempt, describe, folder_name
from kselect.core.claim import Claim, Paper
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError, nearest, quoted
from kselect.packaged import packaged

FOLDER = "published"
COLUMNS = ("paper", "table", "dataset", "method", "setting", "mean", "spread", "spread_kind")
SPREADS = ("sd", "se", "seconds", "count")
TEXTS = ("title", "venue", "doi", "url")
LISTS = ("authors", "printed-only", "plain", "remarks", "main")
KEYS = (*TEXTS, "year", "splits", "splits-of", "aliases", "informative", "notes", *LISTS, "claims")


def paper_file(name: str, config: Path, ending: str = ".yaml") -> Path:
    """Return the file of a paper: next to the config, or else among those that come with kselect.

    The table of a paper (``.csv``) is in the folder of its YAML file.
    """
    beside = config.parent / FOLDER
    folder = beside if (beside / f"{name}.yaml").is_file() else packaged(FOLDER)
    with suppress(ValueError):
        folder = folder.resolve().relative_to(Path.cwd())
    return folder / f"{name}{ending}"


def own_files(name: str, config: Path) -> tuple[Path, ...]:
    """Return the files of a paper that does not come with kselect."""
    found = (paper_file(name, config, ending) for ending in (".yaml", ".csv"))
    home = packaged(FOLDER).resolve()
    return tuple(f for f in found if f.is_file() and f.resolve().parent != home) if name else ()


def read_source(
    document: Document, config: ConfigFile, checked: bool = True
) -> tuple[Paper | None, tuple[Claim, ...]]:
    """Return the paper of a config, if it names one, and all claims about it, the paper's first.

    Without ``checked``, a claim may refer to a method or figure that the config does not have.
    """
    scope = scope_of(config, document, checked)
    paper = find_paper(config.paper, document, scope) if config.paper else None
    claims = paper.claims if paper else ()
    if paper:
        scope = replace(scope, printed=paper.printed_only)
    own = read_claims(document, scope, claims)
    document.check()
    return paper, (*claims, *own)


def find_paper(name: str, document: Document, scope: Scope) -> Paper:
    """Return the paper of a name, or raise one ConfigError with all mistakes of its files."""
    valid = attempt(folder_name, name)[0]
    path = paper_file(valid, Path(document.path)) if valid else Path()
    if not path.is_file():
        folders = (Path(document.path).parent / FOLDER, packaged(FOLDER))
        known = sorted(p.stem for folder in folders for p in folder.glob("*.yaml"))
        document.wrong(("paper",), f"unknown paper {quoted(name)}{nearest(name, known)}")
        document.check()
    written, table = read_document(path), read_table(path.with_suffix(".csv"))
    paper = PaperFile(written).paper(name)
    check_references(paper, written, scope, table)
    mine = replace(
        scope,
        printed=paper.printed_only,
        tables=table.values("table"),
    )
    claims = read_claims(written, mine)
    ids = [claim.id for claim in claims]
    for i, claim in enumerate(paper.main):
        if claim not in ids:
            written.wrong(
                ("main", i), f"{quoted(claim)} is the id of no claim{nearest(claim, ids)}"
            )
    check_rows(paper, table, mine)
    check_all(written, table.document)
    return replace(paper, claims=claims, unmatched=tuple(unmatched(paper, table, mine)))


class PaperFile:
    """The YAML file of a paper as read, with a method per form of key; problems are noted in the document."""

    def __init__(self, document: Document) -> None:
        if not isinstance(document.data, dict):
            shown = describe(document.data)
            document.wrong((), f"a paper is a mapping (title: ..., claims: ...), not {shown}")
            document.check()
        self.document, self.written = document, document.data
        for key in self.written:
            if key not in KEYS:
                document.wrong((key,), f"unknown key{nearest(key, KEYS)}")
        if "title" not in self.written:
            document.wrong((), "title: this key is missing")

    def paper(self, name: str) -> Paper:
        """Return everything but the claims."""
        return Paper(
            name,
            *(self.text("title"), self.texts("authors"), self.text("venue")),
            self.count("year") if "year" in self.written else None,
            *(self.text("doi"), self.text("url")),
            self.count("splits") if "splits" in self.written else Paper.splits,
            {dataset: self.count("splits-of", dataset) for dataset in self.names("splits-of")},
            {column: self.text("aliases", column) for column in self.names("aliases")},
            self.texts("printed-only"),
            self.texts("plain") if "plain" in self.written else Paper.plain,
            {dataset: self.features(dataset) for dataset in self.names("informative")},
            self.texts("remarks"),
            {method: self.text("notes", method) for method in self.names("notes")},
            self.texts("main"),
        )

    def value(self, *keys: str) -> Any:
        """Return what is written under some keys, None if nothing is."""
        found = self.written
        for key in keys:
            found = found.get(key)
        return found

    def names(self, key: str) -> tuple[str, ...]:
        """Return the keys of a mapping."""
        found = self.written.get(key, {})
        if not isinstance(found, dict):
            self.document.wrong((key,), f"must be a mapping, not {describe(found)}")
            return ()
        return tuple(found)

    def text(self, *keys: str) -> str:
        """Return a text, empty by default."""
        value = self.value(*keys)
        found, problem = attempt(as_text, "" if keys[0] not in self.written else value)
        if problem:
            self.document.wrong(keys, problem)
        return found or ""

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, empty by default."""
        found = self.written.get(key, [])
        if not isinstance(found, list):
            self.document.wrong((key,), f"must be a list, as in [a, b], not {describe(found)}")
            return ()
        for i, text in enumerate(found):
            if problem := attempt(as_text, text)[1]:
                self.document.wrong((key, i), problem)
        return tuple(map(str, found))

    def count(self, *keys: str) -> int:
        """Return a whole number, 1 or more."""
        value = self.value(*keys)
        if type(value) is not int or value < 1:
            shown = describe(value)
            self.document.wrong(keys, f"must be a whole number, 1 or more, not {shown}")
            return 1
        return value

    def features(self, dataset: str) -> tuple[int, ...]:
        """Return the informative features of a data set, counted from 1."""
        found = self.value("informative", dataset)
        good = isinstance(found, list) and all(type(f) is int and f > 0 for f in found)
        if not good or not found:
            words = "must be a list of features, counted from 1, as in [28, 29, 30]"
            self.document.wrong(("informative", dataset), words)
            return ()
        return tuple(found)


def check_references(paper: Paper, document: Document, scope: Scope, table: PublishedTable) -> None:
    """Note the names in a paper's file, claims apart, that neither the config nor the table has."""
    for key, names in (("splits-of", paper.splits_of), ("informative", paper.informative)):
        for name in names:
            if problem := scope.dataset(name):
                document.wrong((key, name), problem)
    printed = table.values("method")
    for column, ours in paper.aliases.items():
        if printed and column not in printed:
            words = f"no column of {table.document.path}{nearest(column, printed)}"
            document.wrong(("aliases", column), words)
        if problem := scope.method(ours):
            document.wrong(("aliases", column), problem)
    for i, column in enumerate(paper.printed_only):
        if column not in printed:
            hint = nearest(column, printed) if printed else "; it is absent or empty"
            document.wrong(("printed-only", i), f"no column of {table.document.path}{hint}")
    for name in paper.notes:
        if problem := scope.method(name):
            document.wrong(("notes", name), problem)
    for i, name in enumerate(paper.plain):
        if name not in CRITERIA:
            words = f"unknown criterion {quoted(name)}{nearest(name, CRITERIA)}"
            document.wrong(("plain", i), words)


@dataclass(frozen=True)
class PublishedTable:
    """The rows of a paper's table, each with its line; ``document`` takes their problems."""

    document: Document
    rows: tuple[tuple[int, Mapping[str, str]], ...] = ()

    def values(self, column: str) -> frozenset[str]:
        """Return what a column holds."""
        return frozenset(row[column] for _, row in self.rows)


def read_table(path: Path) -> PublishedTable:
    """Return the rows of a CSV with their lines; without a file, an empty table."""
    document = Document(str(path))
    if not path.is_file():
        return PublishedTable(document)
    reader = csv.DictReader(read_text(path).splitlines())
    if tuple(reader.fieldnames or ()) != COLUMNS:
        document.wrong((), f"the columns must be {', '.join(COLUMNS)}")
        return PublishedTable(document)
    rows = []
    for row in reader:
        if None in row or None in row.values():
            document.wrong((), f"must have {len(COLUMNS)} fields", reader.line_num)
        else:
            rows.append((reader.line_num, row))
    return PublishedTable(document, tuple(rows))


def check_rows(paper: Paper, table: PublishedTable, scope: Scope) -> None:
    """Note wrong data sets, methods, settings and numbers in the rows, and rows that repeat a cell."""
    seen: dict[tuple[str, ...], int] = {}
    for line, row in table.rows:
        for text in filter(None, problems_of(row, paper, scope)):
            table.document.wrong((), text, line)
        cell = tuple(row[column] for column in ("table", "dataset", "method", "setting"))
        if cell in seen:
            table.document.wrong((), f"repeats the cell of line {seen[cell]}", line)
        seen.setdefault(cell, line)


def unmatched(paper: Paper, table: PublishedTable, scope: Scope) -> Iterator[str]:
    """Yield the rows of errors whose column or setting the config does not run, each with its line."""
    for line, row in table.rows:
        label = paper.column(row["method"])
        if row["spread_kind"] not in ("sd", "se") or label in paper.printed_only:
            continue
        if label not in scope.criteria or scope.setting(row["setting"]) not in scope.lam.settings():
            words = ", ".join(filter(None, (row["dataset"], row["method"], row["setting"])))
            yield f"{table.document.path}:{line}: {words}"


def problems_of(row: Mapping[str, str], paper: Paper, scope: Scope) -> Iterator[str]:
    """Yield what is wrong with a row of a published table, with empty texts in between."""
    if row["paper"] != paper.name:
        yield f"paper: {quoted(row['paper'])} is not {quoted(paper.name)}"
    yield scope.dataset(row["dataset"])
    if row["method"] not in paper.aliases:  # whose own names are checked once
        yield scope.method(row["method"])
    kind = row["spread_kind"]
    if kind not in SPREADS:
        yield f"spread_kind: {quoted(kind)}{nearest(kind, SPREADS)}"
    elif kind in ("sd", "se"):
        yield attempt(scope.setting, row["setting"])[1]
    for column in ("mean", "spread"):
        if row[column] and not is_number(row[column]):
            yield f"{column}: {quoted(row[column])} is not a number"
    if not row["mean"]:
        yield "mean: is empty"


def is_number(text: str) -> bool:
    """Return whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def check_all(*documents: Document) -> None:
    """Raise the problems of several files, in their order."""
    problems = filter(None, (attempt(document.check)[1] for document in documents))
    if text := "\n".join(problems):
        raise ConfigError(text)
