"""A selection as a person reads it, and as the JSON object of ``--json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from kselect.cli.choosing import Chosen
from kselect.cli.python_lines import python_lines
from kselect.cli.relevances import name_kernel, relevance_facts, relevance_lines, state_lines
from kselect.core.method import show
from kselect.core.record import describe_exclusions
from kselect.datasets.table.raw_table import decision_lines
from kselect.datasets.table.target import Target
from kselect.errors import brief
from kselect.grids import show_number
from kselect.kernels.ard import Ard
from kselect.search.pruned import Work
from kselect.selection.engine import Selection


def as_object(chosen: Chosen) -> dict[str, Any]:
    """The JSON object of the specification, with what a reader needs to repeat it."""
    found, data = chosen.found, chosen.data
    request = found.request
    return {
        **choice_facts(chosen),
        "excluded": [
            {**point.kernel.parameters, "lam": point.lam, "reason": reason}
            for point, reason in found.best.excluded
        ],
        "scores": score_objects(found),
        "seconds": found.seconds,
        "seconds_fit": found.seconds_fit,
        "nystrom": request.nystrom,
        "scale": data.preparation.scale,
        "task": data.target.task,
        "classes": data.target.classes,
        "features": data.preparation.names,
    }


def choice_facts(chosen: Chosen) -> dict[str, Any]:
    """What a report and a model file say of the choice."""
    found, data, request = chosen.found, chosen.data, chosen.found.request
    return {
        "criterion": request.method.label,
        "params": dict(request.method.params),
        "learner": request.learner.name,
        "learner_params": dict(request.learner.params),
        "kernel": found.kernel.name,
        "ridge": request.ridge,
        "search": searched_by(found),
        "seed": request.seed,
        "n": len(data.X),
        "best": {**found.kernel.parameters, "lam": found.lam, "score": found.score},
        **relevance_facts(found.kernel, found.best),
        "held_out": asdict(chosen.quality),
        "warnings": found.edges,
        "decisions": decision_lines(data.frame.decisions),
        "data_sha256": data.frame.sha256,
    }


def score_objects(found: Selection) -> list[dict[str, Any]]:
    """One object per candidate; a score that is infinite is null."""
    return [
        {**kernel.parameters, "lam": lam, "score": score if np.isfinite(score) else None}
        for kernel, row in zip(found.request.kernels, found.scores.tolist(), strict=True)
        for lam, score in zip(found.request.lams, row, strict=True)
        if not np.isnan(score)  # not known to a search by bounds
    ]


def describe(chosen: Chosen, flags: Mapping[str, Any]) -> str:
    """What a person reads."""
    found, data = chosen.found, chosen.data
    lines = [
        f"{data.size}, {kind_of_task(data.target)}",
        *(f"  {line}" for line in decision_lines(data.frame.decisions)),
        model_line(found),
        "",
        *scores_or_relevances(chosen),
        "",
        *choice_lines(chosen),
        "",
        "fit it:",
        *(f"  {line}" for line in python_lines(chosen, flags)),
    ]
    return "\n".join(lines)


def kind_of_task(goal: Target) -> str:
    """``classification (the target has two values); classes -1, 1``."""
    kind = f"{goal.task} ({goal.why})"
    if not goal.classes:
        return kind
    first = ", ".join(map(brief, goal.classes[:6]))
    return f"{kind}; classes {first}{', ...' if len(goal.classes) > 6 else ''}"


def model_line(found: Selection) -> str:
    """``lssvm, gaussian kernel, 5-CV (average=points;loss=squared)``."""
    request = found.request
    own = "".join(f" {k}={show(v)}" for k, v in request.learner.params)
    method = request.method
    criterion = f"{method.label} ({method.text})" if method.params else method.label
    return f"{request.learner.name}{own}, {found.kernel.name} kernel, {criterion}"


def choice_lines(chosen: Chosen) -> list[str]:
    """What was chosen, whether it is any good, what to beware of, and the time."""
    found, size = chosen.found, chosen.found.scores.size
    lam = f"{found.lam:.6g}" if found.request.method.search else show_number(found.lam)
    named = [name_kernel(found.kernel), f"lam = {lam}"]
    shown = ", ".join(text for text in named if text)
    ridge = f"{found.lam * len(chosen.data.X):.4g}"
    seconds = found.seconds + found.seconds_fit
    return [
        f"choice: {shown} (ridge n lam = {ridge}), score {found.score:.6g}",
        f"there: {chosen.quality.text}",
        *(f"warning: {text}" for text in found.edges),
        *(f"excluded: {text}" for text in [describe_exclusions(found.best)] if text),
        *state_lines(found.best),
        f"{seconds:.2f} s for {size} candidate{'' if size == 1 else 's'}, the fit included",
    ]


def searched_by(found: Selection) -> str:
    """The search's name."""
    if found.request.method.search:
        return found.request.method.search.name
    return "pruned" if found.work else "grid"


def scores_or_relevances(chosen: Chosen) -> list[str]:
    """What a search looked at, or what it learned."""
    found = chosen.found
    if isinstance(found.kernel, Ard):
        return relevance_lines(found.kernel, chosen.data.preparation.names)
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
