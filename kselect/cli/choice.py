"""A selection as a person reads it, and as the JSON object of ``--json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kselect.cli.relevances import name_kernel, relevance_facts, relevance_lines, state_lines
from kselect.datasets.tabular import Target
from kselect.errors import brief
from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.kernels.ard import Ard
from kselect.model.method import show
from kselect.model.records import describe_exclusions
from kselect.search.pruned import Work
from kselect.selection.engine import Selection


def as_object(found: Selection, n: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object of the specification, with what a reader needs to repeat it."""
    request = found.request
    scores = [
        {**kernel.parameters, "lam": lam, "score": score if np.isfinite(score) else None}
        for kernel, row in zip(request.kernels, found.scores.tolist(), strict=True)
        for lam, score in zip(request.lams, row, strict=True)
        if not np.isnan(score)  # not known to a search by bounds
    ]
    return {
        "criterion": request.method.label,
        "params": dict(request.method.params),
        "learner": request.learner.name,
        "learner_params": dict(request.learner.params),
        "kernel": found.kernel.name,
        "ridge": request.ridge,
        "search": searched_by(found),
        "n": n,
        "best": {**found.kernel.parameters, "lam": found.lam, "score": found.score},
        **relevance_facts(found.kernel, found.found),
        "warnings": found.edges,
        "excluded": [
            {**place.kernel.parameters, "lam": place.lam, "reason": reason}
            for place, reason in found.found.excluded
        ],
        "scores": scores,
        "seconds": found.seconds,
        "seconds_fit": found.seconds_fit,
        "nystrom": request.nystrom,
        **facts,
    }


def describe(found: Selection, n: int, d: int, goal: Target, scale: str) -> str:
    """What a person reads."""
    request = found.request
    own = "".join(f" {k}={show(v)}" for k, v in request.learner.params)
    kind = f"{goal.task} ({goal.why})"
    if goal.classes:
        first = ", ".join(map(brief, goal.classes[:6]))
        kind += f"; classes {first}{', ...' if len(goal.classes) > 6 else ''}"
    size = found.scores.size
    chosen = name_kernel(found.kernel)
    lines = [
        f"{n} rows, {d} feature{'' if d == 1 else 's'}, {kind}",
        f"{request.learner.name}{own}, {found.kernel.name} kernel, {request.method.label}"
        + (f" ({request.method.text})" if request.method.params else ""),
        "",
        *scores_or_relevances(found),
        "",
        f"choice: {chosen + ', ' if chosen else ''}lam = {show_number(found.lam)}"
        f" (ridge n lam = {found.lam * n:.4g}), score {found.score:.6g}",
        *(f"warning: {text}" for text in found.edges),
        *(f"excluded: {text}" for text in [describe_exclusions(found.found)] if text),
        *state_lines(found.found),
        f"{found.seconds:.2f} s for {size} candidate{'' if size == 1 else 's'}, the fit included",
        "",
        "fit it:",
        *(f"  {line}" for line in python_lines(found, goal, scale)),
    ]
    return "\n".join(lines)


def searched_by(found: Selection) -> str:
    """The search's name."""
    if found.request.method.search:
        return found.request.method.search.name
    return "pruned" if found.work else "grid"


def scores_or_relevances(found: Selection) -> list[str]:
    """What a search looked at, or what it learned."""
    if isinstance(found.kernel, Ard):
        return relevance_lines(found.kernel)
    return score_table(found) if found.work is None else [describe_work(found, found.work)]


def describe_work(found: Selection, work: Work) -> str:
    """What the bounds spared."""
    request = found.request
    folds = request.method.folds or 1
    return (
        f"the exact minimum by bounds: {work.kernels_fitted} of {len(request.kernels)} kernels and "
        f"{work.folds} of {found.scores.size * folds} fold fits (--search grid scores every candidate)"
    )


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
    given: dict[str, Any] = {"learner": request.learner.name, "kernel": found.kernel.name}
    if request.method.label != "5-CV":  # the estimator's own, which few rows may not allow
        given["criterion"] = request.method.label
    arguments = [f"{k}={v!r}" for k, v in given.items()]
    if not found.kernel.learned:
        arguments += [*kernel_arguments(found.kernel), f"lam={show_number(found.lam)}"]
    if request.learner.params:
        arguments += [f"params={dict(request.learner.params)!r}"]
    if request.nystrom:
        arguments += [f"nystrom={request.nystrom}", f"random_state={request.seed}"]
    call = f"{form}({', '.join(arguments)})"
    lines = [f"from kselect import {form}"]
    if scale == "none":
        return [*lines, f"model = {call}.fit(X, y)"]
    scaler = "StandardScaler()" if scale == "zscore" else "MinMaxScaler((-1, 1))"
    lines += ["from sklearn.pipeline import make_pipeline"]
    lines += [f"from sklearn.preprocessing import {scaler.partition('(')[0]}"]
    return [*lines, f"model = make_pipeline({scaler}, {call}).fit(X, y)"]


def kernel_arguments(kernel: Kernel) -> list[str]:
    """The kernel's parameters as the estimator takes them: the best known by name, others in ``grids``."""
    shown = {k: show_number(v) for k, v in kernel.parameters.items()}
    if set(shown) <= {"tau", "degree"}:
        return [f"{k}={v}" for k, v in shown.items()]
    return ["grids={" + ", ".join(f"{k!r}: {v}" for k, v in shown.items()) + "}"]
