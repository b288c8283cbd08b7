"""How much a config may ask for: what a mistyped range asks of a machine is refused before it is built.

The limits stay below the number of values that a document may hold, so that what a folder keeps of a config can be
read back.
"""

from __future__ import annotations

from collections.abc import Iterator

from kselect.config.document import Document, Location
from kselect.config.schema import ConfigFile
from kselect.grids import LARGEST_SEARCH

MOST_GRID_VALUES = 4000  # of all grids together
MOST_COLUMNS = 200
MOST_VARIANTS = 20
MOST_SWEPT = 2000  # methods of all figures together


def check_sizes(config: ConfigFile, document: Document) -> None:
    """A ConfigError for each thing of which there is too much."""
    for location, size, what, most in sizes(config):
        check_size(location, size, what, most, document)
    document.check()


def sizes(config: ConfigFile) -> Iterator[tuple[Location, int, str, int]]:
    """Where something is counted, how much of it there is, what it is, and the limit."""
    kernels, ridges = len(config.kernels), len(config.lam.values)
    yield ("kernels",), kernels * ridges, "kernels times ridges", LARGEST_SEARCH
    yield ("kernels",), kernels + ridges, "values of all grids together", MOST_GRID_VALUES
    yield ("criteria",), len(config.criteria), "criteria", MOST_COLUMNS
    yield ("figures",), len(config.figures), "figures", MOST_COLUMNS
    yield ("variants",), len(config.variants), "variants", MOST_VARIANTS


def check_methods(methods: int, document: Document) -> None:
    """The methods of all figures together."""
    check_size(("figures",), methods, "methods of all figures together", MOST_SWEPT, document)
    document.check()


def check_size(location: Location, size: int, what: str, most: int, document: Document) -> None:
    """Note what is too much."""
    if size > most:
        document.wrong(location, f"{size} {what} are too many: {most} at most")
