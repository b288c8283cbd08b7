"""``kselect fit`` and ``kselect predict``: a model in a file, and what it says of further rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from kselect.cli.choice import choice_facts, choice_lines, kind_of_task, model_line
from kselect.cli.choosing import Chosen, choose, how_to_search
from kselect.cli.selection_flags import selection_options
from kselect.datasets.table.frames import read_like
from kselect.datasets.table.raw_table import decision_lines
from kselect.errors import DataError, printable
from kselect.files import reason, write_whole
from kselect.selection.held_out import fit_slope
from kselect.selection.model_file import (
    Prediction,
    SavedModel,
    agreement,
    model_of,
    predict,
    read_model,
    write_model,
)

FIT_EPILOG = """\b
Examples:
  kselect fit my.csv -o model.npz
  kselect fit my.csv --target price --learner krr -o model.npz

It chooses as select does, with the same flags. The model file holds plain arrays and text: nothing in it runs.
"""
PREDICT_EPILOG = """\b
Examples:
  kselect predict model.npz new.csv
  kselect predict model.npz new.csv -o predictions.csv

Columns are found by their names; the target may be there or not. What is not as in the training rows is said.
"""


@click.command("fit", epilog=FIT_EPILOG)
@selection_options
@click.option(
    "-o",
    "--output",
    metavar="MODEL.npz",
    required=True,
    type=click.Path(path_type=Path),
    help="Where to write the model.",
)
def fit_command(file: Path, output: Path, **flags: Any) -> None:
    """Choose the kernel and the ridge for the rows of FILE, fit, and write the model."""
    require_writable(output)
    flags["search"] = how_to_search(flags, None, as_json=False)
    chosen = choose(file, flags)
    write_model(output, as_model(chosen))
    click.echo(f"{chosen.data.size}, {kind_of_task(chosen.data.target)}")
    for line in decision_lines(chosen.data.frame.decisions):
        click.echo(f"  {line}")
    for line in (model_line(chosen.found), *choice_lines(chosen)):
        click.echo(line)
    click.echo(f"written: {output}")


def require_writable(path: Path) -> None:
    """What cannot be written is said before the search."""
    if path.is_dir():
        raise DataError(f"--output {printable(path)}: that is a folder")
    if not path.parent.is_dir():
        raise DataError(f"--output {printable(path)}: there is no folder {printable(path.parent)}")


def as_model(chosen: Chosen) -> SavedModel:
    """The fit with its preparation, and what makes probabilities of decisions where there are classes."""
    data, goal = chosen.data, chosen.data.target
    slope = fit_slope(chosen.held_out, goal.values) if goal.classes else None
    return model_of(chosen.found, data.X, goal, data.preparation, choice_facts(chosen), slope)


@click.command("predict", epilog=PREDICT_EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="FILE.csv",
    type=click.Path(path_type=Path),
    help="Where to write the predictions. [default: the terminal]",
)
def predict_command(model: Path, file: Path, output: Path | None) -> None:
    """Predict the rows of FILE by a MODEL that kselect fit has written.

    A CSV table comes out: the prediction; with classes also the decision values and the probabilities.
    """
    if output:
        require_writable(output)
    saved = read_model(model)
    frame = read_like(file, saved.preparation.schema)
    found = predict(saved, frame)
    for line in decision_lines((*frame.decisions, *found.notes)):
        click.echo(f"note: {line}", err=True)
    agreed = agreement(saved, frame, found)
    if agreed:
        click.echo(agreed, err=True)
    text = as_csv(saved, found)
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
    click.echo(f"{frame.n} predictions written: {output}")


def as_csv(model: SavedModel, found: Prediction) -> str:
    """One line per row, in the order of the file; numbers that read back as they are."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["prediction", *value_names(model, found)])
    writer.writerows(value_rows(found))
    return stream.getvalue()


def value_names(model: SavedModel, found: Prediction) -> list[str]:
    """``decision``, or one per class where there are more than two; then a probability per class."""
    if not model.classes:
        return []
    each = ["decision"] if len(model.classes) == 2 else [f"decision {c}" for c in model.classes]
    likely = [] if found.probabilities is None else model.classes
    return [*each, *(f"probability {c}" for c in likely)]


def value_rows(found: Prediction) -> Iterator[list[Any]]:
    """The values below these names."""
    for i, predicted in enumerate(found.predictions):
        row: list[Any] = [predicted]
        if not isinstance(predicted, float):
            likely = [] if found.probabilities is None else found.probabilities[i].tolist()
            row += [*found.values[i].tolist(), *likely]
        yield row


def write_text(path: Path, text: str) -> None:
    """A file written whole, or one line."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise DataError(f"{printable(path)}: {reason(error)}") from None
