"""A selection presented to the user: as text, and as the JSON object of ``--json``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kselect.cli.choosing import Chosen
from kselect.cli.row_flags import rule_lines
from kselect.cli.snippet import python_lines
from kselect.core.method import Method, show
from kselect.datasets.table.raw_table import decision_lines
from kselect.errors import brief
from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.kernels.ard import FeatureWidths
from kselect.kernels.sums import Sum
from kselect.selection.own_data import OwnData
from kselect.selection.request import Request
from kselect.selection.result import Member, Selection, shown_score
from kselect.selection.time_limit import not_looked_at

if TYPE_CHECKING:
    from kselect.selection.compare import CriteriaComparison
    from kselect.selection.contenders import Contender, FailedContender

BAR_WIDTH = 40
MOST_RELEVANCES = 60
RELEVANCES_SHOWN = 8
# A number with more characters is shown with six digits.
LONGEST_NUMBER = 8


# --- JSON -------------------------------------------------------------------------------------------


def as_object(chosen: Chosen) -> dict[str, Any]:
    """Return the object of ``--json``: the choice, every score, and everything needed to repeat it.

    An infinite score, of what is excluded or no candidate, is null; scores that a search by bounds did not compute
    are absent.
    """
    found, data = chosen.found, chosen.data
    request = found.request
    scores = [
        {
            "kernel": kernel.name,
            **kernel.parameters,
            "lam": lam,
            "score": score if np.isfinite(score) else None,
        }
        for kernel, row in zip(request.kernels, found.shown_scores.tolist(), strict=True)
        for lam, score in zip(request.lams, row, strict=True)
        if not np.isnan(score)
    ]
    return {
        **choice_facts(chosen),
        "excluded": [
            {
                "kernel": point.kernel.name,
                **point.kernel.parameters,
                "lam": point.lam,
                "reason": reason,
            }
            for point, reason in found.best.excluded
        ],
        "scores": scores,
        "seconds": found.seconds,
        "seconds_fit": found.seconds_fit,
        "nystrom": request.nystrom,
        "scale": data.preparation.scale,
        "task": data.target.task,
        "targets": data.frame.schema.targets,
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
        "scoring": request.method.scorer.name if request.method.scorer else None,
        "learner": request.learner.name,
        "learner_params": dict(request.learner.params),
        "kernel": found.kernel.name,
        "ridge": request.ridge,
        "search": request.method.search.name if request.method.search else search,
        "seed": request.seed,
        "n": len(data.X),
        "rows": dict(chosen.rules.facts),
        **({"test": chosen.test.facts} if chosen.test else {}),
        "best": point_facts(request.method, found.members[0]),
        "members": [point_facts(request.method, one) for one in found.members],
        **relevance_facts(found),
        "held_out": asdict(chosen.held_out.quality),
        "warnings": found.edges,
        "grown": list(found.grown),
        "not_looked_at": not_looked_at(found),
        "decisions": decision_lines(data.frame.decisions),
        "data_sha256": data.frame.sha256,
    }


def point_facts(method: Method, member: Member) -> dict[str, Any]:
    """Return kernel, parameters, lam and score of a candidate."""
    point = member.point
    return {
        "kernel": point.kernel.name,
        **point.kernel.parameters,
        "lam": point.lam,
        "score": shown_score(method, member.score),
    }


def relevance_facts(found: Selection) -> dict[str, Any]:
    """Return relevances of features, shares and widths of a learned kernel, or weights of a sum; largest first."""
    kernel, relevant = found.kernel, found.request.relevances
    if relevant:
        order = sorted(range(len(relevant)), key=lambda j: -relevant[j])
        return {"relevances": [{"feature": j + 1, "relevance": relevant[j]} for j in order]}
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
    lines = [*all_data_lines(chosen), model_line(found), "", *table]
    lines += [*relevant_lines(chosen), ""]
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


def all_data_lines(chosen: Chosen) -> list[str]:
    """Return the lines about the table, and the rules of its rows."""
    return [*data_lines(chosen.data), *(f"  {line}" for line in rule_lines(chosen.rules.facts))]


def model_line(found: Selection) -> str:
    """``lssvm, gaussian kernel, 5-CV (average=points;loss=squared)``."""
    request = found.request
    own = "".join(f" {k}={show(v)}" for k, v in request.learner.params)
    method = request.method
    criterion = f"{method.label} ({method.text})" if method.params else method.label
    return f"{request.learner.name}{own}, {kernel_words(request)}, {criterion}"


def kernel_words(request: Request) -> str:
    """``gaussian kernel``, or ``32 kernels (gaussian, laplacian)``."""
    names = request.families
    return (
        f"{names[0]} kernel"
        if len(names) < 2
        else f"{len(request.kernels)} kernels ({', '.join(names)})"
    )


def relevant_lines(chosen: Chosen) -> list[str]:
    """Return the relevances of the columns in one line, the most relevant first."""
    relevant, preparation = chosen.found.request.relevances, chosen.data.preparation
    if not relevant:
        return []
    columns = dict(zip(preparation.column_of_feature.tolist(), relevant, strict=True))
    specs = preparation.schema.columns
    order = sorted(columns, key=lambda i: -columns[i])
    shown = [f"{brief(specs[i].name)} {columns[i]:.2g}" for i in order[:RELEVANCES_SHOWN]]
    more = f" and {len(order) - RELEVANCES_SHOWN} more" if len(order) > RELEVANCES_SHOWN else ""
    return [f"relevances (R2 of each column alone): {', '.join(shown)}{more}"]


def choice_lines(chosen: Chosen) -> Iterator[str]:
    """Yield the choice, its held-out quality, warnings, and the time."""
    for name, text in choice_sentences(chosen):
        yield f"{name}: {text}" if name else text


def choice_sentences(chosen: Chosen) -> Iterator[tuple[str, str]]:
    """Yield the same as pairs of a name, such as ``quality``, and a text; the time has no name."""
    found, size = chosen.found, chosen.found.size
    ridge = f"{found.lam * len(chosen.data.X):.4g}"
    yield "choice", f"{choice_words(found)} (ridge n lam = {ridge}), {found.score_text}"
    if text := found.average_text:
        yield "average", text
    yield "quality", chosen.held_out.quality.text
    if chosen.test:
        yield "test", chosen.test.text
    if text := not_looked_at(found):
        yield "time limit", text
    if found.grown:
        yield (
            "grid",
            f"the choice lay on its boundary; extended: {', '.join(found.grown)}",
        )
    yield from (("warning", text) for text in found.edges)
    if found.best.excluded:
        from kselect.core.record import describe_exclusions

        yield "excluded", describe_exclusions(found.best)
    if found.best.state not in ("", "converged"):
        yield "warning", f"the search ended without converging: {found.best.state}"
    seconds = found.seconds + found.seconds_fit
    plural = "" if size == 1 else "s"
    yield "", f"{seconds:.2f} s for {size} candidate{plural}, including the fit"


def write_page(
    chosen: Chosen,
    flags: Mapping[str, Any],
    path: Path,
    criteria: CriteriaComparison | None = None,
    contenders: Sequence[Contender | FailedContender] = (),
) -> None:
    """Write the page of ``--report``."""
    from kselect.selection.page.page import ChoicePage, write_choice

    page = ChoicePage(
        chosen.data,
        chosen.held_out,
        tuple(choice_sentences(chosen)),
        model_line(chosen.found),
        tuple(rule_lines(chosen.rules.facts)),
        shlex.join(["kselect", *sys.argv[1:]]),
        "\n".join(python_lines(chosen, flags)),
        criteria,
        contenders,
    )
    write_choice(page, path)


def choice_words(found: Selection) -> str:
    """Return the best candidate: ``laplacian, width = 4, lam = 0.01``; the kernel only if there are several."""
    kernel = found.kernel
    if isinstance(kernel, FeatureWidths):
        zeros = sum(value == 0.0 for value in kernel.theta)
        parts = [f"{len(kernel.theta)} widths, {zeros} of them zero"]
    elif isinstance(kernel, Sum):
        without = dict(found.best.point.tuned)["held"]
        parts = [f"{len(kernel.mu)} of {len(kernel.mu) + without} kernels have a weight"]
    else:
        parts = [kernel.name] if len(found.request.families) > 1 else []
        parts += [f"{k} = {show_short(v)}" for k, v in kernel.parameters.items()]
    lam = f"{found.lam:.6g}" if found.request.method.search else show_short(found.lam)
    return ", ".join([*parts, f"lam = {lam}"])


def show_short(value: float) -> str:
    """Return a number with at most six digits, or all of them if these are few."""
    text = show_number(value)
    return text if len(text) <= LONGEST_NUMBER else f"{value:.6g}"


def score_lines(found: Selection) -> list[str]:
    """Return the criterion over the grid: one column per ridge, one line per kernel, the choice in brackets.

    A search by bounds does not know these scores; return what it had to fit.
    """
    request = found.request
    if work := found.work:
        fits = found.size * (request.method.folds or 1)
        dropped = found.size - work.iterated - work.pairs
        count, times = len(request.kernels), work.kernels_fitted
        # A grid that grows fits its kernels again for every new lam.
        kernels = (
            f"{count} kernels {times} times" if times > count else f"{times} of {count} kernels"
        )
        return [
            f"the exact minimum by bounds: fitted {kernels} and {work.folds} of {fits} folds "
            "(--search grid scores every candidate)",
            f"candidates settled by bounds: {dropped}, by conjugate gradients: {work.iterated}, "
            f"by factorizations: {work.pairs}",
        ]
    shown = found.shown_scores
    cells = [[f"{score:.4g}" if np.isfinite(score) else "-" for score in row] for row in shown]
    row, column = found.position
    cells[row][column] = f"[{cells[row][column]}]"
    several = len(request.families) > 1
    names = [row_name(kernel, several) for kernel in request.kernels]
    table = [["lam", *map(show_number, request.lams)]]
    table += [[name, *line] for name, line in zip(names, cells, strict=True)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(f"{c:>{w}}" for c, w in zip(line, widths, strict=True)) for line in table]


def row_name(kernel: Kernel, several: bool) -> str:
    """Return the parameters of a kernel, with its name if there are several."""
    pairs = ";".join(f"{name}={show_short(value)}" for name, value in kernel.parameters.items())
    return " ".join(filter(None, (kernel.name if several or not pairs else "", pairs)))


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
