"""``kselect init``: a commented config for a person's own files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from kselect.config.document import write_yaml
from kselect.datasets.own_files import look_at_file
from kselect.datasets.registry import load_registry
from kselect.datasets.table.raw_table import Frame, TableOptions, decision_lines
from kselect.datasets.table.target import Target
from kselect.errors import ConfigError, DataError, printable, quoted
from kselect.files import reason, write_whole

EPILOG = """\b
Examples:
  kselect init wine.csv flowers.csv -o my.yaml
  kselect init wine.csv flowers.csv --target quality --target species -o my.yaml
  kselect run my.yaml && kselect report results/my
"""

CONFIG = """\
# An experiment on files of your own: criteria compared by what they choose, over random splits.
#
#     kselect run {file} -n      only check this file and say what would run
#     kselect run {file}         run it; what is already there is not run again
#     kselect report {results}
#
# `kselect list criteria` (learners, kernels, datasets) shows what may be named here.

name: {name}                    # the results go to {results}/

learner: {learner}
scale: zscore                   # features to mean 0, standard deviation 1; or minmax, none
scale-on: train                 # imputed, encoded and scaled by the training rows of each split alone

train: 0.7                      # the share of rows to train on; the rest tests the choice
splits: 10                      # random splits; more of them later go on from these
stratify: {stratify}                 # true: the same share of every class
seed: 0                         # same seed, same splits and folds

# What is chosen from: a kernel for every value of its grid, and a ridge.
kernels:
  gaussian: {{tau: 2^-4:2^10}}    # exp(-||x - x'||^2 / (2 tau))
lam: {{select: 10^-6:10^0}}       # the ridge is n lam; {{fixed: ...}} makes each a row of its own

loss: squared                   # what the criteria average: squared, zero-one or hinge

# What chooses. A number is the number of folds; parameters go in braces, as in {{5-KS: {{eta: 2}}}}.
criteria: [5-CV, 10-CV, ELOO, GCV, 5-KS]

# Paths are relative to this file. Further keys of an entry: drop, categorical, numeric (columns), and
# missing: impute, drop or error. Data sets of kselect may stand beside, by name.
datasets:
{datasets}
"""
LEARNERS = {
    frozenset({"classification"}): "lssvm                  # least-squares SVM with a bias",
    frozenset(
        {"regression"}
    ): "krr                    # kernel ridge regression; or lssvm, with a bias",
}
BOTH = "{classification: lssvm, regression: krr}   # one for each task"


@dataclass(frozen=True, eq=False)
class Found:
    """A file as it was found to be."""

    name: str
    path: Path
    target: str
    frame: Frame
    goal: Target


@click.command("init", epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="COLUMN",
    help="The target: one for all files, or one per file in their order. [default: the last column]",
)
@click.option(
    "-o",
    "--output",
    metavar="CONFIG.yaml",
    default="my.yaml",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where to write the config.",
)
@click.option("-f", "--force", is_flag=True, help="Write over a config that is there.")
def init(files: tuple[Path, ...], targets: tuple[str, ...], output: Path, force: bool) -> None:
    """Write a commented config for an experiment on FILES, looking into each of them."""
    if output.exists() and not force:
        raise ConfigError(f"{printable(output)}: is there already; --force writes over it")
    if len(targets) not in (0, 1, len(files)):
        raise ConfigError(
            f"{len(targets)} targets for {len(files)} files: name one for all, or one per file"
        )
    asked: list[str | None] = [*(targets or (None,))]
    if len(asked) == 1:
        asked *= len(files)
    found: list[Found] = []
    for path, target in zip(files, asked, strict=True):
        found.append(look(path, target, [one.name for one in found]))
        say(found[-1])
    try:
        write_whole(output, config_text(found, output))
    except OSError as error:
        raise DataError(f"{printable(output)}: {reason(error)}") from None
    click.echo(f"written: {output}")
    click.echo(f"next: kselect run {output}")


def look(path: Path, target: str | None, taken: Sequence[str]) -> Found:
    """A file, read as an experiment will read it."""
    frame, goal = look_at_file(path, target, TableOptions())
    if goal.task == "classification" and min(goal.values.sum(axis=1) + frame.n) < 4:
        raise DataError(f"{printable(path)}: a class has one row only: no split can test it")
    return Found(name_for(path, taken), path, frame.schema.target, frame, goal)


def name_for(path: Path, taken: Sequence[str]) -> str:
    """The file's name as a plain one, which neither a data set of kselect nor another file has."""
    stem = path.name.partition(".")[0] or path.name
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-")[:60] or "data"
    used = {*load_registry(), *taken}
    if name not in used:
        return name
    return next(f"{name}-{i}" for i in range(2, len(used) + 3) if f"{name}-{i}" not in used)


def say(one: Found) -> None:
    """What the file holds, and what was decided."""
    goal = one.goal
    target = f"target {quoted(one.target)}, " if one.target else ""
    columns = len(one.frame.columns)
    click.echo(
        f"{one.path}: {one.frame.n} rows, {columns} columns, {target}{goal.task} ({goal.why})"
    )
    for line in decision_lines(one.frame.decisions):
        click.echo(f"  {line}")


def config_text(found: Sequence[Found], output: Path) -> str:
    """The config, its comments and all."""
    name = name_for(output, ())
    tasks = frozenset(one.goal.task for one in found)
    return CONFIG.format(
        file=output,
        name=name,
        results=f"results/{name}",
        learner=LEARNERS.get(tasks, BOTH),
        stratify="true " if tasks == {"classification"} else "false",
        datasets="\n".join(entry(one, output.parent) for one in found),
    )


def entry(one: Found, folder: Path) -> str:
    """One line under ``datasets``."""
    facts = {
        "name": one.name,
        "file": Path(os.path.relpath(one.path, folder)).as_posix(),
        **({"target": one.target} if one.target else {}),
        "task": one.goal.task,
    }
    text = write_yaml([("datasets", [facts])])
    return "\n".join(f"  {line}" for line in text.splitlines()[1:])
