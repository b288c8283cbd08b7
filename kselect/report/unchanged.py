"""Whether a report is up to date, and the drawn figures whose inputs are unchanged.

Both are kept in the folder ``.report-cache`` of the results, which nobody needs for reading, and which git ignores.
A report is up to date if every file in its folder is the one that was there when the report was complete, and so is
everything else that determines it: the source of kselect, the papers, the libraries, and matplotlib's settings. A
file that changed while a report was made leaves the report out of date.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from types import FunctionType
from typing import Any

import kselect
from kselect.files import write_whole
from kselect.packaged import packaged
from kselect.report.second_process import Draw, Files, Render, SecondProcess
from kselect.stats.study import Study

FOLDER = ".report-cache"
STATE = "state.json"
# Files that come and go while several processes work in a folder, and whatever is cached.
PASSING = (".lock", ".tmp")
LIBRARIES = ("matplotlib", "fonttools", "numpy", "scipy", "pandas", "jinja2", "pyyaml")
SOURCES = (".py", ".j2", ".css", ".js", ".yaml", ".csv", ".md", ".json")
Checksums = dict[str, str]


def files_below(folder: Path) -> Checksums:
    """Return path -> checksum of every file below a folder, without passing files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.suffix not in PASSING and FOLDER not in name.parts and path.is_file():
            found[str(name)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@cache
def surroundings() -> str:
    """Return a checksum of what determines a report besides its folder."""
    texts = [sys.version, *(f"{name} {version(name)}" for name in LIBRARIES)]
    for folder in (Path(kselect.__file__).parent, packaged("published")):
        for path in sorted(folder.rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                texts += [path.name, hashlib.sha256(path.read_bytes()).hexdigest()]
    return hashlib.sha256(json.dumps([*texts, *settings_of_matplotlib()]).encode()).hexdigest()


def settings_of_matplotlib() -> Iterable[str]:
    """Return the settings of the user and of the current folder, which apply to what STYLE leaves open."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "matplotlib"
    given = (os.environ.get(name, "") for name in ("MPLCONFIGDIR", "MATPLOTLIBRC"))
    for folder in (Path(), home, *(Path(name) for name in given if name)):
        path = folder / "matplotlibrc" if folder.is_dir() else folder
        if path.is_file():
            yield path.read_text(errors="replace")


def kept_facts(folder: Path) -> Mapping[str, Any] | None:
    """Return what was kept about the report of a folder, or None if the report is out of date."""
    try:
        state = json.loads((folder / FOLDER / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    now = {"surroundings": surroundings(), "files": files_below(folder)}
    if not isinstance(state, dict) or any(state.get(key) != value for key, value in now.items()):
        return None
    facts = state.get("facts")
    return facts if isinstance(facts, dict) else None


def keep_facts(folder: Path, before: Checksums, written: Iterable[str], facts: Any) -> None:
    """Keep that a report is complete; ``before`` are the files at its start, ``written`` those it has written.

    If another file has changed meanwhile, nothing is kept: the report may not show the change.
    """
    own, after = set(written), files_below(folder)
    state = folder / FOLDER / STATE
    if {k: v for k, v in before.items() if k not in own} != {
        k: v for k, v in after.items() if k not in own
    }:
        state.unlink(missing_ok=True)
        return
    kept = {"surroundings": surroundings(), "files": after, "facts": facts}
    write_whole(state, json.dumps(kept, indent=1) + "\n")


def front_facts(index: Path, folders: Iterable[Path]) -> dict[str, Any]:
    """Return the checksums of a front page and of what is kept about the reports that it shows, in its order."""
    paths = [index, *(folder / FOLDER / STATE for folder in folders)]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def front_is_current(index: Path, folders: Iterable[Path]) -> bool:
    """Return whether a front page shows these reports as they are."""
    try:
        kept = json.loads((index.parent / FOLDER / STATE).read_text(encoding="utf-8"))
        return list(kept.items()) == list(front_facts(index, folders).items())
    except (OSError, ValueError, AttributeError):
        return False


def keep_front(index: Path, folders: Iterable[Path]) -> None:
    """Keep that a front page is complete; nothing is kept if a report is out of date already."""
    state = index.parent / FOLDER / STATE
    try:
        facts = front_facts(index, folders)
    except OSError:
        state.unlink(missing_ok=True)
        return
    write_whole(state, json.dumps(facts, indent=1) + "\n")


@dataclass
class Drawing:
    """The files of a figure: found, or rendered here or ahead, by the second process, and then kept at a path.

    Each of ``renders`` gives some of the files; ``ahead`` are the same in the second process, or none.
    """

    draw: Draw
    renders: Sequence[Render]
    found: Files | None = None
    path: Path | None = None
    ahead: Sequence[Future[Files]] = ()

    @property
    def waits(self) -> bool:
        """Whether other work should come first, because a second process may render the figure meanwhile."""
        return self.found is None and self.path is not None

    def files(self) -> Files:
        """Return the files; what the second process has not begun, or fails to render, is rendered here."""
        if self.found is None:
            parts: dict[int, Files] = {}
            calls = [*enumerate(zip_longest(self.renders, self.ahead))]
            for i, (render, ahead) in reversed(calls):  # the other process begins with the first
                if ahead is None or ahead.cancel():
                    parts[i] = render(self.draw)
            for i, (render, ahead) in calls:
                if i not in parts:
                    parts[i] = result_of(ahead) or render(self.draw)
            self.found = {name: content for i, _ in calls for name, content in parts[i].items()}
            if self.path:
                write_whole(self.path, write_parts(self.found))
        return self.found


def result_of(ahead: Future[Files]) -> Files | None:
    """Return the files of the second process, or None if it failed; rendering here then shows what is wrong."""
    with suppress(Exception):
        return ahead.result()
    return None


class DrawnFigures:
    """The files of figures by a checksum of the function that draws them and of all that it uses.

    A function that is a closure uses what it encloses. If this cannot be pickled, the figure is drawn.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder / FOLDER / "figures" if folder else None
        self.used: set[str] = set()
        self.second = SecondProcess()

    def begin(self, draw: Draw, renders: Sequence[Render]) -> Drawing:
        """Find the kept files of a figure, or begin to render it if there is a second process."""
        key = checksum(draw) if self.folder else None
        if key is None or self.folder is None:
            return Drawing(draw, renders)
        self.used.add(key)
        path = self.folder / key
        try:
            return Drawing(draw, renders, read_parts(path.read_bytes()))
        except (OSError, ValueError):
            return Drawing(draw, renders, None, path, self.second.begin(draw, renders))

    def drop_unused(self) -> None:
        """Remove the figures that this report does not show."""
        if self.folder and self.folder.is_dir():
            for path in self.folder.iterdir():
                if path.name not in self.used:
                    with suppress(OSError):
                        path.unlink()


# The figures of the report in progress; by default, all figures are drawn.
DRAWN: ContextVar[DrawnFigures] = ContextVar("DRAWN", default=DrawnFigures())  # noqa: B039


@contextmanager
def figures_kept_in(folder: Path, early: bool = False) -> Iterator[None]:
    """Keep the figures that are drawn in this context below a folder, and remove those that are not shown.

    With ``early``, the second process starts at once, and not with the second figure.
    """
    drawn = DrawnFigures(folder)
    token = DRAWN.set(drawn)
    try:
        if early:
            drawn.second.start()
        yield
        drawn.drop_unused()
    finally:
        drawn.second.close()
        DRAWN.reset(token)


class _Pickler(pickle.Pickler):
    """A pickler that takes functions and what they enclose by value."""

    def reducer_override(self, value: Any) -> Any:
        """Return the parts of a function: its code, and what it encloses."""
        if isinstance(value, Study):
            raise pickle.PicklingError("a whole study: more than a figure depends on")
        if not isinstance(value, FunctionType):
            return NotImplemented
        enclosed = [cell.cell_contents for cell in value.__closure__ or ()]
        where = (
            value.__code__.co_firstlineno,
            value.__code__.co_code,
            repr(value.__code__.co_consts),
        )
        return tuple, ((value.__module__, *where, enclosed, value.__defaults__),)


def checksum(draw: Callable[..., Any]) -> str | None:
    """Return the checksum of a function and of all that it uses, or None if this cannot be told."""
    stream = io.BytesIO()
    try:
        _Pickler(stream, protocol=5).dump((surroundings(), draw))
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError):
        return None
    return hashlib.sha256(stream.getvalue()).hexdigest()


def write_parts(parts: Mapping[str, bytes]) -> bytes:
    """Return a line with the names and lengths of the parts, and the parts."""
    head = json.dumps({name: len(content) for name, content in parts.items()}).encode()
    body = b"".join(parts.values())
    return hashlib.sha256(head + body).hexdigest().encode() + b"\n" + head + b"\n" + body


def read_parts(content: bytes) -> dict[str, bytes]:
    """Return the parts; raise ValueError if they are damaged."""
    seal, head, body = content.split(b"\n", 2)
    if hashlib.sha256(head + body).hexdigest().encode() != seal:
        raise ValueError("damaged")
    found, at = {}, 0
    for name, length in json.loads(head).items():
        found[name], at = body[at : at + length], at + length
    return found
