"""``kselect data``: list, fetch and verify the data sets, and make registry entries."""

from __future__ import annotations

from pathlib import Path

import click

from kselect.cli.flags import place_options, places
from kselect.cli.main import require_command
from kselect.datasets.content import read_content, sha256_of, unpack
from kselect.datasets.fetch import (
    Damaged,
    Places,
    Unreachable,
    checked,
    fetch_into_cache,
    is_there,
    packaged,
    resolve,
)
from kselect.datasets.registry import DataSetInfo, find_dataset, load_registry
from kselect.datasets.svmlight import parse_svmlight
from kselect.errors import DataError, KselectError, printable


class DataGroup(click.Group):
    """The group of commands below ``kselect data``."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does; for an unknown command, suggest the nearest name."""
        require_command(ctx, args, self.commands)
        return super().resolve_command(ctx, args)


@click.group("data", cls=DataGroup, epilog="Example: kselect data fetch a2a --mirror DIR")
def data() -> None:
    """List, fetch and verify the data sets."""


@data.command("list", epilog="Example: kselect data list")
@place_options
def list_command(mirror: str | None, offline: bool, data_dir: str | None) -> None:
    """List each data set and where its file would be read from; the network is not used."""
    look = places(mirror, True, data_dir)
    for info in load_registry().values():
        try:
            source = resolve(info, look)
            where = source.kind
            if source.kind != "embedded":
                where += f": {printable(source.path)}"
        except Damaged as error:
            where = f"{printable(error.path)}: {error.what}"
        except DataError:
            where = "not here"
        click.echo(f"{info.name:<20} {info.task:<15}{info.rows:>6} x {info.features:<4} {where}")


@data.command("fetch", epilog="Example: kselect data fetch a2a mg --mirror DIR")
@click.argument("names", nargs=-1)
@place_options
def fetch(names: tuple[str, ...], mirror: str | None, offline: bool, data_dir: str | None) -> None:
    """Fetch the LIBSVM files of NAMES (default: all) into the data folder, and check them."""
    look = places(mirror, offline, data_dir)
    problems = []
    for info in chosen(names):
        try:
            source = fetch_into_cache(info, look)
            file = f"{printable(source.path)} ({source.kind})"
            click.echo(f"{info.name}: {file}, sha256 {source.sha256}")
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise KselectError("\n".join(problems))


@data.command("verify", epilog="Example: kselect data verify")
@click.argument("names", nargs=-1)
@place_options
def verify(names: tuple[str, ...], mirror: str | None, offline: bool, data_dir: str | None) -> None:
    """Compare every copy of the files of NAMES (default: all) on this machine with its checksum."""
    look = places(mirror, True, data_dir)
    problems = []
    for info in chosen(names):
        try:
            found = copies(info, look)
        except Unreachable as error:
            problems.append(str(error))
            continue
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


def copies(info: DataSetInfo, look: Places) -> list[tuple[Path, str]]:
    """Return every copy of a data set on this machine, with its kind."""
    folders = [look.cache, look.cache / "libsvm"]
    if look.mirror and "://" not in look.mirror:
        folders.append(Path(look.mirror) / "libsvm")
    found = [(folder / info.file, "file") for folder in folders if is_there(folder / info.file)]
    if info.embedded and info.embedded_sha256:
        found.append((packaged("embedded") / info.embedded, "embedded"))
    return found


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
