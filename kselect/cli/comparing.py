"""``kselect select --compare``: several criteria in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from kselect.cli.choice import kind_of_task
from kselect.cli.choosing import request_of, split_parameter, table_options
from kselect.criteria import find_criterion
from kselect.datasets.table.raw_table import decision_lines
from kselect.errors import ConfigError
from kselect.grids import show_number
from kselect.learners import find_learner
from kselect.numerics.linalg import Array
from kselect.selection.compare import ComparedCriterion, CriteriaComparison, compare
from kselect.selection.own_data import OwnData, read_own
from kselect.selection.request import Request

USUAL = "5-CV,10-CV,ELOO,GCV,5-KS,BR"


def compare_criteria(file: Path, labels: str, flags: Mapping[str, Any], as_json: bool) -> Any:
    """The comparison as lines for a person, or as an object."""
    refuse(flags)
    workers = flags["n_jobs"] if flags["nystrom"] is None else None
    data = read_own(file, flags["target"], table_options(flags), flags["scale"], workers)
    asked = list(asked_of(labels, flags, data))
    if not asked:
        raise ConfigError(f"--compare: none of {labels} fits the learner {flags['learner']}")
    requests = [request_for(one, data, data.X) for one in asked]
    ask = partial(request_for, asked[0], data)
    found = compare(data, ask, [request.method for request in requests])
    return as_object(found, data) if as_json else "\n".join(describe(found, data, requests[0]))


def request_for(flags: Mapping[str, Any], data: OwnData, X: Array) -> Request:
    """What the flags ask for on some of the rows."""
    return request_of(flags, data.target.task, X)


def refuse(flags: Mapping[str, Any]) -> None:
    """Flags that mean one criterion alone."""
    if flags["folds"] is not None:
        raise ConfigError("--compare draws its own folds: leave out --folds")
    if flags["search"] == "pruned":
        raise ConfigError("--compare scores every candidate: leave out --search pruned")


def asked_of(labels: str, flags: Mapping[str, Any], data: OwnData) -> Iterator[dict[str, Any]]:
    """The flags for each criterion; those of the usual ones that do not fit the learner are left out."""
    names = [split_parameter(text)[0] for text in flags["params"]]
    for label in dict.fromkeys(part.strip() for part in labels.split(",")):
        criterion, folds = find_criterion(label)
        learner = find_learner(flags["learner"])
        columns = flags["nystrom"] is not None
        unfit = any(criterion.misfits(label, learner, [flags["kernel"]], columns))
        if labels == USUAL and (unfit or (folds or 0) > len(data.X) // 2):
            continue
        taken = {p.name for p in (*criterion.parameters, *learner.parameters)}
        params = [text for text, name in zip(flags["params"], names, strict=True) if name in taken]
        asked = {**flags, "criterion": label, "params": params, "search": "grid"}
        if flags["loss"] and criterion.parameter("loss") is None:
            asked["loss"] = None
        yield asked


def describe(found: CriteriaComparison, data: OwnData, request: Request) -> Iterator[str]:
    """The table."""
    yield f"{data.size}, {kind_of_task(data.target)}"
    yield from (f"  {line}" for line in decision_lines(data.frame.decisions))
    yield f"{request.learner.name}, {request.kernels[0].name} kernel"
    yield ""
    quality = found.criteria[0].quality
    heads = (
        "criterion",
        "choice",
        "score",
        f"{quality.measure} ({found.outer} outer folds)",
        "seconds",
    )
    yield from aligned([heads, *(cells(line) for line in found.criteria)])
    yield ""
    yield f"{quality.measure} of {quality.trivial_name} only: {quality.trivial:.4g}"
    yield (
        f"seconds: each criterion's own on all rows; {found.shared:.2f} s are shared by all. An outer fold is "
        "predicted by what was imputed, encoded, scaled and chosen without it."
    )


def cells(line: ComparedCriterion) -> tuple[str, ...]:
    """One criterion."""
    point, quality = line.best.point, line.quality
    values = {**point.kernel.parameters, "lam": point.lam}
    return (
        line.method.label,
        ", ".join(f"{name} = {show_number(value)}" for name, value in values.items()),
        f"{line.best.score:.6g}",
        f"{quality.value:.4f} +- {quality.spread:.4f}",
        f"{line.seconds:.2f}",
    )


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns of equal width: words on the left, numbers on the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        yield "  ".join([*left, *right])


def as_object(found: CriteriaComparison, data: OwnData) -> dict[str, Any]:
    """The same for ``--json``."""
    return {
        "criteria": [
            {
                "criterion": line.method.label,
                "params": dict(line.method.params),
                "best": {
                    **line.best.point.kernel.parameters,
                    "lam": line.best.point.lam,
                    "score": line.best.score,
                },
                "outer": asdict(line.quality),
                "seconds": line.seconds,
            }
            for line in found.criteria
        ],
        "seconds_shared": found.shared,
        "n": len(data.X),
        "decisions": decision_lines(data.frame.decisions),
        "data_sha256": data.frame.sha256,
    }
