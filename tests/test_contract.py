"""Requirements on everything registered: a mirrored test file that compares it with an oracle."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kselect.contract.checks import CHECKS, findings
from kselect.contract.parts import wrong_held_out, wrong_path, wrong_weights
from kselect.criteria import CRITERIA, PROBES, Criterion
from kselect.kernels import KERNELS
from kselect.learners import LEARNERS, Fit, Problem
from kselect.learners import Path as LearnerPath
from kselect.learners.base import LeaveOneOut
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array
from kselect.report.figures import FIGURES
from kselect.search.continuous import SEARCHES

TESTS = Path(__file__).resolve().parent


def registered() -> Iterator[Any]:
    """Return every criterion, probe, learner and kernel, with the function or class behind it."""
    for kind, registry in (("criteria", CRITERIA), ("criteria", PROBES), ("learners", LEARNERS)):
        for name, part in registry.items():
            yield pytest.param(part.function, id=f"{kind}-{name}")
    for name, cls in KERNELS.items():
        yield pytest.param(cls, id=f"kernels-{name}")


def mirror(thing: Callable[..., Any]) -> Path:
    """Return the test file: ``kernels/ard.py`` -> ``test_ard.py``, ``learners/svm/path.py`` -> ``test_svm.py``."""
    _, folder, module, *_ = thing.__module__.split(".")
    return TESTS / folder / f"test_{module}.py"


def imported(path: Path) -> set[str]:
    """Return the modules that a test file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("thing", list(registered()))
def test_a_mirrored_test_with_an_oracle(thing: Callable[..., Any]) -> None:
    """Every registered entry has a test file that imports it and an oracle."""
    path = mirror(thing)
    assert path.is_file(), f"{path.relative_to(TESTS.parent)} is missing"
    names = imported(path)
    assert any(name.startswith("oracles") for name in names), f"{path.name} imports no oracle"
    module = ".".join(thing.__module__.split(".")[:3])
    assert any(name.startswith(module) for name in names), f"{path.name} does not import {module}"


def parts() -> Iterator[Any]:
    """Return kind, name and object of everything registered, but for kernels with learned widths."""
    for registry in (CRITERIA, PROBES, KERNELS, LEARNERS, SEARCHES, FIGURES):
        for name, item in registry.items():
            if not getattr(item, "learned", False):
                yield pytest.param(registry.kind, name, item, id=f"{registry.kind}-{name}")


@pytest.mark.parametrize(("kind", "name", "item"), list(parts()))
def test_everything_registered_fulfils_the_contract(kind: str, name: str, item: Any) -> None:
    """The package's own parts pass the checks that ``kselect check`` runs on a plug-in."""
    found = list(findings(kind, name, item))
    assert [f.check for f in found] == list(CHECKS[kind])
    assert [f.line for f in found if f.text] == []


class Ours:
    """A path with fixed answers, for kinds of mistakes that no plug-in of the other tests makes."""


def median(path: LeaveOneOut, folds: Folds) -> Array:
    """Take folds that change nothing."""
    return np.asarray(np.square(path.problem.y - path.loo()).mean(axis=-1))


def drifting(path: LeaveOneOut) -> Array:
    """Give another score each time."""
    CALLS.append(1.0)
    return median(path, Folds.from_numbers(np.arange(4))) + len(CALLS)


def destructive(path: LeaveOneOut) -> Array:
    """Change the targets."""
    path.problem.y[0] += 1.0
    return np.ones(len(path.problem.lams))


def ordered(path: LeaveOneOut) -> Array:
    """Look at the first row only."""
    return np.asarray(np.abs(path.loo()[:, 0]))


CALLS: list[float] = []


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (median, "takes folds, but gives the same scores with others"),
        (drifting, "returns other scores the second time, on the same path"),
        (destructive, "changes the y of the problem"),
        (ordered, "gives other scores if the rows are in another order"),
    ],
)
def test_broken_criteria_are_found(function: Callable[..., Any], words: str) -> None:
    folds = "folds" in inspect.signature(function).parameters
    broken = Criterion("broken", function, "none", (), LeaveOneOut, folds)
    assert [f.text for f in findings("criterion", "broken", broken) if f.text] == [words]


def refused_by(check: Callable[[Any], str], path: type[Any]) -> str:
    """Return what a check says of a learner with a class of paths."""

    def make(problem: Problem) -> Any:
        return path(LEARNERS["krr"].path(problem))

    make.__annotations__["return"] = path
    return check(replace(LEARNERS["krr"], function=make))


class Shifted:
    """A path whose held-out predictions are wrong."""

    def __init__(self, path: LearnerPath) -> None:
        self.path, self.problem = path, path.problem

    def decision(self) -> Array:
        return self.path.decision()

    def held_out(self, folds: Folds) -> Array:
        return self.path.held_out(folds) + 0.01

    def fit(self) -> Fit:
        return self.path.fit()


class Unfit(Shifted):
    """A path whose coefficients do not give its decision values."""

    def decision(self) -> Array:
        return self.path.decision() + 0.01


class Even(Shifted):
    """A path that ignores the weights of its problem."""

    def __init__(self, path: LearnerPath) -> None:
        super().__init__(LEARNERS["krr"].path(replace(path.problem, weights=None)))


def test_broken_learners_are_found() -> None:
    assert "with weights are not those of repeated rows" in refused_by(wrong_weights, Even)
    assert refused_by(wrong_path, Shifted) == ""
    assert "differ from retraining by up to 0.01" in refused_by(wrong_held_out, Shifted)
    assert "coefficients do not give" in refused_by(wrong_path, Unfit)
    assert "lacks held-out predictions" in refused_by(wrong_path, Ours)
