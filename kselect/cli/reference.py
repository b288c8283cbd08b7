"""Commands that print reference text: ``kselect list``, ``kselect guide`` and ``kselect sys-info``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.resources import files

import click

from kselect.cli.flags import LOADED_PLUGIN
from kselect.core.experiment import Experiment
from kselect.core.method import show
from kselect.errors import ConfigError, nearest, quoted
from kselect.packaged import experiments, packaged
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


def papers() -> Iterator[ListEntry]:
    """Yield each paper that comes with kselect: title, authors, year, claims, data sets, and the time it takes."""
    for name, experiment, seconds in packaged_experiments():
        if paper := experiment.source:
            year = f", {paper.year}" if paper.year and str(paper.year) not in paper.venue else ""
            lines = (
                paper.title,
                f"{', '.join(paper.authors)}; {paper.venue}{year}",
                f"{len(paper.claims)} claims; {describe_datasets(experiment)}",
                f"{seconds}; kselect run {name}",
            )
            yield name, "\n".join(lines), ""


def named_experiments() -> Iterator[ListEntry]:
    """Yield each experiment that comes with kselect: title, data sets, and the time it takes."""
    for name, experiment, seconds in packaged_experiments():
        yield name, "\n".join((experiment.title, describe_datasets(experiment), seconds)), ""


def packaged_experiments() -> Iterator[tuple[str, Experiment, str]]:
    """Yield the name of each experiment that comes with kselect, what it runs, and its measured time in words."""
    from kselect.config.load import load_config
    from kselect.report.sections import FIGURES
    from kselect.report.words import duration
    from kselect.store.committed import read_times

    for name, path in experiments().items():
        experiment = load_config(path, FIGURES)
        try:
            seconds, cpus = read_times(experiment)
        except ConfigError:  # the quickstart has no committed results
            yield name, experiment, "no committed records"
            continue
        yield name, experiment, f"took {duration(seconds)} in one process ({', '.join(cpus)})"


def describe_datasets(experiment: Experiment) -> str:
    """Return the number of data sets, and the names of those that kselect does not carry."""
    infos = [experiment.info(name) for name in experiment.datasets]
    absent = [info.name for info in infos if not (info.embedded or info.formula)]
    more = (
        f", {len(absent)} of them from --mirror or a download ({', '.join(absent)})"
        if absent
        else ""
    )
    return f"{len(infos)} data sets{more}"


LISTS: dict[str, Callable[[], Iterator[ListEntry]]] = {
    "criteria": partial(parts, "kselect.criteria", "CRITERIA"),
    "learners": partial(parts, "kselect.learners", "LEARNERS"),
    "kernels": kernels,
    "searches": searches,
    "probes": partial(parts, "kselect.criteria", "PROBES"),
    "figures": figures,
    "datasets": datasets,
    "papers": papers,
    "experiments": named_experiments,
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
    """List the names that a config may use, the probes that figures show, and what comes with kselect."""
    rows = list(LISTS[what]())
    width = max(len(name) for name, _, _ in rows)
    for name, meaning, source in rows:
        lines = meaning.replace("\n", "\n" + " " * (width + 2))
        click.echo(f"{name:<{width}}  {lines}" + (f"  ({source})" if source else ""))


@click.command("guide", epilog="Examples: kselect guide; kselect guide criteria")
@click.argument("topic", required=False)
def guide(topic: str | None) -> None:
    """Print the reference page of TOPIC, or the list of topics."""
    found = [*files("kselect").joinpath("guide").iterdir()]
    pages = {
        page.name.removesuffix(".md"): page.read_text(encoding="utf-8")
        for page in sorted(found, key=lambda p: p.name)
        if page.name.endswith(".md")
    }
    pages["changes"] = files("kselect").joinpath("CHANGELOG.md").read_text(encoding="utf-8")
    pages["configs"] = (packaged("configs") / "README.md").read_text(encoding="utf-8")
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

    from kselect.store.environment import cpu_flags, describe_environment, faster_blas

    facts = describe_environment()
    click.echo(yaml.safe_dump(facts, sort_keys=False), nl=False)
    if hint := faster_blas(facts["blas"], cpu_flags(), question=True):
        click.echo(f"# {hint}")
