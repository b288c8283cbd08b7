"""``kselect evaluate``: score a model on rows with known targets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from kselect.cli.flags import LOADED_PLUGIN, PATH
from kselect.datasets.table.frames import read_like, read_weighted
from kselect.datasets.table.raw_table import Frame, decision_lines
from kselect.errors import printable
from kselect.numerics.linalg import Array
from kselect.selection.evaluation import Evaluation, Predicted, evaluate
from kselect.selection.model_file import read_model
from kselect.selection.saved_model import SavedModel, predict

EPILOG = """\b
Examples:
  kselect evaluate model.npz test.csv
  kselect evaluate model.npz test.csv --weights count --json

Columns are found by name. Rows without a target are not counted.
"""


@click.command("evaluate", epilog=EPILOG)
@click.argument("model", type=PATH)
@click.argument("file", type=PATH)
@click.option(
    "--weights",
    "column",
    metavar="COLUMN",
    help="Weigh the rows by this column of FILE. [default: all rows count the same]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@LOADED_PLUGIN
def evaluate_command(model: Path, file: Path, column: str | None, as_json: bool) -> None:
    """Score a MODEL that kselect fit has written on the rows of FILE, whose targets are known."""
    saved = read_model(model)
    schema = saved.preparation.schema
    weights: Array | None = None
    if column is None:
        frame = read_like(file, schema)
    else:
        frame, weights = read_weighted(file, schema, column)
    found, notes = evaluated(saved, frame, weights)
    if as_json:
        click.echo(json.dumps(evaluation_object(found)))
        return
    for line in notes:
        click.echo(f"note: {line}", err=True)
    for line in found.lines:
        click.echo(printable(line))


def evaluated(
    saved: SavedModel, frame: Frame, weights: Array | None = None
) -> tuple[Evaluation, list[str]]:
    """Return the measures of a model on a table, and notes on the columns of the table."""
    said = predict(saved, frame)
    form = object if saved.classes else np.float64
    given = np.array(said.predictions, dtype=form), said.values, said.probabilities
    found = evaluate(frame, Predicted(saved.task, tuple(saved.classes), *given), weights)
    return found, decision_lines((*frame.decisions, *said.notes))


def evaluation_object(found: Evaluation) -> dict[str, Any]:
    """Return the measures as JSON values, by names without spaces."""
    values = {json_name(name): value for name, value in found.measures}
    return {"rows": found.rows, "unknown_classes": found.unknown, **values}


def json_name(name: str) -> str:
    """Return the name of a measure as a key: ``root_mean_square_error``."""
    return name.lower().replace(",", "").replace(" ", "_")


def test_lines(found: Evaluation, path: Path) -> Iterator[str]:
    """Yield the measures on a file of test rows in one line."""
    values = ", ".join(f"{name} {value:.4g}" for name, value in found.measures)
    yield f"test rows of {printable(path)}: {found.rows}; {values}"
