"""The choice of kernel and ridge for the user's own file, from the flags that ``select`` and ``fit`` share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kselect.cli.progress import time_hint, watched
from kselect.datasets.content import content_limit
from kselect.datasets.registry import Task
from kselect.datasets.table.raw_table import TableOptions
from kselect.errors import ConfigError, DataError, printable, quoted
from kselect.files import read_regular, reason
from kselect.learners import LEARNERS
from kselect.numerics.linalg import Array, Index
from kselect.selection.engine import Selection, select
from kselect.selection.held_out import HeldOut
from kselect.selection.own_data import OwnData, read_own
from kselect.selection.request import (
    Request,
    kernel_grids,
    make_folds,
    make_kernels,
    make_request,
)

REQUEST_FLAGS = ("loss", "ridge", "nystrom", "n_jobs", "seed", "search")
FOLD = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, eq=False)
class Chosen:
    """A file, the selection on it, and its held-out predictions."""

    data: OwnData
    found: Selection
    held_out: HeldOut


def search_flag(flags: Mapping[str, Any], plot: Path | None, as_json: bool) -> str:
    """Return the search: as asked, else by bounds unless the scores are shown."""
    if plot and flags["search"] == "pruned":
        raise ConfigError(
            "--plot draws every score, but --search pruned computes only one: use --search grid"
        )
    return flags["search"] or ("grid" if plot or as_json else "pruned")


def choose(file: Path, flags: Mapping[str, Any]) -> Chosen:
    """Read the file and search as the flags ask; refuse wrong flags before the search."""
    LEARNERS.find(flags["learner"])
    data = read_file(file, flags)
    request = request_of(flags, data.target.task, data.X)
    numbers = read_folds(flags["folds"])
    try:
        folds = make_folds(request.method, len(data.X), request.seed, numbers)
    except (ConfigError, DataError) as error:
        path = file if numbers is None else flags["folds"]
        raise type(error)(f"{printable(path)}: {error}") from None
    X, targets = data.X, data.target.values
    with watched(len(request.kernels), partial(time_hint, X, targets, request)) as watch:
        found = select(X, targets, request, folds, watch)
    return Chosen(data, found, HeldOut(found, X, targets, folds))


def read_file(file: Path, flags: Mapping[str, Any]) -> OwnData:
    """Read and prepare the file as the flags ask."""
    columns = (flags[name] for name in ("drop", "categorical", "numeric", "missing", "task"))
    how = flags["scale"], flags["n_jobs"], flags["nystrom"]
    return read_own(file, flags["target"], TableOptions(*columns), *how)


def request_of(flags: Mapping[str, Any], task: Task, X: Array) -> Request:
    """Return the request that the flags make for the rows X."""
    return make_request(
        flags["learner"],
        flags["criterion"],
        flags["kernel"],
        make_kernels(flags["kernel"], {name: flags[name] for name in kernel_grids()}, X),
        flags["lam"],
        task=task,
        params=dict(split_parameter(text) for text in flags["params"]),
        **{name: flags[name] for name in REQUEST_FLAGS},
    )


def split_parameter(text: str) -> tuple[str, str]:
    """Split ``eta=1`` into ("eta", "1")."""
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise ConfigError(f"--param {quoted(text)}: write NAME=VALUE, as in eta=1")
    return name.strip(), value.strip()


def read_folds(path: Path | None) -> Index | None:
    """Read one fold number per line; no number may exceed the number of lines."""
    if path is None:
        return None
    try:
        lines = read_regular(path, content_limit()).decode("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        what = reason(error) if isinstance(error, OSError) else "not UTF-8 text"
        raise DataError(f"{printable(path)}: {what}") from None
    numbers = []
    for position, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        if not (FOLD.fullmatch(text) and int(text) <= len(lines)):
            raise DataError(
                f"{printable(path)}:{position}: {quoted(text)} is not a fold number (0, 1, 2, ...)"
            )
        numbers.append(int(text))
    if not numbers:
        raise DataError(f"{printable(path)}: no fold numbers; write one per row")
    return np.array(numbers, dtype=np.intp)
