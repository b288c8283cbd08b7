"""Read the entries under ``claims`` and check that everything they name exists.

A paper and a config write their claims in the same form::

    claims:
      - id: "6.1a"
        kind: lower
        left: k-KS
        right: k-CV
        same-folds: true
        text: k-KS has a lower error than k-CV with the same k

``kselect.core.claim`` lists the keys of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from math import isclose
from typing import Any, TypeVar

from kselect.config.document import Document, Location
from kselect.config.schema import ConfigFile
from kselect.config.validators import TASKS, as_text, attempt, describe
from kselect.core.claim import COMMON, KEYS, Claim, Large
from kselect.core.method import LamGrid, Setting, read_setting
from kselect.criteria import CRITERIA, Criterion, find_criterion
from kselect.datasets.registry import load_registry
from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import parse_number
from kselect.kernels import KERNELS

# Kinds that need one of two groups of keys.
EITHER = {"near": (("series", "order"), ("left", "right"))}
ALL = "all"
T = TypeVar("T")


@dataclass(frozen=True)
class Scope:
    """The names that a claim or a row of a published table may use: the parts of one config, and registered names.

    A config may run a part of a paper's experiment only. A name that means something is therefore never wrong, and
    a claim without its figure or setting is listed as not tested; any other name is a mistake. ``printed`` and
    ``tables`` are the paper's. ``checked`` is false for the config of a results folder: the
    file of its paper may have changed since.
    """

    config: str
    criteria: Mapping[str, Criterion]
    lam: LamGrid
    figures: Mapping[str, str]
    datasets: frozenset[str]
    checked: bool = True
    printed: tuple[str, ...] = ()
    tables: frozenset[str] = frozenset()
    estimators: frozenset[str] = frozenset()

    def owner(self, name: str) -> Criterion | None:
        """Return the criterion behind a label of the config, a pattern such as ``k-CV``, or ``5-CV``."""
        if name in self.criteria or name in CRITERIA:
            return self.criteria.get(name) or CRITERIA[name]
        found = attempt(find_criterion, name)[0]
        return found[0] if found else None

    def method(self, name: str) -> str:
        """Return why a method is unknown, or an empty text."""
        ours = name in self.printed or name in self.estimators or self.owner(name)
        if ours or not self.checked:
            return ""
        patterns = (name for name, criterion in CRITERIA.items() if criterion.takes_folds)
        hint = nearest(
            name, dict.fromkeys((*self.criteria, *patterns, *self.estimators, *self.printed))
        )
        return f"{quoted(name)} is not a method of {self.config}{hint}"

    def dataset(self, name: str) -> str:
        """Return why a data set is unknown, or an empty text."""
        known = (*self.datasets, *load_registry())
        return "" if name in known else f"unknown data set {quoted(name)}{nearest(name, known)}"

    def setting(self, text: str) -> Setting:
        """Return the setting that a text means, as the config has it if it does; else a ConfigError."""
        try:
            asked = read_setting(text)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        return next((s for s in self.lam.settings() if same_setting(s, asked)), asked)

    def figure(self, name: str) -> str:
        """Return the key of the figure that has a name: its key in the config, or its number in the paper.

        An unknown one is a ConfigError that names the nearest, or an empty text if the config has no figures.
        """
        if name in self.figures:
            return name
        found = next((key for key, number in self.figures.items() if name == number), "")
        if found or not self.figures or not self.checked:
            return found
        hint = nearest(name, (*self.figures, *filter(None, self.figures.values())))
        raise ConfigError(f"{quoted(name)} is not a figure of {self.config}{hint}")


def scope_of(config: ConfigFile, document: Document, checked: bool) -> Scope:
    """Return what the claims about a config may refer to, before any flag narrows it."""
    criteria = {config.methods(item)[0].label: item.criterion for item in config.criteria}
    bare = {label.partition("(")[0]: criterion for label, criterion in criteria.items()}
    figures = {key: str(written.get("paper", "")) for key, written in config.figures.items()}
    return Scope(
        document.path,
        bare | criteria,
        config.lam,
        figures,
        frozenset(document.own),
        checked,
        estimators=frozenset(config.estimators),
    )


def same_setting(one: Setting, other: Setting) -> bool:
    """Return whether two settings have the same ridge, up to rounding."""
    if one.value is None or other.value is None:
        return one.value is other.value
    return one.unit == other.unit and isclose(one.value, other.value)


# The kinds whose numbers are those of a figure; ranks and learned widths come from the table.
FROM_FIGURES = ("robust", "good range", "exact", "unimodal")


@dataclass(frozen=True)
class ClaimReader:
    """One entry under ``claims``, with a method per kind of key that reads its value.

    A method that finds a problem notes it in the document and returns a neutral value.
    """

    written: Mapping[str, Any]
    here: Location
    document: Document
    scope: Scope

    def wrong(self, key: str, text: str) -> None:
        """Note a problem of a key."""
        self.document.wrong((*self.here, key), text)

    def read(self) -> Claim | None:
        """Return the claim, or None if its keys or values are wrong."""
        before = len(self.document.problems)
        self.check_keys()
        if len(self.document.problems) > before:
            return None
        values = {
            field.replace("-", "_"): READERS[field](self, field)
            for field in self.written
            if field not in ("datasets", "without")
        }
        values |= {key: self.datasets(key) for key in ("datasets", "without")}
        values["everywhere"] = self.written.get("datasets") == ALL
        if len(self.document.problems) > before:
            return None
        claim = Claim(**values)
        return replace(claim, untested=claim.untested or self.absent(claim))

    def absent(self, claim: Claim) -> str:
        """Return why a config that runs a part of the experiment only cannot test a claim, or an empty text."""
        if claim.kind in FROM_FIGURES and not claim.figure:
            return f"This config has no figure {self.written['figure']}."
        if claim.setting and claim.setting not in self.scope.lam.settings():
            return f"This config does not run {claim.setting.text}."
        return ""

    def check_keys(self) -> None:
        """Note an unknown kind, unknown keys, and missing ones; an untested claim may lack the keys of its kind."""
        kind = self.written.get("kind")
        own = KEYS.get(kind) if isinstance(kind, str) else None  # type: ignore[call-overload]
        if "kind" in self.written and own is None:
            hint = nearest(kind, KEYS) if isinstance(kind, str) else ""
            self.wrong("kind", f"unknown kind of claim {quoted(kind)}{hint}")
            return
        needed = (*COMMON.needed, *(own.needed if own and "untested" not in self.written else ()))
        known = (*COMMON.needed, *COMMON.allowed, *(own.needed + own.allowed if own else ()))
        for key in needed:
            if key not in self.written:
                self.document.wrong(self.here, f"{key}: this key is missing")
        for key in self.written:
            if own and key not in known:
                self.wrong(
                    key, f"a claim of the kind {kind!r} has no such key{nearest(key, known)}"
                )
        groups = () if "untested" in self.written else EITHER.get(str(kind), ())
        if groups and sum(all(k in self.written for k in group) for group in groups) != 1:
            words = " or ".join(" and ".join(group) for group in groups)
            self.document.wrong(self.here, f"a claim of the kind {kind!r} needs {words}")

    def take(self, key: str, read: Callable[[Any], T], value: object) -> T | None:
        """Return ``read(value)``, or None after noting its ConfigError."""
        found, problem = attempt(read, value)
        if problem:
            self.wrong(key, problem)
        return found

    def text(self, key: str) -> str:
        """Read a text."""
        return self.take(key, as_text, self.written[key]) or ""

    def number(self, key: str) -> str:
        """Read the number of a table or figure, or the key of a figure."""
        value = self.written[key]
        return str(value) if type(value) is int else self.text(key)

    def table(self, key: str) -> str:
        """Read the number of a table of the paper."""
        found, tables = self.number(key), self.scope.tables
        if tables and found not in tables:
            self.wrong(key, f"{quoted(found)} is not a table of the CSV{nearest(found, tables)}")
        return found

    def figure(self, key: str) -> str:
        """Read a figure: the key in the config, or the number in the paper."""
        return self.take(key, self.scope.figure, self.number(key)) or ""

    def switch(self, key: str) -> bool:
        """Read true or false."""
        value = self.written[key]
        if not isinstance(value, bool):
            self.wrong(key, f"must be true or false, not {describe(value)}")
        return bool(value)

    def choice(self, key: str) -> Any:
        """Read a task, or ``informative``."""
        valid = TASKS if key == "task" else ("informative",)
        value = self.written[key]
        if value not in valid:
            self.wrong(key, f"must be {' or '.join(valid)}, not {describe(value)}")
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """Read one name, or a list of names."""
        value = self.written.get(key, [])
        names = value if isinstance(value, list) else [value]
        if key in self.written and (not names or not all(isinstance(n, str) for n in names)):
            self.wrong(key, f"must be a name or a list of names, not {describe(value)}")
            return ()
        return tuple(names)

    def methods(self, key: str) -> tuple[str, ...]:
        """Read one method or a list of methods."""
        names = self.names(key)
        printed = key == "left" and self.written.get("printed") is True
        known = self.printed_column if printed else self.scope.method
        for problem in filter(None, map(known, names)):
            self.wrong(key, problem)
        return names

    def printed_column(self, name: str) -> str:
        """Return why a column is not one that the paper only prints, or an empty text."""
        columns = self.scope.printed
        if name in columns:
            return ""
        hint = nearest(name, columns) if columns else "; it has none"
        return f"{quoted(name)} is not under printed-only in the paper's file{hint}"

    def series(self, key: str) -> str:
        """Read the name of a series, such as ``BIF-k-CV``."""
        name = self.text(key)
        if name and (problem := self.scope.method(name)):
            self.wrong(key, problem)
        return name

    def datasets(self, key: str) -> tuple[str, ...]:
        """Read a list of data sets, or ``all``, which is an empty list."""
        if key == "datasets" and self.written.get(key) == ALL:
            return ()
        names = self.names(key)
        for problem in filter(None, map(self.scope.dataset, names)):
            self.wrong(key, problem)
        return names

    def parameter(self, key: str) -> str:
        """Read a parameter that the criterion of every method has."""
        name = self.text(key)
        for method in self.names("method"):
            owner = self.scope.owner(method)
            if owner and owner.parameter(name) is None:
                known = [p.name for p in owner.parameters]
                hint = nearest(name, known) if known else "; it has none"
                self.wrong(key, f"unknown parameter of {method}{hint}")
        return name

    def range(self, key: str) -> tuple[float, float]:
        """Read the two ends of a range."""
        value = self.written[key]
        ends = value if isinstance(value, list) else []
        found = [n for end in ends if (n := attempt(parse_number, end)[0]) is not None]
        if not len(found) == len(ends) == 2 or found[0] >= found[1]:
            self.wrong(key, "must be the two ends of a range, the lower first, as in [2^-2, 2^5]")
            return (0.0, 0.0)
        return (found[0], found[1])

    def setting(self, key: str) -> Setting | None:
        """Read a setting of the config, such as ``lam = 0.001``."""
        return self.take(key, self.scope.setting, self.text(key))

    def order(self, key: str) -> int:
        """Read the order of a series."""
        value = self.written[key]
        if type(value) is not int or value < 0:
            self.wrong(key, f"must be a whole number, 0 or more, not {describe(value)}")
            return 0
        return value

    def times(self, key: str) -> float:
        """Read a factor."""
        value = self.take(key, parse_number, self.written[key])
        if value is not None and value <= 0:
            self.wrong(key, f"must be positive, not {describe(self.written[key])}")
        return value or 1.0

    def large(self, key: str) -> Large | None:
        """Read ``{polynomial: {degree: 4}}``: a kernel, one of its parameters, and the least value."""
        value = self.written[key]
        inner = next(iter(value.values()), None) if isinstance(value, dict) else None
        if not isinstance(inner, dict) or len(value) != 1 or len(inner) != 1:
            self.wrong(key, "must be a kernel with a least value, as in {polynomial: {degree: 4}}")
            return None
        kernel, (parameter, least) = next(iter(value)), next(iter(inner.items()))
        known = self.take(key, KERNELS.find, kernel)
        names = [field.name for field in fields(known)] if known else [parameter]
        if parameter not in names:
            self.wrong(key, f"unknown parameter of {kernel}{nearest(parameter, names)}")
        return Large(kernel, parameter, self.take(key, parse_number, least) or 0.0)


READERS: Mapping[str, Callable[[ClaimReader, str], Any]] = {
    **dict.fromkeys(("id", "kind", "text", "of", "paper-counts", "untested"), ClaimReader.text),
    **dict.fromkeys(("left", "right", "method", "against", "pool"), ClaimReader.methods),
    **dict.fromkeys(("same-folds", "printed"), ClaimReader.switch),
    **dict.fromkeys(("task", "features"), ClaimReader.choice),
    "parameter": ClaimReader.parameter,
    "range": ClaimReader.range,
    "setting": ClaimReader.setting,
    "series": ClaimReader.series,
    "order": ClaimReader.order,
    "times": ClaimReader.times,
    "what": ClaimReader.large,
    "figure": ClaimReader.figure,
    "table": ClaimReader.table,
}


def read_claims(document: Document, scope: Scope, taken: Iterable[Claim] = ()) -> tuple[Claim, ...]:
    """Return the claims under ``claims``; what is wrong with them is noted in the document."""
    written = document.data.get("claims", [])
    if not isinstance(written, list):
        document.wrong(("claims",), f"must be a list of claims, not {describe(written)}")
        return ()
    found: list[Claim] = []
    ids = {claim.id for claim in taken}
    for i, entry in enumerate(written):
        here: Location = ("claims", i)
        if not isinstance(entry, dict):
            document.wrong(here, f"must be a mapping (id: ..., kind: ...), not {describe(entry)}")
            continue
        claim = ClaimReader(entry, here, document, scope).read()
        if claim is not None and claim.id in ids:
            document.wrong((*here, "id"), f"there is another claim {quoted(claim.id)}")
        elif claim is not None:
            ids.add(claim.id)
            found.append(claim)
    return tuple(found)
