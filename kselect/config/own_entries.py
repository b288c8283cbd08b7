"""The user's own files under ``datasets``, as in ``{name: wine, file: wine.csv, target: quality}``.

Reading the document replaces each such entry with its name, so that flags and other keys refer to it like a
registered data set. Its path is relative to the config. A results folder keeps the facts about the file with the
entry, because reports are written from records and need no data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from kselect.config.document import Document, Location
from kselect.config.validators import TASKS, as_text, attempt, describe, folder_name
from kselect.datasets.dataset import OwnInfo
from kselect.datasets.registry import load_registry
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.raw_table import Missing, TableOptions
from kselect.datasets.table.target import as_target
from kselect.errors import ConfigError, DataError, nearest

COLUMNS = ("drop", "categorical", "numeric")
FACTS = ("rows", "features", "sha256")
KEYS = ("name", "file", "target", "task", *COLUMNS, "missing", *FACTS)


def take_own(document: Document) -> Document:
    """Replace each own file under ``datasets`` with its name, and add its facts to ``own``."""
    entries = document.data.get("datasets") if isinstance(document.data, dict) else None
    if not isinstance(entries, list):
        return document
    for i, entry in enumerate(entries):
        if isinstance(entry, dict):
            entries[i] = name_of(entry)
            info = read_entry(document, ("datasets", i), entry)
            if info is not None and info.name in document.own:
                document.wrong(("datasets", i), f"another file is already called {info.name}")
            elif info is not None:
                document.own[info.name] = info
    document.check()
    return document


def name_of(entry: Mapping[str, Any]) -> Any:
    """Return the name of an entry, or else its file name without the endings."""
    if "name" in entry:
        return entry["name"]
    return Path(str(entry.get("file", ""))).name.partition(".")[0]


def read_entry(document: Document, here: Location, entry: Mapping[str, Any]) -> OwnInfo | None:
    """Return the data set of an entry, or note its problems and return None."""
    before = len(document.problems)
    for where, words in problems_of(entry):
        document.wrong((*here, *where), words)
    if len(document.problems) > before:
        return None
    path = Path(document.path).parent / entry["file"]
    drop, categorical, numeric = (tuple(map(str, as_names(entry.get(key)))) for key in COLUMNS)
    missing: Missing = entry.get("missing", "impute")
    options = TableOptions(drop, categorical, numeric, missing, entry.get("task"))
    target = entry.get("target")
    asked = None if target is None else str(target)
    try:
        if all(key in entry for key in ("task", *FACTS)):  # as a results folder keeps them
            task, rows, features, sha256 = (entry[key] for key in ("task", *FACTS))
        else:
            frame = read_frame(path, asked, options)
            task, sha256 = as_target(frame, options.task).task, frame.sha256
            rows, features = frame.n, len(frame.columns)
            if entry.get("sha256") not in (None, sha256):
                raise DataError(f"{path}: wrong checksum: sha256 is {sha256}")
    except (ConfigError, DataError) as error:
        document.wrong((*here, "file"), str(error))
        return None
    reading = {
        "target": asked,
        "missing": options.missing,
        "task": task,
        **{key: getattr(options, key) for key in COLUMNS},
    }
    return OwnInfo(
        name_of(entry), task, rows, features, file=path.name, sha256=sha256, licence="your own",
        reading=reading, path=path, target=asked, options=options,
    )  # fmt: skip


def problems_of(entry: Mapping[str, Any]) -> Iterator[tuple[Location, str]]:
    """Yield the problems of the keys."""
    for key in entry:
        if key not in KEYS:
            yield (key,), f"unknown key{nearest(key, KEYS)}"
    if "file" not in entry:
        example = "{name: wine, file: wine.csv, target: quality}"
        yield (), f"an own data set needs a file, as in {example}"
        return
    for key in ("file", "sha256"):
        wrong = attempt(as_text, entry.get(key, ""))[1]
        if wrong or entry.get(key) == "":
            yield (key,), wrong or "is empty"
    name, wrong = attempt(folder_name, name_of(entry))
    if wrong:
        yield ("name",), wrong
    elif name in load_registry():
        yield ("name",), f"{name} is a data set of kselect; give the file another name"
    for key, valid in (("task", TASKS), ("missing", get_args(Missing))):
        if key in entry and entry[key] not in valid:
            yield (key,), f"must be one of {', '.join(valid)}, not {describe(entry[key])}"
    for key in COLUMNS:
        if not all(isinstance(name, (str, int)) for name in as_names(entry.get(key))):
            yield (key,), f"must be a column or a list of columns, not {describe(entry[key])}"
    for key in ("rows", "features"):
        if key in entry and (not isinstance(entry[key], int) or entry[key] < 1):
            yield (key,), f"must be a whole number, 1 or more, not {describe(entry[key])}"


def as_names(written: object) -> list[Any]:
    """Return one column or several as a list."""
    if written is None:
        return []
    return written if isinstance(written, list) else [written]


def written_entry(info: OwnInfo, folder: Path) -> dict[str, Any]:
    """Return the entry that a results folder keeps: with the facts, and its path relative to the folder."""
    options = info.options
    columns = {key: list(getattr(options, key)) for key in COLUMNS}
    return {
        "name": info.name,
        "file": Path(os.path.relpath(info.path, folder)).as_posix(),
        **({} if info.target is None else {"target": info.target}),
        "task": info.task,
        **{key: names for key, names in columns.items() if names},
        **({} if options.missing == "impute" else {"missing": options.missing}),
        "rows": info.rows,
        "features": info.features,
        "sha256": info.sha256,
    }
