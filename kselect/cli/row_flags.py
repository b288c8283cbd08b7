"""The flags about rows: their weights, and how they are held out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from kselect.errors import ConfigError

ROW_FLAGS = (
    click.option(
        "--weights",
        metavar="COLUMN",
        help="Weigh the rows by this column, which is then not a feature: a row of weight 2 counts as two rows, "
        "a row of weight 0 is dropped. [default: all rows weigh the same]",
    ),
    click.option(
        "--class-weight",
        metavar="WEIGHTS",
        help="Weigh the classes: balanced, or a weight per class, as in a=1,b=5. [default: none]",
    ),
    click.option(
        "--groups",
        metavar="COLUMN",
        help="Keep rows with the same value of this column, which is then not a feature, in one fold. "
        "[default: none]",
    ),
    click.option(
        "--time",
        metavar="COLUMN",
        help="Test rows by fits on earlier rows only, in the order of this column of numbers or dates, which is "
        "then not a feature. [default: none]",
    ),
    click.option(
        "--repeats",
        metavar="N",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Average the criterion over this many partitions into folds.",
    ),
    click.option(
        "--test",
        "test_file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Keep the rows of FILE out of everything, and score the model on them. [default: none]",
    ),
    click.option("--stratify", is_flag=True, help="Give every fold the same share of each class."),
)
NAMES = ("weights", "class_weight", "groups", "time", "repeats", "stratify")


def asked_of_rows(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags about rows that are not left at their defaults."""
    usual = {"repeats": 1, "stratify": False}
    return {name: flags[name] for name in NAMES if flags[name] != usual.get(name)}


def flag_of(name: str) -> str:
    """Return a flag as it is typed."""
    return "--" + name.replace("_", "-")


def check_row_flags(flags: Mapping[str, Any]) -> None:
    """Refuse flags that exclude each other, before the file is read."""
    given = [name for name in asked_of_rows(flags) if name not in ("weights", "class_weight")]
    if flags["folds"] is not None and given:
        raise ConfigError(f"--folds says which rows are held out: leave out {flag_of(given[0])}")
    others = [name for name in given if name != "time"]
    if "time" in given and others:
        raise ConfigError(f"--time orders the rows: leave out {flag_of(others[0])}")
    if flags["backend"] == "dask" and asked_of_rows(flags):
        name = flag_of(next(iter(asked_of_rows(flags))))
        raise ConfigError(f"--backend dask draws random folds of equal rows: leave out {name}")


def rule_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return a line for each rule of the rows that is not the usual one, from the flags that were asked."""
    found = []
    if "weights" in facts:
        found.append(f"rows weigh as column {facts['weights']} says")
    if "class_weight" in facts:
        how = facts["class_weight"]
        found.append(
            f"class weights: {how}, from the training rows"
            if how == "balanced"
            else f"class weights: {how}"
        )
    if "groups" in facts:
        found.append(f"rows with the same {facts['groups']} stay in one fold")
    if "time" in facts:
        found.append(f"rows are tested by fits on rows with an earlier {facts['time']}")
    if "stratify" in facts:
        found.append("every fold has the same share of each class")
    if "repeats" in facts:
        found.append(f"the criterion is the mean over {facts['repeats']} partitions into folds")
    return found
