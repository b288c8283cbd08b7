"""Errors that a user can correct, printed in one line without a traceback, and how messages quote user input."""

from __future__ import annotations

import difflib
import platform
import re
import reprlib
from collections.abc import Iterable
from importlib.util import find_spec

LONGEST_ECHO = 72  # characters of user input in a message
ALIKE = 0.6  # similarity of a mistyped name to the one that was meant (difflib's ratio)
MOST_NAMES = 30  # valid names that a message lists
FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/'\":]+/)*(?=[^\s/'\":])")
PACKAGE_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/'\":]+/)*(?=(?:kselect|site-packages)/)")


class KselectError(Exception):
    """An error that the user can correct; printed as one line, exit status 2."""


class ConfigError(KselectError):
    """An invalid config or flag."""


class DataError(KselectError):
    """A data file that is missing, malformed, or different from its entry in the registry."""


class StoreError(KselectError):
    """A results folder that cannot be read or written."""


class WriteError(StoreError):
    """A file of a results folder that could not be written, as on a full disk."""


class DamagedJob(StoreError):
    """A job file whose content does not match its checksum; it is reported and computed again."""


class TrialError(KselectError):
    """A (data set, split, method) without a result; recorded with its reason."""


class UnsupportedSystem(KselectError, ImportError):
    """A system without the locks and signals that kselect needs."""


def check_system() -> None:
    """Raise UnsupportedSystem unless the system has POSIX locks."""
    if find_spec("fcntl") is None:
        raise UnsupportedSystem(
            f"kselect runs on Linux and macOS, not on {platform.system()}; on Windows, use WSL (wsl --install)"
        )


def quoted(value: object) -> str:
    """Return user input for a message: in quotes, on one line, with the middle cut out if it is long."""
    short = reprlib.Repr()
    short.maxlevel, short.maxstring, short.maxlong, short.maxother = 2, *[LONGEST_ECHO] * 3
    try:
        text = short.repr(value)
    except ValueError:  # Python refuses to print an integer with thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST_ECHO else cut(text, LONGEST_ECHO)


def printable(text: object) -> str:
    """Return text with escaped control characters: it can neither start a line nor colour a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def cut(text: str, most: int) -> str:
    """Return the text, or both ends of it if it has more than ``most`` characters."""
    if len(text) <= most:
        return text
    head = (most - 3) * 2 // 3
    return f"{text[:head]}...{text[len(text) - (most - 3 - head) :]}"


def without_folders(text: str) -> str:
    """Cut absolute paths to the package or the file name: results must not describe a machine."""
    return FOLDERS.sub("", PACKAGE_FOLDERS.sub("", text))


def brief(text: object) -> str:
    """Return a name for a message: printable and not too long."""
    return cut(printable(text), LONGEST_ECHO)


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return '; did you mean X?' for the closest valid name, or the list of valid names."""
    names = sorted(str(v) for v in valid)
    word = name.lower()[: 2 * LONGEST_ECHO]
    close = difflib.get_close_matches(word, [n.lower() for n in names], n=1, cutoff=ALIKE)
    if close:
        return f"; did you mean {quoted(next(n for n in names if n.lower() == close[0]))}?"
    more = [f"... ({len(names)} in all)"] if len(names) > MOST_NAMES else []
    return f"; valid: {', '.join([*map(brief, names[:MOST_NAMES]), *more])}"
