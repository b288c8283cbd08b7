"""How much a config may ask for: what a mistyped range asks of a machine is refused before it is built.

A results folder keeps the config with every grid written out, value by value, so the limits here stay well
below the number of values that a document may have.
"""

from __future__ import annotations

from collections.abc import Iterator

from kselect.config.document import Document, Location
from kselect.config.schema import ConfigFile, FigureFile
from kselect.grids import LARGEST_SEARCH

MOST_GRID_VALUES = 4000  # of all grids together
MOST_COLUMNS = 200
MOST_SWEPT = 2000  # methods of all figures together


def check_sizes(config: ConfigFile, document: Document) -> None:
    """A ConfigError for each thing of which there is too much."""
    for location, size, what, most in sizes(config):
        if size > most:
            document.wrong(location, f"{size} {what} are too many: {most} at most")
    document.check()


def sizes(config: ConfigFile) -> Iterator[tuple[Location, int, str, int]]:
    """Where something is counted, how much of it there is, what it is, and the limit."""
    kernels, ridges = len(config.kernels), len(config.lam.values)
    figures = config.figures.values()
    values = kernels + ridges + sum(map(values_of, figures))
    yield ("kernels",), kernels * ridges, "kernels times ridges", LARGEST_SEARCH
    yield ("kernels",), values, "values of all grids together", MOST_GRID_VALUES
    yield ("criteria",), len(config.criteria), "criteria", MOST_COLUMNS
    yield ("figures",), len(figures), "figures", MOST_COLUMNS
    yield ("figures",), sum(map(methods_of, figures)), "methods of all figures together", MOST_SWEPT


def values_of(figure: FigureFile) -> int:
    """The values that a figure sweeps."""
    return sum(map(len, figure.__pydantic_extra__.values()))


def methods_of(figure: FigureFile) -> int:
    """The methods of a figure: one for each column, probe and value."""
    columns = len(figure.criteria or ()) + len(figure.probes or ()) * len(figure.at or ())
    return values_of(figure) * max(1, columns)
