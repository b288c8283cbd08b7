"""Commands that print reference text: ``kselect list``, ``kselect guide`` and ``kselect sys-info``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.resources import files

import click

from kselect.cli.flags import LOADED_PLUGIN
from kselect.core.method import show
from kselect.errors import nearest, quoted
from kselect.registry import Part

ListEntry = tuple[str, str, str]


def parameters(part: Part) -> str:
    """Return the parameters of a part with their defaults: `` [eta=1, loss=squared]``."""
    values = ", ".join(f"{p.name}={show(p.default)}" for p in part.parameters)
    return f" [{values}]" if values else ""


def parts(module: str, registry: str) -> Iterator[ListEntry]:
    """Yield the name, meaning and paper of each part in a registry."""
    for name, part in getattr(import_module(module), registry).items():
        yield name, part.summary + parameters(part), part.paper


def kernels() -> Iterator[ListEntry]:
    """Yield the name, meaning and paper of each kernel."""
    from kselect.kernels import KERNELS

    for name, kernel in KERNELS.items():
        yield name, (inspect.getdoc(kernel) or "").partition("\n")[0], kernel.paper


def searches() -> Iterator[ListEntry]:
    """Yield the name, meaning, criteria and paper of each search other than the grid."""
    from kselect.search.continuous import SEARCHES

    for name, kind in SEARCHES.items():
        meaning = f"{kind.summary}{parameters(kind)} For {', '.join(kind.criteria)}."
        yield name, meaning, kind.paper


def figures() -> Iterator[ListEntry]:
    """Yield the name, meaning and form of each kind of figure."""
    from kselect.report.sections import FIGURES

    for name, kind in FIGURES.items():
        meaning = inspect.getdoc(inspect.getmodule(kind)) or ""
        form = (inspect.getdoc(kind) or "").partition("``")[2].partition("``")[0]
        yield name, meaning.partition("\n")[0], f"as in {form}"


def datasets() -> Iterator[ListEntry]:
    """Yield the name, size and source of each data set."""
    from kselect.datasets.registry import load_registry

    for name, info in load_registry().items():
        where = "embedded" if info.embedded else "from --mirror or the LIBSVM site"
        if info.formula:
            where = "drawn from a formula"
        elif not info.embedded and not info.url:
            where = "from --mirror" if info.file else "only in benchmarks.mat"
        if info.original:
            where += "; with its splits from benchmarks.mat"
        yield name, f"{info.task}, {info.rows} rows, {info.features} features", where


LISTS: dict[str, Callable[[], Iterator[ListEntry]]] = {
    "criteria": partial(parts, "kselect.criteria", "CRITERIA"),
    "learners": partial(parts, "kselect.learners", "LEARNERS"),
    "kernels": kernels,
    "searches": searches,
    "probes": partial(parts, "kselect.criteria", "PROBES"),
    "figures": figures,
    "datasets": datasets,
}


class ListName(click.Choice[str]):
    """A name of a list; for another name, the error suggests the nearest one."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Convert as click does, with the project's own words for an unknown name."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            raise click.UsageError(
                f"unknown name {value!r}{nearest(str(value), LISTS)}", ctx
            ) from None


@click.command("list", epilog="Example: kselect list criteria")
@click.argument("what", type=ListName(list(LISTS)))
@LOADED_PLUGIN
def listing(what: str) -> None:
    """List the names that a config may use, and the probes that figures show."""
    rows = list(LISTS[what]())
    width = max(len(name) for name, _, _ in rows)
    for name, meaning, source in rows:
        click.echo(f"{name:<{width}}  {meaning}" + (f"  ({source})" if source else ""))


@click.command("guide", epilog="Examples: kselect guide; kselect guide criteria")
@click.argument("topic", required=False)
def guide(topic: str | None) -> None:
    """Print the reference page of TOPIC, or the list of topics."""
    pages = {
        page.name.removesuffix(".md"): page.read_text(encoding="utf-8")
        for page in sorted(files("kselect").joinpath("guide").iterdir(), key=lambda p: p.name)
        if page.name.endswith(".md")
    }
    if topic is None:
        width = max(map(len, pages))
        for name, text in pages.items():
            title = text.partition("\n")[0].lstrip("# ")
            click.echo(f"{name:<{width}}  {title}")
    elif topic in pages:
        click.echo(pages[topic], nl=False)
    else:
        raise click.UsageError(f"unknown topic {quoted(topic)}{nearest(topic, pages)}")


@click.command("sys-info", epilog="Example: kselect sys-info > bug-report.txt")
def sys_info() -> None:
    """Print the versions, CPU, BLAS and threads that a bug report needs."""
    import yaml

    from kselect.store.environment import describe_environment

    click.echo(yaml.safe_dump(describe_environment(), sort_keys=False), nl=False)
