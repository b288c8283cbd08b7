"""How a kernel and a ridge are looked for: one loop over kernels, and the searches on top of it."""

from collections.abc import Mapping

from kselect.model.method import SearchName
from kselect.search.grid import Demand, Results, search_grid
from kselect.search.minimum import search_pruned
from kselect.search.side import TrainingSide
from kselect.search.tuned import SearchFunction
from kselect.search.tuned import search_tuned as search

SEARCHES: Mapping[SearchName, SearchFunction] = {"grid": search_grid, "pruned": search_pruned}

__all__ = ["SEARCHES", "Demand", "Results", "TrainingSide", "search"]
