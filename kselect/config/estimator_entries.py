"""Other packages' classes under ``estimators``: each becomes a column next to the criteria.

As in ``{svc: {class: sklearn.svm.SVC, grid: {C: 2^-5:2^15:2}}}``, or with one class per task under
``classification`` and ``regression``. A results folder keeps the version of the package with each class, so that a
report needs no package.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from math import prod
from typing import Any

from kselect.config.document import Document, Location
from kselect.config.schema import ConfigFile
from kselect.config.validators import TASKS, attempt, describe
from kselect.core.method import Estimator, Method
from kselect.datasets.registry import Task
from kselect.errors import ConfigError, nearest, quoted
from kselect.estimators import ImportedClass, NotInstalledError, find_class, first_line
from kselect.grids import LARGEST_GRID, POWER, parse_grid, parse_number

KEYS = ("class", "parameters", "grid", "folds", "task", "version")
FOLDS = 5
# In place of a version, in the config that a results folder keeps.
NOT_INSTALLED = "not installed"
# The columns of seconds.csv, next to which each estimator has its own.
TAKEN = ("dataset", "split", "environment", "search", "test")
ROLES: Mapping[Task, str] = {"classification": "classifier", "regression": "regressor"}
Skipped = tuple[tuple[str, str], ...]


def read_estimators(
    document: Document, config: ConfigFile, checked: bool = True
) -> tuple[tuple[Method, ...], Skipped]:
    """Return the methods under ``estimators``, and those that cannot be run here, each with the reason.

    Mistakes are noted in the document. Without ``checked``, nothing is imported: the config of a results folder
    has the versions, and an estimator without one was not installed.
    """
    columns = {config.methods(item)[0].label for item in config.criteria}
    tasks = tuple(dict.fromkeys(document.dataset(name).task for name in config.datasets))
    methods: list[Method] = []
    skipped: dict[str, str] = {}
    for label, written in config.estimators.items():
        here: Location = ("estimators", label)
        if label in columns or label in TAKEN:
            what = "a criterion" if label in columns else "a column of seconds.csv"
            document.wrong(here, f"{label} is already the name of {what}; choose another")
            continue
        for entry in entries_of(label, written, document, tasks):
            before = len(document.problems)
            method, why = entry.method(checked)
            if why:
                skipped[label] = why
            elif method and len(document.problems) == before:
                methods.append(method)
    # With a class for each task, the label is left out if one of them is.
    return tuple(m for m in methods if m.label not in skipped), tuple(skipped.items())


def entries_of(
    label: str, written: dict[str, Any], document: Document, tasks: tuple[Task, ...]
) -> list[EstimatorEntry]:
    """Return the entry of a label, or one entry per task; note everything but mappings."""
    here: Location = ("estimators", label)
    if not written or not set(written) <= set(TASKS):
        return [EstimatorEntry(label, written, here, document, tasks, None)]
    found = []
    for task in TASKS:
        if isinstance(written.get(task), dict):
            inner = (*here, task)
            found.append(EstimatorEntry(label, written[task], inner, document, tasks, task))
        elif task in written:
            shown = describe(written[task])
            document.wrong((*here, task), f"must be a mapping (class: ...), not {shown}")
    return found


@dataclass(frozen=True)
class EstimatorEntry:
    """One class as a config writes it, with the tasks of the config's data sets.

    ``of`` is the task under which it stands, if it stands under one.
    """

    label: str
    written: Mapping[str, Any]
    here: Location
    document: Document
    tasks: tuple[Task, ...]
    of: Task | None

    def wrong(self, text: str, *keys: str) -> None:
        """Note a problem of a key, or of the entry."""
        self.document.wrong((*self.here, *keys), text)

    def method(self, checked: bool) -> tuple[Method | None, str]:
        """Return the method, or None and the reason why it is left out; a problem is noted and has no reason."""
        for key in self.written:
            if key not in KEYS:
                self.wrong(f"unknown key{nearest(key, KEYS)}", key)
        path, pinned = self.text("class"), self.text("version")
        params, grid = self.values("parameters"), self.values("grid")
        folds, task = self.folds(bool(grid)), self.task()
        for name in params.keys() & grid.keys():
            self.wrong(f"{name} is under parameters too", "grid", name)
        version, why = pinned, ""
        if not path:
            if not self.written.get("class"):
                self.wrong("class: this key is missing")
            return None, ""
        if checked:
            try:
                found = find_class(path)
                self.check(found, params, grid, task)
                version = found.version
            except NotInstalledError as error:
                why = str(error)
            except ConfigError as error:
                self.wrong(str(error), "class")
            if not why and pinned not in ("", NOT_INSTALLED, version):
                why = f"it needs {pinned}; {version} is installed"
        elif pinned in ("", NOT_INSTALLED):
            why = f"the package {path.partition('.')[0]} was not installed"
        if why:
            return None, why
        estimator = Estimator(
            path,
            version,
            tuple(sorted((name, values[0]) for name, values in params.items())),
            tuple(sorted(grid.items())),
            task,
        )
        return Method(self.label, path, folds, (), estimator=estimator), ""

    def text(self, key: str) -> str:
        """Read a text, empty if it is not written."""
        value = self.written.get(key, "")
        if not isinstance(value, str):
            self.wrong(f"must be text, not {describe(value)}", key)
            return ""
        return value

    def values(self, key: str) -> dict[str, tuple[Any, ...]]:
        """Read parameters, each as its only value, or the grids of parameters."""
        given = self.written.get(key, {})
        if not isinstance(given, dict) or (key == "grid" and key in self.written and not given):
            example = "{C: 2^-5:2^15:2}" if key == "grid" else "{C: 1}"
            self.wrong(f"must be a mapping such as {example}, not {describe(given or None)}", key)
            return {}
        found: dict[str, tuple[Any, ...]] = {}
        for name, value in given.items():
            read = read_values if key == "grid" else read_parameter
            values, problem = attempt(read, value)
            if values is None:
                self.wrong(problem, key, name)
            else:
                found[name] = values
        if key == "grid" and prod(map(len, found.values())) > LARGEST_GRID:
            self.wrong(f"the grid has more than {LARGEST_GRID} points", key)
        return found

    def folds(self, searched: bool) -> int | None:
        """Read the number of folds that choose from the grid; None without a grid."""
        value = self.written.get("folds", FOLDS)
        if type(value) is not int or value < 2:
            self.wrong(f"must be a whole number, 2 or more, not {describe(value)}", "folds")
        elif "folds" in self.written and not searched:
            self.wrong("chooses from a grid; there is none", "folds")
        return value if searched else None

    def task(self) -> Task | None:
        """Read the task that the entry is restricted to."""
        value = self.written.get("task")
        if value is not None and value not in TASKS:
            self.wrong(f"must be {' or '.join(TASKS)}, not {describe(value)}", "task")
            return self.of
        if value and self.of:
            self.wrong(f"stands under {self.of} already", "task")
        return self.of or value

    def check(
        self,
        found: ImportedClass,
        params: Mapping[str, tuple[Any, ...]],
        grid: Mapping[str, tuple[Any, ...]],
        task: Task | None,
    ) -> None:
        """Note parameters that the class does not have, a task that it is not for, and values that it refuses."""
        path, before = self.written["class"], len(self.document.problems)
        for key, given in (("parameters", params), ("grid", grid)):
            for name in given:
                if name not in found.parameters and not found.open:
                    hint = nearest(name, found.parameters) if found.parameters else "; it has none"
                    self.wrong(f"unknown parameter of {path}{hint}", key, name)
        lacking = [n for n in found.required if n not in params and n not in grid]
        if lacking:
            self.wrong(f"{path} needs {' and '.join(lacking)} under parameters")
        self.check_task(found, task)
        if len(self.document.problems) > before:
            return
        first = {name: values[0] for name, values in {**params, **grid}.items()}
        try:
            found.make(**first)
        except Exception as error:
            self.wrong(f"{path} refuses its parameters: {first_line(error)}")

    def check_task(self, found: ImportedClass, task: Task | None) -> None:
        """Note a classifier for regressions and the reverse, and a task without data sets."""
        path, kind = self.written["class"], found.task
        if kind and task and kind != task:
            self.wrong(f"{path} is a {ROLES[kind]}, not for {task}", "class")
            return
        wanted = task or kind
        narrowed = "datasets" in self.document.sources
        if wanted and wanted not in self.tasks and not narrowed:
            self.wrong(f"this config has no {wanted} data set for {path}", "class")
        elif kind and not task and (others := [t for t in self.tasks if t != kind]):
            words = f"{path} is a {ROLES[kind]}, and this config has {others[0]} data sets"
            self.wrong(f"{words}; restrict it with task: {kind}", "class")


def read_parameter(value: object) -> tuple[Any, ...]:
    """Return the only value of a parameter; ``2^-3`` is a number and other text is text."""
    return (scalar(value),)


def scalar(value: object) -> Any:
    """Return a value as a class gets it: a list is a tuple."""
    if isinstance(value, dict):
        raise ConfigError("must be a value or a list of values, not a mapping")
    if isinstance(value, list):
        return tuple(map(scalar, value))
    if isinstance(value, str) and POWER.fullmatch(value):
        return whole((parse_number(value),))[0]
    return value


def read_values(value: object) -> tuple[Any, ...]:
    """Return the values of a grid: a range such as ``2^-5:2^15:2``, or a list of values and ranges.

    Whole numbers stay whole, for parameters that count something; one broken number makes all of a range broken.
    """
    if isinstance(value, str):
        found = whole(parse_grid(value))
    else:
        found = ()
        for one in value if isinstance(value, list) else [value]:
            is_range = isinstance(one, str) and ":" in one
            found += whole(parse_grid(one)) if is_range else (scalar(one),)
    if not found:
        raise ConfigError("the grid is empty")
    texts = list(map(repr, found))
    if len(set(texts)) < len(texts):
        twice = next(t for t in texts if texts.count(t) > 1)
        raise ConfigError(f"the grid holds {quoted(twice)[1:-1]} more than once")
    return found


def whole(values: tuple[float, ...]) -> tuple[float, ...]:
    """Return a grid of whole numbers as such, and any other unchanged."""
    return tuple(map(int, values)) if all(v.is_integer() for v in values) else values


def with_versions(document: Document, stored: Document | None) -> dict[str, Any]:
    """Return the entries with grids as lists and the version of each package, as a results folder keeps them.

    An entry without its package keeps the version under which the ``stored`` config has the same class. Call it for
    a document that has been checked.
    """
    before = (stored.data.get("estimators") if stored else None) or {}
    found = deepcopy(document.data.get("estimators") or {})
    for label, written in found.items():
        nested = set(written) <= set(TASKS)
        old = before.get(label) or {}
        for entry, known in (
            [(written[t], old.get(t) or {}) for t in written] if nested else [(written, old)]
        ):
            same = known.get("class") == entry["class"]
            if entry.get("version", NOT_INSTALLED) == NOT_INSTALLED:
                try:
                    entry["version"] = find_class(entry["class"]).version
                except NotInstalledError:
                    kept = known.get("version") if same else None
                    entry["version"] = kept or NOT_INSTALLED
            if "grid" in entry:
                grid = {name: list(read_values(value)) for name, value in entry["grid"].items()}
                entry["grid"] = {n: [listed(v) for v in values] for n, values in grid.items()}
                entry.setdefault("folds", FOLDS)
    return found


def listed(value: Any) -> Any:
    """Return a value as YAML writes it: a tuple is a list."""
    return [listed(v) for v in value] if isinstance(value, tuple) else value
