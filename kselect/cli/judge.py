"""``kselect judge``: test any methods' errors, and write a report about them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from kselect.cli.flags import PATH, QUIET

EPILOG = """\b
ERRORS.csv has the columns dataset, split, method and error; n_train and n_test (the sizes of the split)
correct the t-tests for overlapping splits; metric names what the numbers are (kselect guide judge).
\b
Examples:
  kselect judge errors.csv
  kselect judge errors.csv --claim "mine < svm" --claim "mine = forest" -o judged
  kselect judge accuracy.csv --higher-is-better --alpha 0.1 --rope 0.5
"""


@click.command("judge", epilog=EPILOG)
@click.argument("errors", metavar="ERRORS.csv", type=PATH)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=PATH,
    help="Write the report to DIR. [default: <name of the file>-judged]",
)
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="CLAIM",
    help="Judge a claim about two methods, as in 'A < B', 'A <= B' or 'A = B' (repeatable).",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0.0, 0.5, min_open=True),
    default=0.05,
    show_default=True,
    help="Test at this level; claims are always judged at 0.05.",
)
@click.option(
    "--rope",
    type=click.FloatRange(min=0.0),
    default=1.0,
    show_default=True,
    help="Take differences up to this one as none, in percentage points or in per cent.",
)
@click.option(
    "--higher-is-better", "higher", is_flag=True, help="Say that higher numbers are better."
)
@click.option(
    "--no-overlap", is_flag=True, help="Do not correct the t-tests for overlapping splits."
)
@click.option(
    "--drop-incomplete", "drop", is_flag=True, help="Leave out splits that some method lacks."
)
@click.option(
    "--standalone",
    is_flag=True,
    help="Also write standalone.html, which contains its figures and tables.",
)
@QUIET
def judge(
    errors: Path,
    output: Path | None,
    claims: tuple[str, ...],
    alpha: float,
    rope: float,
    higher: bool,
    no_overlap: bool,
    drop: bool,
    standalone: bool,
    quiet: bool,
) -> None:
    """Compare the methods of ERRORS.csv: tests, ranks, every pair, figures, a page and a paragraph for a paper."""
    from kselect.judge.analysis import analyse
    from kselect.judge.claims import judge_claim, read_claim
    from kselect.judge.error_table import read_errors
    from kselect.judge.page import write_judgement
    from kselect.judge.words import paragraph

    table = read_errors(errors, higher, not no_overlap, drop)
    read = [read_claim(text, table) for text in claims]
    found = analyse(table, alpha, rope)
    judged = [judge_claim(found, claim) for claim in read]
    folder = output or Path(f"{errors.name.partition('.')[0]}-judged")
    command = shlex.join(["kselect", *sys.argv[1:]])
    paths = write_judgement(found, judged, folder, command, standalone)
    if quiet:
        return
    for note in table.notes:
        click.echo(note)
    click.echo(f"\n{paragraph(found)}\n")
    for one in judged:
        corrected = f"; corrected t-test: {one.corrected}" if one.corrected else ""
        effect = f"; effect {one.effect.text}" if one.effect.text else ""
        click.echo(f"{one.claim.text}: {one.verdict} ({one.counts}{effect}{corrected})")
    click.echo(f"{len(paths)} files, {folder / 'report.html'}")
