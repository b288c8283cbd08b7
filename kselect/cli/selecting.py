"""``kselect select``: kernel and ridge for a user's own file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from kselect.cli.choice import as_object, describe
from kselect.cli.choosing import choose, how_to_search
from kselect.cli.comparing import USUAL, compare_criteria
from kselect.cli.selection_flags import selection_options

EPILOG = """\b
Examples:
  kselect select my.csv --target price
  kselect select my.csv --drop id --categorical zip --missing drop
  kselect select my.csv --compare
  kselect select my.svm.bz2 --learner krr --criterion ELOO --tau 2^-4:2^10 --lam 10^-6:10^0
  kselect select my.csv --learner smooth-hinge --tau 2^-15:2^15 --lam 2^-15:2^15:2
  kselect select my.csv --kernel ard --criterion FLKL --plot relevances.png
  kselect select my.csv --criterion 5-KS --param eta=0.5 --folds folds.txt --json > choice.json

A GRID is 0.5,1,2 or 2^-6:2^8 (every power) or 2^-15:2^15:2 (every second).
"""


@click.command("select", epilog=EPILOG)
@selection_options
@click.option(
    "--plot",
    metavar="FILE.png",
    type=click.Path(path_type=Path),
    help="Draw the criterion over the grid; .pdf and .svg do as well.",
)
@click.option(
    "--compare",
    metavar="CRITERIA",
    is_flag=False,
    flag_value=USUAL,
    help=f"Compare criteria by an outer cross-validation. [alone: {USUAL}]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def select_command(
    file: Path, plot: Path | None, as_json: bool, compare: str | None, **flags: Any
) -> None:
    """Choose the kernel and the ridge for the rows of FILE.

    FILE is CSV with commas, semicolons or tabs, svmlight, or Parquet; also packed (.gz, .bz2, .xz, .zip).
    """
    if compare:
        compared = compare_criteria(file, compare, flags, as_json)
        click.echo(json.dumps(compared) if as_json else compared)
        return
    flags["search"] = how_to_search(flags, plot, as_json)
    if plot:
        from kselect.selection.surface import check_plot

        check_plot(plot)
    chosen = choose(file, flags)
    click.echo(json.dumps(as_object(chosen)) if as_json else describe(chosen, flags))
    if plot:
        from kselect.selection.surface import draw_surface

        draw_surface(chosen.found, plot, file.name, chosen.data.preparation.names)
