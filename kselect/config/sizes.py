"""How much a config may ask for: what a mistyped range asks of a machine is refused before it is built."""

from __future__ import annotations

from kselect.config.document import Document
from kselect.config.schema import ConfigFile, FigureFile
from kselect.grids import LARGEST_GRID, LARGEST_SEARCH


def check_sizes(config: ConfigFile, document: Document) -> None:
    """Candidates (kernels times ridges) and the methods of all figures together."""
    candidates = len(config.kernels) * len(config.lam.values)
    if candidates > LARGEST_SEARCH:
        words = f"{candidates} kernels times ridges are too many: {LARGEST_SEARCH} at most"
        document.wrong(("kernels",), words)
    methods = sum(map(methods_of, config.figures.values()))
    if methods > LARGEST_GRID:
        words = f"{methods} methods are too many: {LARGEST_GRID} at most, of all figures together"
        document.wrong(("figures",), words)
    document.check()


def methods_of(figure: FigureFile) -> int:
    """The methods of a figure: one for each column, probe and value."""
    values = sum(map(len, figure.__pydantic_extra__.values()))
    columns = len(figure.criteria or ()) + len(figure.probes or ()) * len(figure.at or ())
    return values * max(1, columns)
