"""Load a config as an experiment: apply flags and variants, and add what the results folder already holds.

A variant interprets the protocol differently, or adds columns: it is a config of its own, without figures, in which
a few keys differ. Claims of its own stand next to the paper's. In
``variants: {minmax: {scale: minmax}, eta-4: {params: {eta: 4}}}``, the variant minmax replaces the key ``scale``.
The variant eta-4 sets a parameter in every criterion that has it; ``{params: {k-KS: {eta: 4}}}`` sets it only in
the criteria of that name. The results of a variant are in ``variants/<name>``; pages show its ``title``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kselect.config.document import Document, Location, read_document
from kselect.config.estimator_entries import read_estimators
from kselect.config.own_entries import take_own
from kselect.config.papers import read_source
from kselect.config.parts import read_criterion
from kselect.config.plugin_entries import add_kept, take_plugins
from kselect.config.resolved import differences, protocol_text, resolved, stored_config, widen
from kselect.config.schema import KEYS, MOST_FIGURE_METHODS, ConfigFile, read_config
from kselect.config.validators import describe, only_item
from kselect.core.claim import Claim, Paper
from kselect.core.experiment import Experiment, Figure, FigureContext, FigureKind, Variant
from kselect.core.method import TABLE, show
from kselect.criteria import Criterion
from kselect.errors import ConfigError, nearest
from kselect.grids import parse_number
from kselect.registry import Plugin

Kinds = Mapping[str, FigureKind]
Sourced = tuple[Paper | None, tuple[Claim, ...]]
NO_OVERRIDES: Mapping[str, object] = MappingProxyType({})
FLAGS = {"datasets": "--dataset", "splits": "--splits", "criteria": "--criterion"}
# The attributes that the experiment copies from the config.
SAME = (
    *("name", "paper", "title", "scale", "scale_on", "train", "stratify", "splits", "seed"),
    *("kernels", "lam", "ridge", "loss", "fewer_splits", "tune_folds", "search", "scale_target"),
)
PARAMS = "params"
TITLE = "title"
# The keys that all variants share; a variant can change the others, and parameters of criteria.
OF_ALL = ("name", "paper", "title", "figures", "variants", "plugins")
# The keys that add columns and claims, or remove splits; a variant of these only is no other reading.
ADDING = ("estimators", "claims", "fewer-splits")
CHANGEABLE = (*(key for key in KEYS if key not in OF_ALL), PARAMS)
# A list of more data sets is shown as their number.
MOST_NAMED = 4


@dataclass(frozen=True)
class Loaded:
    """A config as a command needs it.

    ``asked`` is the experiment with the flags applied. ``whole`` is the experiment of the full config, extended by
    the data sets and splits of the flags and of the results folder. ``resolved`` is the text of ``whole`` with
    every choice written out. ``protocol`` is the part of that text that all results of a folder share.
    ``plugins`` are the plug-ins of ``whole``. ``before`` is the experiment of the config that the folder keeps,
    None without a valid one; ``differences`` says in which keys of the protocol and which plug-ins it differs.
    """

    asked: Experiment
    whole: Experiment
    resolved: str
    protocol: str
    plugins: tuple[Plugin, ...] = ()
    before: Experiment | None = None
    differences: str = ""


def load_config(
    path: Path, kinds: Kinds, overrides: Mapping[str, object] = NO_OVERRIDES, checked: bool = True
) -> Experiment:
    """Return the experiment of a config file; one ConfigError has a line for every problem of the file.

    ``overrides`` are the values of flags: ``datasets`` (names), ``splits`` (text, ``3`` or ``0-4``) and
    ``criteria`` (the labels to keep, in the table and in figures). None stands for a flag that is not given.
    For the config of a results folder, ``checked`` is false: the claims of its paper may have changed since.
    """
    document = take_plugins(take_own(read_document(path)))
    return narrowed(document, kinds, overrides, checked=checked)


def load(
    path: Path,
    kinds: Kinds,
    overrides: Mapping[str, object],
    folder_of: Callable[[Experiment], Path],
    variant: str = "",
    plugins: Iterable[Path] = (),
) -> Loaded:
    """Load a config or one of its variants, together with the experiment of its whole results folder."""
    document, read = take_plugins(take_own(read_document(path)), plugins), None
    if variant:
        main = build(deepcopy(document), kinds)
        document = take_own(variant_of(document, variant))
        read = sourced(main) if "claims" not in document.data else None
    asked = narrowed(deepcopy(document), kinds, overrides, read)
    folder = folder_of(asked)
    stored = stored_config(folder / "config.resolved.yaml")
    add_kept(document, stored)
    widen(document, asked.datasets, asked.splits, stored)
    text = resolved(document, folder)
    differs = differences(stored, document)
    whole = build(document, kinds, sourced(asked), checked=False)
    before = experiment_of(stored, kinds)
    used = tuple(document.plugins)
    return Loaded(asked, whole, text, protocol_text(document), used, before, differs)


def experiment_of(stored: Document | None, kinds: Kinds) -> Experiment | None:
    """Return the experiment of a config that a folder keeps, None if it is not valid any more."""
    try:
        return None if stored is None else build(stored, kinds, (None, ()), checked=False)
    except ConfigError:
        return None


def sourced(experiment: Experiment) -> Sourced:
    """Return the paper and the claims of an experiment, which its whole shares, and a variant without its own."""
    return experiment.source, experiment.claims


def as_list(value: object) -> list[Any]:
    """Return the values of a repeatable flag."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def narrowed(
    document: Document,
    kinds: Kinds,
    overrides: Mapping[str, object],
    read: Sourced | None = None,
    checked: bool = True,
) -> Experiment:
    """Return the experiment of a document with the flags applied.

    A figure of which nothing is left is dropped, together with the methods that are run for it only.
    """
    given = {key: value for key, value in overrides.items() if value is not None}
    for key, value in given.items():
        if key not in FLAGS:
            raise TypeError(f"no flag overrides {key!r}")
        if key != "criteria" and isinstance(document.data, dict):
            document.data[key] = value if key == "splits" else as_list(value)
            document.sources[key] = FLAGS[key]
    if "splits" in given and isinstance(document.data, dict):
        # A number of splits on the command line applies to every data set.
        document.data.pop("fewer-splits", None)
    experiment = build(document, kinds, read, checked)
    if "criteria" not in given:
        return experiment
    known, wanted = experiment.labels, as_list(given["criteria"])
    skipped = dict(experiment.skipped)
    for label in wanted:
        if label in skipped:
            raise ConfigError(f"{FLAGS['criteria']}: {label!r} cannot be run: {skipped[label]}")
        if label not in known:
            hint = nearest(str(label), known)
            raise ConfigError(f"{FLAGS['criteria']}: {label!r} is not in {document.path}{hint}")
    kept = [kinds[f.kind].keep(f, frozenset(wanted)) for f in experiment.figures]
    figures = tuple(f for f in kept if f is not None)
    parts = {f.name for f in figures}
    methods = (
        m
        for m in experiment.methods
        if m.label in wanted or (m.label not in known and m.part in parts)
    )
    return replace(experiment, methods=tuple(methods), figures=figures, skipped=())


def build(
    document: Document, kinds: Kinds, read: Sourced | None = None, checked: bool = True
) -> Experiment:
    """Return the experiment of a document; raise one ConfigError with all its problems.

    The paper and its claims are read too, unless they have been ``read`` for another part of the config.
    """
    config = read_config(document)
    learners = dict(config.learner)
    tasks = {name: document.dataset(name).task for name in config.datasets}
    columns = [config.methods(item) for item in config.criteria]
    context = FigureContext(
        {first.label: first for first, *_ in columns},
        config.lam,
        tuple(config.datasets),
        "datasets" in document.sources,
        {name: learners[task] for name, task in tasks.items() if task in learners},
    )
    figures = read_figures(config, document, kinds, context)
    others, skipped = read_estimators(document, config, checked)
    document.check()
    every = (m for figure in figures for m in kinds[figure.kind].methods(figure, context))
    needed = list(islice(every, MOST_FIGURE_METHODS + 1))
    if len(needed) > MOST_FIGURE_METHODS:
        words = f"{len(needed)} methods of all figures together are too many"
        document.wrong(("figures",), f"{words}: {MOST_FIGURE_METHODS} at most")
        document.check()
    source, claims = read or read_source(document, config, checked)
    for name in config.variants:
        one = variant_of(document, name)
        read = (source, claims) if "claims" not in one.data else None
        build(one, kinds, read, checked)
    return Experiment(
        **{key: getattr(config, key) for key in SAME},
        learners=config.learner,
        methods=tuple(dict.fromkeys([*chain(*columns), *others, *needed])),
        datasets=tuple(config.datasets),
        figures=tuple(figures),
        own=tuple(document.own[name] for name in config.datasets if name in document.own),
        variants=tuple(
            Variant(
                name,
                describe_changes(keys, document.data.get("criteria")),
                not set(keys) <= {*ADDING, TITLE},
                keys.get(TITLE, ""),
            )
            for name, keys in config.variants.items()
        ),
        skipped=skipped,
        source=source,
        claims=claims,
    )


def read_figures(
    config: ConfigFile, document: Document, kinds: Kinds, context: FigureContext
) -> list[Figure]:
    """Return every figure.

    Its kind is its key ``kind``, or else its name if that is a kind; all other figures are sweeps.
    """
    found = []
    for name, written in config.figures.items():
        if name == TABLE:
            words = f"{TABLE!r} is the name of the table; give the figure another"
            document.wrong(("figures", name), words)
            continue
        kind = str(written.get("kind", name if name in kinds else "sweep"))
        if kind not in kinds:
            where = ("figures", name, "kind") if "kind" in written else ("figures", name)
            document.wrong(where, f"unknown kind of figure {kind!r}{nearest(kind, kinds)}")
            continue
        rest = {key: value for key, value in written.items() if key not in ("kind", "paper")}
        problems = len(document.problems)
        figure = kinds[kind].read(
            name,
            rest,
            context,
            lambda keys, text, name=name: document.wrong(("figures", name, *keys), text),
        )
        if len(document.problems) == problems:
            found.append(figure)
    return found


def variant_of(document: Document, name: str) -> Document:
    """Return the config of a variant; its error messages give the lines of the variant, not of the main keys."""
    given: Mapping[str, Any] = document.data.get("variants") or {}
    if name not in given:
        hint = nearest(name, given) if given else ", which has no variants"
        raise ConfigError(f"--variant: {name!r} is not in {document.path}{hint}")
    found = Document(document.path, deepcopy(document.data), dict(document.lines))
    found.own, found.plugins = dict(document.own), list(document.plugins)
    found.data.pop("variants")
    for key in ("figures", "claims"):
        found.data.pop(key, None)
    for key, value in given[name].items():
        where: Location = ("variants", name, key)
        if key == TITLE:
            if not isinstance(value, str):
                found.wrong(where, f"must be a text, not {describe(value)}")
        elif key == PARAMS:
            set_params(found, where, value)
        elif key in CHANGEABLE:
            found.data[key] = deepcopy(value)
            inside = {at: line for at, line in found.lines.items() if at[: len(where)] == where}
            found.lines = {at: line for at, line in found.lines.items() if at[:1] != (key,)}
            found.lines |= {(key, *at[len(where) :]): line for at, line in inside.items()}
        else:
            found.wrong(where, f"no key that a variant can change{nearest(key, CHANGEABLE)}")
    found.check()
    return found


def set_params(document: Document, where: Location, given: Any) -> None:
    """Set ``{eta: 4}`` in every criterion that has an eta, or ``{k-KS: {eta: 4}}`` only in those named k-KS."""
    if not isinstance(given, dict):
        document.wrong(where, f"must be a mapping, as in {{eta: 4}}, not {describe(given)}")
        return
    written = document.data.get("criteria")
    items: dict[int, Criterion] = {}
    for position, one in enumerate(written if isinstance(written, list) else ()):
        with suppress(ConfigError, ValueError):  # reported when the config itself is read
            items[position] = read_criterion(one).criterion
    for key, value in given.items():
        values = value if isinstance(value, dict) else {key: value}
        taking = [
            position
            for position, criterion in items.items()
            if (values is not value or criterion.name == key)
            and all(criterion.parameter(name) for name in values)
        ]
        if not taking:
            document.wrong((*where, key), f"no criterion of this config takes {in_words(values)}")
        for position in taking:
            label, params = only_item(written[position])
            written[position] = {label: {**(params or {}), **values}}
            here: Location = ("criteria", position, label)
            document.lines |= {(*here, name): document.lines[*where, key] for name in values}


def describe_changes(keys: Mapping[str, Any], criteria: Any = None) -> str:
    """Return in words what the keys of a variant change; of its criteria, how they differ from the config's."""
    found = []
    for key, value in keys.items():
        if key == "estimators":
            found.append(f"{key} {' '.join(value)}")
        elif key == "criteria":
            found += describe_criteria(value, criteria)
        elif key == "datasets" and len(value) > MOST_NAMED:
            found.append(f"{len(value)} data sets")
        elif key == "splits" and isinstance(value, int):
            found.append(f"{value} split{'s' * (value != 1)}")
        elif key not in ("claims", TITLE):
            found.append(in_words(value if isinstance(value, dict) else {key: value}))
    return "; ".join(found)


def describe_criteria(changed: Any, usual: Any) -> Iterator[str]:
    """Yield ``5-CV and 10-CV order 2`` for criteria with the same changes, then what is added or left out."""
    mine, main = (dict(map(labelled, given or ())) for given in (changed, usual))
    others: dict[str, list[str]] = {}
    for label in (label for label in mine if label in main):
        # The config may be one with every default, of which a variant names a few.
        keys = (k for k, v in mine[label].items() if not is_same(v, main[label].get(k)))
        words = in_words({key: mine[label][key] for key in keys})
        others.setdefault(words, []).append(label)
    yield from (f"{' and '.join(labels)} {words}" for words, labels in others.items() if words)
    added = [in_words({k: v}) if v else k for k, v in mine.items() if k not in main]
    if added:
        yield f"with {', '.join(added)}"
    left = [label for label in main if label not in mine]
    if left:
        yield f"without {', '.join(left)}"


def is_same(one: Any, other: Any) -> bool:
    """Return whether two values of a config are equal; 2^-5 is 0.03125."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(v, other[k]) for k, v in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    with suppress(ConfigError):
        return one == other or parse_number(one) == parse_number(other)
    return False


def labelled(written: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the label of a criterion in a config, and its parameters."""
    name, own = only_item(written) if isinstance(written, dict) else (str(written), None)
    params = dict(own) if isinstance(own, dict) else {}
    return str(params.pop("label", name)), params


def in_words(value: Any) -> str:
    """Return a value of a config without its brackets."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return " ".join(in_words(one) for one in value)
    return show(value)
