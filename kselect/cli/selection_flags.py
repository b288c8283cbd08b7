"""The flags of a selection, which ``select`` and ``fit`` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from kselect.kernels import find_kernel
from kselect.selection.request import LAM, kernel_grids

F = TypeVar("F", bound=Callable[..., Any])
COLUMN: dict[str, Any] = {"multiple": True, "metavar": "COLUMN"}

TABLE_FLAGS = (
    click.option("--target", metavar="COLUMN", help="Its name or number from 1. [default: last]"),
    click.option(
        "--task",
        type=click.Choice(["classification", "regression"]),
        help="[default: by the target]",
    ),
    click.option("--drop", **COLUMN, help="Leave this column out (repeatable)."),
    click.option("--categorical", **COLUMN, help="Its values are categories (repeatable)."),
    click.option("--numeric", **COLUMN, help="Its values are numbers (repeatable)."),
    click.option(
        "--missing",
        type=click.Choice(["impute", "drop", "error"]),
        default="impute",
        show_default=True,
        help="Missing values: the median or a category of their own; drop the row; refuse.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["zscore", "minmax", "none"]),
        default="zscore",
        show_default=True,
        help="Of the features.",
    ),
)
SEARCH_FLAGS = (
    click.option(
        "--lam", metavar="GRID", default=LAM, show_default=True, help="The ridge is n lam."
    ),
    click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        help="Of the criterion or learner: eta=1.",
    ),
    click.option(
        "--folds",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="One fold number a row. [default: random]",
    ),
    click.option(
        "--ridge",
        type=click.Choice(["fixed", "per-fold"]),
        default="fixed",
        show_default=True,
        help="n lam or (n - m) lam when m rows are held out.",
    ),
    click.option(
        "--loss",
        type=click.Choice(["zero-one", "squared", "hinge"]),
        help="What is averaged. [default: the learner's own; hinge for smooth-hinge, else squared]",
    ),
    click.option(
        "--search",
        type=click.Choice(["grid", "pruned"]),
        help="Every candidate, or the minimum of k-CV by bounds alone (krr, smooth-hinge). [default: "
        "pruned for smooth-hinge where nobody looks at the surface, else grid]",
    ),
    click.option(
        "--nystrom",
        metavar="C",
        type=click.IntRange(min=1),
        help="Approximate the kernel by C columns.",
    ),
    click.option("--seed", default=0, show_default=True, type=int, help="Of folds and columns."),
    click.option(
        "-j", "--n-jobs", default=1, show_default=True, type=click.IntRange(min=1), help="Threads."
    ),
)
PART_FLAGS = (
    click.option(
        "--learner", default="lssvm", show_default=True, help="See kselect list learners."
    ),
    click.option(
        "--criterion", default="5-CV", show_default=True, help="See kselect list criteria."
    ),
    click.option(
        "--kernel", default="gaussian", show_default=True, help="See kselect list kernels."
    ),
)


def selection_options(function: F) -> F:
    """The file, what its columns are, and what to choose from and by."""
    flags = (*TABLE_FLAGS, *PART_FLAGS, *kernel_flags(), *SEARCH_FLAGS)
    for decorate in reversed(flags):
        function = decorate(function)
    return click.argument("file", type=click.Path(path_type=Path))(function)


def default_grid(name: str, grid: str) -> str:
    """Where a kernel's parameter is searched if nobody says where."""
    has_scale = "around" in vars(find_kernel(name))
    return "auto, by the distances between the rows" if has_scale else f"{name} {grid}"


def kernel_flags() -> list[Callable[[F], F]]:
    """One flag per parameter of any registered kernel."""
    found = []
    for parameter, grids in kernel_grids().items():
        shown = ", ".join(map(default_grid, grids, grids.values()))
        text = f"Of the kernel: {', '.join(grids)}. [default: {shown}]"
        found.append(click.option(f"--{parameter}", metavar="GRID", help=text))
    return found
