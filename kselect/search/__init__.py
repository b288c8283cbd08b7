"""How a kernel and a ridge are looked for: one loop over kernels, and the searches on top of it."""

from kselect.search.grid import Demand, Results
from kselect.search.side import TrainingSide
from kselect.search.tuned import search_tuned as search

__all__ = ["Demand", "Results", "TrainingSide", "search"]
