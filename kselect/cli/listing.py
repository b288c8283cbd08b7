"""``kselect list``: what a config may name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import click

from kselect.core.method import show
from kselect.errors import nearest
from kselect.registry import Part


def defaults(part: Part) -> str:
    """`` [eta=1, loss=squared]``: the parameters of a criterion or a learner."""
    parameters = ", ".join(f"{p.name}={show(p.default)}" for p in part.parameters)
    return f" [{parameters}]" if parameters else ""


def criteria() -> Iterator[tuple[str, str, str]]:
    """Name, one-line meaning, paper of each criterion."""
    from kselect.criteria import CRITERIA

    for name, c in CRITERIA.items():
        yield name, c.summary + defaults(c), c.paper


def learners() -> Iterator[tuple[str, str, str]]:
    """Name, one-line meaning, paper of each learner."""
    from kselect.learners import LEARNERS

    for name, learner in LEARNERS.items():
        yield name, learner.summary + defaults(learner), learner.paper


def kernels() -> Iterator[tuple[str, str, str]]:
    """Name, one-line meaning of each kernel."""
    from kselect.kernels import KERNELS

    for name, kernel in KERNELS.items():
        yield name, (inspect.getdoc(kernel) or "").partition("\n")[0], kernel.paper


def searches() -> Iterator[tuple[str, str, str]]:
    """Name, one-line meaning, criteria of each search beside the grid."""
    from kselect.search.kinds import SEARCHES

    for name, kind in SEARCHES.items():
        parameters = ", ".join(f"{p.name}={p.default}" for p in kind.parameters)
        own = f" [{parameters}]" if parameters else ""
        yield name, f"{kind.summary}{own} For {', '.join(kind.criteria)}.", kind.paper


def probes() -> Iterator[tuple[str, str, str]]:
    """Name, one-line meaning, paper of what figures look at."""
    from kselect.criteria import PROBES

    for name, probe in PROBES.items():
        yield name, probe.summary + defaults(probe), probe.paper


def figures() -> Iterator[tuple[str, str, str]]:
    """Name, one-line meaning, form of each kind of figure."""
    from kselect.report.sections import FIGURES

    for name, kind in FIGURES.items():
        meaning = inspect.getdoc(inspect.getmodule(type(kind))) or ""
        form = (inspect.getdoc(type(kind)) or "").partition("``")[2].partition("``")[0]
        yield name, meaning.partition("\n")[0], f"as in {form}"


def datasets() -> Iterator[tuple[str, str, str]]:
    """Name, size and whether a copy is embedded, of each data set."""
    from kselect.datasets.registry import load_registry

    for name, info in load_registry().items():
        where = "embedded" if info.embedded else "from --mirror or the LIBSVM site"
        if info.formula:
            where = "drawn from a formula"
        elif not info.embedded and not info.url:
            where = "from --mirror" if info.file else "in benchmarks.mat alone"
        if info.original:
            where += "; with its splits from benchmarks.mat"
        yield name, f"{info.task}, {info.rows} rows, {info.features} features", where


LISTS: dict[str, Callable[[], Iterator[tuple[str, str, str]]]] = {
    "criteria": criteria,
    "learners": learners,
    "kernels": kernels,
    "searches": searches,
    "probes": probes,
    "figures": figures,
    "datasets": datasets,
}


class Named(click.Choice[str]):
    """One of a few names; for another, the nearest."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """As click does, in the words of every other unknown name."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            raise click.UsageError(
                f"unknown name {value!r}{nearest(str(value), LISTS)}", ctx
            ) from None


@click.command("list", epilog="Example: kselect list criteria")
@click.argument("what", type=Named(list(LISTS)))
def listing(what: str) -> None:
    """Show what a config may name, and the probes that figures look at."""
    rows = list(LISTS[what]())
    width = max(len(name) for name, _, _ in rows)
    for name, meaning, source in rows:
        click.echo(f"{name:<{width}}  {meaning}" + (f"  ({source})" if source else ""))
