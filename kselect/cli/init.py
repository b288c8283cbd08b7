"""``kselect init``: write a commented config for the user's own files, or the three files of a paper."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path

import click
import numpy as np

from kselect.cli.flags import PATH
from kselect.config.document import write_yaml
from kselect.config.papers import FOLDER
from kselect.config.validators import attempt, folder_name
from kselect.datasets.content import STANDARD_INPUT
from kselect.datasets.registry import load_registry
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.raw_table import Frame, decision_lines
from kselect.datasets.table.target import Target, as_target
from kselect.errors import ConfigError, DataError, printable, quoted
from kselect.files import reason, write_named
from kselect.packaged import packaged
from kselect.selection.defaults import CRITERION, KERNEL, LEARNER, default_lam

EPILOG = """\b
Examples:
  kselect init wine.csv flowers.csv -o my.yaml
  kselect init wine.csv flowers.csv --target quality --target species -o my.yaml
  kselect run my.yaml && kselect report results/my
  kselect init --paper smith2024    writes smith2024.yaml, published/smith2024.yaml and .csv
"""

CONFIG = """\
# An experiment on your own files: compares criteria by what they choose, over random splits.
#
#     kselect run {file} -n      check this file and estimate the run time; runs nothing
#     kselect run {file}         run it; finished jobs are not run again
#     kselect report {results}
#
# `kselect list criteria` lists the criteria that may be used here; `kselect list learners`, `kselect list kernels`
# and `kselect list datasets` list the other names.

name: {name}                    # the results go to {results}/

learner: {learner}                  # least-squares SVM with a bias, for classes and numbers; or krr, svm, ...
scale: zscore                   # features to mean 0, standard deviation 1; or minmax, none
scale-on: train                 # learn imputation, encoding and scaling from the training rows of each split only

train: 0.7                      # the share of rows to train on; the rest tests the choice
splits: 10                      # number of random splits; if you add more later, these are kept
stratify: {stratify}                 # true: train on the same share of every class
seed: 0                         # same seed, same splits and folds

# The candidates are all pairs of a kernel and a lam. These two, the learner and the scale are the defaults of
# `kselect select` too, which in addition widens grids and, for numbers, averages the best candidates.
kernels: {kernels}                   # Gaussian and Laplacian kernels, on plain and on relevance-weighted features;
                                # or grids: {{gaussian: {{tau: 2^-4:2^10}}, laplacian: {{width: 2^-1:2^8}}}}
lam: {{select: {lam}}}       # the ridge is n lam; {{fixed: ...}} reports each lam instead of selecting one

loss: squared                   # the loss that the criteria average: squared, zero-one or hinge

# The criteria to compare. The number in a name is the number of folds; parameters go in braces:
# {{5-KS: {{eta: 2}}}}.
criteria: [{criterion}, 10-CV, ELOO, GCV, 5-KS]

# Paths are relative to this file. An entry may also list columns under the keys drop, categorical and numeric. Its
# key missing says what to do with missing values: impute, drop or error. Data sets of kselect may be added by name.
datasets:
{datasets}
"""
# The example of a paper, which has this name, and its files.
EXAMPLE = "my-paper"
PAPER = (f"{EXAMPLE}.yaml", f"{FOLDER}/{EXAMPLE}.yaml", f"{FOLDER}/{EXAMPLE}.csv")


@dataclass(frozen=True, eq=False)
class InspectedFile:
    """A data file of the user with the name it gets in the config."""

    name: str
    path: Path
    frame: Frame
    target: Target


@click.command("init", epilog=EPILOG)
@click.argument("files", nargs=-1, type=PATH)
@click.option(
    "--paper",
    metavar="NAME",
    help="Write an example of a paper's experiment instead: a config, its printed table, its claims.",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="COLUMN",
    help="Name the target column: one for all files, or one per file, in order. [default: the last column]",
)
@click.option(
    "-o",
    "--output",
    metavar="CONFIG.yaml",
    type=PATH,
    help="Write the config here. [default: my.yaml; for a paper NAME.yaml]",
)
@click.option("-f", "--force", is_flag=True, help="Overwrite an existing config.")
def init(
    files: tuple[Path, ...],
    targets: tuple[str, ...],
    paper: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Inspect FILES and write a commented config for an experiment on them."""
    if paper is not None:
        if files or targets:
            raise ConfigError("--paper: takes no files; add data sets to the config that it writes")
        write_paper(paper, output, force)
        return
    if not files:
        raise ConfigError("init: name the data files, or a new paper with --paper NAME")
    output = output or Path("my.yaml")
    if output.exists() and not force:
        raise ConfigError(f"{printable(output)}: already exists; --force overwrites it")
    if len(targets) not in (0, 1, len(files)):
        raise ConfigError(
            f"{len(targets)} targets for {len(files)} files: name one for all, or one per file"
        )
    columns = targets if len(targets) > 1 else [*(targets or (None,))] * len(files)
    inspected: list[InspectedFile] = []
    for path, column in zip(files, columns, strict=True):
        if path == STANDARD_INPUT:
            raise ConfigError("-: an experiment reads its file again: name a file")
        frame = read_frame(path, column)  # as an experiment will read it
        target = as_target(frame, None)
        # Two classes share one row of values, +1 in the second class; otherwise each class has a row of its own.
        sizes = np.sum(target.values > 0, axis=1)
        sizes = sizes if len(sizes) > 1 else np.append(sizes, frame.n - sizes)
        if target.task == "classification" and min(sizes) < 2:
            raise DataError(
                f"{printable(path)}: a class has only one row, so no split can test it; drop that row"
            )
        name = name_for(path, [other.name for other in inspected])
        one = InspectedFile(name, path, frame, target)
        inspected.append(one)
        named = f"target {quoted(frame.schema.target)}, " if frame.schema.target else ""
        task = f"{one.target.task} ({one.target.why})"
        click.echo(f"{path}: {one.frame.n} rows, {len(one.frame.columns)} columns, {named}{task}")
        for line in decision_lines(one.frame.decisions):
            click.echo(f"  {line}")
    write_named(output, config_text(inspected, output))
    click.echo(f"written: {output}")
    click.echo(f"next: kselect run {output}")


def write_paper(name: str, output: Path | None, force: bool) -> None:
    """Write the example of a paper under a name: the config, and its table and claims in a folder next to it."""
    valid, problem = attempt(folder_name, name)
    if problem or valid is None:
        raise ConfigError(f"--paper: {problem}")
    if (packaged(FOLDER) / f"{name}.yaml").is_file():
        raise ConfigError(f"--paper {name}: this paper comes with kselect; choose another name")
    config = output or Path(f"{name}.yaml")
    paths = (config, *(config.parent / part.replace(EXAMPLE, name) for part in PAPER[1:]))
    for path in paths:
        if path.exists() and not force:
            raise ConfigError(f"{printable(path)}: already exists; --force overwrites it")
    example = resources("kselect.cli") / "paper"
    try:
        (config.parent / FOLDER).mkdir(exist_ok=True)
    except OSError as error:
        raise DataError(f"{printable(config.parent / FOLDER)}: {reason(error)}") from None
    for path, part in zip(paths, PAPER, strict=True):
        text = (example / part).read_text(encoding="utf-8")
        write_named(path, text.replace(EXAMPLE, name))
        click.echo(f"written: {printable(path)}")
    click.echo(f"next: kselect run {config} --dry-run")


def name_for(path: Path, taken: Sequence[str]) -> str:
    """Return a plain name for a file, other than the data sets of kselect and the names already taken."""
    stem = path.name.partition(".")[0] or path.name
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-")[:60] or "data"
    used = {*load_registry(), *taken}
    if name not in used:
        return name
    return next(f"{name}-{i}" for i in range(2, len(used) + 3) if f"{name}-{i}" not in used)


def config_text(inspected: Sequence[InspectedFile], output: Path) -> str:
    """Return the config with its comments."""
    name = name_for(output, ())
    classes = all(one.target.task == "classification" for one in inspected)
    entries = []
    for one in inspected:
        facts = {
            "name": one.name,
            "file": Path(os.path.relpath(one.path, output.parent)).as_posix(),
            **({"target": one.frame.schema.target} if one.frame.schema.target else {}),
            "task": one.target.task,
        }
        entries += write_yaml([("datasets", [facts])]).splitlines()[1:]
    return CONFIG.format(
        file=output,
        name=name,
        results=f"results/{name}",
        learner=LEARNER,
        kernels=KERNEL,
        lam=default_lam("classification" if classes else "regression"),
        criterion=CRITERION,
        stratify="true " if classes else "false",
        datasets="\n".join(f"  {line}" for line in entries),
    )
