"""Requirements on everything registered: a mirrored test file that compares it with an oracle."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import learners, numbered, problem_of, rows

from kselect.criteria import CRITERIA, PROBES
from kselect.kernels import KERNELS, Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners import LEARNERS
from kselect.learners import Path as LearnerPath
from kselect.learners.base import Path as PathProtocol

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


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_fulfils_the_contract(name: str) -> None:
    """Shapes are right, results repeat, the dual gives the decisions, and inputs stay unchanged."""
    task = dict(learners(name))
    X, y = rows(18)
    targets = y if "classification" in task else X[:, 0] + 0.1 * y
    p = problem_of(Gaussian(2.0), X, targets, (0.05, 0.2))
    K, folds = p.K.copy(), numbered(np.random.default_rng(3), 18, 4, False)
    path: LearnerPath = LEARNERS[name].path(p)
    assert not LEARNERS[name].lacks(PathProtocol)
    assert path.decision().shape == path.held_out(folds).shape == (2, 18)
    np.testing.assert_array_equal(path.held_out(folds), path.held_out(folds))
    for ridge in range(2):
        fitted = path.fit().decision(ridge, K)
        np.testing.assert_allclose(fitted, path.decision()[ridge], atol=1e-6)
    np.testing.assert_array_equal(p.K, K)


@pytest.mark.parametrize("name", LEARNERS)
def test_held_out_predictions_do_not_depend_on_their_fold(name: str) -> None:
    """A fold's held-out predictions do not depend on its targets and equal those of a model without it."""
    X, y = rows(18)
    targets = y if "classification" in dict(learners(name)) else X[:, 0] + 0.1 * y
    kernel, folds = Gaussian(2.0), numbered(np.random.default_rng(3), 18, 4, False)
    p = problem_of(kernel, X, targets, (0.05, 0.2), ridge="per-fold")
    held = LEARNERS[name].path(p).held_out(folds)
    for F in folds.members:
        rest = np.setdiff1d(np.arange(18), F)
        alone = LEARNERS[name].path(problem_of(kernel, X[rest], targets[rest], (0.05, 0.2)))
        across = kernel.gram(Points(X[F], X[rest]))
        for ridge in range(2):
            predicted = alone.fit().decision(ridge, across)
            np.testing.assert_allclose(held[ridge, F], predicted, atol=1e-6)


@pytest.mark.parametrize("name", [k for k in KERNELS if not KERNELS[k].learned])
def test_every_kernel_has_its_grids(name: str) -> None:
    """Every kernel has one grid per parameter."""
    cls = KERNELS[name]
    parameters = list(inspect.signature(cls).parameters)
    assert set(cls.grids) == set(parameters)
