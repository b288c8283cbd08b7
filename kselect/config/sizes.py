"""How much a config may ask for: what a mistyped range asks of a machine is refused before it is built."""

from __future__ import annotations

from kselect.config.document import Document
from kselect.config.schema import ConfigFile
from kselect.grids import LARGEST_GRID, LARGEST_SEARCH


def check_candidates(config: ConfigFile, document: Document) -> None:
    """Kernels times ridges."""
    candidates = len(config.kernels) * len(config.lam.values)
    if candidates > LARGEST_SEARCH:
        words = f"{candidates} kernels times ridges are too many: {LARGEST_SEARCH} at most"
        document.wrong(("kernels",), words)
        document.check()


def check_methods(methods: int, document: Document) -> None:
    """The methods of all figures together."""
    if methods > LARGEST_GRID:
        words = f"{methods} methods are too many: {LARGEST_GRID} at most, of all figures together"
        document.wrong(("figures",), words)
        document.check()
