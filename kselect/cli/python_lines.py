"""The Python that repeats a selection: it reads the file, fits the choice, and prints the same score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kselect.cli.choosing import Chosen
from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.learners import find_learner
from kselect.selection.engine import Selection
from kselect.selection.request import criterion_of

TABLE_DEFAULTS: Mapping[str, Any] = {
    "target": None,
    "task": None,
    "drop": (),
    "categorical": (),
    "numeric": (),
    "missing": "impute",
    "scale": "zscore",
}


def python_lines(chosen: Chosen, flags: Mapping[str, Any]) -> list[str]:
    """Whole lines that run as they are, in the folder in which the command was typed."""
    task = chosen.data.target.task
    form = f"KernelSelect{'Classifier' if task == 'classification' else 'Regressor'}CV"
    folds = flags["folds"]
    numbers = ["import numpy as np"] if folds else []
    arguments = ", ".join([repr(str(chosen.data.path)), *table_arguments(flags)])
    return [
        *numbers,
        f"from kselect import {form}, read_table",
        f"table = read_table({arguments})",
        f"model = {form}(",
        *(f"    {argument}," for argument in model_arguments(chosen.found, folds)),
        ").fit(table.X, table.y)",
        f"print(-model.best_score_)  # {chosen.found.score:.6g}",
    ]


def table_arguments(flags: Mapping[str, Any]) -> list[str]:
    """What is not as by default."""
    given = {name: flags[name] for name in TABLE_DEFAULTS}
    return [
        f"{name}={list(value)!r}" if isinstance(value, tuple) else f"{name}={value!r}"
        for name, value in given.items()
        if value != TABLE_DEFAULTS[name]
    ]


def model_arguments(found: Selection, folds: Any) -> list[str]:
    """The learner, the criterion and the kernel; of the rest what is not as by default."""
    request = found.request
    given: dict[str, Any] = {
        "learner": request.learner.name,
        "criterion": request.method.label,
        "kernel": found.kernel.name,
    }
    lines = [f"{name}={value!r}" for name, value in given.items()]
    if not found.kernel.learned:
        lines += [*kernel_arguments(found.kernel), f"lam={show_number(found.lam)}"]
    params = changed_parameters(found)
    loss = params.pop("loss", None)
    lines += [f"params={params!r}"] if params else []
    lines += [f"loss={loss!r}"] if loss else []
    lines += [f"ridge={request.ridge!r}"] if request.ridge != "fixed" else []
    lines += [f"cv=np.loadtxt({str(folds)!r}, dtype=int, encoding='utf-8-sig')"] if folds else []
    lines += [f"nystrom={request.nystrom}"] if request.nystrom else []
    return [*lines, f"random_state={request.seed}"]


def changed_parameters(found: Selection) -> dict[str, Any]:
    """The criterion's and the learner's parameters that are not at their defaults."""
    request = found.request
    criterion, _ = criterion_of(request.method.label)
    defaults = find_learner(request.learner.name).defaults | criterion.defaults
    given = dict(request.learner.params) | dict(request.method.params)
    return {name: value for name, value in given.items() if value != defaults[name]}


def kernel_arguments(kernel: Kernel) -> list[str]:
    """The kernel's parameters as the estimator takes them: the best known by name, others in ``grids``."""
    shown = {k: show_number(v) for k, v in kernel.parameters.items()}
    if set(shown) <= {"tau", "degree"}:
        return [f"{k}={v}" for k, v in shown.items()]
    return ["grids={" + ", ".join(f"{k!r}: {v}" for k, v in shown.items()) + "}"]
