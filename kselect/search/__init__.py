"""How a kernel and a ridge are looked for: one loop over kernels, and the searches on top of it."""

from collections.abc import Mapping

from kselect.core.method import SearchName
from kselect.search.grid import Demand, Results, search_grid
from kselect.search.kinds import search_continuously
from kselect.search.minimum import search_pruned
from kselect.search.training_context import TrainingContext
from kselect.search.tuned import SearchFunction, search_tuned

OVER_GRID: Mapping[SearchName, SearchFunction] = {"grid": search_grid, "pruned": search_pruned}

__all__ = ["OVER_GRID", "Demand", "Results", "TrainingContext", "search"]


def search(
    context: TrainingContext,
    demand: Demand,
    tune_folds: int = 3,
    over_grid: SearchFunction = search_grid,
) -> Results:
    """Every method by its search: one loop over the grid for all that try one, and each other by its own."""
    grid = {m: s for m, s in demand.items() if m.search is None}
    found = search_tuned(context, grid, tune_folds, over_grid) if grid else {}
    return found | search_continuously(context, {m: s for m, s in demand.items() if m.search})
