"""What a user can do wrong: one base class, one line each. Anything else keeps its traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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


def nearest(name: str, valid: Iterable[str]) -> str:
    """'; did you mean X?' for the closest valid name, else the list of them."""
    names = sorted(str(v) for v in valid)
    close = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1, cutoff=0.5)
    if close:
        return f"; did you mean {next(n for n in names if n.lower() == close[0])!r}?"
    return f"; valid: {', '.join(names)}"
