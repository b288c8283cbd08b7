"""The choice of kernel and ridge for the user's own file, from the flags that ``select`` and ``fit`` share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kselect.cli.progress import time_hint, watched
from kselect.cli.row_flags import asked_of_rows, check_row_flags
from kselect.datasets.content import content_limit
from kselect.datasets.registry import Task
from kselect.datasets.table.assignment import names_asked
from kselect.datasets.table.further_files import read_like
from kselect.datasets.table.raw_table import TableOptions
from kselect.errors import ConfigError, DataError, TrialError, printable, quoted
from kselect.files import read_regular, reason
from kselect.kernels.weighted import POWER
from kselect.learners import LEARNERS
from kselect.numerics.linalg import Index
from kselect.search.pruned import SQUARED
from kselect.selection.candidates.families import Rows, family_names, make_candidates
from kselect.selection.engine import select
from kselect.selection.held_out import HeldOut
from kselect.selection.own_data import OwnData, read_own
from kselect.selection.request import Request, kernel_grids, make_folds, make_request
from kselect.selection.result import Selection
from kselect.selection.rows.rules import RowRules
from kselect.selection.rows.weighting import Weighting, class_weights

if TYPE_CHECKING:
    from distributed import Client

    from kselect.selection.evaluation import Evaluation

REQUEST_FLAGS = (
    *("loss", "scoring", "ridge", "nystrom", "n_jobs", "seed", "search", "columns", "ensemble"),
    "time_limit",
    "metric",
)
# The flags about columns, in the order of the options of a table.
TABLE_NAMES = (
    *("drop", "categorical", "numeric", "missing", "task"),
    *("weights", "groups", "time"),
)
FOLD = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, eq=False)
class Chosen:
    """A file, the selection on it, its held-out predictions, the rules of its rows, and the score on test rows."""

    data: OwnData
    found: Selection
    held_out: HeldOut
    rules: RowRules
    test: Evaluation | None = None


def search_flag(
    flags: Mapping[str, Any], plot: Path | None, as_json: bool, report: Path | None = None
) -> str:
    """Return the search: as asked, else by bounds unless the scores are shown."""
    if plot and flags["search"] == "pruned":
        raise ConfigError(
            "--plot draws every score, but --search pruned computes only one: use --search grid"
        )
    return flags["search"] or ("grid" if plot or as_json or report else "pruned")


def choose(file: Path, flags: Mapping[str, Any], intervals: bool = False) -> Chosen:
    """Read the file and search as the flags ask; refuse wrong flags before the search.

    ``intervals`` says that the fits without each fold will be asked for.
    """
    LEARNERS.find(flags["learner"])
    check_row_flags(flags)
    if flags["scheduler"] and flags["backend"] != "dask":
        raise ConfigError("--scheduler needs --backend dask")
    if flags["backend"] == "dask":
        if len(names_asked(flags["target"])) > 1:
            raise ConfigError("--backend dask learns one target: name one --target")
        with cluster(flags["scheduler"], flags["n_jobs"]) as client:
            chosen = chosen_from(file, flags, read_blocks(client, file, flags))
            # The rows are on the cluster, which is there only now.
            if intervals and not chosen.data.target.classes:
                with suppress(ConfigError, TrialError):
                    chosen.held_out.intervals  # noqa: B018
            return chosen
    return chosen_from(file, flags, read_file(file, flags))


def chosen_from(file: Path, flags: Mapping[str, Any], data: OwnData) -> Chosen:
    """Search as the flags ask, on rows in memory or on a cluster."""
    request = request_of(flags, data.target.task, data.rows)
    remote = flags["backend"] == "dask"
    if remote:
        from kselect.selection.distributed import check_distributed

        check_distributed(request)
    numbers, targets = read_folds(flags["folds"]), data.target.values
    try:
        rules = rules_of(flags, data)
        request = rules.weighed(request, targets)
        if numbers is None:
            folds = rules.folds_of(request.method, len(data.X), request.seed)
        else:
            folds = make_folds(request.method, len(data.X), request.seed, numbers)
    except (ConfigError, DataError) as error:
        path = file if numbers is None else flags["folds"]
        raise type(error)(f"{printable(path)}: {error}") from None
    X = data.X
    LEARNERS.find(flags["learner"]).prepare()
    with watched(len(request.kernels), partial(time_hint, X, targets, request)) as watch:
        found = select(X, targets, request, folds, watch)
    by_user = numbers is not None or bool(rules.hold_out)
    held_out = HeldOut(found, X, targets, folds, given=by_user)
    if remote:
        held_out.decisions  # noqa: B018  the cluster is there only now
    test = None if flags["test_file"] is None else on_test_rows(data, found, held_out, flags)
    return Chosen(data, found, held_out, rules, test)


def on_test_rows(
    data: OwnData, found: Selection, held_out: HeldOut, flags: Mapping[str, Any]
) -> Evaluation:
    """Return the score of the fit on the rows of a further file, which nothing else has seen."""
    from kselect.selection.evaluation import evaluated
    from kselect.selection.saved_model import model_of

    slope = held_out.slope if data.target.classes else None
    model = model_of(found, data.X, data.target, data.preparation, {}, slope)
    return evaluated(model, read_like(flags["test_file"], data.preparation.schema))[0]


def rules_of(flags: Mapping[str, Any], data: OwnData) -> RowRules:
    """Return the rules that the flags make for the rows of a table."""
    weighting = Weighting(
        data.weights, class_weights(flags["class_weight"], data.target.classes or ())
    )
    hold_out = data.hold_out(flags["repeats"], flags["stratify"])
    return RowRules(weighting, hold_out, asked_of_rows(flags))


@contextmanager
def cluster(scheduler: str | None, workers: int) -> Iterator[Client]:
    """Connect to a dask scheduler, or start workers on this machine; close the connection at the end."""
    from kselect.run.workers import dask_client

    try:
        client = dask_client(scheduler, workers)
    except ImportError:
        raise ConfigError(
            "--backend dask needs the extra dask: pip install 'kselect[dask]'"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"--scheduler {scheduler}: {' '.join(str(error).split())}") from None
    try:
        yield client
    finally:
        own = None if scheduler else client.cluster
        client.close()  # type: ignore[no-untyped-call]
        if own is not None:
            own.close()


def read_blocks(client: Client, file: Path, flags: Mapping[str, Any]) -> OwnData:
    """Read and prepare the file on the workers as the flags ask."""
    from kselect.selection.distributed import read_distributed

    columns = (flags[name] for name in ("drop", "categorical", "numeric", "missing", "task"))
    options = TableOptions(*columns)
    return read_distributed(client, file, flags["target"], options, flags["scale"])


def read_file(file: Path, flags: Mapping[str, Any]) -> OwnData:
    """Read and prepare the file as the flags ask."""
    columns = (flags[name] for name in TABLE_NAMES)
    # Whether a simple kernel needs a matrix of all rows is known only with their number of features.
    exact = names_of(flags) in (("linear",), ("polynomial",))
    how = flags["scale"], None if exact else flags["n_jobs"], flags["nystrom"]
    few = flags["search"] != "grid" and flags["learner"] in SQUARED
    return read_own(file, flags["target"], TableOptions(*columns), *how, few=few)


def grids_of(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the grid that the flags give for each kernel parameter, or None."""
    return {name: flags[name] for name in (*kernel_grids(), POWER)}


def names_of(flags: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kernels that the flags ask for."""
    return family_names(flags["kernel"], grids_of(flags))


def request_of(flags: Mapping[str, Any], task: Task, rows: Rows) -> Request:
    """Return the request that the flags make for some rows."""
    names = names_of(flags)
    found = make_candidates(names, grids_of(flags), rows)
    return make_request(
        flags["learner"],
        flags["criterion"],
        names[0],
        found.kernels,
        flags["lam"],
        growing=found.growing,
        relevances=found.relevances,
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
