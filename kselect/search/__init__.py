"""How a kernel and a ridge are looked for: one loop over kernels, and the searches on top of it."""

from kselect.search.grid import Demand, Results
from kselect.search.kinds import search_continuously
from kselect.search.side import TrainingSide
from kselect.search.tuned import search_tuned

__all__ = ["Demand", "Results", "TrainingSide", "search"]


def search(side: TrainingSide, demand: Demand, tune_folds: int = 3) -> Results:
    """Every method by its search: one loop over the grid for all that try one, and each other by its own."""
    grid = {m: s for m, s in demand.items() if m.search is None}
    found = search_tuned(side, grid, tune_folds) if grid else {}
    return found | search_continuously(side, {m: s for m, s in demand.items() if m.search})
