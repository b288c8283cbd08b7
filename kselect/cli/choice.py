"""A selection presented to the user: as text, as the JSON object of ``--json``, and as Python that repeats it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from kselect.cli.choosing import Chosen
from kselect.core.method import show
from kselect.core.record import describe_exclusions
from kselect.datasets.table.raw_table import decision_lines
from kselect.errors import brief
from kselect.grids import show_number
from kselect.kernels.ard import FeatureWidths
from kselect.kernels.sums import Sum
from kselect.learners import LEARNERS
from kselect.search.continuous import SEARCHES
from kselect.selection.columns import USUAL_COLUMNS
from kselect.selection.engine import Selection
from kselect.selection.own_data import OwnData
from kselect.selection.request import criterion_of

BAR_WIDTH = 40
MOST_RELEVANCES = 60
# The flags about the table, with the defaults of ``kselect.read_table``.
TABLE_DEFAULTS: Mapping[str, Any] = {
    "target": None,
    "task": None,
    "drop": (),
    "categorical": (),
    "numeric": (),
    "missing": "impute",
    "scale": "zscore",
}


# --- JSON -------------------------------------------------------------------------------------------


def as_object(chosen: Chosen) -> dict[str, Any]:
    """Return the object of ``--json``: the choice, every score, and everything needed to repeat it.

    An infinite score is null; scores that a search by bounds did not compute are absent.
    """
    found, data = chosen.found, chosen.data
    request = found.request
    scores = [
        {**kernel.parameters, "lam": lam, "score": score if np.isfinite(score) else None}
        for kernel, row in zip(request.kernels, found.scores.tolist(), strict=True)
        for lam, score in zip(request.lams, row, strict=True)
        if not np.isnan(score)
    ]
    return {
        **choice_facts(chosen),
        "excluded": [
            {**point.kernel.parameters, "lam": point.lam, "reason": reason}
            for point, reason in found.best.excluded
        ],
        "scores": scores,
        "seconds": found.seconds,
        "seconds_fit": found.seconds_fit,
        "nystrom": request.nystrom,
        "scale": data.preparation.scale,
        "task": data.target.task,
        "classes": data.target.classes,
        "features": data.preparation.names,
    }


def choice_facts(chosen: Chosen) -> dict[str, Any]:
    """Return the facts of the choice that ``--json`` and a model file hold."""
    found, data, request = chosen.found, chosen.data, chosen.found.request
    search = "pruned" if found.work else "grid"
    return {
        "criterion": request.method.label,
        "params": dict(request.method.params),
        "learner": request.learner.name,
        "learner_params": dict(request.learner.params),
        "kernel": found.kernel.name,
        "ridge": request.ridge,
        "search": request.method.search.name if request.method.search else search,
        "seed": request.seed,
        "n": len(data.X),
        "best": {**found.kernel.parameters, "lam": found.lam, "score": found.score},
        **relevance_facts(found),
        "held_out": asdict(chosen.held_out.quality),
        "warnings": found.edges,
        "decisions": decision_lines(data.frame.decisions),
        "data_sha256": data.frame.sha256,
    }


def relevance_facts(found: Selection) -> dict[str, Any]:
    """Return share and width per feature number of a learned kernel, or the weights of a sum; the largest first."""
    kernel = found.kernel
    if isinstance(kernel, Sum):
        heaviest = sorted(kernel.parameters.items(), key=lambda pair: -pair[1])
        weights = [{"kernel": name, "weight": mu} for name, mu in heaviest]
        return {"weights": weights, "state": found.best.state, **dict(found.best.point.tuned)}
    if not isinstance(kernel, FeatureWidths):
        return {}
    shares, theta = kernel.relevances().tolist(), kernel.vector().tolist()
    every = [
        {"feature": j + 1, "share": shares[j], "theta": theta[j]} for j in by_relevance(kernel)
    ]
    return {"relevances": every, "state": found.best.state, **dict(found.best.point.tuned)}


def by_relevance(kernel: FeatureWidths) -> list[int]:
    """Return the indices of the features, the most relevant first."""
    shares = kernel.relevances()
    return sorted(range(len(shares)), key=lambda j: -shares[j])


# --- text -------------------------------------------------------------------------------------------


def describe(chosen: Chosen, flags: Mapping[str, Any]) -> str:
    """Return the output of ``select``."""
    found, kernel, names = chosen.found, chosen.found.kernel, chosen.data.preparation.names
    if isinstance(kernel, FeatureWidths):
        table = relevance_lines(kernel, names)
    else:
        table = weight_lines(kernel) if isinstance(kernel, Sum) else score_lines(found)
    python = [f"  {line}" for line in python_lines(chosen, flags)]
    lines = [*data_lines(chosen.data), model_line(found), "", *table, ""]
    return "\n".join([*lines, *choice_lines(chosen), "", "fit it:", *python])


def data_lines(data: OwnData) -> list[str]:
    """Return size, task and classes, and the decisions made about the columns.

    The first line reads ``891 rows, 7 features, classification (the target has two values); classes 0, 1``.
    """
    target = data.target
    first = f"{data.size}, {target.task} ({target.why})"
    if target.classes:
        names = ", ".join(map(brief, target.classes[:6]))
        first += f"; classes {names}{', ...' if len(target.classes) > 6 else ''}"
    return [first, *(f"  {line}" for line in decision_lines(data.frame.decisions))]


def model_line(found: Selection) -> str:
    """``lssvm, gaussian kernel, 5-CV (average=points;loss=squared)``."""
    request = found.request
    own = "".join(f" {k}={show(v)}" for k, v in request.learner.params)
    method = request.method
    criterion = f"{method.label} ({method.text})" if method.params else method.label
    return f"{request.learner.name}{own}, {found.kernel.name} kernel, {criterion}"


def choice_lines(chosen: Chosen) -> Iterator[str]:
    """Yield the choice, its held-out quality, warnings, and the time."""
    found, kernel, size = chosen.found, chosen.found.kernel, chosen.found.scores.size
    if isinstance(kernel, FeatureWidths):
        zeros = sum(value == 0.0 for value in kernel.theta)
        parts = [f"{len(kernel.theta)} widths, {zeros} of them zero"]
    elif isinstance(kernel, Sum):
        without = dict(found.best.point.tuned)["held"]
        parts = [f"{len(kernel.mu)} of {len(kernel.mu) + without} kernels have a weight"]
    else:
        parts = [f"{k} = {show_number(v)}" for k, v in kernel.parameters.items()]
    lam = f"{found.lam:.6g}" if found.request.method.search else show_number(found.lam)
    shown = ", ".join([*parts, f"lam = {lam}"])
    ridge = f"{found.lam * len(chosen.data.X):.4g}"
    yield f"choice: {shown} (ridge n lam = {ridge}), score {found.score:.6g}"
    yield f"quality: {chosen.held_out.quality.text}"
    yield from (f"warning: {text}" for text in found.edges)
    if text := describe_exclusions(found.best):
        yield f"excluded: {text}"
    if found.best.state not in ("", "converged"):
        yield f"warning: the search ended without converging: {found.best.state}"
    seconds = found.seconds + found.seconds_fit
    yield f"{seconds:.2f} s for {size} candidate{'' if size == 1 else 's'}, including the fit"


def score_lines(found: Selection) -> list[str]:
    """Return the criterion over the grid: one column per ridge, one line per kernel, the choice in brackets.

    A search by bounds does not know these scores; return what it had to fit.
    """
    request = found.request
    if work := found.work:
        fits = found.scores.size * (request.method.folds or 1)
        dropped = found.scores.size - work.iterated - work.pairs
        return [
            f"the exact minimum by bounds: fitted {work.kernels_fitted} of {len(request.kernels)} kernels and "
            f"{work.folds} of {fits} folds (--search grid scores every candidate)",
            f"candidates settled by bounds: {dropped}, by conjugate gradients: {work.iterated}, "
            f"by factorizations: {work.pairs}",
        ]
    cells = [[f"{score:.4g}" for score in row] for row in found.scores]
    row, column = found.position
    cells[row][column] = f"[{cells[row][column]}]"
    names = [kernel.text or kernel.name for kernel in request.kernels]
    table = [["lam", *map(show_number, request.lams)]]
    table += [[name, *line] for name, line in zip(names, cells, strict=True)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(f"{c:>{w}}" for c, w in zip(line, widths, strict=True)) for line in table]


def relevance_lines(kernel: FeatureWidths, names: Sequence[str]) -> list[str]:
    """Return one line per feature, the most relevant first: its share of all widths, its width, a bar."""
    shares, theta = kernel.relevances(), kernel.vector()
    order = by_relevance(kernel)
    wide = max(map(len, (*names, "relevance of")))
    largest = max(float(shares.max()), 1e-300)
    lines = [f"{'relevance of':<{wide}}   share       theta"]
    for j in order[:MOST_RELEVANCES]:
        bar = "#" * round(BAR_WIDTH * float(shares[j]) / largest)
        share = f"{100 * shares[j]:5.1f} %"
        lines.append(f"{names[j]:<{wide}}  {share}  {theta[j]:10.4g}  {bar}".rstrip())
    rest = order[MOST_RELEVANCES:]
    if rest:
        share = f"{100 * float(sum(shares[j] for j in rest)):.1f} %"
        lines.append(f"... and {len(rest)} more, {share} together (--json lists all)")
    return lines


def weight_lines(kernel: Sum) -> list[str]:
    """Return one line per kernel of a sum, the heaviest first: its weight and a bar."""
    order = sorted(kernel.parameters.items(), key=lambda pair: -pair[1])
    wide = max(map(len, (*kernel.parameters, "weight of")))
    lines = [f"{'weight of':<{wide}}          mu"]
    for name, mu in order[:MOST_RELEVANCES]:
        bar = "#" * round(BAR_WIDTH * mu / order[0][1])
        lines.append(f"{name:<{wide}}  {mu:10.4g}  {bar}".rstrip())
    return lines


# --- Python -----------------------------------------------------------------------------------------


def python_lines(chosen: Chosen, flags: Mapping[str, Any]) -> list[str]:
    """Return Python that reads the file, fits the choice and prints the same score.

    It runs in the folder in which the command was typed.
    """
    task, folds = chosen.data.target.task, flags["folds"]
    form = f"KernelSelect{'Classifier' if task == 'classification' else 'Regressor'}CV"
    table = [
        f"{name}={list(flags[name])!r}" if isinstance(default, tuple) else f"{name}={flags[name]!r}"
        for name, default in TABLE_DEFAULTS.items()
        if flags[name] != default
    ]
    return [
        *(["import numpy as np"] if folds else []),
        f"from kselect import {form}, read_table",
        f"table = read_table({', '.join([repr(str(chosen.data.path)), *table])})",
        f"model = {form}(",
        *(f"    {argument}," for argument in model_arguments(chosen.found, folds)),
        ").fit(table.X, table.y)",
        f"print(-model.best_score_)  # {chosen.found.score:.6g}",
    ]


def model_arguments(found: Selection, folds: Any) -> list[str]:
    """Return the estimator's arguments: learner, criterion, kernel, and everything that is not a default."""
    request = found.request
    lines = [
        f"learner={request.learner.name!r}",
        f"criterion={request.method.label!r}",
        f"kernel={(request.method.kernel or found.kernel.name)!r}",
    ]
    if not found.kernel.learned:
        shown = {k: show_number(v) for k, v in found.kernel.parameters.items()}
        if set(shown) <= {"tau", "degree"}:
            lines += [f"{k}={v}" for k, v in shown.items()]
        else:
            lines.append("grids={" + ", ".join(f"{k!r}: {v}" for k, v in shown.items()) + "}")
        lines.append(f"lam={show_number(found.lam)}")
    criterion, _ = criterion_of(request.method.label)
    defaults = LEARNERS[request.learner.name].defaults | criterion.defaults
    given = dict(request.learner.params) | dict(request.method.params)
    if search := request.method.search:
        defaults |= SEARCHES[search.name].defaults
        given |= dict(search.params)
    params = {name: value for name, value in given.items() if value != defaults[name]}
    loss = params.pop("loss", None)
    lines += [f"params={params!r}"] if params else []
    lines += [f"loss={loss!r}"] if loss else []
    lines += [f"ridge={request.ridge!r}"] if request.ridge != "fixed" else []
    lines += [f"cv=np.loadtxt({str(folds)!r}, dtype=int, encoding='utf-8-sig')"] if folds else []
    lines += [f"nystrom={request.nystrom}"] if request.nystrom else []
    lines += [f"columns={request.columns!r}"] if request.columns != USUAL_COLUMNS else []
    return [*lines, f"random_state={request.seed}"]
