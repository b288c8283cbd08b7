"""``kselect select``: kernel and ridge for a user's own file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

from kselect.datasets.scaling import scale_rows
from kselect.datasets.tabular import Target, as_target, read_table
from kselect.errors import ConfigError, DataError
from kselect.experiment import Method
from kselect.grids import show_number
from kselect.learners import find_learner
from kselect.linalg import Index
from kselect.request import DEGREE, LAM, TAU, make_folds, make_kernels, make_lams, make_method
from kselect.select import Request, Selection, check_memory, select

EPILOG = """\b
Examples:
  kselect select my.csv --target price
  kselect select my.svm.bz2 --learner krr --criterion ELOO --tau 2^-4:2^10 --lam 10^-6:10^0
  kselect select my.csv --criterion 5-KS --param eta=0.5 --folds folds.txt --json > choice.json

A GRID is 0.5,1,2 or 2^-6:2^8 (every power) or 2^-15:2^15:2 (every second).
"""
FOLD = re.compile(r"[0-9]{1,12}")


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
@click.option(
    "--tau", metavar="GRID", default=TAU, show_default=True, help="Of the Gaussian kernel."
)
@click.option(
    "--degree", metavar="GRID", default=DEGREE, show_default=True, help="Of the polynomial kernel."
)
@click.option("--lam", metavar="GRID", default=LAM, show_default=True, help="The ridge is n lam.")
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="A criterion's parameter: eta=1."
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
    help="What is averaged. [default: squared]",
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
    help="Draw the criterion over the grid.",
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
    if plot:
        from kselect.report.surface import check_plot

        check_plot(plot)
    table = read_table(file, target)
    with naming(file):
        if flags["nystrom"] is None:
            check_memory(len(table.X), flags["n_jobs"])
    goal = as_target(file, table, task)
    method, request = make_request(flags, goal)
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
        from kselect.report.surface import draw_surface

        draw_surface(found, plot)


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
    method = make_method(flags["criterion"], flags["loss"], params, goal.task == "classification")
    learner = find_learner(flags["learner"])
    if goal.task not in learner.tasks:
        raise ConfigError(
            f"the learner {learner.name} is for {' and '.join(learner.tasks)}, not {goal.task}"
        )
    request = Request(
        learner.name,
        make_kernels(flags["kernel"], flags),
        make_lams(flags["lam"]),
        method,
        flags["ridge"],
        flags["nystrom"],
        flags["n_jobs"],
        flags["seed"],
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
        lines = path.read_text(encoding="utf-8-sig").split("\n")
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


def as_object(found: Selection, n: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object of the specification, with what a reader needs to repeat it."""
    request = found.request
    scores = [
        {**kernel.parameters, "lam": lam, "score": score if np.isfinite(score) else None}
        for kernel, row in zip(request.kernels, found.scores.tolist(), strict=True)
        for lam, score in zip(request.lams, row, strict=True)
    ]
    return {
        "criterion": request.method.label,
        "params": dict(request.method.params),
        "learner": request.learner,
        "kernel": found.kernel.name,
        "ridge": request.ridge,
        "n": n,
        "best": {**found.kernel.parameters, "lam": found.lam, "score": found.score},
        "warnings": found.edges,
        "scores": scores,
        "seconds": found.seconds,
        "seconds_fit": found.seconds_fit,
        "nystrom": request.nystrom,
        **facts,
    }


def describe(found: Selection, n: int, d: int, goal: Target, scale: str) -> str:
    """What a person reads."""
    request = found.request
    kind = f"{goal.task} ({goal.why})"
    if goal.classes:
        kind += f"; classes {', '.join(goal.classes[:6])}{', ...' if len(goal.classes) > 6 else ''}"
    size = found.scores.size
    chosen = ", ".join(f"{k} = {show_number(v)}" for k, v in found.kernel.parameters.items())
    lines = [
        f"{n} rows, {d} feature{'' if d == 1 else 's'}, {kind}",
        f"{request.learner}, {found.kernel.name} kernel, {request.method.label}"
        + (f" ({request.method.text})" if request.method.params else ""),
        "",
        *score_table(found),
        "",
        f"choice: {chosen + ', ' if chosen else ''}lam = {show_number(found.lam)}"
        f" (ridge n lam = {found.lam * n:.4g}), score {found.score:.6g}",
        *(f"warning: {text}" for text in found.edges),
        f"{found.seconds:.2f} s for {size} candidate{'' if size == 1 else 's'}, the fit included",
        "",
        "fit it:",
        *(f"  {line}" for line in python_lines(found, goal, scale)),
    ]
    return "\n".join(lines)


def score_table(found: Selection) -> list[str]:
    """The criterion over the grid: ridges across, kernels down, the choice in brackets."""
    request = found.request
    heads = [show_number(lam) for lam in request.lams]
    names = [kernel.text or kernel.name for kernel in request.kernels]
    cells = [[f"{score:.4g}" for score in row] for row in found.scores]
    row, column = found.position
    cells[row][column] = f"[{cells[row][column]}]"
    widths = [max(len(head), *(len(line[i]) for line in cells)) for i, head in enumerate(heads)]
    first = max(len("lam"), *map(len, names))
    lines = [
        f"{'lam':>{first}}  " + "  ".join(f"{h:>{w}}" for h, w in zip(heads, widths, strict=True))
    ]
    for name, line in zip(names, cells, strict=True):
        lines.append(
            f"{name:>{first}}  " + "  ".join(f"{c:>{w}}" for c, w in zip(line, widths, strict=True))
        )
    return lines


def python_lines(found: Selection, goal: Target, scale: str) -> list[str]:
    """The line of Python that fits the choice, with its imports."""
    request = found.request
    form = (
        "KernelSelectClassifierCV" if goal.task == "classification" else "KernelSelectRegressorCV"
    )
    given = {"learner": request.learner, "kernel": found.kernel.name}
    if request.method.label != "5-CV":  # the estimator's own, which few rows may not allow
        given["criterion"] = request.method.label
    arguments = [f"{k}={v!r}" for k, v in given.items()]
    arguments += [f"{k}={show_number(v)}" for k, v in found.kernel.parameters.items()]
    arguments += [f"lam={show_number(found.lam)}"]
    if request.nystrom:
        arguments += [f"nystrom={request.nystrom}", f"random_state={request.seed}"]
    call = f"{form}({', '.join(arguments)})"
    lines = [f"from kselect.estimator import {form}"]
    if scale == "none":
        return [*lines, f"model = {call}.fit(X, y)"]
    scaler = "StandardScaler()" if scale == "zscore" else "MinMaxScaler((-1, 1))"
    lines += ["from sklearn.pipeline import make_pipeline"]
    lines += [f"from sklearn.preprocessing import {scaler.partition('(')[0]}"]
    return [*lines, f"model = make_pipeline({scaler}, {call}).fit(X, y)"]
