"""What a section is: a kind of table, shown of every experiment, or a kind of figure that a config asks for.

A figure also says how a config asks for it and which methods it needs. Either is registered by its file alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from kselect.core.experiment import FigureContext, FigureKind
from kselect.criteria import Criterion
from kselect.errors import ConfigError, nearest
from kselect.grids import parse_grid
from kselect.registry import Registry
from kselect.report.blocks import Shown
from kselect.report.elements import File, Passage
from kselect.stats.study import Study

# What a section or a figure yields; the old ``Shown`` is being replaced.
Output = Shown | Iterable[File | Passage]
Section = Callable[[Study], Output]


class FigureSection(FigureKind, Protocol):
    """A kind of figure that can be shown."""

    def show(self, figure: Any, study: Study) -> Output:
        """The files of a figure and its place on the page, with its own caption."""
        ...


SECTIONS: Registry[Section] = Registry("section", "kselect.report.sections")
FIGURES: Registry[FigureSection] = Registry("kind of figure", "kselect.report.sections")
Wrong = Callable[[tuple[str | int, ...], str], None]
S = TypeVar("S", bound=Section)
K = TypeVar("K", bound=type[Any])


def section(name: str) -> Callable[[S], S]:
    """Register a function of a study as a section of every report."""

    def register(show: S) -> S:
        SECTIONS[name] = show
        return show

    return register


def figure(name: str) -> Callable[[K], K]:
    """Register a class as a kind of figure, under the name that a config's ``kind`` takes."""

    def register(cls: K) -> K:
        FIGURES[name] = cls()
        return cls

    return register


def read_labels(
    key: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
) -> list[str]:
    """Columns of the table that a key lists; another one, or one that stands twice, is wrong."""
    found: list[str] = []
    for i, label in enumerate(read_list(key, written, wrong)):
        if label in found:
            wrong((key, i), f"{label} is there already")
        elif label not in columns.methods:
            wrong((key, i), f"{label!r} is not under criteria{nearest(label, columns.methods)}")
        else:
            found.append(label)
    return found


def read_label(key: str, written: Mapping[str, Any], columns: FigureContext, wrong: Wrong) -> str:
    """One column of the table."""
    label = written.get(key)
    if label is None:
        wrong((key,), "this key is missing")
    elif not isinstance(label, str) or label not in columns.methods:
        wrong((key,), f"{label!r} is not under criteria{nearest(str(label), columns.methods)}")
    else:
        return label
    return ""


def read_list(key: str, written: Mapping[str, Any], wrong: Wrong) -> list[str]:
    """A list of names that must be there."""
    value = written.get(key)
    if value is None:
        wrong((key,), "this key is missing")
    elif not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        wrong((key,), "must be a list, as in [a, b]")
    elif not value:
        wrong((key,), "the list is empty")
    else:
        return value
    return []


def read_datasets(
    written: Mapping[str, Any], columns: FigureContext, wrong: Wrong
) -> tuple[str, ...]:
    """The data sets that a figure names, or all of the experiment."""
    if written.get("datasets") is None:
        return columns.datasets
    names = read_list("datasets", written, wrong)
    for i, name in enumerate(names):
        if name not in columns.datasets and not columns.narrowed:
            hint = nearest(name, columns.datasets)
            wrong(("datasets", i), f"{name!r} is not under datasets{hint}")
    return tuple(name for name in names if name in columns.datasets)


def read_sweep(
    written: Mapping[str, Any], keys: Sequence[str], wrong: Wrong
) -> tuple[str, tuple[float, ...]]:
    """The one key beside the known ones: a parameter with its grid."""
    swept = [key for key in written if key not in keys]
    if len(swept) != 1:
        found = f"not {' and '.join(swept)}" if swept else "such as eta: 2^-10:2^10"
        wrong((), f"needs one parameter to sweep, {found}")
        return "", ()
    try:
        return swept[0], parse_grid(written[swept[0]])
    except ConfigError as error:
        wrong((swept[0],), str(error))
        return swept[0], ()


def parse_values(
    owner: Criterion, label: str, name: str, values: Sequence[float], wrong: Wrong
) -> Iterator[Any]:
    """The values of a sweep as the criterion takes them; the first that it does not take is wrong."""
    parameter = owner.parameter(name)
    if parameter is None:
        known = [p.name for p in owner.parameters]
        wrong(
            (name,),
            f"unknown parameter of {label}" + (nearest(name, known) if known else "; it has none"),
        )
        return
    for value in values:
        try:
            yield parameter.parse(value)
        except ConfigError as error:
            wrong((name,), str(error))
            return
