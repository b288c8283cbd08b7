"""``kselect data``: where the data sets are."""

from __future__ import annotations

from pathlib import Path

import click

from kselect.cli.options import place_options, places
from kselect.datasets.fetch import Places, checked, fetch_into_cache, file_sha256, packaged, resolve
from kselect.datasets.registry import DataSetInfo, find_dataset, load_registry
from kselect.datasets.svmlight import read_svmlight
from kselect.errors import DataError, KselectError, nearest


class DataGroup(click.Group):
    """A group that names the nearest command for one that it does not have."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, in the words of the top level."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            ctx.fail(f"unknown command {args[0]!r}{nearest(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


@click.group(
    "data", cls=DataGroup, epilog="Example: kselect data fetch a2a --mirror ../shared/data"
)
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
    except DataError as error:
        return str(error).split(": ", 1)[1] if "checksum" in str(error) else "not here"
    return "embedded" if source.kind == "embedded" else f"{source.kind}: {source.path}"


@data.command("fetch", epilog="Example: kselect data fetch a2a mg --mirror ../shared/data")
@click.argument("names", nargs=-1)
@place_options
def fetch(names: tuple[str, ...], mirror: str | None, offline: bool, data_dir: str | None) -> None:
    """Bring the LIBSVM files of NAMES (default: all) into the data folder, checked."""
    look = places(mirror, offline, data_dir)
    problems = []
    for info in chosen(names):
        try:
            source = fetch_into_cache(info, look)
            click.echo(f"{info.name}: {source.path} ({source.kind}), sha256 {source.sha256}")
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
        found = copies(info, look)
        if not found:
            click.echo(f"{info.name}: no copy here")
        for path, kind, expected in found:
            try:
                checked(path, kind, expected)
                click.echo(f"{info.name}: {path}: good")
            except DataError as error:
                problems.append(str(error))
    if problems:
        raise KselectError("\n".join(problems))


def copies(info: DataSetInfo, look: Places) -> list[tuple[Path, str, str]]:
    """Every copy of a data set on this machine with the checksum that it should have."""
    originals = [look.cache / info.file, look.cache / "libsvm" / info.file]
    if look.mirror and Path(look.mirror).is_dir():
        originals.append(Path(look.mirror) / "libsvm" / info.file)
    found = [(path, "file", info.sha256) for path in originals if path.is_file()]
    if info.embedded and info.embedded_sha256:
        found.append((packaged("embedded") / info.embedded, "embedded", info.embedded_sha256))
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
        X, y = read_svmlight(path)
        labels = np.unique(y)
        entry: dict[str, object] = {
            "task": "classification" if len(labels) == 2 else "regression",
            "rows": len(y),
            "features": X.shape[1],
        }
        if len(labels) == 2:
            entry["labels"] = {f"{labels[0]:g}": -1, f"{labels[1]:g}": 1}
        entry |= {"file": path.name, "sha256": file_sha256(path), "licence": "unknown", "note": ""}
        click.echo(yaml.safe_dump({path.stem: entry}, sort_keys=False), nl=False)
