"""``kselect select``: kernel and ridge for a user's own file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from kselect.cli.choice import as_object, describe
from kselect.datasets.content import content_limit
from kselect.datasets.scaling import scale_rows
from kselect.datasets.tabular import Target, as_target, read_table
from kselect.errors import ConfigError, DataError
from kselect.files import read_regular
from kselect.learners import find_learner
from kselect.model.method import Method
from kselect.numerics.linalg import Index
from kselect.selection.engine import Request, check_memory, select
from kselect.selection.learning import as_learned
from kselect.selection.request import (
    LAM,
    kernel_grids,
    make_folds,
    make_kernels,
    make_lams,
    make_method,
    split_parameters,
    usual_loss,
)

F = TypeVar("F", bound=Callable[..., Any])
EPILOG = """\b
Examples:
  kselect select my.csv --target price
  kselect select my.svm.bz2 --learner krr --criterion ELOO --tau 2^-4:2^10 --lam 10^-6:10^0
  kselect select my.csv --learner smooth-hinge --tau 2^-15:2^15 --lam 2^-15:2^15:2
  kselect select my.csv --kernel ard --criterion FLKL --plot relevances.png
  kselect select my.csv --criterion 5-KS --param eta=0.5 --folds folds.txt --json > choice.json

A GRID is 0.5,1,2 or 2^-6:2^8 (every power) or 2^-15:2^15:2 (every second).
"""
FOLD = re.compile(r"[0-9]{1,12}")


def kernel_options(function: F) -> F:
    """One flag per parameter of any registered kernel."""
    for parameter, grids in reversed(kernel_grids().items()):
        shown = ", ".join(f"{name} {grid}" for name, grid in grids.items())
        text = f"Of the kernel: {', '.join(grids)}. [default: {shown}]"
        function = click.option(f"--{parameter}", metavar="GRID", help=text)(function)
    return function


@click.command("select", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--target", metavar="COLUMN", help="CSV: the target's name or number from 1. [default: last]"
)
@click.option(
    "--task", type=click.Choice(["classification", "regression"]), help="[default: by the target]"
)
@click.option("--learner", default="lssvm", show_default=True, help="See kselect list learners.")
@click.option("--criterion", default="5-CV", show_default=True, help="See kselect list criteria.")
@click.option("--kernel", default="gaussian", show_default=True, help="See kselect list kernels.")
@kernel_options
@click.option("--lam", metavar="GRID", default=LAM, show_default=True, help="The ridge is n lam.")
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="Of the criterion or learner: eta=1.",
)
@click.option(
    "--folds",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="One fold number a row. [default: random]",
)
@click.option(
    "--ridge",
    type=click.Choice(["fixed", "per-fold"]),
    default="fixed",
    show_default=True,
    help="n lam or (n - m) lam when m rows are held out.",
)
@click.option(
    "--loss",
    type=click.Choice(["zero-one", "squared", "hinge"]),
    help="What is averaged. [default: the learner's own; hinge for smooth-hinge, else squared]",
)
@click.option(
    "--search",
    type=click.Choice(["grid", "pruned"]),
    help="Every candidate, or the minimum of k-CV by bounds alone (krr, smooth-hinge). [default: pruned for "
    "smooth-hinge without --plot and --json, else grid]",
)
@click.option(
    "--scale",
    type=click.Choice(["zscore", "minmax", "none"]),
    default="zscore",
    show_default=True,
    help="Of the features.",
)
@click.option(
    "--nystrom",
    metavar="C",
    type=click.IntRange(min=1),
    help="Approximate the kernel by C columns.",
)
@click.option("--seed", default=0, show_default=True, type=int, help="Of folds and columns.")
@click.option(
    "-j", "--n-jobs", default=1, show_default=True, type=click.IntRange(min=1), help="Threads."
)
@click.option(
    "--plot",
    metavar="FILE.png",
    type=click.Path(path_type=Path),
    help="Draw the criterion over the grid; .pdf and .svg do as well.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def select_command(
    file: Path,
    target: str | None,
    task: Any,
    plot: Path | None,
    as_json: bool,
    scale: Any,
    **flags: Any,
) -> None:
    """Choose the kernel and the ridge for the rows of FILE (svmlight or CSV, also .bz2)."""
    find_learner(flags["learner"])
    flags["search"] = how_to_search(flags, plot, as_json)
    if plot:
        from kselect.selection.surface import check_plot

        check_plot(plot)
    table = read_table(file, target)
    with naming(file):
        if flags["nystrom"] is None:
            check_memory(len(table.X), flags["n_jobs"])
    goal = as_target(file, table, task)
    method, request = make_request(flags, goal)
    request = as_learned(request, flags["kernel"], flags["criterion"])
    numbers = read_folds(flags["folds"])
    with naming(file if numbers is None else flags["folds"]):
        folds = make_folds(method, len(table.X), request.seed, numbers)
    X = scale_rows(table.X, scale, table.X)
    found = select(X, goal.values, request, folds)
    facts = {
        "scale": scale,
        "data_sha256": table.sha256,
        "task": goal.task,
        "classes": goal.classes,
    }
    if as_json:
        click.echo(json.dumps(as_object(found, len(X), facts)))
    else:
        click.echo(describe(found, len(X), X.shape[1], goal, scale))
    if plot:
        from kselect.selection.surface import draw_surface

        draw_surface(found, plot, file.name)


def how_to_search(flags: Mapping[str, Any], plot: Path | None, as_json: bool) -> str:
    """As asked; a learner whose folds are trained is searched by bounds where nobody looks at the surface."""
    if plot and flags["search"] == "pruned":
        raise ConfigError(
            "--plot draws every score, of which --search pruned has one: --search grid"
        )
    surface = bool(plot) or as_json or flags["learner"] != "smooth-hinge"
    return flags["search"] or ("grid" if surface else "pruned")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """An error of what is in here gets the file's name."""
    try:
        yield
    except (ConfigError, DataError) as error:
        raise type(error)(f"{path}: {error}") from None


def make_request(flags: Mapping[str, Any], goal: Target) -> tuple[Method, Request]:
    """The flags as a request."""
    params = dict(split_parameter(text) for text in flags["params"])
    learner = find_learner(flags["learner"])
    params, choice = split_parameters(learner, flags["criterion"], params)
    loss = usual_loss(learner, flags["criterion"], flags["loss"])
    method = make_method(flags["criterion"], loss, params, goal.task == "classification")
    if goal.task not in learner.tasks:
        raise ConfigError(
            f"the learner {learner.name} is for {' and '.join(learner.tasks)}, not {goal.task}"
        )
    request = Request(
        choice,
        make_kernels(flags["kernel"], {name: flags[name] for name in kernel_grids()}),
        make_lams(flags["lam"]),
        method,
        flags["ridge"],
        flags["nystrom"],
        flags["n_jobs"],
        flags["seed"],
        goal.task,
        flags["search"],
    )
    return method, request


def split_parameter(text: str) -> tuple[str, str]:
    """``eta=1`` -> ("eta", "1")."""
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise ConfigError(f"--param {text!r}: write NAME=VALUE, as in eta=1")
    return name.strip(), value.strip()


def read_folds(path: Path | None) -> Index | None:
    """One whole number a line, none larger than there are lines."""
    if path is None:
        return None
    try:
        lines = read_regular(path, content_limit()).decode("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    numbers = []
    for position, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        if not (FOLD.fullmatch(text) and int(text) <= len(lines)):
            raise DataError(f"{path}:{position}: {text[:60]!r} is not a fold number (0, 1, 2, ...)")
        numbers.append(int(text))
    if not numbers:
        raise DataError(f"{path}: no fold numbers")
    return np.array(numbers, dtype=np.intp)
