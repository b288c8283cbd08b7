"""The formats of the files that kselect writes and reads back, each with its number.

A file states the number of its format and the kselect that wrote it. Every later 1.y reads all formats of 1.x
(``kselect guide formats``). A file of a later format is refused in one line, because parts of it would be ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

from kselect import __version__
from kselect.errors import StoreError, brief, printable


class OtherFormat(StoreError):
    """A file in a format that this version does not read."""


@dataclass(frozen=True)
class Format:
    """A kind of file with the numbers of the formats that are read; the ``newest`` is written.

    ``otherwise`` says what to do without the version that wrote a file.
    """

    what: str
    newest: int
    oldest: int = 1
    otherwise: str = ""

    def check(self, place: object, number: object, writer: object = None) -> None:
        """Raise OtherFormat unless the number is one that is read; ``writer`` is the kselect that wrote it."""
        known = isinstance(number, int) and not isinstance(number, bool)
        if known and self.oldest <= number <= self.newest:  # type: ignore[operator]
            return
        version = f"kselect {brief(writer)}" if writer else "another version of kselect"
        read = f"formats {self.oldest} to {self.newest}"
        if self.oldest == self.newest:
            read = f"format {self.newest}"
        advice = [f"use {version}"] if writer else []
        advice += [self.otherwise] if self.otherwise else []
        raise OtherFormat(
            f"{printable(place)}: a {self.what} of format {brief(number)}, written by {version}; "
            f"kselect {__version__} reads {read}: {', or '.join(advice) or 'use a later version'}"
        )


CONFIG = Format("config", 1)
# Of records.csv, seconds.csv and manifest.json, which a results folder keeps together.
RESULTS = Format("results folder", 1, otherwise="choose another --output")
# The earlier numbers were never released.
JOB = Format("job file", 7, oldest=7, otherwise="compute it again with kselect run --force")
TIMING = Format("timing file", 1, otherwise="measure again with kselect time --force")
# Format 1 has one fit, no scales, and no fits without a fold; formats 1 and 2 have one target and no curves.
MODEL = Format("model file", 3, otherwise="fit the model again")
