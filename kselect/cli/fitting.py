"""``kselect fit`` and ``kselect predict``: write a fitted model to a file, and predict further rows with it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from kselect.cli.choice import all_data_lines, choice_facts, choice_lines, model_line, write_page
from kselect.cli.choosing import Chosen, choose, search_flag
from kselect.cli.flags import LOADED_PLUGIN, PATH, REPORT, SelectionCommand, selection_options
from kselect.datasets.table.further_files import read_identified, read_like
from kselect.datasets.table.raw_table import decision_lines
from kselect.datasets.table.written_values import is_finite
from kselect.errors import ConfigError, DataError, TrialError, printable
from kselect.files import require_writable, write_named
from kselect.selection.intervals import IntervalModel
from kselect.selection.model_file import read_model, write_model
from kselect.selection.saved_model import Prediction, SavedModel, agreement, model_of, predict

# What the names of output files may end in.
MODEL_NAMES = (".npz", "")
TABLE_NAMES = (".csv", ".txt", "")
FIT_EPILOG = """\b
Examples:
  kselect fit my.csv -o model.npz
  kselect fit my.csv --target price --learner krr -o model.npz

The choice is the one that select makes with the same flags. The model file holds only arrays and text, no code.
"""
# A spreadsheet takes a cell that begins with one of these for a formula.
ENDS = ("lower", "upper")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
PREDICT_EPILOG = """\b
Examples:
  kselect predict model.npz new.csv
  kselect predict model.npz new.csv --id customer -o predictions.csv
  kselect predict model.npz new.csv --interval 0.9
  kselect predict model.npz - < new.jsonl

Columns are found by name; the target column is optional. Notes report what differs from the training rows.
"""


@click.command("fit", cls=SelectionCommand, epilog=FIT_EPILOG)
@selection_options
@click.option(
    "-o",
    "--output",
    metavar="MODEL.npz",
    required=True,
    type=PATH,
    help="Write the model here.",
)
@REPORT
def fit_command(file: Path, output: Path, report: Path | None, **flags: Any) -> None:
    """Choose the kernel and the ridge for the rows of FILE, fit them, and write the model."""
    require_writable(output, "--output")
    require_form(output, MODEL_NAMES, "a model is written as .npz")
    flags["search"] = search_flag(flags, None, False, report)
    if report:
        from kselect.selection.page.page import check_page

        check_page(report)
    chosen = choose(file, flags, intervals=True)
    data, target = chosen.data, chosen.data.target
    slope = chosen.held_out.slope if target.classes else None
    facts = choice_facts(chosen)
    found = chosen.found, data.X, target, data.preparation, facts, slope, intervals_of(chosen)
    write_model(output, model_of(*found))
    for line in (*all_data_lines(chosen), model_line(chosen.found), *choice_lines(chosen)):
        click.echo(line)
    click.echo(f"written: {output}")
    if report:
        write_page(chosen, flags, report)
        click.echo(f"page: {report}")


def intervals_of(chosen: Chosen) -> IntervalModel | None:
    """Return the fits without each fold of a regression; None if its learner or its folds have none."""
    if chosen.data.target.classes:
        return None
    try:
        return chosen.held_out.intervals
    except (ConfigError, TrialError):
        return None


def require_form(path: Path, names: tuple[str, ...], form: str) -> None:
    """Refuse a name that ends as files of another format do; a pipe or a device may have any name."""
    if path.suffix.lower() not in names and (path.is_file() or not path.exists()):
        raise DataError(f"--output {printable(path)}: {form}; let the name end so")


@click.command("predict", epilog=PREDICT_EPILOG)
@click.argument("model", type=PATH)
@click.argument("file", type=PATH)
@click.option(
    "-o",
    "--output",
    metavar="FILE.csv",
    type=PATH,
    help="Write the predictions here. [default: the terminal]",
)
@click.option(
    "--id",
    "column",
    metavar="COLUMN",
    help="Copy this column of FILE to the first column of the output. [default: none]",
)
@click.option(
    "--interval",
    metavar="LEVEL",
    type=float,
    help="Add the ends of prediction intervals of this level, such as 0.9 (regression). [default: none]",
)
@LOADED_PLUGIN
def predict_command(
    model: Path, file: Path, output: Path | None, column: str | None, interval: float | None
) -> None:
    """Predict the rows of FILE with a MODEL that kselect fit has written.

    The output is CSV: the prediction and, for classes, the decision values and the probabilities; for several
    targets, a column with the name of each. With --interval, the columns lower and upper follow, for each target:
    CV+ intervals, Jackknife+ below 200 training rows. They hold the choice of kernels and ridges, and the
    relevances, fixed.
    """
    if output:
        require_writable(output, "--output")
        require_form(output, TABLE_NAMES, "predictions are written as .csv")
    saved = read_model(model)
    schema = saved.preparation.schema
    frame, ids = read_identified(file, schema, column) if column else (read_like(file, schema), ())
    predicted = predict(saved, frame, interval)
    for line in decision_lines((*frame.decisions, *predicted.notes)):
        click.echo(f"note: {line}", err=True)
    if interval and saved.intervals:
        what = f"intervals of level {interval:g} by {saved.intervals.name}"
        click.echo(f"note: {what}; the choice and the relevances are held fixed", err=True)
    for line in agreement(saved, frame, predicted):
        click.echo(line, err=True)
    text = as_csv(saved, predicted, column or "", ids)
    if output is None:
        click.echo(text, nl=False)
        return
    write_named(output, text)
    click.echo(f"{frame.n} predictions written: {output}")


def as_csv(
    model: SavedModel, predicted: Prediction, column: str = "", ids: Sequence[str] = ()
) -> str:
    """Return one line per row, in the order of the file; numbers read back exactly.

    ``ids`` are the fields of a column of the file, which comes first. Several targets have a column each, with
    their name. Intervals get the columns ``lower`` and ``upper``, for each of several targets. Classes get a column
    ``decision``, or one per class if there are more than two, and a probability per class.
    """
    classes, heads = model.classes, ["prediction"]
    values = predicted.values.tolist() if classes else [[] for _ in predicted.predictions]
    if classes:
        heads += ["decision"] if len(classes) == 2 else [f"decision {c}" for c in classes]
    targets = model.preparation.schema.targets
    names = [as_cell(name) for name in targets] if len(targets) > 1 else []
    heads = names or heads
    if predicted.bounds is not None:
        leads = [f"{name} " for name in names] or [""]
        heads = [*heads, *(f"{lead}{end}" for lead in leads for end in ENDS)]
        values = predicted.bounds.reshape(len(values), -1).tolist()
    if predicted.probabilities is not None:
        heads += [f"probability {c}" for c in classes]
        likely = predicted.probabilities.tolist()
        values = [[*row, *p] for row, p in zip(values, likely, strict=True)]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([as_cell(column), *heads] if column else heads)
    lead = [[as_cell(one)] for one in ids] if column else [[] for _ in predicted.predictions]
    cells = {name: as_cell(name) for name in classes}
    for first, one, row in zip(lead, predicted.predictions, values, strict=True):
        predictions = one if isinstance(one, list) else [cells.get(str(one), one)]
        writer.writerow([*first, *predictions, *row])
    return stream.getvalue()


def as_cell(name: str) -> str:
    """Return a name so that a spreadsheet does not run it as a formula: with an apostrophe before it."""
    return f"'{name}" if name[:1] in FORMULA and not is_finite(name) else name
