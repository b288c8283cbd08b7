"""``kselect data``: where the data sets are."""

from __future__ import annotations

from pathlib import Path

import click

from kselect.cli.options import place_options, places
from kselect.datasets.content import read_content, sha256_of
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
from kselect.errors import DataError, KselectError, nearest, printable, quoted


class DataGroup(click.Group):
    """A group that names the nearest command for one that it does not have."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, in the words of the top level."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            ctx.fail(f"unknown command {quoted(args[0])}{nearest(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


@click.group("data", cls=DataGroup, epilog="Example: kselect data fetch a2a --mirror DIR")
def data() -> None:
    """List, fetch and verify the data sets."""


def chosen(names: tuple[str, ...]) -> list[DataSetInfo]:
    """The entries of the names, all of them where none is given."""
    return [find_dataset(name) for name in names] or list(load_registry().values())


@data.command("list", epilog="Example: kselect data list")
@place_options
def list_command(mirror: str | None, offline: bool, data_dir: str | None) -> None:
    """Each data set, and where its file would come from now; the network is not asked."""
    look = places(mirror, True, data_dir)
    for info in load_registry().values():
        click.echo(
            f"{info.name:<20} {info.task:<15}{info.rows:>6} x {info.features:<4} {where(info, look)}"
        )


def where(info: DataSetInfo, look: Places) -> str:
    """Where a data set is, in a word or two."""
    try:
        source = resolve(info, look)
    except Damaged as error:
        return f"{printable(error.path)}: {error.what}"
    except DataError:
        return "not here"
    return "embedded" if source.kind == "embedded" else f"{source.kind}: {printable(source.path)}"


@data.command("fetch", epilog="Example: kselect data fetch a2a mg --mirror DIR")
@click.argument("names", nargs=-1)
@place_options
def fetch(names: tuple[str, ...], mirror: str | None, offline: bool, data_dir: str | None) -> None:
    """Bring the LIBSVM files of NAMES (default: all) into the data folder, checked."""
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
    """Compare every file that is here with its checksum."""
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


def copies(info: DataSetInfo, look: Places) -> list[tuple[Path, str]]:
    """Every copy of a data set on this machine, and of which kind it is."""
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
        X, y = parse_svmlight(content, path)
        labels = np.unique(y)
        entry: dict[str, object] = {
            "task": "classification" if len(labels) == 2 else "regression",
            "rows": len(y),
            "features": X.shape[1],
        }
        if len(labels) == 2:
            entry["labels"] = {f"{labels[0]:g}": -1, f"{labels[1]:g}": 1}
        entry |= {"file": path.name, "sha256": sha256_of(content), "bytes": len(content)}
        entry |= {"licence": "unknown", "note": ""}
        click.echo(yaml.safe_dump({path.stem: entry}, sort_keys=False), nl=False)
