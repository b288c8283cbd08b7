"""Searches for the best kernel and ridge of each method.

``grid`` scores every candidate; ``pruned`` finds the same minimum of exact cross-validation with bounds. ``tuned``
wraps either of them to choose a criterion's parameters too. Quasi-Newton and FLKL are continuous searches: they
move through all values of the kernel's parameters and the ridge.
"""

from collections.abc import Mapping

from kselect.core.method import SearchName
from kselect.search.grid import Demand, Results, Search, search_grid
from kselect.search.pruned import search_pruned
from kselect.search.training_context import TrainingContext
from kselect.search.tuned import search_tuned

OVER_GRID: Mapping[SearchName, Search] = {"grid": search_grid, "pruned": search_pruned}

__all__ = ["OVER_GRID", "Demand", "Results", "TrainingContext", "search"]


def search(
    context: TrainingContext, demand: Demand, tune_folds: int = 3, over_grid: Search = search_grid
) -> Results:
    """Return the best point of every cell: one search over the grid, and one continuous search per method."""
    grid = {m: s for m, s in demand.items() if m.search is None}
    continuous = {m: s for m, s in demand.items() if m.search}
    found: Results = {}
    if any(m.tuned for m in grid):
        found = search_tuned(context, grid, tune_folds, over_grid)
    elif grid:
        found = over_grid(context, grid)
    if not continuous:
        return found
    from kselect.search.continuous import search_continuously

    return found | search_continuously(context, continuous)
