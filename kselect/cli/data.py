"""``kselect data``: list, fetch and verify the data sets, and make registry entries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from kselect.cli.flags import place_options
from kselect.cli.main import CommandGroup
from kselect.datasets.content import read_content, sha256_of, unpack
from kselect.datasets.fetch import (
    Damaged,
    Places,
    Unreachable,
    checked,
    fetch_into_cache,
    is_there,
    resolve,
)
from kselect.datasets.registry import DataSetInfo, find_dataset, load_registry
from kselect.datasets.svmlight import parse_svmlight
from kselect.errors import DataError, KselectError, printable
from kselect.packaged import packaged


@click.group("data", cls=CommandGroup, epilog="Example: kselect data fetch a2a --mirror DIR")
def data() -> None:
    """List, fetch and verify the data sets."""


@data.command("list", epilog="Example: kselect data list")
@place_options
def list_command(where: Places) -> None:
    """List each data set and where its file would be read from; the network is not used."""
    look = replace(where, offline=True)
    for info in load_registry().values():
        try:
            source = resolve(info, look)
            at = source.kind
            if source.kind != "embedded":
                at += f": {printable(source.path)}"
        except Damaged as error:
            at = f"{printable(error.path)}: {error.what}"
        except DataError:
            at = "not here"
        click.echo(f"{info.name:<20} {info.task:<15}{info.rows:>6} x {info.features:<4} {at}")


@data.command("fetch", epilog="Example: kselect data fetch a2a mg --mirror DIR")
@click.argument("names", nargs=-1)
@place_options
def fetch(names: tuple[str, ...], where: Places) -> None:
    """Fetch the LIBSVM files of NAMES (default: all) into the data folder, and check them."""
    problems = []
    for info in chosen(names):
        try:
            source = fetch_into_cache(info, where)
            file = f"{printable(source.path)} ({source.kind})"
            click.echo(f"{info.name}: {file}, sha256 {source.sha256}")
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise KselectError("\n".join(problems))


@data.command("verify", epilog="Example: kselect data verify")
@click.argument("names", nargs=-1)
@place_options
def verify(names: tuple[str, ...], where: Places) -> None:
    """Compare every copy of the files of NAMES (default: all) on this machine with its checksum."""
    look = replace(where, offline=True)
    problems = []
    for info in chosen(names):
        folders = [look.cache, look.cache / "libsvm"]
        if look.mirror and "://" not in look.mirror:
            folders.append(Path(look.mirror) / "libsvm")
        try:
            found = [(f / info.file, "file") for f in folders if is_there(f / info.file)]
        except Unreachable as error:
            problems.append(str(error))
            continue
        if info.embedded and info.embedded_sha256:
            found.append((packaged("embedded") / info.embedded, "embedded"))
        if not found:
            click.echo(f"{info.name}: no copy here")
        for path, kind in found:
            try:
                checked(path, kind, info)
                click.echo(f"{info.name}: {printable(path)}: good")
            except DataError as error:
                problems.append(str(error))
    if problems:
        raise KselectError("\n".join(dict.fromkeys(problems)))


def chosen(names: tuple[str, ...]) -> list[DataSetInfo]:
    """Return the registry entries of the names, or all entries."""
    return [find_dataset(name) for name in names] or list(load_registry().values())


@data.command(
    "lock", epilog="Example: kselect data lock my/file.svm >> kselect/datasets/registry.yaml"
)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
def lock(files: tuple[str, ...]) -> None:
    """Print registry entries for svmlight FILES: rows, features, labels, checksum."""
    import numpy as np
    import yaml

    for file in files:
        path = Path(file)
        content = read_content(path)
        X, y = parse_svmlight(unpack(path, content)[1], path)
        labels = np.unique(y)
        two = len(labels) == 2
        entry = {
            "task": "classification" if two else "regression",
            "rows": len(y),
            "features": X.shape[1],
            **({"labels": {f"{labels[0]:g}": -1, f"{labels[1]:g}": 1}} if two else {}),
            "file": path.name,
            "sha256": sha256_of(content),
            "bytes": len(content),
            "licence": "unknown",
            "note": "",
        }
        click.echo(yaml.safe_dump({path.stem: entry}, sort_keys=False), nl=False)
