"""From a file and the flags of a selection to what was chosen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kselect.cli.watching import Watch, nystrom_hint
from kselect.datasets.content import content_limit
from kselect.datasets.registry import Task
from kselect.datasets.table.raw_table import TableOptions
from kselect.errors import ConfigError, DataError, printable, quoted
from kselect.files import read_regular, reason
from kselect.learners import find_learner
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Index
from kselect.selection.engine import Selection, select
from kselect.selection.held_out import Quality, folds_for, held_out_decisions, quality_of
from kselect.selection.own_data import OwnData, read_own
from kselect.selection.request import Request, kernel_grids, make_folds, make_kernels, make_request

REQUEST_FLAGS = ("loss", "ridge", "nystrom", "n_jobs", "seed", "search")
FOLD = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, eq=False)
class Chosen:
    """A file, the selection on it, and the folds that it used: the criterion's, or random ones."""

    data: OwnData
    found: Selection
    folds: Folds

    @cached_property
    def held_out(self) -> Array:
        """(q, n) decision values that each row gets from the fit on the other folds."""
        return held_out_decisions(self.found, self.data.X, self.data.target.values, self.folds)

    @property
    def quality(self) -> Quality:
        """How good they are."""
        goal = self.data.target
        return quality_of(self.held_out, goal.values, goal.task, self.folds)


def choose(file: Path, flags: Mapping[str, Any]) -> Chosen:
    """Read the file and search as the flags say; what is wrong with a flag is said before the search."""
    find_learner(flags["learner"])
    workers = flags["n_jobs"] if flags["nystrom"] is None else None
    data = read_own(file, flags["target"], table_options(flags), flags["scale"], workers)
    request = request_of(flags, data.target.task, data.X)
    numbers = read_folds(flags["folds"])
    with naming(file if numbers is None else flags["folds"]):
        folds = make_folds(request.method, len(data.X), request.seed, numbers)
    watch = Watch(nystrom_hint(data.X, data.target.values, request))
    found = select(data.X, data.target.values, request, folds, watch)
    return Chosen(data, found, folds_for(found, len(data.X), folds))


def how_to_search(flags: Mapping[str, Any], plot: Path | None, as_json: bool) -> str:
    """As asked; a learner whose folds are trained is searched by bounds where nobody looks at the surface."""
    if plot and flags["search"] == "pruned":
        raise ConfigError(
            "--plot draws every score, of which --search pruned has one: --search grid"
        )
    surface = bool(plot) or as_json or flags["learner"] != "smooth-hinge"
    return flags["search"] or ("grid" if surface else "pruned")


def table_options(flags: Mapping[str, Any]) -> TableOptions:
    """What the flags say of the columns."""
    return TableOptions(
        flags["drop"], flags["categorical"], flags["numeric"], flags["missing"], flags["task"]
    )


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """An error of what is in here gets the file's name."""
    try:
        yield
    except (ConfigError, DataError) as error:
        raise type(error)(f"{printable(path)}: {error}") from None


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
    """``eta=1`` -> ("eta", "1")."""
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise ConfigError(f"--param {quoted(text)}: write NAME=VALUE, as in eta=1")
    return name.strip(), value.strip()


def read_folds(path: Path | None) -> Index | None:
    """One whole number a line, none larger than there are lines."""
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
        raise DataError(f"{printable(path)}: no fold numbers")
    return np.array(numbers, dtype=np.intp)
