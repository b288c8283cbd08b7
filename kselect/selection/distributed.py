r"""A selection on a table that no process holds in full: dask workers keep its blocks of rows.

The driver finds where the blocks lie, and reads the first one, which decides what each column is. The workers read
the others in its form. Over all blocks are computed: the levels of categories, the medians (one column at a time at
the driver), the target and the scale. Each worker keeps its prepared blocks. Every pass of the search maps over
them, and the driver adds the sums in the order of the blocks, as one machine does. If a worker dies, dask reads and
computes its blocks again.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from threadpoolctl import threadpool_limits

from kselect.criteria import CRITERIA
from kselect.datasets.prepare import (
    Levels,
    Preparation,
    Scale,
    TableScale,
    apply_scale,
    encode,
    of_columns,
    scale_of_blocks,
)
from kselect.datasets.table.blocks import Layout, layout, read_block
from kselect.datasets.table.column_inference import absent
from kselect.datasets.table.frames import gap_of, gaps_of
from kselect.datasets.table.raw_table import (
    Frame,
    ReadingDecision,
    Schema,
    TableOptions,
    TargetNames,
)
from kselect.datasets.table.target import as_target
from kselect.errors import ConfigError, DataError, printable
from kselect.learners.blocks import RowTask
from kselect.numerics.linalg import Array, Index
from kselect.numerics.memory import keep_freed_memory
from kselect.selection.own_data import OwnData
from kselect.selection.request import Request

if TYPE_CHECKING:
    from distributed import Client, Future

A = TypeVar("A")
# The time of the distances between rows and landmarks, in terms of one kernel's share of a task.
DISTANCES = 0.5
# The most tasks per block, and the tasks per thread that are sent before their results are asked for.
MOST_SHARES, AHEAD = 5, 3
SERVED = ("k-CV", "ELOO", "GCV", "BR", "k-KS", "k-CVKS")


@dataclass(frozen=True, eq=False)
class DaskRows:
    """The prepared rows of a table as futures of its blocks: ``RowBlocks``, and in part an array."""

    client: Client
    blocks: tuple[Future[Any], ...]
    sizes: tuple[int, ...]
    width: int

    @property
    def n(self) -> int:
        """The number of rows."""
        return sum(self.sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        return self.n, self.width

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, rows: Index) -> Array:
        return self.gather(rows)

    def gather(self, rows: Index) -> Array:
        """Return some rows, in this order."""
        out = np.empty((len(rows), self.width))
        parts = []
        for start, stop, block in self.spans():
            inside = np.flatnonzero((rows >= start) & (rows < stop))
            if len(inside):
                own = rows[inside] - start
                parts.append((inside, self.submit(take, block, own)))
        for inside, part in parts:
            out[inside] = part.result()
        return out

    def spans(self) -> Iterator[tuple[int, int, Future[Any]]]:
        """Yield the first row of each block, the row after its last, and the block."""
        start = 0
        for size, block in zip(self.sizes, self.blocks, strict=True):
            yield start, start + size, block
            start += size

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Send a call to the workers."""
        return self.client.submit(function, *arguments, pure=False)

    @property
    def threads(self) -> int:
        """The number of calls that the workers run at the same time."""
        return max(1, sum(self.client.nthreads().values()))  # type: ignore[no-untyped-call]

    def shares(self, kernels: int) -> int:
        """Return the number of tasks per block with which the last worker ends first."""
        threads = self.threads

        def end(shares: int) -> float:
            busy = [0.0] * threads
            for size in self.sizes:
                for i in range(shares):
                    own = len(range(i, kernels, shares))
                    heapq.heapreplace(busy, busy[0] + size * (DISTANCES + own))
            return max(busy)

        return min(range(1, min(kernels, MOST_SHARES) + 1), key=end)

    def map(self, tasks: Sequence[RowTask], y: Array, numbers: Index) -> Iterator[list[Any]]:
        """Yield the results of all tasks for each block.

        A task travels once, as the result of a call. Few blocks are sent ahead, so that workers wait for none and
        keep few results.
        """
        sent = [self.submit(same, task) for task in tasks]
        ahead = 1 + -(-AHEAD * self.threads // len(tasks))
        calls: deque[list[Future[Any]]] = deque()
        for a, b, X in self.spans():
            if len(calls) == ahead:
                yield [call.result() for call in calls.popleft()]
            own = self.submit(same, (y[:, a:b], numbers[a:b]))
            calls.append([self.submit(run_task, task, X, own) for task in sent])
        while calls:
            yield [call.result() for call in calls.popleft()]


def same(value: A) -> A:
    """Return a value as a result that dask can send to every worker, and form again if it is lost."""
    return value


def run_task(task: RowTask, X: Array, own: tuple[Array, Index]) -> Any:
    """Run a task on the targets and fold numbers of a block, with one BLAS thread."""
    keep_freed_memory()
    with threadpool_limits(1):
        return task(X, *own)


def take(X: Array, rows: Index) -> Array:
    """Return some rows of a block."""
    return np.asarray(X[rows])


# --- reading ------------------------------------------------------------------------------------------


def read_distributed(
    client: Client, path: Path, target: TargetNames, options: TableOptions, scale: TableScale
) -> OwnData:
    """Read and prepare a table on the workers; ``X`` of the result are ``DaskRows``."""
    if scale == "quantile":
        raise ConfigError("--scale quantile ranks all rows at once: leave out --backend dask")
    if options.missing == "drop":
        raise ConfigError(
            "--missing drop changes the rows of a block: use impute with --backend dask"
        )
    found, schema, first = layout(path, target, options)
    frames = [client.submit(read_block, b, schema, path, pure=False) for b in found.blocks]
    read = [client.submit(summary, frame, pure=False) for frame in frames]
    summaries = [each.result() for each in read]
    refuse_gaps(summaries, schema, options, path)
    levels = tuple(
        () if spec.numeric else tuple(sorted(set().union(*(s.levels[i] for s in summaries))))
        for i, spec in enumerate(schema.columns)
    )
    medians, gaps = medians_of(client, frames, schema)
    fields = joined([s.target for s in summaries])
    goal = as_target(replace(first, targets=(fields,)), options.task)
    unscaled = [client.submit(form, frame, medians, levels, pure=False) for frame in frames]
    del frames  # a worker drops each one when its features are formed
    preparation = preparation_of(client, unscaled, schema, scale, (medians, levels, gaps))
    blocks = tuple(client.submit(scaled, X, preparation, pure=False) for X in unscaled)
    sizes = tuple(block.rows for block in found.blocks)
    rows = DaskRows(client, blocks, sizes, len(preparation.names))
    gone = np.sum([s.gaps for s in summaries], axis=0).tolist()
    whole = replace(first, sha256=found.sha256, decisions=decided(first, found, gone))
    # The few uses of X in what follows, its size and some of its rows, are those that DaskRows offers.
    return OwnData(path, whole, goal, preparation, cast(Array, rows))


def decided(first: Frame, found: Layout, gone: Sequence[int]) -> tuple[ReadingDecision, ...]:
    """Return the decisions on the first block, with the missing values of all rows."""
    if len(found.blocks) == 1:
        return first.decisions
    text = f"columns are read as the first {found.blocks[0].rows} of {found.n} rows suggest"
    kept = [d for d in first.decisions if d not in gaps_of(first)]
    gaps = [gap_of(s, count) for s, count in zip(first.columns, gone, strict=True) if count]
    return (ReadingDecision(None, text), *kept, *gaps)


@dataclass(frozen=True, eq=False)
class Summary:
    """The target of a block, the levels of each category in it, and the number of gaps per column."""

    target: Any
    levels: tuple[frozenset[str], ...]
    gaps: tuple[int, ...]


def summary(frame: Frame) -> Summary:
    """Return the summary of a block."""
    if frame.target is None:
        raise frame.place.error("a block of its rows has no target")
    specs = tuple(zip(frame.columns, frame.data, strict=True))
    levels = tuple(frozenset[str]() if s.numeric else frozenset(v.tolist()) for s, v in specs)
    return Summary(frame.target, levels, tuple(int(absent(v).sum()) for _, v in specs))


def refuse_gaps(
    summaries: Sequence[Summary], schema: Schema, options: TableOptions, path: Path
) -> None:
    """Refuse missing values if they are to be errors."""
    if options.missing == "error":
        for i, spec in enumerate(schema.columns):
            if any(s.gaps[i] for s in summaries):
                raise DataError(f"{printable(path)}: column {spec.name}: is missing")


def joined(parts: Sequence[Any]) -> Any:
    """Return the target of all blocks."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [field for part in parts for field in part]


def medians_of(
    client: Client, frames: Sequence[Future[Any]], schema: Schema
) -> tuple[Array, list[bool]]:
    """Return the median of each number, and whether it has no value; one column at a time comes to the driver."""
    medians, gaps = np.full(len(schema.columns), np.nan), [False] * len(schema.columns)
    for i, spec in enumerate(schema.columns):
        if spec.numeric:
            parts = [client.submit(present, frame, i, pure=False) for frame in frames]
            values = np.concatenate([part.result() for part in parts])
            gaps[i] = not len(values)
            medians[i] = 0.0 if gaps[i] else np.median(values)
    return medians, gaps


def present(frame: Frame, i: int) -> Array:
    """Return the values of a number that are not missing."""
    values = np.asarray(frame.data[i], dtype=np.float64)
    return values[~np.isnan(values)]


def form(frame: Frame, medians: Array, levels: tuple[Levels, ...]) -> Array:
    """Return the unscaled features of a block."""
    return np.hstack(encode(frame, medians, levels))


def preparation_of(
    client: Client,
    unscaled: Sequence[Future[Any]],
    schema: Schema,
    scale: Scale,
    learned: tuple[Array, tuple[Levels, ...], list[bool]],
) -> Preparation:
    """Return the preparation; the scale takes up to three sums over the blocks."""
    medians, levels, gaps = learned

    def each(of: Callable[[Array], Array]) -> list[Array]:
        parts = [client.submit(of, X, pure=False) for X in unscaled]
        return [part.result() for part in parts]

    if scale == "none":
        (one,) = each(lambda X: np.zeros(X.shape[1]))[:1]
        return of_columns(schema, scale, medians, levels, gaps, (one, one + 1.0))
    return of_columns(schema, scale, medians, levels, gaps, scale_of_blocks(each, scale))


def scaled(X: Array, preparation: Preparation) -> Array:
    """Return the scaled features of a block."""
    return apply_scale(X, preparation.shift, preparation.divisor)


def check_distributed(request: Request) -> None:
    """Refuse a request that would need all rows in one place."""
    label, name = request.method.label, request.method.criterion
    if request.nystrom is None:
        raise ConfigError("--backend dask works on columns of the kernel: add --nystrom C")
    if name not in SERVED:
        valid = ", ".join(sorted(c for c in SERVED if c in CRITERIA))
        raise ConfigError(f"--backend dask with {label}: only {valid} need no matrix of all rows")
