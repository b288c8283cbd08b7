"""``kselect select``: choose kernel and ridge for the user's own file; ``--compare`` compares criteria."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kselect.cli.choice import (
    as_object,
    data_lines,
    describe,
    kernel_words,
    show_short,
    write_page,
)
from kselect.cli.choosing import (
    choose,
    chosen_from,
    names_of,
    read_file,
    request_of,
    rules_of,
    search_flag,
    split_parameter,
)
from kselect.cli.flags import PATH, REPORT, SelectionCommand, selection_options
from kselect.cli.row_flags import check_row_flags, rule_lines
from kselect.criteria import find_criterion
from kselect.datasets.table.raw_table import decision_lines
from kselect.errors import ConfigError, brief
from kselect.kernels.sums import is_learned
from kselect.learners import LEARNERS
from kselect.selection.candidates.families import Rows
from kselect.selection.own_data import OwnData
from kselect.selection.request import SCORED, Request
from kselect.selection.result import shown_score
from kselect.selection.rows.rules import RowRules

if TYPE_CHECKING:
    from kselect.selection.compare import CriteriaComparison
    from kselect.selection.contenders import Contender, FailedContender

USUAL = "5-CV,10-CV,ELOO,GCV,5-KS,BR"
EPILOG = """\b
Examples:
  kselect select my.csv --target price
  kselect select my.csv --drop id --categorical zip --missing drop
  kselect select my.csv --compare
  kselect select my.csv --compare --report choice.html
  kselect select my.csv --groups patient --class-weight balanced --test later.csv
  kselect select my.csv --compare 5-CV --contenders
  kselect select my.svm.bz2 --learner krr --criterion ELOO --tau 2^-4:2^10 --lam 10^-6:10^0
  kselect select my.csv --learner smooth-hinge --tau 2^-15:2^15 --lam 2^-15:2^15:2
  kselect select my.csv --kernel ard --criterion FLKL --plot relevances.png
  kselect select my.csv --criterion 5-KS --param eta=0.5 --folds folds.txt --json > choice.json

A GRID is 0.5,1,2 or 2^-6:2^8 (every power) or 2^-15:2^15:2 (every second) or 1e-3:1e2 (every decade).
"""


@click.command("select", cls=SelectionCommand, epilog=EPILOG)
@selection_options
@click.option(
    "--plot",
    metavar="FILE.png",
    type=PATH,
    help="Draw the criterion over the grid (.png, .pdf or .svg). [default: no plot]",
)
@click.option(
    "--compare",
    metavar="CRITERIA",
    is_flag=False,
    flag_value=USUAL,
    help=f"Compare criteria with an outer cross-validation. [without CRITERIA: {USUAL}]",
)
@click.option(
    "--contenders",
    is_flag=True,
    help="With --compare: also linear models, SVC or SVR, random forest and gradient boosting.",
)
@REPORT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def select_command(
    file: Path,
    plot: Path | None,
    report: Path | None,
    as_json: bool,
    compare: str | None,
    contenders: bool,
    **flags: Any,
) -> None:
    """Choose the kernel and the ridge for the rows of FILE.

    FILE is CSV (commas, semicolons or tabs), JSON lines, svmlight, Parquet, Feather or Excel, also compressed
    (.gz, .bz2, .xz, .zip); - is the standard input.
    """
    if report:
        from kselect.selection.page.page import check_page

        check_page(report)
    if compare:
        click.echo(compare_criteria(file, compare, flags, as_json, contenders, report))
        if report and not as_json:
            click.echo(f"page: {report}")
        return
    if contenders:
        raise ConfigError("--contenders sets other learners next to criteria: add --compare")
    flags["search"] = search_flag(flags, plot, as_json, report)
    if plot:
        from kselect.selection.surface import check_plot

        check_plot(plot)
    chosen = choose(file, flags)
    click.echo(json.dumps(as_object(chosen)) if as_json else describe(chosen, flags))
    if plot:
        from kselect.selection.surface import draw_surface

        draw_surface(chosen.found, plot, file.name, chosen.data.preparation.names)
    if report:
        write_page(chosen, flags, report)
        if not as_json:
            click.echo(f"page: {report}")


# --- comparing criteria -------------------------------------------------------------------------------


def compare_criteria(
    file: Path,
    labels: str,
    flags: Mapping[str, Any],
    as_json: bool,
    contenders: bool,
    report: Path | None = None,
) -> str:
    """Return the comparison as a table, or as a JSON object, with other learners if asked for.

    The page of ``report`` shows it next to the choice by the first criterion.
    """
    from kselect.cli.contenders import contender_lines, contender_objects
    from kselect.selection.compare import compare
    from kselect.selection.contenders import contend

    if flags["folds"] is not None:
        raise ConfigError("--compare draws its own folds: leave out --folds")
    if flags["backend"] == "dask":
        raise ConfigError(
            "--compare reads the whole file on this machine: leave out --backend dask"
        )
    if flags["time_limit"] is not None:
        raise ConfigError("--compare looks at every kernel: leave out --time-limit")
    if flags["search"] == "pruned":
        raise ConfigError(
            "--compare chooses the search of each criterion: leave out --search pruned"
        )
    if is_learned(flags["kernel"]):
        raise ConfigError(
            f"--compare scores the same kernels by several criteria; {flags['kernel']} is learned by each: "
            "leave out --compare"
        )
    if flags["test_file"] is not None:
        raise ConfigError("--compare scores on outer folds: leave out --test")
    check_row_flags(flags)
    data = read_file(file, flags)
    rules = rules_of(flags, data)
    asked = list(flags_per_criterion(labels, flags, len(data.X)))
    if not asked:
        raise ConfigError(
            f"--compare: none of {labels} works with the learner {flags['learner']}; name criteria "
            f"from kselect list criteria"
        )

    def request_for(one: Mapping[str, Any], rows: Rows) -> Request:
        return request_of(one, data.target.task, rows)

    requests = [request_for(one, data.rows) for one in asked]
    methods = [r.method for r in requests]
    found = compare(data, partial(request_for, asked[0]), methods, rules)
    ours = found.criteria[0]
    others: Sequence[Contender | FailedContender] = ()
    if contenders:
        given = ours.decisions, found.outer, flags["seed"], flags["n_jobs"]
        others = contend(data, *given, rules)
    if report:
        write_page(chosen_from(file, asked[0], data), asked[0], report, found, others)
    if as_json:
        more = {"contenders": contender_objects(others)} if contenders else {}
        own = comparison_object(found, data)
        return json.dumps({"rows": dict(rules.facts), **own, **more})
    lines = [*comparison_lines(found, data, requests[0], rules)]
    return "\n".join(
        [*lines, "", *contender_lines(others, ours, bool(rules.weighting))] if contenders else lines
    )


def flags_per_criterion(labels: str, flags: Mapping[str, Any], n: int) -> Iterator[dict[str, Any]]:
    """Yield the flags for each criterion; skip criteria of the usual list that do not fit the learner."""
    from kselect.selection.compare import OUTER

    learner, columns = LEARNERS.find(flags["learner"]), flags["nystrom"] is not None
    for label in dict.fromkeys(part.strip() for part in labels.split(",")):
        criterion, folds = find_criterion(label)
        weights = flags["weights"] is not None or flags["class_weight"] is not None
        unfit = any(criterion.misfits(label, learner, names_of(flags), columns, weights))
        unfit |= folds is not None and flags["time"] is not None and not criterion.refits
        least = n if flags["time"] is None else n // (OUTER + 1)  # the rows of the first window
        if labels == USUAL and (unfit or (folds or 0) > least // 2):
            continue
        known = {p.name for p in (*criterion.parameters, *learner.parameters)}
        params = [text for text in flags["params"] if split_parameter(text)[0] in known]
        asked = {**flags, "criterion": label, "params": params, "search": "grid"}
        if flags["scoring"] and criterion.name != SCORED:
            asked["scoring"] = None
        if flags["loss"] and criterion.parameter("loss") is None:
            asked["loss"] = None
        yield asked


def comparison_lines(
    found: CriteriaComparison, data: OwnData, request: Request, rules: RowRules
) -> Iterator[str]:
    """Yield the lines of the table."""
    yield from data_lines(data)
    yield from (f"  {text}" for text in rule_lines(rules.facts))
    yield f"{request.learner.name}, {kernel_words(request)}"
    yield ""
    quality = found.criteria[0].quality
    measure = f"{quality.measure} ({len(found.outer.members)} outer folds)"
    table = [("criterion", "choice", "score", measure, "seconds")]
    for line in found.criteria:
        point, quality = line.best.point, line.quality
        values = {**point.kernel.parameters, "lam": point.lam}
        choice = ", ".join(f"{name} = {show_short(value)}" for name, value in values.items())
        if len(request.families) > 1:
            choice = f"{point.kernel.name}, {choice}"
        if line.members > 1:
            choice += f", mean of {line.members}"
        score, spread = (
            f"{shown_score(line.method, line.best.score):.6g}",
            f"{quality.value:.4f} +- {quality.spread:.4f}",
        )
        table.append((line.method.label, choice, score, spread, f"{line.seconds:.2f}"))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, second, *numbers in table:
        words = [first.ljust(widths[0]), second.ljust(widths[1])]
        numbers = [cell.rjust(width) for cell, width in zip(numbers, widths[2:], strict=True)]
        yield "  ".join([*words, *numbers])
    yield ""
    for line in found.criteria:
        yield from (f"warning: {line.method.label}: {text}" for text in line.edges)
    for line in found.criteria if quality.each else ():
        pairs = zip(data.frame.schema.targets, line.quality.each, strict=True)
        shown = ", ".join(f"{brief(name)} {value:.4f}" for name, value in pairs)
        yield f"{line.method.label}: {quality.measure} of {shown}"
    yield f"{quality.measure} of always predicting {quality.trivial_name}: {quality.trivial:.4g}"
    yield (
        f"seconds: time for one criterion only, on all rows; {found.shared:.2f} s of work serve all criteria. "
        "Each outer fold is predicted by a model imputed, encoded, scaled and chosen without it."
    )


def comparison_object(found: CriteriaComparison, data: OwnData) -> dict[str, Any]:
    """Return the object of ``--json``."""
    return {
        "criteria": [
            {
                "criterion": line.method.label,
                "params": dict(line.method.params),
                "best": {
                    "kernel": line.best.point.kernel.name,
                    **line.best.point.kernel.parameters,
                    "lam": line.best.point.lam,
                    "score": shown_score(line.method, line.best.score),
                },
                "members": line.members,
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
