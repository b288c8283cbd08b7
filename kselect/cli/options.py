"""Flags that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from kselect.datasets.fetch import Places, default_cache

F = TypeVar("F", bound=Callable[..., Any])


def place_options(function: F) -> F:
    """``--mirror``, ``--offline`` and ``--data-dir``, with their environment variables."""
    for decorate in (
        click.option(
            "--data-dir",
            metavar="DIR",
            envvar="KSELECT_DATA_DIR",
            help="Folder of data files, looked into first. [env: KSELECT_DATA_DIR; default: data/cache]",
        ),
        click.option("--offline", is_flag=True, help="Never touch the network."),
        click.option(
            "--mirror",
            metavar="DIR|URL",
            envvar="KSELECT_MIRROR",
            help="A copy of the LIBSVM files as libsvm/<file>. [env: KSELECT_MIRROR]",
        ),
    ):
        function = decorate(function)
    return function


def column_options(function: F) -> F:
    """``--dataset`` and ``--criterion``, each repeatable: parts of a config's table."""
    repeated: dict[str, Any] = {"multiple": True, "metavar": "NAME"}
    dataset = click.option(
        "-d", "--dataset", "datasets", help="This data set only (repeatable).", **repeated
    )
    criterion = click.option(
        "-c", "--criterion", "criteria", help="This criterion only (repeatable).", **repeated
    )
    return dataset(criterion(function))


def places(mirror: str | None, offline: bool, data_dir: str | None) -> Places:
    """Where to look for data files."""
    cache = Path(data_dir) if data_dir else default_cache()
    return Places(shown(cache), mirror, offline)


def shown(path: Path) -> Path:
    """A path as people want to read it: relative where it lies below the current folder."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except ValueError:
        return path
