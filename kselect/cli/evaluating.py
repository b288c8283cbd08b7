"""``kselect evaluate``: score a model on rows with known targets."""

from __future__ import annotations

import json
from pathlib import Path

import click

from kselect.cli.flags import LOADED_PLUGIN, PATH
from kselect.datasets.table.further_files import read_like, read_weighted
from kselect.errors import printable
from kselect.numerics.linalg import Array
from kselect.selection.evaluation import evaluated
from kselect.selection.model_file import read_model

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
        click.echo(json.dumps(found.facts))
        return
    for line in notes:
        click.echo(f"note: {line}", err=True)
    for line in found.lines:
        click.echo(printable(line))
