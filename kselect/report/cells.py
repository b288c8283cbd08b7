"""The files that the page loads when a reader opens a cell of the main table: one per data set and loss."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kselect.core.method import Setting
from kselect.grids import show_number, show_power
from kselect.report.elements import File
from kselect.report.words import show_apart, show_p, title_setting
from kselect.stats.cell_details import CellDetail, cell_details
from kselect.stats.distances import Distance, distances
from kselect.stats.samples import SplitErrors
from kselect.stats.study import Study

FOLDER = "report-data"
# Digits of an error on the page; the records have all of them.
DIGITS = 6
UNIT_WORDS = {"%": "test error in %", "MSE": "mean squared error"}
NOTHING = CellDetail(0, (), (), None, ())
Place = tuple[Setting, str, str]


def cell_file(loss: str, dataset: str) -> str:
    """Return the name under which the cells of a data set are found."""
    return f"{loss}-{dataset}"


def cell_keys(study: Study, loss: str) -> dict[Place, str]:
    """Return (setting, data set, method) -> the key of a cell: its file, and its position there."""
    comparison = study.comparison(loss)
    return {
        (setting, dataset, method): f"{cell_file(loss, dataset)}/{position}"
        for dataset in comparison.splits
        for position, (setting, method) in enumerate(
            (setting, method) for setting in comparison.cells for method in comparison.methods
        )
    }


def printed_cells(study: Study, loss: str) -> Mapping[Place, Distance]:
    """Return (setting, data set, method) -> the published cell; the first, if a paper prints it twice."""
    found: dict[Place, Distance] = {}
    for d in study.once(distances, loss):
        found.setdefault((d.setting, d.stand_in or d.published.dataset, d.method), d)
    return found


def count_legible(study: Study, loss: str) -> tuple[int, int]:
    """Return the number of legible cells of the paper's table, and of all its cells that are ours too."""
    printed = study.once(printed_cells, loss)
    rows, methods = ({place[i] for place in printed} for i in (1, 2))
    cells = study.comparison(loss).cells.items()
    places = [(s, d, m) for s, found in cells for d, m in found if d in rows and m in methods]
    return sum(place in printed for place in places), len(places)


def cell_files(study: Study, loss: str) -> Iterator[File]:
    """Yield the files of the data sets that have records; each calls ``kselect.cells`` with its cells."""
    comparison = study.comparison(loss)
    details, printed = cell_details(study, loss), study.once(printed_cells, loss)
    for dataset in comparison.splits:
        if dataset in study.absent:
            continue
        unit = comparison.units.get(dataset, "")
        cells = [
            describe_cell(
                study,
                (setting, dataset, method),
                (unit, found[dataset, method]),
                details.get((setting.text, dataset, method), NOTHING),
                printed.get((setting, dataset, method)),
            )
            for setting, found in comparison.cells.items()
            for method in comparison.methods
        ]
        yield cell_script(cell_file(loss, dataset), cells)


def cell_script(name: str, cells: Sequence[Mapping[str, Any]]) -> File:
    """Return the script that hands the cells of a file to the page."""
    # A script ends at "</" if the page contains it.
    text = json.dumps(cells, separators=(",", ":")).replace("<", "\\u003c")
    return File(f"{FOLDER}/{name}.js", f'kselect.cells("{name}",{text});\n')


def describe_cell(
    study: Study,
    place: Place,
    errors: tuple[str, SplitErrors],
    detail: CellDetail,
    printed: Distance | None,
) -> dict[str, Any]:
    """Return what the panel of a cell shows; fields without content are left out."""
    setting, dataset, method = place
    unit, sample = errors
    shown: dict[str, Any] = {
        "title": ", ".join(filter(None, (f"{method} on {dataset}", title_setting(setting)))),
        "unit": UNIT_WORDS.get(unit, unit),
        **describe_errors(sample),
        "chosen": [
            [v.name if v.each == 1 else f"{v.name} ({v.each} values)"]
            + [show_short(x) for x in (v.median, v.low, v.high)]
            for v in detail.values
        ],
        "kernels": [f"{name} {count}" for name, count in detail.kernels],
        "failures": [[reason, list(splits)] for reason, splits in detail.failures],
        "command": command(dataset, method),
    }
    if detail.edges is not None:
        shown["edge"] = f"{detail.edges} of {detail.choices}"
    if printed is not None:
        shown["published"] = describe_published(printed)
        shown["apart"] = show_apart(printed.errors)
    return {name: value for name, value in shown.items() if value not in ("", [])}


def describe_errors(cell: SplitErrors, sign: int = 1) -> dict[str, Any]:
    """Return the errors of the splits, their mean and the tests; ``sign`` is -1 for numbers that were negated."""
    return {
        "errors": [[split, float(f"{sign * e:.{DIGITS}g}")] for split, e in cell.errors.items()],
        "mean": summarise(sign * cell.mean, cell.sd),
        "runs": describe_runs(cell),
    }


def describe_runs(cell: SplitErrors) -> str:
    """Return the runs and failures of a cell, and its tests against the best of its row."""
    counts = {"runs": cell.runs, "failed": cell.failures, "not run": cell.missing}
    words = [f"{n} {what}" for what, n in counts.items() if n or what == "runs"]
    if cell.worse and cell.worse_corrected:
        p, corrected = (show_p(test.p_value) for test in (cell.worse, cell.worse_corrected))
        tested = f"worse than the best: p = {p}, corrected p = {corrected}"
        few = "no test with fewer than two shared runs"
        words.append(tested if cell.worse.pairs > 1 else few)
    return "; ".join(words)


def describe_published(printed: Distance) -> str:
    """Return the published mean with its spread, as the paper prints it."""
    row = printed.published
    spread = "" if math.isnan(row.spread) else f" ± {row.spread:g} ({row.kind})"
    return f"{row.mean:g}{spread}, table {row.table}"


def summarise(mean: float, sd: float) -> str:
    """Return mean and standard deviation with four digits; nothing without a number."""
    if math.isnan(mean):
        return ""
    return f"{mean:.4g}" + ("" if math.isnan(sd) else f" ± {sd:.2g}")


def show_short(value: float) -> str:
    """Return a power of two as ``2^-15``, and any other number with four digits."""
    power = show_power(value)
    return power if "^" in power else show_number(float(f"{value:.4g}"))


def command(dataset: str, method: str) -> str:
    """Return the command that computes a cell again, typed in the folder of the page."""
    names = f"-d {shlex.quote(dataset)} -c {shlex.quote(method)}"
    return f"kselect run config.resolved.yaml {names} -o again"
