"""What a user can do wrong: one base class, one line each. Anything else keeps its traceback."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable

LONGEST_ECHO = 72  # characters of what somebody wrote, in a message
MOST_NAMES = 30  # valid names that a message lists


class KselectError(Exception):
    """A problem that the user can act on; printed as one line, exit status 2."""


class ConfigError(KselectError):
    """A config or a flag that cannot be meant."""


class DataError(KselectError):
    """A data file that is missing, malformed or not what the registry says."""


class StoreError(KselectError):
    """A results folder that cannot be read or written."""


class DamagedJob(StoreError):
    """A job file that is not what was written: it is said, and run again."""


class TrialError(KselectError):
    """A (data set, split, method) that has no number; recorded with its reason."""


def quoted(value: object) -> str:
    """What somebody wrote, as a message shows it: in quotes, on one line, the middle left out where it is long."""
    short = reprlib.Repr()
    short.maxlevel, short.maxstring, short.maxlong, short.maxother = 2, *[LONGEST_ECHO] * 3
    try:
        text = short.repr(value)
    except ValueError:  # Python does not write out an integer of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST_ECHO else cut(text, LONGEST_ECHO)


def printable(text: object) -> str:
    """Text whose control characters are escaped: it can neither start a line nor colour a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text))


def cut(text: str, most: int) -> str:
    """Text of at most so many characters, both ends of it where it has more."""
    if len(text) <= most:
        return text
    head = (most - 3) * 2 // 3
    return f"{text[:head]}...{text[len(text) - (most - 3 - head) :]}"


def brief(text: object) -> str:
    """A name within a message: printable, and not long."""
    return cut(printable(text), LONGEST_ECHO)


def nearest(name: str, valid: Iterable[str]) -> str:
    """'; did you mean X?' for the closest valid name, else the list of them."""
    names = sorted(str(v) for v in valid)
    word = name.lower()[: 2 * LONGEST_ECHO]
    close = difflib.get_close_matches(word, [n.lower() for n in names], n=1, cutoff=0.5)
    if close:
        return f"; did you mean {quoted(next(n for n in names if n.lower() == close[0]))}?"
    more = [f"... ({len(names)} in all)"] if len(names) > MOST_NAMES else []
    return f"; valid: {', '.join([*map(brief, names[:MOST_NAMES]), *more])}"
